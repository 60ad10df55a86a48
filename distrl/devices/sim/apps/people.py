"""The people one knows: what Contacts keeps and what Phone, Messages and Mail look up."""

import msgspec

KNOWN = ("Ana Lopes", "Ben Carter", "Chloe Martin", "Dr. Weber", "Emma Novak", "Mum", "Nina Rossi", "Tom Becker")
"""These people are in every fresh phone, because the other apps talk about them."""


def digits(number: str) -> str:
    """A phone number without what people put between its digits."""
    return "".join(c for c in number if c.isdecimal() or c in "+*#")


class Contact(msgspec.Struct):
    """A person; the name is the key."""

    name: str
    phone: str
    mail: str = ""
    address: str = ""
    favorite: bool = False


class ContactsState(msgspec.Struct):
    """Everybody, in no particular order."""

    people: list[Contact] = []

    def named(self, name: str) -> Contact | None:
        """The person of this name, in any spelling of case."""
        wanted = name.strip().casefold()
        return next((p for p in self.people if p.name.casefold() == wanted), None)

    def numbered(self, number: str) -> Contact | None:
        """The person with this phone number."""
        wanted = digits(number)
        return next((p for p in self.people if wanted and digits(p.phone) == wanted), None)

    def found(self, query: str) -> list[Contact]:
        """Those who match a search, by name."""
        wanted, number = query.strip().casefold(), digits(query)
        hits = [p for p in self.people if wanted in p.name.casefold() or (number and number in digits(p.phone))]
        return sorted(hits, key=lambda p: p.name.casefold())
