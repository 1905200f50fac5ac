"""Saying why a value does not fit: while a column is converted its name is not known, so a Misfit carries the rest."""

from __future__ import annotations

from datetime import date

from cacq.data.types import Type
from cacq.errors import DataError

_HINTS = {
    Type.INT64: "give integers from -2**63 to 2**63 - 1; None is NULL",
    Type.FLOAT64: 'give floats or integers; float("nan") is NaN, None is NULL',
    Type.BOOL: "give True or False; None is NULL",
    Type.STRING: "give str, decoded from bytes where needed; None is NULL",
    Type.TIMESTAMP: "give integers (microseconds since 1970 UTC), datetime, numpy datetime64 or ISO 8601 strings",
}
_SHOWN = (int, float, str, bytes, date, type(None))
_SHOWN_LENGTH, _SHOWN_BITS = 60, 256


class Misfit(Exception):
    """A column or one of its values cannot be taken: the row (None where it is the whole column), why, what to do."""

    def __init__(self, row: int | None, problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.row = row
        self.problem = problem
        self.hint = hint

    def error(self, name: str) -> DataError:
        """The same as the error of a push, for the column of that name."""
        place = f"column {name!r}" if self.row is None else f"row {self.row}, column {name!r}"
        return DataError(f"{place}: {self.problem}", self.hint)


def wrong_type(row: int | None, wanted: Type, given: str) -> Misfit:
    """A value of a kind that this type does not take."""
    return Misfit(row, f"{wanted.value} expected, not {given}", _HINTS[wanted])


def wrong_value(row: int | None, wanted: Type, problem: str) -> Misfit:
    """A value of a kind that this type takes, but out of range or malformed."""
    return Misfit(row, problem, _HINTS[wanted])


def described(value: object) -> str:
    """A value for a message: its kind, and its text where that is short and safe to compute."""
    kind = type(value).__name__
    if value is None or not isinstance(value, _SHOWN):
        return kind
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"{kind} of {value.bit_length()} bits"
    text = repr(value[:_SHOWN_LENGTH] if isinstance(value, str | bytes) else value)
    return f"{kind} {text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + '...'}"
