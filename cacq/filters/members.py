"""The values of an IN list, sorted once for operands of one type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cacq.data.column import Column
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.query import ast


@dataclass(frozen=True)
class Members:
    """What an IN list holds: its sorted values (a Column for strings, else an array), whether NaN, whether NULL."""

    values: Any
    nan: bool
    null: bool


def members_of(constants: tuple[ast.Constant, ...], type: Type) -> Members:
    """The constants that some value of that type equals."""
    values = [constant.value for constant in constants]
    null = None in values
    nan = type is Type.FLOAT64 and any(value != value for value in values)
    if type is Type.STRING:
        strings = sorted({value for value in values if isinstance(value, str)})
        return Members(Column(type, pa.array(strings, pa.large_string())), False, null)
    equals = [equal for value in values if (equal := _equal(value, type)) is not None]
    return Members(np.unique(np.array(equals, type.dtype)), nan, null)


def _equal(value: Any, type: Type) -> int | float | bool | None:
    """The value of that type, other than NaN, that equals a constant exactly; None if there is none."""
    if value is None or value != value:
        return None
    if type is Type.BOOL:
        return bool(value)
    if type is Type.FLOAT64:
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if number == value else None
    if isinstance(value, float):
        if not value.is_integer():
            return None
        value = int(value)
    return int(value) if INT64_MIN <= value <= INT64_MAX else None
