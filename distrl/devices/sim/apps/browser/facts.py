"""What the search engine knows: capitals, sizes, authors, dates and meanings."""

CAPITALS = {
    "Argentina": "Buenos Aires", "Australia": "Canberra", "Austria": "Vienna", "Belgium": "Brussels",
    "Bolivia": "Sucre", "Brazil": "Brasília", "Bulgaria": "Sofia", "Canada": "Ottawa", "Chile": "Santiago",
    "Colombia": "Bogotá", "Croatia": "Zagreb", "Cuba": "Havana", "Denmark": "Copenhagen", "Ecuador": "Quito",
    "Egypt": "Cairo", "Estonia": "Tallinn", "Finland": "Helsinki", "France": "Paris", "Ghana": "Accra",
    "Greece": "Athens", "Hungary": "Budapest", "Iceland": "Reykjavík", "India": "New Delhi", "Indonesia": "Jakarta",
    "Ireland": "Dublin", "Italy": "Rome", "Jamaica": "Kingston", "Japan": "Tokyo", "Kenya": "Nairobi",
    "Latvia": "Riga", "Lithuania": "Vilnius", "Malta": "Valletta", "Mexico": "Mexico City", "Mongolia": "Ulaanbaatar",
    "Morocco": "Rabat", "Nepal": "Kathmandu", "New Zealand": "Wellington", "Nigeria": "Abuja", "Norway": "Oslo",
    "Peru": "Lima", "Poland": "Warsaw", "Portugal": "Lisbon", "Romania": "Bucharest", "Senegal": "Dakar",
    "Slovenia": "Ljubljana", "Spain": "Madrid", "Sweden": "Stockholm", "Switzerland": "Bern", "Thailand": "Bangkok",
    "Tunisia": "Tunis", "Uruguay": "Montevideo", "Vietnam": "Hanoi",
}  # fmt: skip
POPULATIONS = {
    "Australia": "27 million", "Austria": "9.1 million", "Brazil": "212 million", "Canada": "41 million",
    "Chile": "20 million", "Denmark": "6 million", "Egypt": "114 million", "Estonia": "1.4 million",
    "Finland": "5.6 million", "France": "68 million", "Iceland": "390,000", "Ireland": "5.3 million",
    "Italy": "59 million", "Japan": "124 million", "Kenya": "55 million", "Mexico": "130 million",
    "New Zealand": "5.3 million", "Norway": "5.6 million", "Peru": "34 million", "Poland": "37 million",
    "Portugal": "10.6 million", "Spain": "48 million", "Sweden": "10.6 million", "Uruguay": "3.4 million",
}  # fmt: skip
HEIGHTS = {
    "Mount Everest": "8,849 m (29,032 ft)", "Mount Kilimanjaro": "5,895 m (19,341 ft)",
    "Mount Fuji": "3,776 m (12,389 ft)", "Mont Blanc": "4,806 m (15,766 ft)", "Mount Elbrus": "5,642 m (18,510 ft)",
    "Mount Kenya": "5,199 m (17,057 ft)", "Mount Etna": "about 3,400 m (11,200 ft)",
    "Ben Nevis": "1,345 m (4,413 ft)", "Mount Olympus": "2,918 m (9,573 ft)", "Aconcagua": "6,961 m (22,838 ft)",
    "Denali": "6,190 m (20,310 ft)", "Matterhorn": "4,478 m (14,692 ft)", "Mount Cook": "3,724 m (12,218 ft)",
    "Zugspitze": "2,962 m (9,718 ft)", "Eiffel Tower": "330 m (1,083 ft)", "Mount Kosciuszko": "2,228 m (7,310 ft)",
    "Teide": "3,715 m (12,188 ft)", "Snowdon": "1,085 m (3,560 ft)",
}  # fmt: skip
LENGTHS = {
    "Nile": "about 6,650 km (4,130 mi)", "Amazon": "about 6,400 km (4,000 mi)", "Danube": "2,850 km (1,770 mi)",
    "Rhine": "1,230 km (760 mi)", "Volga": "3,530 km (2,190 mi)", "Thames": "346 km (215 mi)",
    "Mississippi": "3,770 km (2,340 mi)", "Seine": "777 km (483 mi)", "Tagus": "1,007 km (626 mi)",
    "Elbe": "1,094 km (680 mi)",
}  # fmt: skip
AUTHORS = {
    "Moby-Dick": "Herman Melville", "Pride and Prejudice": "Jane Austen", "Frankenstein": "Mary Shelley",
    "Dracula": "Bram Stoker", "War and Peace": "Leo Tolstoy", "Don Quixote": "Miguel de Cervantes",
    "Jane Eyre": "Charlotte Brontë", "Wuthering Heights": "Emily Brontë", "Great Expectations": "Charles Dickens",
    "Treasure Island": "Robert Louis Stevenson", "The Time Machine": "H. G. Wells", "Hamlet": "William Shakespeare",
    "Faust": "Johann Wolfgang von Goethe", "Les Misérables": "Victor Hugo", "Middlemarch": "George Eliot",
    "Walden": "Henry David Thoreau", "The Odyssey": "Homer", "Anna Karenina": "Leo Tolstoy", "Candide": "Voltaire",
    "The Metamorphosis": "Franz Kafka",
}  # fmt: skip
DATES = {
    "Apollo 11": "20 July 1969", "fall of the Berlin Wall": "9 November 1989", "French Revolution": "1789",
    "Titanic": "15 April 1912", "Magna Carta": "15 June 1215", "battle of Hastings": "14 October 1066",
    "first Olympic Games": "April 1896 (modern era)", "great fire of London": "September 1666",
    "printing press": "about 1440", "Eiffel Tower opening": "31 March 1889",
    "first powered flight": "17 December 1903", "discovery of penicillin": "September 1928",
    "Suez Canal": "17 November 1869", "Panama Canal": "15 August 1914",
}  # fmt: skip
MEANINGS = {
    "serendipity": "finding something good without looking for it", "ephemeral": "lasting for a very short time",
    "ubiquitous": "found everywhere", "candid": "truthful and straightforward",
    "meticulous": "showing great care about details", "resilient": "able to recover quickly",
    "ambiguous": "open to more than one interpretation", "benevolent": "well meaning and kind",
    "eloquent": "fluent and persuasive in speech", "frugal": "sparing with money or food",
    "gregarious": "fond of company", "lucid": "expressed clearly", "nostalgia": "a longing for the past",
    "obsolete": "no longer in use", "pragmatic": "dealing with things in a practical way",
    "quaint": "attractively old-fashioned", "reticent": "not saying what one thinks or feels",
    "tenacious": "not letting go easily", "verbose": "using more words than needed", "whimsical": "playfully unusual",
    "zealous": "showing great energy for a cause", "altruism": "unselfish concern for others",
    "paradox": "a statement that seems to contradict itself",
}  # fmt: skip
KINDS: tuple[tuple[str, dict[str, str], tuple[str, ...], str], ...] = (
    ("capital", CAPITALS, ("capital",), "Capital city"),
    ("population", POPULATIONS, ("population", "people", "inhabitants"), "Population"),
    ("height", HEIGHTS, ("tall", "high", "height", "elevation"), "Height"),
    ("length", LENGTHS, ("long", "length"), "Length"),
    ("author", AUTHORS, ("wrote", "author", "writer", "written"), "Author"),
    ("date", DATES, ("when", "year", "date"), "Date"),
    ("meaning", MEANINGS, ("mean", "means", "meaning", "define", "definition"), "Meaning"),
)
"""What can be asked: its kind, the facts, the words that ask for it and the heading of the answer."""

UNITS: dict[str, tuple[str, float]] = {
    "km": ("length", 1000.0), "kilometers": ("length", 1000.0), "kilometres": ("length", 1000.0),
    "m": ("length", 1.0), "meters": ("length", 1.0), "metres": ("length", 1.0), "cm": ("length", 0.01),
    "centimeters": ("length", 0.01), "miles": ("length", 1609.344), "mile": ("length", 1609.344),
    "feet": ("length", 0.3048), "inches": ("length", 0.0254), "yards": ("length", 0.9144), "kg": ("weight", 1.0),
    "kilograms": ("weight", 1.0), "grams": ("weight", 0.001), "pounds": ("weight", 0.45359237),
    "ounces": ("weight", 0.028349523), "stone": ("weight", 6.35029), "liters": ("volume", 1.0),
    "litres": ("volume", 1.0), "gallons": ("volume", 3.785412), "pints": ("volume", 0.473176),
    "cups": ("volume", 0.236588), "ml": ("volume", 0.001), "hours": ("time", 3600.0), "minutes": ("time", 60.0),
    "seconds": ("time", 1.0), "days": ("time", 86400.0), "weeks": ("time", 604800.0),
}  # fmt: skip
"""A unit's dimension and its size in that dimension's own unit."""
