"""Words for tasks on the web and about the weather: what the phone's search engine and forecast know."""

from distrl.tasks.template import pool

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
