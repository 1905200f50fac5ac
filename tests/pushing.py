"""What the tests of pushed data share: pushing a column, reading it back exactly, and the words of a refusal."""

from __future__ import annotations

import struct
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from cacq.data.column import Column, from_arrow
from cacq.data.intake import intake
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.errors import DataError

NOON = datetime(2020, 1, 1, 12)
NOON_US = 1_577_880_000_000_000
NAN = float("nan")


def decoded(column: pa.Array | Column, type: Type) -> Column:
    """The column as the engine decodes it; what is still Arrow has one of the promised types."""
    if isinstance(column, Column):
        return column
    allowed = [pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.large_string()]
    assert column.type in allowed or (pa.types.is_timestamp(column.type) and column.type.unit == "us")
    return from_arrow(column, type)


def plain(column: pa.Array | Column, type: Type) -> list[Any]:
    """The values as Python has them; floats as their bits, so that NaN equals itself and -0.0 is not 0.0."""
    column = decoded(column, type)
    assert type is Type.STRING or column.values.dtype == type.dtype
    values = column.values.to_pylist() if type is Type.STRING else column.values.tolist()
    if type is Type.FLOAT64:
        values = bits(*values)
    valid = [True] * len(values) if column.valid is None else column.valid.tolist()
    return [value if there else None for value, there in zip(values, valid, strict=True)]


def bits(*values: float | None) -> list[bytes | None]:
    return [None if value is None else struct.pack("<d", value) for value in values]


def push(data: object, columns: dict[str, str], timestamp: str | None = None) -> dict[str, list[Any]]:
    """All columns of a push, read back."""
    schema = Schema.of(columns, timestamp)
    rows, taken = intake(data, schema)
    assert list(taken) == list(columns)
    assert {len(column) for column in taken.values()} == {rows}
    return {name: plain(column, schema.columns[name]) for name, column in taken.items()}


def taken(values: object, type: str) -> list[Any]:
    """One column that was pushed as `x`, read back."""
    return push({"x": values}, {"x": type})["x"]


def refusal(data: object, columns: dict[str, str], timestamp: str | None = None) -> str:
    """The message of the refusal that this push meets."""
    with pytest.raises(DataError) as caught:
        intake(data, Schema.of(columns, timestamp))
    assert caught.value.hint, "every refusal says what to do"
    return caught.value.message


def refused(values: object, type: str) -> str:
    """The message of the refusal that one column, pushed as `x`, meets."""
    return refusal({"x": values}, {"x": type})


def label(values: object) -> str:
    """A short name for a test's parameter that is the same in every process."""
    detail = getattr(values, "dtype", None) or getattr(values, "type", None)
    if detail is None and isinstance(values, str | int | float):
        return repr(values)[:40]
    return type(values).__name__ if detail is None else f"{type(values).__name__}[{detail}]"


def exporter(data: Any, method: str) -> object:
    """An object of some other library that hands out Arrow data by this one method."""

    def export(self: object, *arguments: Any, **keywords: Any) -> object:
        return getattr(data, method)(*arguments, **keywords)

    return type("Frame", (), {method: export})()
