"""All apps: every page draws with any argument, and what is on it can be touched and read."""

from pathlib import Path

import pytest

from distrl.core.errors import UserError
from distrl.core.types import OpenApp, Tap, TypeText
from distrl.devices.sim.apps import builtin_apps, load_app
from distrl.devices.sim.layout import lay_out
from distrl.devices.sim.nodes import Box, Text
from distrl.devices.sim.phone import Phone
from distrl.devices.sim.state import Page
from distrl.runtime.build import make_phone
from distrl.tasks.suites import store_words

PAGES = [(app.id, name) for app in builtin_apps().values() for name in app.pages]
EXAMPLE = Path(__file__).parents[2] / "examples" / "tip_jar.py"
SMALLEST_TEXT = 42
SYSTEM_ARGUMENTS = {"permission": "notes:location", "ad": "3"}


def shown(app: str, name: str, arg: str) -> Phone:
    phone = make_phone()
    if app != "system":
        phone.open_app(app)
    phone.push(Page(app, name, arg))
    return phone


ODD_ARGUMENTS = ("", "nobody", "notes:location", "3")
OPENED = [(app, name, arg) for app, name in PAGES for arg in ODD_ARGUMENTS if app != "system"]
# The system opens its own pages, with arguments that exist.
OPENED += [(app, name, SYSTEM_ARGUMENTS.get(name, "notes")) for app, name in PAGES if app == "system"]


@pytest.mark.parametrize(("app", "name", "arg"), OPENED)
def test_every_page_draws_whatever_it_is_opened_with(app: str, name: str, arg: str) -> None:
    """A deleted contact or a renamed file leaves pages on the stack that are about nothing."""
    phone = shown(app, name, arg)
    assert len(phone.render()) == 270 * 600 * 3
    for element in phone.elements():
        assert not element.clickable or element.text.strip(), f"{app}/{name}: {element} says nothing"


# A call log lists the same person many times.
@pytest.mark.parametrize(("app", "name"), [page for page in PAGES if page != ("dialer", "home")])
def test_no_id_stands_twice_on_a_screen(app: str, name: str) -> None:
    arg = SYSTEM_ARGUMENTS.get(name, "notes") if app == "system" else ""
    ids = [e.id for e in shown(app, name, arg).elements() if e.id]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("app", sorted(builtin_apps()))
def test_text_is_never_smaller_than_a_policy_can_read(app: str) -> None:
    phone = make_phone()
    if app != "system":
        phone.open_app(app)
    view = phone.frame().top
    for block in (*view.body, *(b for b in (view.bar, view.bottom, view.fab) if b)):
        assert _smallest(block) >= SMALLEST_TEXT


def _smallest(block: Box) -> int:
    sizes = [p.node.size for p in lay_out(block, 1080, 1.0).placed if isinstance(p.node, Text) and p.node.text.strip()]
    return min(sizes, default=SMALLEST_TEXT)


def test_the_example_app_is_short_and_works() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 150
    phone = make_phone(more_apps=(load_app(EXAMPLE),))
    before = len(phone.inspect("tip_jar")["tips"])
    phone.perform(OpenApp(app="Tip jar"))
    phone.render()
    for id, text in (("fab", ""), ("giver", "Ana"), ("dollars", "2.50"), ("save", "")):
        x, y = next(e for e in phone.elements() if e.id == id).center
        phone.perform(Tap(x=x, y=y))
        if text:
            phone.perform(TypeText(text=text))
    tips = phone.inspect("tip_jar")["tips"]
    assert len(tips) == before + 1
    assert tips[0] == {"giver": "Ana", "cents": 250}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("APP = ", "APPS = "), "defines no APP"),
        (('"home": home', '"start": home'), 'no page "home"'),
        (('icon="piggy_bank"', 'icon="piggy-bank"'), "piggy_bank"),
        (("import msgspec", "import msgspecc"), "ModuleNotFoundError"),
        (("def home", "def def home"), "SyntaxError"),
    ],
)
def test_a_file_with_a_mistake_is_refused_when_it_is_loaded(
    change: tuple[str, str], complaint: str, tmp_path: Path
) -> None:
    source = EXAMPLE.read_text(encoding="utf-8")
    assert change[0] in source
    (tmp_path / "mine.py").write_text(source.replace(*change))
    with pytest.raises(UserError, match=complaint):
        load_app(tmp_path / "mine.py")


def test_an_app_may_not_take_the_id_of_another(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text(encoding="utf-8").replace('id="tip_jar"', 'id="notes"'))
    with pytest.raises(UserError, match="notes"):
        make_phone(more_apps=(load_app(tmp_path / "mine.py"),))


def test_tasks_name_apps_that_the_store_has() -> None:
    catalogue = {app["name"] for app in make_phone().inspect("store")["catalogue"]}
    assert set(store_words.APPS.words) | set(store_words.PAID.words) <= catalogue
    assert set(store_words.SMALLEST.values()) <= catalogue
