"""What users hand to the engine, checked: an OptionError says what is wrong and what to give instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from cacq.data.moment import MAX_TIMESTAMP
from cacq.data.types import Type
from cacq.errors import OptionError
from cacq.query.words import AGGREGATES

LATER_OPTIONS: dict[str, tuple[Any, ...]] = {
    "memory_bytes": (None,),
    "lineage": ("auto", "dense", "sparse"),
    "expiration": ("piggybacked",),
    "join_groups": ("auto",),
}
"""Options of the interface of which only these values exist in this version."""


def check_later_options(given: dict[str, Any]) -> None:
    """Refuse values that come with a later version."""
    for option, value in given.items():
        if not any(value is choice or value == choice for choice in LATER_OPTIONS[option]):
            allowed = ", ".join(repr(choice) for choice in LATER_OPTIONS[option])
            raise OptionError(f"{option}={value!r} is not available in this version", f"leave it at {allowed}")


def check_whole_number(value: object, what: str, least: int | None = None) -> int:
    """An integer, at least so large."""
    if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
        hint = "give an integer" if least is None else f"give an integer from {least} up"
        raise OptionError(f"{what}={value!r} is not a number that is possible here", hint)
    return value


def check_seconds(value: object, what: str) -> int:
    """A length of time in seconds, as microseconds."""
    possible = isinstance(value, int | float) and not isinstance(value, bool)
    if not possible or not 0 <= value * 1_000_000 <= MAX_TIMESTAMP:  # type: ignore[operator]
        raise OptionError(f"{what}={value!r} is not a length of time", "give a number of seconds from 0 up")
    return round(value * 1_000_000)  # type: ignore[operator]


def check_name(value: object, what: str) -> str:
    """A name: any text that is not empty and can be written down."""
    if not isinstance(value, str) or not value:
        raise OptionError(f"{what} must be a non-empty string, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise OptionError(f"{what} holds half a character: {value!r}", "give valid Unicode") from None
    return value


def check_query_text(value: object) -> str:
    """The text of a query."""
    if not isinstance(value, str):
        raise OptionError(f"a query is a text, not {type(value).__name__}", 'for example "SELECT a FROM S WHERE a > 5"')
    return value


def check_query_texts(values: object) -> list[str]:
    """The texts of many queries."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise OptionError(f"queries come as a list of texts, not as {type(values).__name__}", "use register for one")
    return [check_query_text(value) for value in values]


def check_function_name(value: object) -> str:
    """A name that SQL can call and that no version of the language needs for itself."""
    text = check_name(value, "a function's name")
    if not text.isidentifier() or not text.isascii():
        raise OptionError(f"a function's name must be an identifier, not {text!r}", "use letters, digits and _")
    if text.upper() in AGGREGATES or text.upper() == "ABS":
        raise OptionError(f"{text!r} is a function of the language", "choose another name")
    return text


def check_types(values: object, what: str) -> tuple[Type, ...]:
    """A list of type names."""
    if not isinstance(values, list | tuple):
        raise OptionError(f"{what} must be a list of types, not {values!r}", 'for example ["float64"]')
    return tuple(check_type(value) for value in values)


def check_type(value: object) -> Type:
    """A type by its name."""
    try:
        return Type(value)
    except ValueError:
        allowed = ", ".join(type.value for type in Type)
        raise OptionError(f"{value!r} is no type", f"types are: {allowed}") from None


def checked_clock(clock: Callable[[], int]) -> Callable[[], int]:
    """The clock, with every time it shows checked."""
    if not callable(clock):
        raise OptionError("clock must be a function that returns microseconds since 1970 as an integer")

    def read() -> int:
        now = clock()
        whole = isinstance(now, int | float) and not isinstance(now, bool) and math.isfinite(now)
        if not whole or now != int(now) or abs(now) > MAX_TIMESTAMP:
            raise OptionError(f"the clock returned {now!r}", "it must return microseconds since 1970 as an integer")
        return int(now)

    return read
