"""The ui tree of uiautomator: what apps write goes in, elements come out; what is hostile is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distrl.core.errors import DeviceError
from distrl.core.types import Element
from distrl.devices.adb.hierarchy import MAX_CANDIDATES, candidates, elements_of
from distrl.devices.sim.adbd.android import Android
from distrl.devices.sim.adbd.hierarchy import hierarchy_of
from distrl.runtime.build import make_phone

SIZE = (1000, 2000)


def node(inner: str = "", **attributes: str) -> str:
    named = {"bounds": "[0,0][500,1000]", "enabled": "true", **{k.replace("_", "-"): v for k, v in attributes.items()}}
    written = " ".join(f'{name}="{value}"' for name, value in named.items())
    return f"<node {written}>{inner}</node>"


def tree(*nodes: str) -> bytes:
    return f"<?xml version='1.0' ?><hierarchy rotation=\"0\">{''.join(nodes)}</hierarchy>".encode()


def test_a_field_is_read_with_its_place_and_state() -> None:
    field = {"class": "android.widget.EditText", "text": "a &amp; b", "clickable": "true", "focused": "true"}
    (element,) = elements_of(tree(node(resource_id="com.x:id/name", **field)), SIZE)
    assert element == Element(
        box=(0.0, 0.0, 0.5, 0.5), text="a & b", kind="field", id="name", editable=True, focused=True
    )


def test_a_row_without_a_text_has_the_texts_within_it() -> None:
    title, summary = node(text="Wi-Fi"), node(text="Connected")
    row, *texts = elements_of(tree(node(title + summary, clickable="true")), SIZE)
    assert (row.text, row.kind, row.clickable) == ("Wi-Fi Connected", "row", True)
    assert [e.text for e in texts] == ["Wi-Fi", "Connected"]


def test_a_switch_says_whether_it_is_on_and_layouts_are_left_out() -> None:
    switch = {"class": "android.widget.Switch", "checkable": "true", "checked": "true", "clickable": "true"}
    (element,) = elements_of(tree(node(node(**switch))), SIZE)
    assert (element.kind, element.checked) == ("switch", True)


@pytest.mark.parametrize("bounds", ["", "[0,0][0,0]", "[9,9][1,1]", "nonsense", "[0,0][99999999,1]", "[-5,0][-1,9]"])
def test_what_has_no_place_on_the_screen_is_left_out(bounds: str) -> None:
    assert elements_of(tree(node(text="x", bounds=bounds)), SIZE) == ()


def test_what_reaches_beyond_the_screen_is_cut() -> None:
    (element,) = elements_of(tree(node(text="x", bounds="[-10,0][9000,99999]")), SIZE)
    assert element.box == (0.0, 0.0, 1.0, 1.0)


BOMB = b"""<?xml version="1.0"?><!DOCTYPE hierarchy [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>
<hierarchy><node text="&b;" bounds="[0,0][5,5]"/></hierarchy>"""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"ERROR: could not get idle state.",
        b"<hierarchy>",
        b"<hierarchy><node></hierarchy>",
        BOMB,
        b"<hierarchy><!DOCTYPE x []></hierarchy>",
        b'<hierarchy><node text="&xxe;"/></hierarchy>',
        b"<hierarchy>" + b"<node>" * 300 + b"</node>" * 300 + b"</hierarchy>",
        b"<hierarchy>" + b"<node/>" * 20_001 + b"</hierarchy>",
        b"<hierarchy>\xff\xfe</hierarchy>",
    ],
)
def test_hostile_and_missing_trees_are_refused(data: bytes) -> None:
    with pytest.raises(DeviceError) as error:
        elements_of(data, SIZE)
    assert error.value.cause == "ui_tree"


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda d: b"<hierarchy>" + d + b"</hierarchy>")))
def test_any_bytes_are_a_tree_or_a_device_error(data: bytes) -> None:
    try:
        elements = elements_of(data, SIZE)
    except DeviceError as error:
        assert error.cause == "ui_tree"
    else:
        assert all(0 <= v <= 1 for e in elements for v in e.box)


@given(st.text(max_size=60))
def test_any_text_on_the_sim_survives_the_way_through_xml(text: str) -> None:
    phone = make_phone()
    phone.open_app("notes")
    phone.top().fields["search"] = text
    android = Android(phone, serial="x", perform=phone.perform)
    assert elements_of(hierarchy_of(android).encode(), android.size)


def test_the_candidates_are_at_most_sixty_four_and_text_gives_way() -> None:
    plain = [Element(box=(0, 0, 1, 1), text=str(n), kind="text", clickable=False) for n in range(60)]
    buttons = [Element(box=(0, 0, 1, 1), text=str(n), kind="button") for n in range(50)]
    kept = candidates((*plain, *buttons))
    assert len(kept) == MAX_CANDIDATES
    assert sum(e.clickable for e in kept) == 50
    assert candidates(()) == ()
