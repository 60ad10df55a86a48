"""The prompts, one per format of actions (docs/actions.md)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from distrl.core.errors import UnknownNameError
from distrl.core.types import Action, Element, LongPress, Observation, Situation, Step, Tap
from distrl.policies.codec import (
    AndroidWorldCodec,
    AutoUICodec,
    Codec,
    JsonCodec,
    NamedCodec,
    NumberedCodec,
    UITarsCodec,
)
from distrl.policies.codec.android_world import EXACT_KEY
from distrl.policies.codec.numbered import label_of
from distrl.policies.prompts.interface import Prompt, rounded

_JOB: Final = "You operate a phone, one action at a time, until the task is done."
BRIEF_CHARS: Final = 40
"""As much of a text as a brief prompt shows."""
_RULES: Final = "Answer with exactly one action. Say that the task is complete as soon as the screen shows that it is."


class JsonPrompt(Prompt):
    """Our own actions."""

    name: ClassVar[str] = "json"
    system: ClassVar[str] = f"""{_JOB} An action is one JSON object:
{{"type":"Tap","x":0.5,"y":0.25}} touch a point; x and y are shares of the width and the height, from 0 to 1
{{"type":"LongPress","x":0.5,"y":0.25}} touch and hold
{{"type":"Swipe","x":0.5,"y":0.7,"to_x":0.5,"to_y":0.3}} drag from one point to another
{{"type":"TypeText","text":"hello"}} type into the focused field
{{"type":"Press","button":"BACK"}} or "HOME" or "ENTER"
{{"type":"OpenApp","app":"Clock"}} start an app
{{"type":"Wait"}}
{{"type":"Finish","claim":"COMPLETE"}} or "IMPOSSIBLE"
{_RULES}"""

    def codec(self, observation: Observation) -> Codec:
        """The same on every screen."""
        return JsonCodec()


class AndroidWorldPrompt(Prompt):
    """AndroidWorld's actions in the pixels of the screen."""

    name: ClassVar[str] = "android_world"
    system: ClassVar[str] = f"""{_JOB} An action is one JSON object; x and y are pixels of the screen:
{{"action_type":"click","x":540,"y":1200}}
{{"action_type":"long_press","x":540,"y":1200}}
{{"action_type":"scroll","direction":"down"}} or "up", "left", "right": shows what lies there
{{"action_type":"input_text","text":"hello"}} types into the focused field
{{"action_type":"navigate_back"}}
{{"action_type":"navigate_home"}}
{{"action_type":"keyboard_enter"}}
{{"action_type":"open_app","app_name":"Clock"}}
{{"action_type":"wait"}}
{{"action_type":"status","goal_status":"complete"}} or "infeasible"
{_RULES}"""

    def codec(self, observation: Observation) -> Codec:
        """One for the pixels and the elements of this screen."""
        screen = observation.screen
        return AndroidWorldCodec(width=screen.width, height=screen.height, elements=observation.elements)

    def write(self, action: Action, observation: Observation) -> str:
        """In AndroidWorld's own keys alone: the nearest pixel, the nearest direction."""
        fields = json.loads(self.codec(observation).encode(action))
        if fields["action_type"] != "unknown":
            fields.pop(EXACT_KEY, None)
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    def ask(self, situation: Situation, done: Sequence[str]) -> tuple[str, str]:
        """With the size of the screen."""
        before, after = super().ask(situation, done)
        screen = situation.observation.screen
        return before.removesuffix("Screen:\n") + f"Screen of {screen.width} x {screen.height} pixels:\n", after


class UITarsPrompt(Prompt):
    """UI-TARS on a phone, with coordinates up to 1000."""

    name: ClassVar[str] = "ui_tars"
    system: ClassVar[str] = f"""{_JOB} You are given a task, your action history and screenshots.
## Output Format
Action: ...
## Action Space (coordinates from 0 to 1000)
click(point='<point>x1 y1</point>')
long_press(point='<point>x1 y1</point>')
type(content='') # into the focused field, with escape characters \\', \\" and \\n
scroll(point='<point>x1 y1</point>', direction='down or up or right or left')
drag(start_point='<point>x1 y1</point>', end_point='<point>x2 y2</point>')
open_app(app_name='')
press_home()
press_back()
press_enter()
wait()
finished() # the task is done
call_user() # the task is impossible
{_RULES}"""

    def codec(self, observation: Observation) -> Codec:
        """The same on every screen."""
        return UITarsCodec()


class AutoUIPrompt(Prompt):
    """AutoUI's question and answer, as in DigiRL and DistRL."""

    name: ClassVar[str] = "autoui"
    system: ClassVar[str] = f"""{_JOB} Points are shares of the screen, y before x. Answer in this form:
Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.8497, 0.5964]", "lift_point": "[0.8497, 0.5964]", \
"typed_text": ""
Equal points tap, different points swipe. Other types: TYPE with typed_text, PRESS_BACK, PRESS_HOME, PRESS_ENTER, \
STATUS_TASK_COMPLETE, STATUS_TASK_IMPOSSIBLE, all with points [-1.0, -1.0].
{_RULES}"""

    def codec(self, observation: Observation) -> Codec:
        """The same on every screen."""
        return AutoUICodec()

    def ask(self, situation: Situation, done: Sequence[str]) -> tuple[str, str]:
        """The words of the papers: the actions before, then the goal; the screen comes last."""
        before = " ".join(line.partition(". ")[2].removeprefix("Action Decision: ") for line in done)
        return f"Previous Actions: {before} Goal: {situation.task.instruction}", ""


@dataclass(frozen=True, kw_only=True)
class NumberedPrompt(Prompt):
    """For models that only read: the elements as numbered lines, and a number as the answer."""

    name: ClassVar[str] = "numbered"
    system: ClassVar[str] = (
        "You operate a phone. Answer with one line: the number of the element to tap, or hold NUMBER, type TEXT, "
        "swipe up, swipe down, swipe left, swipe right, open APP, back, home, enter, wait, done, impossible."
    )
    num_screens: int = 0

    def listed(self, observation: Observation) -> tuple[Element, ...]:
        """The elements that have numbers, in their order."""
        return observation.elements

    def codec(self, observation: Observation) -> Codec:
        """One for the elements of this screen."""
        return NumberedCodec(elements=self.listed(observation))

    def write(self, action: Action, observation: Observation) -> str:
        """By the number of an element where there is one in that place."""
        codec = self.codec(observation)
        exact = codec.encode(action)
        return min(
            exact, codec.encode(_nearest(action, self.listed(observation))), super().write(action, observation), key=len
        )

    def tell(self, step: Step) -> str:
        """By the name of what was touched: its number means nothing on another screen."""
        action = step.decision.action
        touched = _touched(action, self.listed(step.observation))
        if touched is None:
            return super().tell(step)
        return f"{'tap' if isinstance(action, Tap) else 'hold'} {label_of(touched)}"

    def ask(self, situation: Situation, done: Sequence[str]) -> tuple[str, str]:
        """The screen as lines."""
        elements = [
            f"{number}. {label_of(element)}" for number, element in enumerate(situation.observation.elements, 1)
        ]
        lines = ["Task: " + situation.task.instruction, *(["Done:", *done] if done else [])]
        return "\n".join([*lines, f"Screen {situation.observation.activity}:", *elements, "Answer:"]), ""


@dataclass(frozen=True, kw_only=True)
class BriefPrompt(NumberedPrompt):
    """`numbered` in as few tokens as it takes, for models on a processor: short lines, and only what can be touched."""

    name: ClassVar[str] = "brief"
    system: ClassVar[str] = (
        "Operate the phone. Answer with the number to tap, or hold NUMBER, type TEXT, open APP, swipe up, swipe down, "
        "back, home, enter, wait, done, impossible."
    )

    def listed(self, observation: Observation) -> tuple[Element, ...]:
        """What can be touched; everything where nothing says that it can."""
        return tuple(e for e in observation.elements if e.clickable and e.enabled) or observation.elements

    def ask(self, situation: Situation, done: Sequence[str]) -> tuple[str, str]:
        """The task, what was done, and the screen, which is what changes most, at the end."""
        so_far = "; ".join(line.partition(". ")[2] for line in done)
        lines = self._lines(situation.observation)
        head = [f"Task: {situation.task.instruction}", *([f"Done: {so_far}"] if so_far else [])]
        return "\n".join([*head, f"Screen {situation.observation.activity}:", *lines]), ""

    def _lines(self, observation: Observation) -> list[str]:
        elements = enumerate(self.listed(observation), 1)
        return [f"{number} {label_of(element, max_chars=BRIEF_CHARS)}" for number, element in elements]

    def tell(self, step: Step) -> str:
        """With as much of a name as its line shows."""
        told = super().tell(step)
        return told if len(told) <= BRIEF_CHARS else f"{told[: BRIEF_CHARS - 1]}…"


@dataclass(frozen=True, kw_only=True)
class NamedPrompt(BriefPrompt):
    """`brief` without numbers: the answer is the name of what is to be touched, which a small model can copy."""

    name: ClassVar[str] = "named"
    system: ClassVar[str] = (
        "Operate the phone. Answer with tap NAME, or hold NAME, type TEXT, open APP, swipe up, swipe down, "
        "back, home, enter, wait, done, impossible."
    )

    def codec(self, observation: Observation) -> NamedCodec:
        """One for the elements of this screen."""
        return NamedCodec(elements=self.listed(observation))

    def write(self, action: Action, observation: Observation) -> str:
        """By name wherever something is touched."""
        return self.codec(observation).encode(_nearest(rounded(action), self.listed(observation)))

    def tell(self, step: Step) -> str:
        """As it was answered: names mean the same on every screen."""
        return Prompt.tell(self, step)

    def _lines(self, observation: Observation) -> list[str]:
        return self.codec(observation).lines


def _touched(action: Action, elements: Sequence[Element]) -> Element | None:
    """The smallest element under a touch."""
    if not isinstance(action, Tap | LongPress):
        return None
    x, y = action.x, action.y

    def area(element: Element) -> float:
        left, top, right, bottom = element.box
        return (right - left) * (bottom - top)

    def is_under(element: Element) -> bool:
        left, top, right, bottom = element.box
        return left <= x <= right and top <= y <= bottom

    return min((e for e in elements if is_under(e)), key=area, default=None)


def _nearest(action: Action, elements: Sequence[Element]) -> Action:
    """A touch moved to the middle of what it touches."""
    touched = _touched(action, elements)
    if touched is None:
        return action
    x, y = touched.center
    return LongPress(x=x, y=y) if isinstance(action, LongPress) else Tap(x=x, y=y)


_PROMPTS: Final[Mapping[str, type[Prompt]]] = {
    prompt.name: prompt
    for prompt in (JsonPrompt, AndroidWorldPrompt, UITarsPrompt, AutoUIPrompt, NumberedPrompt, BriefPrompt, NamedPrompt)
}
PROMPT_NAMES: Final = tuple(_PROMPTS)
"""The names that `make_prompt` knows: those of the codecs, and `brief`, which is read by the codec `numbered`."""


def make_prompt(name: str = "json", *, num_screens: int | None = None, num_actions: int = 16) -> Prompt:
    """The prompt of this name; raises `UnknownNameError`. Without `num_screens` it shows as many as it is made for."""
    if name not in _PROMPTS:
        raise UnknownNameError("prompt", name, _PROMPTS)
    prompt = _PROMPTS[name](num_actions=num_actions)
    return prompt if num_screens is None else replace(prompt, num_screens=num_screens)
