"""Everything that may stand for a point in time, as microseconds since 1970 UTC.

What is finer than a microsecond is floored, before 1970 too. A time without a zone is UTC. Every timestamp lies within
`[-2**62, 2**62]`: the rest of int64 is headroom, so that a time plus or minus a window or a lateness never overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cacq.data.arrays import Bools, Ints
from cacq.data.column import Column, from_arrow
from cacq.data.iso import microseconds
from cacq.data.misfit import Misfit, described, wrong_type, wrong_value
from cacq.data.types import INT64_MAX, Type
from cacq.errors import DataError

MAX_TIMESTAMP = 2**62

_EPOCH = datetime(1970, 1, 1)
_TICK = timedelta(microseconds=1)
_UNITS = {
    "W": Fraction(604_800_000_000),
    "D": Fraction(86_400_000_000),
    "h": Fraction(3_600_000_000),
    "m": Fraction(60_000_000),
    "s": Fraction(1_000_000),
    "ms": Fraction(1_000),
    "us": Fraction(1),
    "ns": Fraction(1, 10**3),
    "ps": Fraction(1, 10**6),
    "fs": Fraction(1, 10**9),
    "as": Fraction(1, 10**12),
}
"""Microseconds in a unit of numpy's datetime64 and of Arrow's timestamp."""

_MONTHS = {"Y": 12, "M": 1}
_MAX_MONTHS = 12 * 146_000  # 2**62 microseconds are a little more than 146,000 years

_DATE = "^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_ISO_FORMS = (
    (f"{_DATE}({_CLOCK})?$", pa.timestamp("us")),
    (f"{_DATE}{_CLOCK}(Z|[+-][0-9]{{2}}:[0-9]{{2}})$", pa.timestamp("us", tz="UTC")),
)
"""The spellings of a time that Arrow reads just as `iso.microseconds` does, and the type that makes it read them."""


def timestamp(value: object, what: str) -> int:
    """One time given by hand (int, datetime, datetime64 or ISO string), or a DataError that begins with `what`."""
    try:
        moment = microseconds_of(value)
        if moment is None:
            raise wrong_type(None, Type.TIMESTAMP, "NULL")
    except Misfit as misfit:
        raise DataError(f"{what}: {misfit.problem}", misfit.hint) from None
    return moment


def microseconds_of(value: object) -> int | None:
    """Any single value that a timestamp column takes; None for NULL and NaT. The exact but slow way."""
    if value is None:
        return None
    if isinstance(value, np.datetime64):
        column = from_datetime64(np.array([value]), None)
        return int(column.values[0]) if column.valid is None else None
    if isinstance(value, datetime):
        # pandas.NaT is a datetime, and like a NaN the only one that differs from itself.
        return None if value != value else _of_datetime(value)
    if isinstance(value, str):
        moment = _of_text(value)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
        moment = int(value)
    else:
        raise wrong_type(None, Type.TIMESTAMP, described(value))
    if abs(moment) > MAX_TIMESTAMP:
        raise _beyond(None, described(value))
    return moment


def each_of(values: Sequence[object]) -> Column:
    """A column of times of any kinds, value by value."""
    moments = np.zeros(len(values), np.int64)
    valid = np.ones(len(values), np.bool_)
    for row, value in enumerate(values):
        try:
            moment = microseconds_of(value)
        except Misfit as misfit:
            raise Misfit(row, misfit.problem, misfit.hint) from None
        if moment is None:
            valid[row] = False
        else:
            moments[row] = moment
    return Column(Type.TIMESTAMP, moments, None if valid.all() else valid)


def from_datetime64(array: npt.NDArray[np.datetime64], valid: Bools | None) -> Column:
    """A column from datetime64 of any unit, copied; NULL where the value is NaT or not valid."""
    present = ~np.isnat(array) if valid is None else valid & ~np.isnat(array)
    ticks = np.where(present, array.astype(np.int64), 0)
    unit, count = np.datetime_data(array.dtype)
    if unit in _MONTHS:  # their length varies: numpy knows the calendar
        _refuse_beyond(ticks, _MAX_MONTHS // (_MONTHS[unit] * count))
        ticks, unit, count = ticks.astype(array.dtype).astype("M8[D]").astype(np.int64), "D", 1
    if unit != "generic":
        ticks = in_microseconds(ticks, _UNITS[unit] * count)
    elif present.any():
        raise wrong_type(int(present.argmax()), Type.TIMESTAMP, "datetime64 without a unit")
    return Column(Type.TIMESTAMP, ticks, None if present.all() else present)


def from_arrow_timestamp(array: pa.Array) -> pa.Array | Column:
    """A column from Arrow timestamps of any unit and zone; the array itself where the unit is microseconds."""
    column = from_arrow(array.view(pa.int64()), Type.TIMESTAMP)
    ticks = column.values if column.valid is None else np.where(column.valid, column.values, 0)
    moments = in_microseconds(ticks, _UNITS[array.type.unit])
    return array if array.type.unit == "us" else Column(Type.TIMESTAMP, moments, column.valid)


def from_iso(text: pa.Array) -> pa.Array | Column:
    """A column from Arrow strings that hold ISO 8601; spellings that Arrow reads otherwise go one by one."""
    for pattern, type in _ISO_FORMS:
        if pc.all(pc.match_substring_regex(text, pattern)).as_py() is not False:
            try:
                return text.cast(type)
            except pa.ArrowInvalid:
                break  # a month 13 or the like: the slow way names its row
    return each_of(text.to_pylist())


def in_microseconds(ticks: Ints, size: Fraction) -> Ints:
    """Ticks of `size` microseconds each, floored; a Misfit names the first that lies beyond the range."""
    if size.numerator > 1 and size.denominator > 1:  # odd units such as 3 ns: exact at any cost
        exact = ticks.astype(object) * size.numerator // size.denominator
        ticks, size = np.clip(exact, -INT64_MAX, INT64_MAX).astype(np.int64), Fraction(1)
    if size.denominator > 1:
        ticks = ticks // size.denominator
    _refuse_beyond(ticks, MAX_TIMESTAMP // size.numerator)
    return ticks if size.numerator == 1 else ticks * size.numerator


def _refuse_beyond(ticks: Ints, limit: int) -> None:
    if len(ticks) and (ticks.max() > limit or ticks.min() < -limit):
        raise _beyond(int(((ticks > limit) | (ticks < -limit)).argmax()), "timestamp")


def _beyond(row: int | None, given: str) -> Misfit:
    problem = f"{given} lies more than 2**62 microseconds (146,000 years) from 1970"
    return Misfit(row, problem, "integers are microseconds since 1970 UTC: convert from other units first")


def _of_datetime(value: datetime) -> int:
    """Exact for every zone. Built anew because a subclass may carry more than a datetime does."""
    offset = value.utcoffset() or timedelta()
    return (datetime.combine(value.date(), value.time()) - _EPOCH - offset) // _TICK


def _of_text(text: str) -> int:
    try:
        return microseconds(text)
    except ValueError as error:
        raise wrong_value(None, Type.TIMESTAMP, str(error)) from None
