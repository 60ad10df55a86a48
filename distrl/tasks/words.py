"""Words that tasks are filled with. Pools keep one word in five for the test split (template.Pool)."""

from distrl.tasks.template import pool

FIRST_NAMES = pool(
    *"Ana Bruno Chiara David Elena Farid Grace Hugo Ines Jonas Karim Lena Marco Nadia Olga Pedro Quinn Rosa Samir Tessa "
    "Umar Vera Walter Xenia Yusuf Zoe Amara Boris Celia Dario Emil Fiona Gita Henrik Isla Jakob Katya Liam Mei Noor "
    "Oskar Petra Rafael Sofia Tomas Ulla Viktor Wanda Yara Zeno".split()
)
LAST_NAMES = pool(
    *"Almeida Becker Costa Dubois Eriksen Ferrari Garcia Haddad Ivanova Jensen Kowalski Lopes Moreau Novak Okafor Petrov "
    "Quist Rossi Silva Tanaka Urban Vasquez Weber Xavier Yilmaz Zimmer Andersen Barros Castillo Dimitrov Engel Fischer "
    "Gallo Hansen Ito Joshi Klein Lindqvist Mancini Nakamura".split()
)
CITIES = pool(
    *"Lisbon Oslo Vienna Cairo Tokyo Lima Nairobi Toronto Helsinki Athens Dublin Warsaw Prague Madrid Rome Berlin Paris "
    "Seoul Hanoi Jakarta Dakar Accra Bogota Quito Havana Denver Boston Austin Seattle Chicago Zagreb Riga Tallinn Vilnius "
    "Sofia Bucharest Budapest Brussels Geneva Milan".split()
)
THINGS = pool(
    *"milk bread eggs rice apples coffee tea butter cheese pasta tomatoes onions carrots soap candles batteries stamps "
    "flour honey yoghurt lemons paper tape glue nails paint rope socks gloves towels".split()
)
PHRASES = pool(
    "I will be ten minutes late",
    "Can we meet tomorrow at noon",
    "The package has arrived",
    "Thanks for the lovely dinner",
    "Please call me when you are free",
    "Happy birthday",
    "The train leaves at half past six",
    "Do you need anything from the market",
    "See you at the station",
    "I found your umbrella",
    "Good luck with the exam",
    "The meeting moved to Friday",
    "Could you send me the photos",
    "Dinner is ready",
    "I left the keys under the mat",
    "Let us play tennis on Sunday",
    "The doctor said all is well",
    "My flight lands in the evening",
    "Remember to water the plants",
    "What a great concert",
)
