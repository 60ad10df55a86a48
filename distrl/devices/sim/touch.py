"""Touch: a point on the glass in, a handler called."""

from distrl.core.types import Swipe
from distrl.devices.sim.app import Ui
from distrl.devices.sim.elements import HEIGHT, WIDTH, Hit
from distrl.devices.sim.frame import STATUS_H
from distrl.devices.sim.handset import Handset
from distrl.devices.sim.nodes import Do


def hit_at(phone: Handset, x: float, y: float) -> Hit | None:
    """The topmost element under a point that reacts to touch."""
    px, py = x * WIDTH, y * HEIGHT
    for hit in reversed(phone.frame().hits):
        if hit.x0 <= px < hit.x1 and hit.y0 <= py < hit.y1 and hit.box and (hit.box.tap or hit.box.hold):
            return hit
    return None


def tap(phone: Handset, x: float, y: float) -> None:
    """Touch a point; outside of a dialog, it closes the dialog."""
    hit = hit_at(phone, x, y)
    if hit is None:
        view = phone.frame().top
        top, bottom = phone.frame().viewport
        inside = top <= y * HEIGHT < bottom and 96 <= x * WIDTH < WIDTH - 96
        if view.dialog and view.cancellable and not inside:
            phone.pop(phone.top().app)
        return
    assert hit.box is not None
    if hit.box.tap and hit.box.enabled:
        if hit.box.kind == "slider":
            _slide(phone, hit, x)
        else:
            run(phone, hit.box.tap)


def _slide(phone: Handset, hit: Hit, x: float) -> None:
    assert hit.box is not None and hit.box.tap is not None
    share = (x * WIDTH - hit.x0 - 30) / (hit.x1 - hit.x0 - 60)
    percent = round(min(max(share, 0.0), 1.0) * 100)
    run(phone, Do(hit.box.tap.fn, (*hit.box.tap.args, percent)))


def run(phone: Handset, what: Do) -> None:
    """Call a handler for the page that is touched."""
    what.fn(Ui(phone, phone.top()), *what.args)


def long_press(phone: Handset, x: float, y: float) -> None:
    """Hold a point."""
    hit = hit_at(phone, x, y)
    if hit and hit.box and hit.box.hold and hit.box.enabled:
        run(phone, hit.box.hold)


def press_back(phone: Handset) -> None:
    """The back button: the keyboard goes first, then a dialog, then the page."""
    if phone.system.focus:
        phone.system.focus = ""
    elif phone.frame().top.cancellable:
        phone.pop(phone.top().app)


def swipe(phone: Handset, action: Swipe) -> None:
    """Drag: scrolls, turns pages, moves sliders, or is a gesture from the edge."""
    dx, dy = action.to_x - action.x, action.to_y - action.y
    frame = phone.frame()
    hit = hit_at(phone, action.x, action.y)
    if hit and hit.box and hit.box.kind == "slider" and hit.box.enabled and abs(dx) > 0.02:
        _slide(phone, hit, action.to_x)
    elif abs(dx) * WIDTH > abs(dy) * HEIGHT:
        _swipe_sideways(phone, action, dx)
    elif action.y > 0.975 and dy < -0.05 and not phone.settings.three_buttons:
        phone.home()
    elif action.y * HEIGHT < STATUS_H and dy > 0.1 and not phone.system.popups:
        Ui(phone, phone.top()).popup("shade")
    else:
        _swipe_along(phone, dy, frame.max_scroll)


def _swipe_sideways(phone: Handset, action: Swipe, dx: float) -> None:
    view = phone.frame().top
    from_edge = action.x < 0.03 or action.x > 0.97
    if from_edge and not phone.settings.three_buttons and abs(dx) > 0.1 and phone.top().app != "launcher":
        press_back(phone)
        return
    handler = view.swipe_left if dx < 0 else view.swipe_right
    if handler and abs(dx) > 0.05:
        run(phone, handler)


def _swipe_along(phone: Handset, dy: float, max_scroll: int) -> None:
    page, view = phone.top(), phone.frame().top
    if max_scroll == 0:
        handler = view.swipe_up if dy < 0 else view.swipe_down
        if handler and abs(dy) > 0.04:
            run(phone, handler)
        return
    at = max_scroll if page.scroll < 0 else min(page.scroll, max_scroll)
    moved = min(max(at - round(dy * HEIGHT), 0), max_scroll)
    # 0 would mean "not scrolled yet" to a page that starts at its end.
    page.scroll = max(moved, 1) if view.starts_at_end else moved
