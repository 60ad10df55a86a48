"""The scripted expert: an observation in, the next action of a plan out.

It reads the ui tree as a person reads the screen, so it closes pop-ups, waits for loading pages, scrolls to what it
cannot see, and finds its way back from wherever it was put.
"""

from distrl.core.types import (
    Action,
    Button,
    Claim,
    Element,
    Finish,
    LongPress,
    Observation,
    Press,
    Swipe,
    Tap,
    TypeText,
    Wait,
)
from distrl.tasks.plan import Act, Inspect, Plan, Stage

_SWIPES = {
    "up": Swipe(x=0.5, y=0.62, to_x=0.5, to_y=0.3),
    "down": Swipe(x=0.5, y=0.3, to_x=0.5, to_y=0.62),
    "left": Swipe(x=0.8, y=0.45, to_x=0.2, to_y=0.45),
    "right": Swipe(x=0.2, y=0.45, to_x=0.8, to_y=0.45),
}
_BACK = Press(button=Button.BACK)


class Expert:
    """Follows one plan through one episode; remembers only which way it is scrolling."""

    def __init__(self, plan: Plan, inspect: Inspect) -> None:
        self._plan = plan
        self._inspect = inspect
        self._direction = "up"
        self._turned = False
        self._last_page = ""
        self._last_tree: tuple[Element, ...] = ()

    def act(self, observation: Observation) -> Action:
        """The next thing to do."""
        tree = observation.ui_tree or observation.elements
        if observation.activity != self._last_page:
            self._direction, self._turned = "up", False
        elif tree == self._last_tree:
            # The last swipe moved nothing: this end of the list has been seen.
            self._direction, self._turned = ("down" if self._direction == "up" else "up"), True
        self._last_page, self._last_tree = observation.activity, tree
        return self._decide(observation.activity, tree)

    def _decide(self, activity: str, tree: tuple[Element, ...]) -> Action:
        if any(e.text == "Loading…" for e in tree):
            return Wait()
        stage = next((s for s in self._plan if s.done is None or not s.done(self._inspect)), self._plan[-1])
        for rule in stage.rules:
            if activity == rule.where or activity.startswith(rule.where + "/"):
                for act in rule.acts:
                    action = self._see_to(act, tree)
                    if action is not None:
                        return action
                return Finish(claim=Claim.COMPLETE)
        return self._find_the_way(stage, activity, tree)

    def _find_the_way(self, stage: Stage, activity: str, tree: tuple[Element, ...]) -> Action:
        """Nothing is planned for this page: close what is in the way, then go to the app."""
        app, _, page = activity.partition("/")
        if app == "system":
            button = next((e for e in tree if e.id == "dismiss"), None)
            return _touch(button) if button else _BACK
        if app == "launcher":
            icon = next((e for e in tree if e.id == f"app:{stage.app}"), None)
            if icon:
                return _touch(icon)
            if page.startswith("home"):
                return _SWIPES["up"] if self._turned else _SWIPES["left"]
            return _BACK if _keyboard(tree) else _SWIPES[self._direction]
        return _BACK if any(rule.where.startswith(app + "/") for rule in stage.rules) else Press(button=Button.HOME)

    def _see_to(self, act: Act, tree: tuple[Element, ...]) -> Action | None:
        """What makes this so, or None if it is so already."""
        match act.how:
            case "back":
                return _BACK
            case "wait":
                return Wait()
            case "type":
                return TypeText(text=act.value)
            case "swipe":
                return _SWIPES[act.value]
        element = find(tree, act.text, act.id)
        if act.how == "if_seen":
            return _touch(element) if element else None
        if element is None:
            return _BACK if _keyboard(tree) else _SWIPES[self._direction]
        match act.how:
            case "hold":
                x, y = element.center
                return LongPress(x=x, y=y)
            case "toggle":
                return None if element.checked is act.on else _touch(element)
            case "field" | "enter":
                return _fill(element, act, tree)
            case "slide":
                return _slide(element, act.percent)
        return _touch(element)


def find(tree: tuple[Element, ...], text: str, id: str) -> Element | None:
    """The element with this id, or the touchable one whose text is this, has it as a line, or begins with it."""
    if id:
        return next((e for e in tree if e.id == id), None)
    touchable = [e for e in tree if e.clickable and e.kind != "key"]
    for matches in (
        lambda e: e.text == text,
        lambda e: text in e.text.split("\n"),
        lambda e: e.text.startswith(text),
    ):
        found = next((e for e in touchable if matches(e)), None)
        if found:
            return found
    return None


def _keyboard(tree: tuple[Element, ...]) -> bool:
    return any(e.kind == "key" for e in tree)


def _touch(element: Element) -> Tap:
    x, y = element.center
    return Tap(x=x, y=y)


def _fill(element: Element, act: Act, tree: tuple[Element, ...]) -> Action | None:
    if element.text == act.value:
        if act.how == "field":
            return None
        return Press(button=Button.ENTER) if element.focused else _touch(element)
    if not element.focused:
        return _touch(element)
    clear = next((e for e in tree if e.id == f"clear:{element.id}"), None)
    return _touch(clear) if clear else TypeText(text=act.value)


def _slide(element: Element, percent: int) -> Action | None:
    shown = element.text.rpartition(" ")[2].rstrip("%")
    if shown.isdecimal() and abs(int(shown) - percent) <= 2:
        return None
    left, _, right, _ = element.box
    margin = 30 / 1080
    return Tap(x=left + margin + (right - left - 2 * margin) * percent / 100, y=element.center[1])
