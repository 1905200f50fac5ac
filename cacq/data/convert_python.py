"""A list of Python values as a column. The kinds of values that occur are learnt first; Arrow then does the work."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from itertools import repeat
from operator import attrgetter, is_, is_not
from types import NoneType
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from cacq.data.column import Column
from cacq.data.misfit import described, wrong_type, wrong_value
from cacq.data.moment import each_of, from_arrow_timestamp, from_datetime64, from_iso
from cacq.data.types import INT64_MAX, INT64_MIN, Type

Kinds = set[type[object]]

_INTEGERS = (int, np.integer)
_TAKEN: dict[Type, tuple[type, ...]] = {
    Type.INT64: _INTEGERS,
    Type.FLOAT64: (float, np.floating, *_INTEGERS),
    Type.BOOL: (bool, np.bool_),
    Type.STRING: (str,),
    Type.TIMESTAMP: (datetime, np.datetime64, str, *_INTEGERS),
}
_NOT_TAKEN = (np.timedelta64, np.longdouble)
"""numpy counts timedelta64 among the integers, and longdouble does not fit a float64."""


def from_list(values: Sequence[object], wanted: Type) -> pa.Array | Column:
    """The values as a column of that type, None as NULL; a Misfit names the first that does not fit."""
    kinds: Kinds = set(map(type, values))
    kinds.discard(NoneType)
    if not all(_takes(wanted, kind) for kind in kinds):
        row = next(row for row, value in enumerate(values) if value is not None and not _takes(wanted, type(value)))
        raise wrong_type(row, wanted, described(values[row]))
    match wanted:
        case Type.INT64:
            return _integers(values)
        case Type.FLOAT64:
            return _floats(values, kinds)
        case Type.BOOL:
            return pa.array(values, pa.bool_())
        case Type.STRING:
            return _strings(values)
        case Type.TIMESTAMP:
            return _timestamps(values, kinds)


def _takes(wanted: Type, kind: type[object]) -> bool:
    if kind is bool:
        return wanted is Type.BOOL
    return issubclass(kind, _TAKEN[wanted]) and not issubclass(kind, _NOT_TAKEN)


def _all(kinds: Kinds, taken: type | tuple[type, ...]) -> bool:
    return all(issubclass(kind, taken) for kind in kinds)


def _integers(values: Sequence[object]) -> pa.Array:
    try:
        return pa.array(values, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        for row, value in enumerate(values):
            if isinstance(value, _INTEGERS) and not INT64_MIN <= int(value) <= INT64_MAX:
                raise wrong_value(row, Type.INT64, f"{described(value)} is out of the range of int64") from None
        raise


def _floats(values: Sequence[object], kinds: Kinds) -> pa.Array | Column:
    """Integers round to the nearest float, as Python does; Arrow would refuse those beyond 2**53."""
    if _all(kinds, (float, np.floating)):
        return pa.array(values, pa.float64())
    try:
        numbers = np.array(values, np.float64)
    except OverflowError:
        for row, value in enumerate(values):
            if isinstance(value, int) and not _has_float(value):
                raise wrong_value(row, Type.FLOAT64, f"{described(value)} is out of the range of float64") from None
        raise
    missing = np.fromiter(map(is_, values, repeat(None)), np.bool_, len(values))
    return Column(Type.FLOAT64, numbers, ~missing if missing.any() else None)


def _has_float(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _strings(values: Sequence[object]) -> pa.Array:
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:
        for row, value in enumerate(values):
            if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
                problem = f"{described(value)} holds half of a surrogate pair, which is no text"
                raise wrong_value(row, Type.STRING, problem) from None
        raise


def _timestamps(values: Sequence[object], kinds: Kinds) -> pa.Array | Column:
    """One kind of value at C speed; kinds mixed, or such that Arrow reads inexactly, one by one."""
    if _all(kinds, _INTEGERS):
        return from_arrow_timestamp(_integers(values).view(pa.timestamp("us")))
    if _all(kinds, str):
        return from_iso(_strings(values))
    if kinds == {datetime} and _zones_are_plain(values):
        return pa.array(values, pa.timestamp("us"))
    if kinds == {np.datetime64}:
        dtypes = set(map(attrgetter("dtype"), _present(values)))
        if len(dtypes) == 1:
            return from_datetime64(np.array(values, dtypes.pop()), None)
    return each_of(values)


def _present(values: Sequence[object]) -> filter[object]:
    return filter(partial(is_not, None), values)


def _zones_are_plain(values: Sequence[object]) -> bool:
    """No offset has a part of a second: Arrow would drop it."""
    tzinfo = attrgetter("tzinfo")
    kinds = set(map(type, map(tzinfo, _present(values))))
    if not kinds <= {NoneType, timezone, ZoneInfo}:
        return False
    zones = set(map(tzinfo, _present(values))) if timezone in kinds else set()
    return not any(isinstance(zone, timezone) and zone.utcoffset(None).microseconds for zone in zones)
