"""The phone's page in a real browser: a click is a tap, a drag is a swipe, keys type."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium-headless-shell"),
]


@pytest.fixture
def address() -> Iterator[str]:
    code = "from distrl.cli.main import main; main()"
    command = [sys.executable, "-c", code, "phone", "--no-browser", "--task", "general-train-0001"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(10)


@pytest.fixture
def page(address: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        opened = browser.new_page(viewport={"width": 1000, "height": 1000})
        opened.goto(address)
        expect(opened.locator("#activity")).to_have_text("launcher/home")
        yield opened
        browser.close()


def at(page: Page, x: float, y: float) -> tuple[float, float]:
    box = page.locator("#screen").bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def element(page: Page, id: str) -> tuple[float, float]:
    left, top, right, bottom = page.evaluate("id => status.elements.find(e => e.id === id).box", id)
    return at(page, (left + right) / 2, (top + bottom) / 2)


def test_clicks_tap_drags_swipe_and_keys_type(page: Page) -> None:
    start = at(page, 0.5, 0.6)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*at(page, 0.5, 0.3), steps=4)
    page.mouse.up()
    expect(page.locator("#activity")).to_have_text("launcher/drawer")
    page.mouse.click(*element(page, "query"))
    page.wait_for_function("status.elements.some(e => e.id === 'key:a')")
    page.keyboard.type("note")
    page.wait_for_function("status.elements.some(e => e.id === 'query' && e.text === 'note')")
    page.keyboard.press("Enter")
    expect(page.locator("#activity")).to_have_text("notes/home")
    page.keyboard.press("Escape")
    expect(page.locator("#activity")).to_have_text("launcher/home")


def test_the_panel_shows_what_is_under_the_pointer(page: Page) -> None:
    page.mouse.move(*element(page, "app:Browser"))
    expect(page.locator("#element")).to_contain_text("app:Browser")


def test_the_expert_solves_the_task_step_by_step_and_the_page_says_so(page: Page) -> None:
    expect(page.locator("#state")).to_contain_text("Not solved yet: 0 of 15")
    for _ in range(15):
        if "Solved" in page.locator("#state").inner_text():
            break
        before = page.locator("#state").inner_text()
        page.click("#hint")
        expect(page.locator("#state")).not_to_have_text(before)
    expect(page.locator("#state")).to_have_text(re.compile(r"Solved after \d+ steps"))
    page.click("#restart")
    expect(page.locator("#state")).to_contain_text("Not solved yet: 0 of 15")


def test_the_picture_is_the_phones(page: Page) -> None:
    page.wait_for_function("screen_.complete && screen_.naturalWidth > 0")
    assert page.evaluate("[screen_.naturalWidth, screen_.naturalHeight]") == [432, 960]
