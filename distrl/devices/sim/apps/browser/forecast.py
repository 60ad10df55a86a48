"""The weather of the phone's world: every city has its own, the same on every phone, different from day to day."""

from functools import lru_cache

import msgspec

from distrl.core.seeds import derive_random

DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CITIES: dict[str, tuple[str, int]] = {
    "Accra": ("Ghana", 28), "Algiers": ("Algeria", 16), "Amsterdam": ("Netherlands", 7), "Ankara": ("Türkiye", 7),
    "Athens": ("Greece", 15), "Austin": ("United States", 16), "Auckland": ("New Zealand", 15),
    "Baku": ("Azerbaijan", 11), "Bangkok": ("Thailand", 28), "Barcelona": ("Spain", 13), "Bergen": ("Norway", 4),
    "Berlin": ("Germany", 5), "Bern": ("Switzerland", 4), "Bogota": ("Colombia", 14), "Boston": ("United States", 7),
    "Brussels": ("Belgium", 7), "Bucharest": ("Romania", 6), "Budapest": ("Hungary", 6),
    "Buenos Aires": ("Argentina", 20), "Cairo": ("Egypt", 20), "Cape Town": ("South Africa", 18),
    "Caracas": ("Venezuela", 22), "Chicago": ("United States", 5), "Copenhagen": ("Denmark", 6),
    "Dakar": ("Senegal", 26), "Delhi": ("India", 20), "Denver": ("United States", 5),
    "Dubai": ("United Arab Emirates", 25), "Dublin": ("Ireland", 8), "Edinburgh": ("United Kingdom", 6),
    "Florence": ("Italy", 11), "Geneva": ("Switzerland", 6), "Glasgow": ("United Kingdom", 6),
    "Hamburg": ("Germany", 6), "Hanoi": ("Vietnam", 22), "Havana": ("Cuba", 25), "Helsinki": ("Finland", 1),
    "Istanbul": ("Türkiye", 12), "Jakarta": ("Indonesia", 28), "Kathmandu": ("Nepal", 15),
    "Kingston": ("Jamaica", 28), "Krakow": ("Poland", 4), "Kyoto": ("Japan", 12), "Lagos": ("Nigeria", 28),
    "Lima": ("Peru", 18), "Lisbon": ("Portugal", 14), "Ljubljana": ("Slovenia", 5), "London": ("United Kingdom", 8),
    "Lyon": ("France", 8), "Madrid": ("Spain", 10), "Manila": ("Philippines", 28), "Marseille": ("France", 12),
    "Melbourne": ("Australia", 17), "Mexico City": ("Mexico", 15), "Miami": ("United States", 24),
    "Milan": ("Italy", 8), "Montevideo": ("Uruguay", 19), "Montreal": ("Canada", 2), "Munich": ("Germany", 4),
    "Nairobi": ("Kenya", 20), "Naples": ("Italy", 13), "Nice": ("France", 13), "Osaka": ("Japan", 13),
    "Oslo": ("Norway", 0), "Ottawa": ("Canada", 2), "Paris": ("France", 8), "Perth": ("Australia", 20),
    "Porto": ("Portugal", 13), "Prague": ("Czechia", 4), "Quito": ("Ecuador", 14), "Reykjavik": ("Iceland", 2),
    "Riga": ("Latvia", 3), "Rome": ("Italy", 12), "San Diego": ("United States", 17), "Santiago": ("Chile", 18),
    "Seattle": ("United States", 8), "Seoul": ("South Korea", 7), "Seville": ("Spain", 15),
    "Singapore": ("Singapore", 27), "Sofia": ("Bulgaria", 5), "Stockholm": ("Sweden", 3), "Sydney": ("Australia", 20),
    "Tallinn": ("Estonia", 2), "Tbilisi": ("Georgia", 8), "Tokyo": ("Japan", 12), "Toronto": ("Canada", 5),
    "Tunis": ("Tunisia", 17), "Turin": ("Italy", 8), "Valencia": ("Spain", 15), "Vancouver": ("Canada", 6),
    "Vienna": ("Austria", 5), "Vilnius": ("Lithuania", 2), "Warsaw": ("Poland", 4), "Wellington": ("New Zealand", 14),
    "Zagreb": ("Croatia", 6), "Zurich": ("Switzerland", 5),
}  # fmt: skip
"""Country and mean temperature in November, in degrees Celsius."""

_SKIES = {
    "Sunny": ("weather_sunny", "#3F8EDB"),
    "Partly cloudy": ("weather_partly_cloudy", "#4C84B8"),
    "Cloudy": ("weather_cloudy", "#62788C"),
    "Light rain": ("weather_rainy", "#4D6A8A"),
    "Rain": ("weather_pouring", "#3E5573"),
    "Thunderstorms": ("weather_lightning_rainy", "#4A4668"),
    "Snow": ("weather_snowy", "#6F8DB0"),
    "Fog": ("weather_fog", "#73808A"),
}


class Day(msgspec.Struct, frozen=True):
    """The weather of one day in one city; temperatures are in degrees Celsius."""

    name: str
    words: str
    high: int
    low: int
    rain_percent: int
    humidity_percent: int
    wind_kmh: int

    @property
    def icon(self) -> str:
        """The picture of the sky."""
        return _SKIES[self.words][0]

    @property
    def color(self) -> str:
        """The colour of the sky."""
        return _SKIES[self.words][1]


@lru_cache(maxsize=4096)
def day_of(city: str, day: int) -> Day:
    """The weather of a day, counted from the phone's first one (a Monday)."""
    rng = derive_random(0, "weather", city, day)
    mean = CITIES[city][1] + rng.randint(-3, 3)
    words = rng.choice(["Sunny", "Sunny", "Partly cloudy", "Partly cloudy", "Cloudy", "Light rain", "Rain", "Fog"])
    if mean <= 0 and words in ("Light rain", "Rain"):
        words = "Snow"
    elif mean >= 22 and words in ("Fog", "Rain"):
        words = "Thunderstorms"
    if city == "Lisbon" and day == 0:
        mean, words = 11, "Partly cloudy"
    wet = words in ("Light rain", "Rain", "Snow", "Thunderstorms")
    rain = rng.randint(55, 95) if wet else rng.randint(0, 4) * 5
    return Day(
        DAY_NAMES[day % 7],
        words,
        mean + rng.randint(2, 4),
        mean - rng.randint(3, 6),
        rain,
        rng.randint(45, 95),
        rng.randint(4, 34),
    )


def temperature(city: str, day: int, hour: int) -> int:
    """Degrees Celsius at an hour: lowest before dawn, highest in the afternoon."""
    weather = day_of(city, day + hour // 24)
    share = 1 - abs((hour % 24) - 15) / 11 if hour % 24 >= 4 else 0.0
    return round(weather.low + (weather.high - weather.low) * max(share, 0.1))


def now_in(city: str, now_s: float) -> int:
    """Degrees Celsius now."""
    return temperature(city, int(now_s // 86400), int(now_s % 86400 // 3600))


def degrees(celsius: int, units: str) -> str:
    """A temperature as people read it, `units` being C or F."""
    return f"{celsius if units == 'C' else round(celsius * 9 / 5 + 32)}°"


def find_cities(words: str) -> list[str]:
    """Cities that match what was typed, those that begin with it first."""
    wanted = words.strip().partition(",")[0].casefold()
    found = [c for c in CITIES if wanted in c.casefold() or (len(wanted) > 3 and wanted in CITIES[c][0].casefold())]
    return sorted(found, key=lambda c: (not c.casefold().startswith(wanted), c))


def the_city(words: str) -> str:
    """The one city that is called so, or nothing."""
    wanted = words.strip().casefold()
    return next((city for city in CITIES if city.casefold() == wanted), "")
