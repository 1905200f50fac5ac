"""Rows in every form that `push` accepts, chosen at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from tests.oracle.language import Column, Stream, iso
from tests.oracle.plain import Row

NUMPY = {"int64": np.int64, "float64": np.float64, "bool": np.bool_, "string": object, "timestamp": np.int64}
BASE = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.int64(),
}
ARROW = {
    "int64": (pa.int64(),),
    "float64": (pa.float64(),),
    "bool": (pa.bool_(),),
    "string": (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())),
    "timestamp": (pa.timestamp("us", tz="UTC"), pa.timestamp("us"), pa.int64()),
}


def pushable(stream: Stream, rows: Sequence[Row], random: Random) -> Any:
    """The rows in one of the five forms."""
    return random.choice(FORMS)(stream, rows, random)


def lists(stream: Stream, rows: Sequence[Row], random: Random) -> dict[str, list[Any]]:
    return {column.name: _spelled(column, _values(rows, i), random) for i, column in enumerate(stream.columns)}


def arrays(stream: Stream, rows: Sequence[Row], random: Random) -> dict[str, Any]:
    return {column.name: _numpy(column, _values(rows, i), random) for i, column in enumerate(stream.columns)}


def dicts(stream: Stream, rows: Sequence[Row], random: Random) -> list[dict[str, Any]]:
    columns = lists(stream, rows, random)
    return [{name: values[i] for name, values in columns.items()} for i in range(len(rows))]


def record_batch(stream: Stream, rows: Sequence[Row], random: Random) -> pa.RecordBatch:
    """A slice of a longer batch half of the time, so that its buffers have an offset."""
    before = random.choice((0, 0, 1, 9)) if rows else 0
    padded = [*rows[:1]] * before + [*rows, *rows[:before]]
    arrays = [_arrow(column, _values(padded, i), random) for i, column in enumerate(stream.columns)]
    batch = pa.RecordBatch.from_arrays(arrays, names=[column.name for column in stream.columns])
    return batch.slice(before, len(rows))


def table(stream: Stream, rows: Sequence[Row], random: Random) -> pa.Table:
    """A table of one to three chunks, its columns in any order."""
    seed = random.getrandbits(32)
    cuts = sorted(random.randint(0, len(rows)) for _ in range(random.randint(0, 2)))
    parts = [rows[first:last] for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    whole = pa.Table.from_batches([_batch_of(stream, part, Random(seed)) for part in parts])
    return whole.select(random.sample(whole.column_names, whole.num_columns))


FORMS: tuple[Callable[[Stream, Sequence[Row], Random], Any], ...] = (lists, arrays, dicts, record_batch, table)


def _values(rows: Sequence[Row], position: int) -> list[Any]:
    return [row[position] for row in rows]


def _spelled(column: Column, values: list[Any], random: Random) -> list[Any]:
    """Timestamps as integers, datetimes or ISO strings."""
    if column.type != "timestamp":
        return values
    spell = random.choice((int, iso, lambda us: iso(us).isoformat(), lambda us: iso(us).replace(tzinfo=None)))
    return [None if value is None else spell(value) for value in values]


def _numpy(column: Column, values: list[Any], random: Random) -> Any:
    """An array; one with NULLs is masked, or holds objects."""
    if column.type == "string" or (None in values and random.random() < 0.3):
        return np.array([*values, None], dtype=object)[:-1]
    mask = [value is None for value in values]
    array = np.array([0 if value is None else value for value in values], dtype=NUMPY[column.type])
    if column.type == "timestamp" and random.random() < 0.5:
        array = array.astype("datetime64[us]")
    return np.ma.array(array, mask=mask) if any(mask) else array


def _arrow(column: Column, values: list[Any], random: Random) -> pa.Array:
    plain = pa.array(values, BASE[column.type])
    return plain.cast(random.choice(ARROW[column.type]))


def _batch_of(stream: Stream, rows: Sequence[Row], random: Random) -> pa.RecordBatch:
    arrays = [_arrow(column, _values(rows, i), random) for i, column in enumerate(stream.columns)]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in stream.columns])
