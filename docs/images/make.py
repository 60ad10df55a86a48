"""Makes the pictures of the documentation. Run: python docs/images/make.py

The contact sheet shows many screens of one phone, `hero.png` five of them; the film is the expert at work.
"""

from pathlib import Path

from PIL import Image

from distrl.core.types import OpenApp, Tap, TypeText, Wait
from distrl.devices.sim.fonts import round_mask
from distrl.devices.sim.phone import Phone
from distrl.devices.sim.state import Page
from distrl.runtime.build import make_phone
from distrl.runtime.playing import Play, image_of, record
from distrl.tasks.book import load_tasks

HERE = Path(__file__).parent
SEED = 3
SHEET = """
launcher  launcher/drawer  settings  settings/internet  settings/sound  settings/display  system/shade  clock
calculator  contacts  contacts/detail/Ana_Lopes  dialer/pad  messages  messages/chat/Ana_Lopes  mail  mail/compose
calendar  notes/edit  photos  files  music  music/player  maps  store
store/app/Cloud_Chess  weather  browser  browser/search/capital_of_Peru  browser/news_home  browser/weather_city/Lisbon
browser/shop_kestrel_home  browser/shop_kestrel_results/gaming_mouse
browser/shop_bitbarn_results/usb_hub  browser/shop_homely_results/desk_lamp  browser/shop_velomart_results/running_shoes
browser/shop_paperleaf_home  browser/shop_kestrel_product/*  browser/shop_homely_cart
system/permission/maps:location  system/cookies
"""
HERO = """
launcher  settings  browser/shop_kestrel_results/gaming_mouse  messages/chat/Ana_Lopes  system/permission/maps:location
"""


def screen(spec: str, scale: float) -> Image.Image:
    """A page of a fresh phone: app, app/page or app/page/arg, with underscores for blanks in the argument."""
    phone = make_phone(seed=SEED, scale=scale)
    app, _, rest = spec.partition("/")
    name, _, arg = rest.partition("/")
    arg = arg.replace("_", " ") if not name.startswith("shop_") or "/" in rest else arg
    if app == "system":
        phone.perform(OpenApp(app="maps" if name == "permission" else "browser" if name == "cookies" else "notes"))
    else:
        phone.open_app(app)
    if arg == "*":
        arg = _first_product(phone)
    if name:
        phone.push(Page(app, name, arg))
    if spec.endswith("notes/edit"):
        phone.perform(Wait())
        field = next(e for e in phone.elements() if e.id == "title")
        phone.perform(Tap(x=field.center[0], y=field.center[1]))
        phone.perform(TypeText(text="Trip to the coast"))
    if name == "shop_homely_cart":
        titles = [p["title"] for p in phone.inspect("browser")["products"][10:12]]
        phone.arrange({"browser": {"carts": {"homely": [{"title": t} for t in titles]}}})
    phone.perform(Wait())
    return image_of(phone)


def _first_product(phone: Phone) -> str:
    return str(phone.inspect("browser")["products"][0]["title"])


def framed(image: Image.Image) -> Image.Image:
    """A screen with round corners on white, with a thin edge."""
    out = Image.new("RGB", (image.width + 4, image.height + 4), "#FFFFFF")
    radius = image.width // 14
    out.paste((190, 186, 196), (0, 0), round_mask(image.width + 4, image.height + 4, radius + 2))
    out.paste(image, (2, 2), round_mask(image.width, image.height, radius))
    return out


def sheet(specs: list[str], columns: int, scale: float) -> Image.Image:
    """Screens in rows."""
    shots = [framed(screen(spec, scale)) for spec in specs]
    width, height = shots[0].size
    gap = 14
    rows = -(-len(shots) // columns)
    out = Image.new("RGB", (columns * (width + gap) + gap, rows * (height + gap) + gap), "#FFFFFF")
    for index, shot in enumerate(shots):
        out.paste(shot, (gap + index % columns * (width + gap), gap + index // columns * (height + gap)))
    return out


def main() -> None:
    """Write all pictures."""
    sheet(SHEET.split(), 8, 0.25).save(HERE / "contact-sheet.png", optimize=True)
    sheet(HERO.split(), 5, 0.36).save(HERE / "hero.png", optimize=True)
    task = next(t for t in load_tasks("web_shopping", "train") if t.template == "add_first_result" and not t.tags)
    record(Play(make_phone(scale=0.3), task, seed=0, variations=()), HERE / "expert.webp")
    print(f"{task.id}: {task.instruction}")


if __name__ == "__main__":
    main()
