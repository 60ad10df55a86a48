"""The names of the store's apps that tasks ask for, by category. Paid ones are apart: they ask before they install."""

from distrl.tasks.template import pool

FREE = {
    "Games": ("Puzzle Harbor", "Galactic Farm", "Cloud Chess", "Snack Rush", "Word Meadow"),
    "Productivity": ("Task Orchard", "Paperclip Scan", "Focus Candle", "Team Lantern", "Quick Ledger"),
    "Health": ("Pulse Trail", "Calm Tide", "Sleep Meadow", "Sip Reminder", "Yoga Nest", "Step Garden"),
    "Travel": ("Rail Compass", "Hostel Finch", "Ferry Times", "City Bikes Go", "Trail Marker"),
    "Education": ("Lingua Fern", "Math Kite", "Piano Steps", "History Reel", "Code Sprout"),
    "Finance": ("Penny Jar", "Split Bill", "Stock Robin", "Budget Lighthouse", "Currency Kiosk", "Receipt Fox"),
    "Photo": ("Film Corner", "Collage Bay", "Retouch Fern", "Sticker Barn", "Clip Harbor"),
    "Food": ("Soup Diary", "Bake Buddy", "Market Basket List", "Table Finder", "Vegan Map"),
}
PAID = pool("Tiny Trains", "Mind Atlas", "Pocket Visa", "Star Atlas Kids", "Night Lens", "Tea Timer")
SMALLEST = {
    "Games": "Word Meadow",
    "Productivity": "Focus Candle",
    "Health": "Sip Reminder",
    "Travel": "Ferry Times",
    "Education": "Code Sprout",
    "Finance": "Currency Kiosk",
}
"""The app with the fewest megabytes, where it is a free one."""

APPS = pool(*(name for names in FREE.values() for name in names))
REVIEWS = pool(
    "Works like a charm",
    "Simple and fast",
    "My kids love it",
    "Too many ads for me",
    "Best of its kind",
    "Needs a dark mode",
    "I use it every day",
    "Crashes on my phone",
    "Worth every minute",
    "Nice but a bit slow",
)
