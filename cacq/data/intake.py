"""From what was pushed to checked columns: the input forms of `Engine.push`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from cacq.data.column import Column
from cacq.data.convert import convert, detached
from cacq.data.misfit import Misfit
from cacq.data.schema import Schema
from cacq.errors import DataError

Columns = dict[str, pa.Array | Column]

_FORMS = "push a dict of columns, a list of dicts, a pyarrow RecordBatch or Table, or a frame that exports Arrow"
_ROW_LABELS = "__index_level_"


def intake(data: object, schema: Schema) -> tuple[int, Columns]:
    """The number of rows, and every column of the schema in its order; or a DataError, and nothing has happened.

    A column is decoded already, or an Arrow array that `column.from_arrow` decodes: contiguous, valid, of type int64,
    float64, bool, string, large_string or timestamp[us]. The event-time column has no NULL. pyarrow data of these
    types is not copied, so whoever pushes it must not write into its buffers afterwards; all else is.
    """
    if isinstance(data, Mapping):
        columns = _convert(_of_mapping(data, schema), schema)
    elif isinstance(data, list | tuple):
        columns = _convert(_of_rows(data, schema), schema)
    elif isinstance(data, pa.RecordBatch | pa.Table):
        columns = _convert(_of_table(data, schema), schema)
    else:
        lent = _convert(_of_table(_exported(data), schema), schema)
        columns = {name: detached(column, schema.columns[name]) for name, column in lent.items()}
    rows = _common_length(columns)
    if schema.timestamp is not None:
        _refuse_null(schema.timestamp, columns[schema.timestamp])
    return rows, columns


def _convert(given: Mapping[str, Any], schema: Schema) -> Columns:
    columns: Columns = {}
    for name, wanted in schema.columns.items():
        try:
            columns[name] = convert(given[name], wanted)
        except Misfit as misfit:
            raise misfit.error(name) from misfit.__cause__
    return columns


def _of_mapping(data: Mapping[Any, Any], schema: Schema) -> Mapping[str, Any]:
    """The same, once it has exactly the schema's names."""
    for name in data:
        if name not in schema.columns:
            raise DataError(f"column {name!r} is unknown", _nearest(name, schema))
    for name in schema.columns:
        if name not in data:
            raise DataError(f"column {name!r} is missing", "give every column; None is NULL")
    return data


def _nearest(name: object, schema: Schema) -> str:
    lowered = {column.lower(): column for column in schema.columns}
    close = get_close_matches(str(name).lower(), lowered, 1)
    return f"did you mean {lowered[close[0]]!r}?" if close else "columns are: " + ", ".join(schema.columns)


def _of_table(table: pa.RecordBatch | pa.Table, schema: Schema) -> Mapping[str, Any]:
    names = table.schema.names
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"column {name!r} occurs {names.count(name)} times", "give every column once")
    return _of_mapping(dict(zip(names, table.columns, strict=True)), schema)


def _of_rows(rows: Sequence[Any], schema: Schema) -> Mapping[str, Any]:
    """The columns of a list of dicts, each with exactly the schema's names."""
    kinds = set(map(type, rows))
    if not all(issubclass(kind, Mapping) for kind in kinds):
        row = next(row for row, value in enumerate(rows) if not isinstance(value, Mapping))
        raise DataError(f"row {row} is not a dict but {type(rows[row]).__name__}", _FORMS)
    if not kinds <= {dict}:
        rows = list(map(dict, rows))  # a defaultdict would make up what is missing
    try:
        columns = {name: list(map(itemgetter(name), rows)) for name in schema.columns}
    except KeyError:
        columns = {}
    if not columns or not set(map(len, rows)) <= {len(schema.columns)}:
        _refuse_names(rows, schema)
    return columns


def _refuse_names(rows: Sequence[Any], schema: Schema) -> None:
    for number, row in enumerate(rows):
        try:
            _of_mapping(row, schema)
        except DataError as error:
            raise DataError(f"row {number}, {error.message}", error.hint) from None


def _exported(data: object) -> pa.RecordBatch | pa.Table:
    """The Arrow form of another library's frame, without the row labels that pandas adds as columns."""
    kind = type(data).__name__
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise DataError(f"rows cannot come as {kind}", _FORMS)
    try:
        table = pa.table(data) if hasattr(data, "__arrow_c_stream__") else pa.record_batch(data)
    except Exception as error:  # whatever the other library raises
        raise DataError(f"{kind} cannot be read as an Arrow table: {error}", _FORMS) from error
    return table.select([i for i, name in enumerate(table.schema.names) if not name.startswith(_ROW_LABELS)])


def _common_length(columns: Columns) -> int:
    (first, column), *others = columns.items()
    for name, other in others:
        if len(other) != len(column):
            lengths = f"column {first!r} has {len(column)} rows, column {name!r} has {len(other)}"
            raise DataError(lengths, "give all columns the same length")
    return len(column)


def _refuse_null(name: str, column: pa.Array | Column) -> None:
    """The event-time column is never NULL."""
    if isinstance(column, Column):
        valid = column.valid
    else:
        valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if valid is not None and not valid.all():
        misfit = Misfit(int(np.argmin(valid)), "event time is NULL", "give every row a timestamp")
        raise misfit.error(name)
