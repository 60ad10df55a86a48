"""Options of algorithms: their ranges, and reading them so that every mistake is named at once.

In: an `Options` struct and what a user wrote. Out: the struct, or one `UserError`.
"""

import difflib
import math
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from distrl.core.errors import UserError

Share = Annotated[float, Meta(ge=0, le=1)]
NonNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Exponent = Annotated[float, Meta(ge=0.05, le=10)]
"""Of priorities. Below, they would hardly count, and no number could make up for it where surprise is to count."""

AnyOptions = TypeVar("AnyOptions", bound=msgspec.Struct)


def read_options(options_type: type[AnyOptions], values: Mapping[str, Any], *, owner: str) -> AnyOptions:
    """The options with these values; raises one `UserError` that names every unknown, misplaced or impossible value."""
    fields = {name: field for field in msgspec.structs.fields(options_type) for name in _spellings(field)}
    known = sorted(field.encode_name for field in msgspec.structs.fields(options_type))
    read: dict[str, Any] = {}
    problems = []
    for name, value in values.items():
        if name not in fields:
            problems.append(_unknown(name, known))
        elif fields[name].name in read:
            problems.append(f"{name}: given twice")
        else:
            read[fields[name].name] = value
            problems += _problems_of(name, value, fields[name].type)
    problems += [
        f"{field.encode_name}: missing" for field in msgspec.structs.fields(options_type) if _is_missing(field, read)
    ]
    if problems:
        raise UserError("\n".join([f"the options of algorithm {owner!r} cannot be used", *problems]))
    by_encoded_name = {fields[name].encode_name: value for name, value in read.items()}
    try:
        return msgspec.convert(by_encoded_name, options_type)
    except msgspec.ValidationError as error:
        # What a struct checks itself (`__post_init__`) is known only once it is put together.
        raise UserError(f"the options of algorithm {owner!r} cannot be used\n{error}") from error


def _spellings(field: msgspec.structs.FieldInfo) -> set[str]:
    """`lambda` is a word of Python, so that field is `lambda_` in code; both are understood."""
    return {field.name, field.encode_name}


def _is_missing(field: msgspec.structs.FieldInfo, read: Mapping[str, Any]) -> bool:
    return field.required and field.name not in read


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"{name}: unknown option; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}")


def _problems_of(name: str, value: Any, expected: Any) -> list[str]:
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{name}: must be a finite number, got {value}"]
    try:
        msgspec.convert(value, expected)
    except msgspec.ValidationError as error:
        # msgspec says "Expected `float`, got `str`"; the value says more than its type.
        expectation = str(error).partition(", got ")[0].replace("`", "")
        return [f"{name}: {expectation[:1].lower()}{expectation[1:]}, got {_shown(value)}"]
    return []


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return "a huge number"  # Python refuses to print integers of many thousand digits
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
