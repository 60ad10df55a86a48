"""The box above the results of a search: a question in, a short answer out."""

import re

import msgspec

from distrl.devices.sim.apps.browser.facts import KINDS, UNITS
from distrl.devices.sim.apps.browser.forecast import CITIES, day_of, now_in

_CONVERSION = re.compile(r"(\d+(?:[.,]\d+)?)\s*([a-z]+)\s+(?:to|in|into|as|equals how many)\s+([a-z]+)")
_SCALE = "(c|celsius|f|fahrenheit)"
_TEMPERATURE = re.compile(rf"(-?\d+)\s*(?:degrees\s+)?{_SCALE}\s+(?:to|in|into)\s+{_SCALE}\b")
_ASKING = re.compile(
    r"(?:(?:what|who|when|where|which)(?:'s| is| are| was| does| did)?"
    r"|how (?:tall|high|long|old|many|much)(?: is| are| was)?"
    r"|buy|search(?: the web)?(?: for)?|look up|tell me about|show me)\s+(?:(?:the|a|an)\s+)?",
    re.IGNORECASE,
)


class Answer(msgspec.Struct, frozen=True):
    """A heading, what it is about, and the answer; `city` is set when it is the weather there."""

    heading: str
    subject: str
    value: str
    city: str = ""


def words_of(query: str) -> list[str]:
    """The words of a query, without punctuation."""
    return [w.strip('?!.,:;"“”()') for w in query.casefold().replace("\u2019", "'").split()]


def topic_of(query: str) -> str:
    """What a query is about, in its own words."""
    words = query.strip()
    asked = _ASKING.match(words)
    return words[asked.end() if asked else 0 :].strip("?!., ") or words


def answer(query: str, now_s: float) -> Answer | None:
    """The answer to a query, if it asks for something known."""
    return _weather(query, now_s) or _convert(query) or _fact(query)


def _has(query: str, subject: str) -> bool:
    plain = " ".join(words_of(query)).replace("-", " ")
    return f" {subject.casefold().replace('-', ' ')} " in f" {plain.replace(chr(39) + 's', '')} "


def _fact(query: str) -> Answer | None:
    words = set(words_of(query))
    for _, facts, triggers, heading in KINDS:
        if words & set(triggers):
            for subject in sorted(facts, key=len, reverse=True):
                if _has(query, subject):
                    return Answer(heading, subject, facts[subject])
    for _, facts, _, heading in KINDS:
        for subject, value in facts.items():
            if topic_of(query).casefold() == subject.casefold():
                return Answer(heading, subject, value)
    return None


def _weather(query: str, now_s: float) -> Answer | None:
    if not {"weather", "forecast", "temperature"} & set(words_of(query)):
        return None
    for city in CITIES:
        if _has(query, city):
            today = day_of(city, int(now_s // 86400))
            return Answer("Weather", city, f"{now_in(city, now_s)}°C, {today.words.lower()}", city)
    return None


def _convert(query: str) -> Answer | None:
    plain = " ".join(words_of(query))
    heat = _TEMPERATURE.search(plain)
    if heat and heat[2][0] != heat[3][0]:
        degrees = int(heat[1])
        value = degrees * 9 / 5 + 32 if heat[2][0] == "c" else (degrees - 32) * 5 / 9
        return Answer("Conversion", f"{degrees} °{heat[2][0].upper()}", f"{value:.4g} °{heat[3][0].upper()}")
    found = _CONVERSION.search(plain) or _turned(plain)
    if not found or found[2] not in UNITS or found[3] not in UNITS or UNITS[found[2]][0] != UNITS[found[3]][0]:
        return None
    amount = float(found[1].replace(",", ""))
    value = amount * UNITS[found[2]][1] / UNITS[found[3]][1]
    return Answer("Conversion", f"{found[1]} {found[2]}", f"{value:.6g} {found[3]}")


def _turned(plain: str) -> tuple[str, str, str, str] | None:
    """How many feet are 12 meters: the same question the other way round."""
    found = re.search(r"how many ([a-z]+) (?:are|is|in|are in|is in)(?: there in)? (\d+(?:\.\d+)?)\s*([a-z]+)", plain)
    return (found[0], found[2], found[3], found[1]) if found else None
