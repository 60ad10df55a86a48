"""General tasks for the calculator: sums, shared bills, percentages."""

import re
from fractions import Fraction
from random import Random

from distrl.core.interfaces import Plain
from distrl.tasks.plan import Plan, Stage, on, stage, tap, type_keys
from distrl.tasks.template import Draw, Inspect, Keep, Params, Template, same

OPERATORS = {"plus": "+", "minus": "-", "times": "*", "divided by": "/"}
KEEPS = (Keep("calculator", "history", "expression"),)
KEYS = {"+": "plus", "-": "minus", "*": "times", "/": "divide", "=": "equals"}


def _key_id(sign: str) -> str:
    return "percent" if sign == "%" else f"calc:{KEYS.get(sign, sign)}"


def _result(p: Params) -> int:
    a, b, c = int(p["a"]), int(p["b"]), int(p.get("c", "0"))
    match p["operator"]:
        case "plus":
            return a + b - c
        case "minus":
            return a - b
        case "times":
            return a * b
        case "divided by":
            return a // b
    return a * b // 100


def _expression(p: Params) -> str:
    if p["operator"] == "percent of":
        return f"{p['b']}*{p['a']}%"
    return p["a"] + OPERATORS[p["operator"]] + p["b"] + (f"-{p['c']}" if "c" in p else "")


Terms = tuple[tuple[str, Fraction], ...]
"""The numbers of a sum or product and the signs before them, in no order: 7-2 is +7 and -2."""


def _terms(expression: str) -> Terms:
    """The terms of what was typed, brackets aside; a percent sign divides by 100. Nothing if it cannot be read."""
    plain = re.sub(r"[\s()=]", "", expression).replace("%", "/100")
    found = re.findall(r"([-+*/]?)(\d+(?:\.\d+)?|\.\d+)", plain)
    if not found or "".join(sign + number for sign, number in found) != plain:
        return ()
    first = "+" if any(sign in ("+", "-") for sign, _ in found) else "*"
    return tuple(sorted((sign or first, Fraction(number)) for sign, number in found))


def _value(terms: Terms) -> Fraction:
    """What terms of one kind make: a sum or a product."""
    total = Fraction(0 if terms[-1][0] in "+-" else 1)
    for sign, number in terms:
        match sign:
            case "+":
                total += number
            case "-":
                total -= number
            case "*":
                total *= number
            case _:
                total /= number
    return total


def _is_worked_out(asked: Terms, done: set[Terms]) -> bool:
    """Whether this was calculated at once, or two of its terms first and then the rest with their result."""
    if asked in done:
        return True
    first = "+" if any(sign in "+-" for sign, _ in asked) else "*"
    for last in asked if len(asked) > 2 else ():
        part = tuple(term for term in asked if term is not last)
        if part in done and tuple(sorted(((first, _value(part)), last))) in done:
            return True
    return False


def _calculated(p: Params, inspect: Inspect) -> bool:
    """The result is there, and comes from the numbers and signs that were asked for."""
    history = inspect("calculator")["history"]
    if not any(same(entry["result"], _result(p)) for entry in history):
        return False
    done = {_terms(entry["expression"]) for entry in history}
    ways = [_expression(p)]
    if p["operator"] == "percent of":
        ways.append(f"{p['b']}*{int(p['a']) / 100}")
    return any(_is_worked_out(_terms(way), done) for way in ways)


def _other_sums(p: Params, rng: Random) -> Plain:
    """A history without this result, on a clean display."""
    sums = [(a, b) for a, b in ((12, 9), (33, 48), (7, 25), (60, 14)) if a + b != _result(p)]
    history = [{"expression": f"{a}+{b}", "result": str(a + b)} for a, b in rng.sample(sums, 2)]
    return {"calculator": {"expression": "", "done": False, "history": history}}


def _calculator_plan(p: Params) -> Plan:
    """Numbers are typed, signs are touched, each when what is before it is on the display."""
    parts = re.findall(r"\d+|\D", _expression(p))
    steps = ["".join(parts[:count]) for count in range(len(parts) + 1)]

    def shown(inspect: Inspect) -> str:
        return str(inspect("calculator")["expression"])

    def part_stage(part: str, before: str) -> Stage:
        def is_done(inspect: Inspect) -> bool:
            return _calculated(p, inspect) or len(shown(inspect)) > len(before)

        act = type_keys(part) if part.isdecimal() else tap(id=_key_id(part))
        return stage("Calculator", on("calculator/home", act), done=is_done)

    clean = stage(
        "Calculator",
        on("calculator/home", tap(id="calc:clear")),
        done=lambda inspect: _calculated(p, inspect) or shown(inspect) in steps,
    )
    stages = [part_stage(part, before) for part, before in zip(parts, steps, strict=False)]
    return clean, *stages, stage("Calculator", on("calculator/home", tap(id="calc:equals")))


def _draw_sum(d: Draw) -> Params:
    operator = d.choice(tuple(OPERATORS)[:3])
    a, b = sorted((int(d.number(11, 99)), int(d.number(11, 98))), reverse=True)
    return {"a": str(a + 1 if a == b else a), "operator": operator, "b": str(b)}


def _draw_chain(d: Draw) -> Params:
    return {"a": d.number(11, 99), "operator": "plus", "b": d.number(11, 99), "c": d.number(2, 9)}


def _draw_share(d: Draw) -> Params:
    people = int(d.number(2, 9))
    return {"a": str(people * int(d.number(11, 98))), "operator": "divided by", "b": str(people)}


def _draw_percent(d: Draw) -> Params:
    return {"a": d.number(5, 95, 5), "operator": "percent of", "b": d.number(20, 980, 20)}


TEMPLATES = (
    Template(
        name="calculate",
        suite="general",
        difficulty=2,
        phrasings=(
            "What is {a} {operator} {b}? Use the calculator",
            "Calculate {a} {operator} {b} with the Calculator app",
            "Use the calculator to work out {a} {operator} {b}",
        ),
        draw=_draw_sum,
        world=_other_sums,
        keeps=KEEPS,
        check=_calculated,
        plan=_calculator_plan,
    ),
    Template(
        name="split_bill",
        suite="general",
        difficulty=2,
        phrasings=(
            "Split a bill of {a} euros among {b} people, use the calculator",
            "Calculate {a} divided by {b}",
            "{b} people share {a} euros: calculate how much each gets",
        ),
        draw=_draw_share,
        world=_other_sums,
        keeps=KEEPS,
        check=_calculated,
        plan=_calculator_plan,
    ),
    Template(
        name="calculate_chain",
        suite="general",
        difficulty=3,
        phrasings=(
            "Calculate {a} plus {b} minus {c}",
            "What is {a} plus {b} minus {c}? Use the calculator",
            "I had {a} euros, got {b} and spent {c}: work out in the Calculator what is left",
        ),
        draw=_draw_chain,
        world=_other_sums,
        keeps=KEEPS,
        check=_calculated,
        plan=_calculator_plan,
    ),
    Template(
        name="calculate_percent",
        suite="general",
        difficulty=3,
        unseen=True,
        phrasings=(
            "How much is {a} percent of {b}? Use the calculator",
            "Calculate {a} percent of {b}",
            "Work out {a} percent of {b} in the Calculator app",
        ),
        draw=_draw_percent,
        world=_other_sums,
        keeps=KEEPS,
        check=_calculated,
        plan=_calculator_plan,
    ),
)
