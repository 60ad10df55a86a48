"""Words for tasks about photos, files, music and maps."""

from distrl.tasks.template import pool

PHOTO_PLACES = pool(
    *(
        f"{first} {second}"
        for first in "Amber Fern North Silver Rose Echo Stone Wild Blue Willow".split()
        for second in "Falls Bay Canyon Ridge Lake Castle".split()
    )
)
CAPTIONS = ("Morning light", "Long shadow", "Blue door", "Picnic", "First snow", "Evening walk", "Old bridge", "Rain")
ALBUMS = pool(
    *"Holidays|Pets|Grandma's birthday|Mountains|New house|Best of autumn|School play|Recipes to try|Wedding|"
    "Street art|Bike tours|Concerts|Sunsets|Garden year|Receipts".split("|")
)
FOLDERS = pool(
    *"Taxes|Invoices|Holiday plans|School|Recipes|Contracts|Wallpapers|Backups|Sheet music|Old letters|Scans|Projects|"
    "Family tree|Tickets|Manuals".split("|")
)
FILES = pool(
    *"report.pdf|draft.txt|letter.txt|budget.csv|slides.pdf|ticket.pdf|scan.jpg|memo.mp3|trailer.mp4|archive.zip|"
    "menu.pdf|timetable.pdf|speech.txt|guests.csv|logo.jpg|demo.mp3|backup.zip|contract.pdf|plan.jpg|minutes.txt".split(
        "|"
    )
)
NEW_NAMES = pool(
    *"final|signed|copy|summary|holiday|lisbon|march|version2|anna|old|checked|printed|school|office|secret".split("|")
)
SONGS = pool(
    *"Salt and Rope|Letter to June|Run the Circuit|Foxglove|Honey on the Line|Last Train South|Dance at Noon|"
    "Ten Feet Tall|Moth and Lamp|Ghost of the Pier|Sugar in the Tank|Hold the Door".split("|"),
    *(
        f"{first} {second}"
        for first in "Paper Velvet Neon Copper Golden Slow Midnight Barefoot Borrowed Little Orange Hollow".split()
        for second in "Sun Thunder Lanterns Tractor Satellite River Bicycle Monday".split()
    ),
)
ARTISTS = ("The Paper Boats", "Mara Veld", "Cobalt Parade", "Ilo and the Foxes", "Quiet Machinery", "Sol Ramires")
PLAYLISTS = pool(
    *"Morning run|Dinner party|Deep focus|Road trip|Rainy Sunday|Workout mix|Beach day|Kitchen radio|Slow evening|"
    "Party starters|Train ride|Childhood songs|Late shift|Piano hour|Gym warm-up".split("|")
)
_FIRST = "Blue Copper Lemon Harbor Silver Garden Corner North Swan River Castle Maple".split()
_LAST = {
    "Restaurants": ("Kitchen", "Table"),
    "Cafes": ("Cafe", "Coffee Bar"),
    "Hotels": ("Hotel", "Inn"),
    "Pharmacies": ("Pharmacy",),
    "Museums": ("Museum", "Gallery"),
    "Parks": ("Park", "Gardens"),
}
SPOTS = {kind: tuple(f"{first} {last}" for last in lasts for first in _FIRST) for kind, lasts in _LAST.items()}
"""Places by kind; a town has a few of each."""

PLACES = pool(*(name for names in SPOTS.values() for name in names))
WAYS = {"by car": "Drive", "by bus": "Transit", "on foot": "Walk", "by bike": "Bike"}
