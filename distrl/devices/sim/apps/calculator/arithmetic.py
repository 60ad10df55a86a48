"""Arithmetic as people write it: an expression in, its value out. Precedence, brackets, percent; no eval.

sum     = product { (+ | -) product }
product = factor { (* | /) factor }
factor  = - factor | (number | ( sum )) { % }
"""

from decimal import Decimal, DivisionByZero, InvalidOperation, Overflow

DIGITS = 12


class BadExpressionError(ValueError):
    """An expression that has no value."""


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self, wanted: str) -> str:
        """The next sign if it is one of these, else nothing."""
        sign = self.peek()
        if sign and sign in wanted:
            self.at += 1
            return sign
        return ""

    def sum(self) -> Decimal:
        value = self.product()
        while sign := self.take("+-"):
            other = self.product()
            value = value + other if sign == "+" else value - other
        return value

    def product(self) -> Decimal:
        value = self.factor()
        while sign := self.take("*/"):
            other = self.factor()
            value = value * other if sign == "*" else value / other
        return value

    def factor(self) -> Decimal:
        if self.take("-"):
            return -self.factor()
        if self.take("("):
            value = self.sum()
            self.take(")")
        else:
            value = self.number()
        while self.take("%"):
            value /= 100
        return value

    def number(self) -> Decimal:
        start = self.at
        while self.peek() and self.peek() in "0123456789.":
            self.at += 1
        return Decimal(self.text[start : self.at])


def evaluate(expression: str) -> str:
    """The value of an expression as a calculator shows it."""
    reader = _Reader(expression)
    try:
        value = reader.sum()
        if reader.peek():
            raise BadExpressionError("Bad expression")
        return show(value)
    except DivisionByZero as error:
        raise BadExpressionError("Can't divide by zero") from error
    except (InvalidOperation, Overflow, RecursionError) as error:
        raise BadExpressionError("Bad expression") from error


def show(value: Decimal) -> str:
    """At most twelve digits, without zeros at the end."""
    rounded = Decimal(f"{value:.{DIGITS}g}")
    if rounded and not -DIGITS < rounded.adjusted() < DIGITS + 3:
        return f"{rounded:.6E}".replace("E+", "e").replace("E", "e")
    words = f"{rounded:f}"
    if "." in words:
        words = words.rstrip("0").rstrip(".")
    return "0" if words == "-0" else words
