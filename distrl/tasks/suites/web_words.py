"""Words for tasks on the web and about the weather: what the phone's search engine and forecast know.

Also whether a query asks for what it should, and the bookmarks that tasks on the web start with and must not harm.
"""

import re
from collections.abc import Sequence
from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.template import Inspect, Keep, Params, Pool, pool

COUNTRIES = pool(
    *"Argentina|Australia|Austria|Belgium|Brazil|Bulgaria|Canada|Chile|Colombia|Croatia|Cuba|Denmark|Ecuador|"
    "Egypt|Estonia|Finland|France|Ghana|Greece|Hungary|Iceland|India|Indonesia|Ireland|Italy|Jamaica|Japan|Kenya|"
    "Latvia|Lithuania|Malta|Mexico|Mongolia|Morocco|Nepal|New Zealand|Nigeria|Norway|Peru|Poland|Portugal|"
    "Romania|Senegal|Slovenia|Spain|Sweden|Switzerland|Thailand|Tunisia|Uruguay|Vietnam".split("|")
)
PEAKS = pool(
    *"Mount Everest|Mount Kilimanjaro|Mount Fuji|Mont Blanc|Mount Elbrus|Mount Kenya|Mount Etna|Ben Nevis|"
    "Mount Olympus|Aconcagua|Denali|Matterhorn|Mount Cook|Zugspitze|Eiffel Tower|Mount Kosciuszko|Teide|Snowdon".split(
        "|"
    )
)
BOOKS = pool(
    *"Moby-Dick|Pride and Prejudice|Frankenstein|Dracula|War and Peace|Don Quixote|Jane Eyre|Wuthering Heights|"
    "Hamlet|Great Expectations|Treasure Island|The Time Machine|Faust|Middlemarch|Walden|The Odyssey|"
    "Anna Karenina|Candide|The Metamorphosis".split("|")
)
RARE_WORDS = pool(
    *"serendipity ephemeral ubiquitous candid meticulous resilient ambiguous benevolent eloquent frugal "
    "gregarious lucid nostalgia obsolete pragmatic quaint reticent tenacious verbose whimsical zealous altruism "
    "paradox".split()
)
TOPICS = pool(
    *"sourdough bread recipe|how to repot a fern|night trains in Europe|beginner guitar chords|knitting patterns|"
    "birds of the coast|history of chess|how to fix a bicycle chain|stretching exercises|camping by the lake|"
    "watercolour techniques|planting tomatoes|easy card tricks|northern lights season|wooden toys|origami crane|"
    "public libraries|how to iron a shirt|city gardens|lentil soup|learning Portuguese|sailing knots|"
    "stargazing tips|home composting|walking in the Alps|old lighthouses|making candles|puppy training|"
    "tea ceremony|rainwater barrels|jazz piano|winter hiking|how to sharpen knives|beekeeping|paper boats|"
    "folk dances|pickled vegetables|model trains|street photography|mushroom season".split("|")
)
CITIES = pool(
    *"Lisbon|Oslo|Vienna|Cairo|Tokyo|Lima|Nairobi|Toronto|Helsinki|Athens|Dublin|Warsaw|Prague|Madrid|Rome|Berlin|"
    "Paris|Seoul|Hanoi|Jakarta|Dakar|Accra|Bogota|Quito|Havana|Denver|Boston|Austin|Seattle|Chicago|Zagreb|Riga|"
    "Tallinn|Vilnius|Sofia|Bucharest|Budapest|Brussels|Geneva|Milan|Barcelona|Bergen|Buenos Aires|Cape Town|"
    "Copenhagen|Dubai|Edinburgh|Florence|Hamburg|Istanbul|Kyoto|Krakow|London|Melbourne|Mexico City|Miami|"
    "Montreal|Munich|Naples|Osaka|Porto|Perth|Reykjavik|San Diego|Seville|Singapore|Stockholm|Sydney|Tunis|"
    "Valencia|Vancouver|Wellington|Zurich".split("|")
)
WHO = pool(
    *"Lighthouse|Harbour|Orchard|Railway|Riverside|Mountain|Island|Castle|Market|Forest|Garden|Valley".split("|")
)
WHAT = pool(
    *"choir wins a surprise prize|school opens a rooftop farm|festival moves to spring|museum finds a lost map|"
    "team ends a long drought|bakery feeds a whole town|bridge closes for repairs|clock strikes again|"
    "robot learns to sort apples|ferry breaks a record|orchestra plays for whales|workshop saves old radios".split("|")
)
"""The two halves of a headline."""
ASKS = {
    "search_capital": ("capital",),
    "search_height": ("tall", "high", "height", "elevation"),
    "search_author": ("wrote", "author", "written", "writer"),
    "search_meaning": ("mean", "means", "meaning", "definition", "define"),
    "search_population": ("population", "people", "inhabitants"),
}
"""By template, the words one of which a question must have; those of the others it must not have."""
CONVERSIONS = {
    "miles": "km",
    "km": "miles",
    "pounds": "kg",
    "kg": "pounds",
    "feet": "meters",
    "inches": "cm",
    "gallons": "liters",
}
_UNIT_NAMES = {
    name: unit
    for unit, names in {
        "miles": "miles mile mi",
        "km": "km kms kilometers kilometres kilometer kilometre",
        "pounds": "pounds pound lb lbs",
        "kg": "kg kgs kilograms kilogram kilos",
        "feet": "feet foot ft",
        "meters": "meters metres meter metre m",
        "inches": "inches inch",
        "cm": "cm centimeters centimetres",
        "gallons": "gallons gallon gal",
        "liters": "liters litres liter litre l",
    }.items()
    for name in names.split()
}
MORE_WORDS = 6
"""How many words a query may have beyond what is asked for."""
KEPT_BOOKMARKS = 2
KEEPS = (Keep("browser", "bookmarks", "url"),)


def _words_of(text: str) -> list[str]:
    """The words of a query, without punctuation, articles and the s of a genitive."""
    plain = re.sub(r"['\u2019]s\b", "", text.casefold())
    return [word for word in re.findall(r"\w+", plain) if word not in ("a", "an", "the")]


def _has_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return f" {' '.join(phrase)} " in f" {' '.join(words)} "


def is_about(text: str, subject: str, subjects: Pool, *, kind: str = "", more: int = MORE_WORDS) -> bool:
    """Whether a text names this subject and no other of its pool, asks this kind of question and hardly says more."""
    words, wanted, asks = _words_of(text), set(_words_of(subject)), set(ASKS.get(kind, ()))
    foreign = {ask for name, others in ASKS.items() if name != kind for ask in others} if kind else set()
    names = [_words_of(other) for other in subjects.words]
    return (
        wanted <= set(words)
        and (not asks or bool(asks & set(words)))
        and not (foreign - wanted) & set(words)
        and not any(_has_phrase(words, name) for name in names if not set(name) <= wanted)
        and len([word for word in words if word not in wanted | asks]) <= more
    )


def is_conversion(text: str, amount: str, unit: str, target: str) -> bool:
    """Whether a query asks for so much of a unit in another one, and for nothing else."""
    apart = re.sub(r"(\d)([a-z])", r"\1 \2", text.casefold())
    words = [_UNIT_NAMES.get(word, word) for word in _words_of(apart)]
    units = {word for word in words if word in _UNIT_NAMES.values()}
    return (
        _has_phrase(words, (amount, unit))
        and units == {unit, target}
        and [word for word in words if word.isdecimal()] == [amount]
        and len(words) <= 3 + MORE_WORDS
    )


def some_bookmarks(p: Params, rng: Random) -> Plain:
    """Bookmarks that the task does not speak of."""
    titles = [f"A short history of {topic}" for topic in rng.sample(TOPICS.words, KEPT_BOOKMARKS)]
    return {"browser": {"bookmarks": [{"url": f"openalmanac.org/{title}", "title": title} for title in titles]}}


def has_bookmarks(inspect: Inspect, more: int = 0) -> bool:
    """Whether there are so many bookmarks beside those the task started with."""
    return len(inspect("browser")["bookmarks"]) == KEPT_BOOKMARKS + more
