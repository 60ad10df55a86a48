"""What the store offers: invented apps by category, with what their pages say."""

import msgspec

CATEGORIES = {
    "Games": ("gamepad_variant", "#7E57C2"),
    "Productivity": ("briefcase_outline", "#3F7CAC"),
    "Health": ("heart_pulse", "#D8436B"),
    "Travel": ("airplane", "#1E88A8"),
    "Education": ("school_outline", "#5B8C3A"),
    "Finance": ("chart_line", "#2E7D5B"),
    "Photo": ("camera_outline", "#B8632F"),
    "Food": ("silverware_fork_knife", "#C9822B"),
}


class StoreApp(msgspec.Struct):
    """An app one can install; `price` is empty for a free one."""

    name: str
    developer: str
    category: str
    size_mb: int
    icon: str
    color: str
    downloads: str
    price: str = ""
    purchases: bool = False
    ads: bool = False


_TABLE = """
Games|Puzzle Harbor|Driftwood Games|182|puzzle|#5C6BC0|10M+||pa
Games|Galactic Farm|Nine Moons|240|rocket_launch|#8E24AA|50M+||pa
Games|Cloud Chess|Knight and Co|64|chess_knight|#455A64|5M+||
Games|Snack Rush|Pixel Pantry|131|hamburger|#EF6C00|10M+||pa
Games|Tiny Trains|Sidings Studio|310|train|#2E7D32|1M+|€2.99|
Games|Word Meadow|Lexi Works|48|alphabetical|#C2185B|5M+||a
Productivity|Task Orchard|Appletree Labs|38|checkbox_marked_circle_outline|#2F7D4F|5M+||p
Productivity|Paperclip Scan|Foldline|56|scanner|#3949AB|10M+||a
Productivity|Focus Candle|Slow Hours|22|candle|#F57C00|1M+||
Productivity|Team Lantern|Brightroom|94|lightbulb_group|#00838F|5M+||p
Productivity|Mind Atlas|Cartographic Ideas|71|graph_outline|#6D4C41|500K+|€4.49|
Productivity|Quick Ledger|Appletree Labs|29|notebook_outline|#5E35B1|1M+||
Health|Pulse Trail|Motion House|88|run|#E53935|10M+||p
Health|Calm Tide|Still Water|140|waves|#00897B|5M+||p
Health|Sleep Meadow|Still Water|112|sleep|#3F51B5|5M+||p
Health|Sip Reminder|Glasswise|18|cup_water|#039BE5|1M+||a
Health|Yoga Nest|Motion House|205|yoga|#8E24AA|1M+||
Health|Step Garden|Greenfoot|43|shoe_sneaker|#558B2F|5M+||a
Travel|Rail Compass|Platform Nine|61|train_car|#C62828|5M+||
Travel|Hostel Finch|Nestbound|77|bunk_bed_outline|#F9A825|1M+||
Travel|Ferry Times|Harbor Data|25|ferry|#0277BD|500K+||a
Travel|City Bikes Go|Spoke Works|52|bike|#43A047|1M+||
Travel|Pocket Visa|Paper Desk|33|passport|#37474F|500K+|€1.99|
Travel|Trail Marker|Greenfoot|158|hiking|#6D4C41|1M+||p
Education|Lingua Fern|Fernhill|119|translate|#2E7D32|50M+||pa
Education|Math Kite|Fernhill|84|calculator_variant|#1E88E5|5M+||
Education|Star Atlas Kids|Nine Moons|163|star_shooting|#283593|1M+|€3.49|
Education|Piano Steps|Keynote House|97|piano|#212121|1M+||p
Education|History Reel|Old Film Club|210|castle|#795548|500K+||a
Education|Code Sprout|Greenbyte|68|code_braces|#00796B|5M+||
Finance|Penny Jar|Copperleaf|41|piggy_bank|#D81B60|5M+||
Finance|Split Bill|Copperleaf|27|call_split|#00897B|10M+||a
Finance|Stock Robin|Redbreast|73|finance|#C62828|1M+||p
Finance|Budget Lighthouse|Harbor Data|55|lighthouse|#1565C0|1M+||
Finance|Currency Kiosk|Paper Desk|19|currency_eur|#6A1B9A|5M+||a
Finance|Receipt Fox|Foldline|46|receipt|#EF6C00|500K+||p
Photo|Film Corner|Darkroom Nine|134|filmstrip|#3E2723|10M+||p
Photo|Collage Bay|Papercut|92|view_dashboard|#D81B60|5M+||pa
Photo|Retouch Fern|Darkroom Nine|147|auto_fix|#00796B|5M+||p
Photo|Night Lens|Low Light|59|camera_iris|#1A237E|1M+|€2.49|
Photo|Sticker Barn|Papercut|66|sticker_emoji|#F57C00|10M+||a
Photo|Clip Harbor|Driftwood Media|188|movie_open|#283593|5M+||p
Food|Soup Diary|Ladle House|57|pot_steam|#BF360C|1M+||
Food|Bake Buddy|Ladle House|83|cupcake|#AD1457|5M+||a
Food|Market Basket List|Greenbyte|24|basket|#388E3C|5M+||
Food|Table Finder|Saltcellar|69|silverware_variant|#37474F|10M+||
Food|Tea Timer|Slow Hours|12|tea|#2E7D32|500K+|€0.99|
Food|Vegan Map|Saltcellar|48|sprout|#558B2F|1M+||
"""

ABOUT = {
    "Games": "{} is quick to learn and hard to put down. Play alone or with "
    "friends, offline too, and come back every day for a new challenge.",
    "Productivity": "{} keeps your day in one place. Plan ahead, share with your team and "
    "find everything again in seconds.",
    "Health": "{} helps you build one good habit at a time, with gentle reminders "
    "and weekly summaries you will want to read.",
    "Travel": "{} goes where you go: live times, offline maps and your tickets in one pocket, at home and abroad.",
    "Education": "{} turns ten minutes a day into real progress, with short lessons, clear feedback and no stress.",
    "Finance": "{} shows where your money goes. Clear charts, shared accounts and bank-grade encryption.",
    "Photo": "{} gives your pictures the look you had in mind, with hand-made "
    "filters and tools that stay out of the way.",
    "Food": "{} answers the question of the day: what to eat tonight? Save "
    "favourites, plan the week and share the list.",
}


def _parse(line: str) -> StoreApp:
    category, name, developer, size, icon, color, downloads, price, marks = line.split("|")
    return StoreApp(
        name, developer, category, int(size), icon, color, downloads, price, purchases="p" in marks, ads="a" in marks
    )


def catalogue() -> list[StoreApp]:
    """A new list of everything on offer."""
    return [_parse(line) for line in _TABLE.strip().splitlines()]
