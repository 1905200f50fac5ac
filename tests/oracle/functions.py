"""User-defined functions that random queries call. They see None for NULL, as the engine's scalar functions do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Function:
    name: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    returns: str


def _odd(value: int | None) -> bool | None:
    return None if value is None else value % 2 == 1


def _alike(left: str | None, right: str | None) -> bool:
    """Never NULL: two NULLs are alike."""
    return (left or "")[:1] == (right or "")[:1]


def _letters(text: str | None) -> int | None:
    return None if text is None else len(text)


def _whole(value: float | None) -> bool | None:
    return None if value is None else value.is_integer()


FUNCTIONS = {
    function.name: function
    for function in (
        Function("is_odd", _odd, ("int64",), "bool"),
        Function("alike", _alike, ("string", "string"), "bool"),
        Function("letters", _letters, ("string",), "int64"),
        Function("is_whole", _whole, ("float64",), "bool"),
    )
}
