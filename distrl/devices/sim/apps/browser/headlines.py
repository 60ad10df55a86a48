"""The stories of the news site, written anew for every phone."""

from random import Random

from distrl.devices.sim.apps.browser.state import Story

SECTIONS = ("world", "sport", "science", "business", "culture")
_AUTHORS = ("Mara Lindqvist", "Joao Pires", "Amina Diallo", "Peter Voss", "Sofia Renn", "Kenji Arai", "Ruth Calder")
_TOWNS = (
    "Lisbon", "Oslo", "Nairobi", "Lima", "Kyoto", "Vienna", "Montreal", "Accra", "Hanoi", "Porto", "Bergen", "Tunis",
    "Quito", "Riga",
)  # fmt: skip
_NUMBERS = ("two", "three", "four", "five", "seven", "ten", "a dozen", "twenty")
_HEADLINES: dict[str, tuple[tuple[str, str], ...]] = {
    "world": (
        ("{town} opens its first car-free district", "Shopkeepers are divided, children are not."),
        ("Ferry line links {town} and {other} after {number} years of talks", "The first boat leaves in spring."),
        ("Storm leaves {number} thousand homes near {town} without power", "Crews hope to restore the grid by Friday."),
        ("Mayors of {number} cities sign water pact in {town}", "Rivers do not stop at borders, they say."),
        ("{town} votes on a night train to {other}", "Polls suggest a narrow majority."),
        ("Old harbour of {town} becomes a public park", "Work took {number} years and kept the cranes."),
        ("Record number of storks counted near {town}", "Mild autumns keep the birds longer."),
        ("Schools in {town} switch to a four-day week", "Teachers and parents will review the trial in June."),
    ),
    "sport": (
        ("{town} beat {other} in a seven-goal thriller", "The winner fell in stoppage time."),
        ("Marathon in {town}: newcomer wins by {number} seconds", "She only took up running during a rainy summer."),
        ("{town} signs young keeper from {other}", "The contract runs for {number} years."),
        ("Swimmer from {town} breaks a {number}-year-old record", "The pool was silent, then it was not."),
        ("Rain stops play in {town} for the third day", "Organisers consider a reserve day."),
        ("Handball: {town} through to the final", "A late save made the difference against {other}."),
        ("Cyclists climb above the clouds near {town}", "Only {number} riders finished within the limit."),
        ("Chess open in {town} ends with a surprise", "A 14-year-old shared first place."),
    ),
    "science": (
        ("Telescope near {town} sees light from a newborn star", "The signal lasted {number} minutes."),
        ("Researchers in {town} print a bridge out of clay", "It carries {number} tonnes."),
        ("{number_up} new moth species found in a garden in {town}", "The gardener had wondered about the holes."),
        ("Study from {town}: short naps sharpen memory", "Twenty minutes are enough, an hour is too much."),
        ("Battery made of salt passes test in {town}", "It is heavy, cheap and does not burn."),
        ("Deep-sea robot of {town} maps an unknown ridge", "The dive took {number} days."),
        ("Bees remember faces, a team in {town} reports", "They do worse with hats."),
        ("Ice core from the north reaches the lab in {town}", "It holds {number} thousand years of air."),
    ),
    "business": (
        ("Bakery chain of {town} hires {number} hundred people", "Night shifts pay a third more."),
        ("Coffee prices rise for the {number_th} month", "Roasters in {town} blame the weather."),
        ("{town} start-up turns old sails into bags", "Orders from {other} doubled this year."),
        ("Shipyard in {town} wins order for {number} ferries", "The first will be electric."),
        ("Rents in {town} fall for the first time in {number} years", "New buildings begin to show an effect."),
        ("Toy maker of {town} returns to wood", "Plastic sales shrank by a third."),
        ("Banks in {town} test cash by drone", "The pilot covers {number} villages."),
        ("Train maker moves its offices from {other} to {town}", "Staff were told on Monday."),
    ),
    "culture": (
        ("Lost opera is heard in {town} after {number} decades", "The score lay in a flour tin."),
        ("Film festival of {town} honours a first-time director", "Her film cost less than a car."),
        ("Library in {town} lends out musical instruments", "The accordion is booked until May."),
        ("{town} paints {number} rooftops for its jubilee", "Best seen from the hill, the artists say."),
        ("Novel from {town} wins the Harbour Prize", "The jury praised its quiet humour."),
        ("Museum of {town} opens its cellars", "Visitors see what was hidden for {number} years."),
        ("Choir of {town} sings in {number} lighthouses", "The tour ends in {other}."),
        ("Street theatre returns to the squares of {town}", "Rehearsals are open to everyone."),
    ),
}


def write_stories(rng: Random) -> list[Story]:
    """Six stories for each section, the top story first."""
    stories: list[Story] = []
    for section in SECTIONS:
        for k, (headline, summary) in enumerate(rng.sample(_HEADLINES[section], 6)):
            town, other = rng.sample(_TOWNS, 2)
            number = rng.choice(_NUMBERS)
            words = {
                "town": town,
                "other": other,
                "number": number,
                "number_up": number.capitalize(),
                "number_th": rng.choice(["second", "third", "fourth", "fifth", "sixth"]),
            }
            author = rng.choice(_AUTHORS)
            stories.append(Story(section, headline.format(**words), summary.format(**words), author, 1 + 2 * k))
    return stories
