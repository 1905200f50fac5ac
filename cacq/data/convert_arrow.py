"""Arrow data as a column: checked whole, and not copied where it has the layout already."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from cacq.data.column import Column, concatenate, from_arrow
from cacq.data.misfit import Misfit, wrong_type, wrong_value
from cacq.data.moment import from_arrow_timestamp, from_iso
from cacq.data.types import INT64_MAX, Type


def from_arrow_data(data: pa.Array | pa.ChunkedArray, wanted: Type) -> pa.Array | Column:
    """The values as a column of that type; a Misfit names the first that does not fit."""
    if isinstance(data, pa.Array):
        return _from_array(data, wanted)
    if data.num_chunks == 1:
        return _from_array(data.chunk(0), wanted)
    if not len(data):
        return _from_array(data.combine_chunks(), wanted)
    parts, start = [], 0
    for chunk in data.chunks:
        try:
            part = _from_array(chunk, wanted)
        except Misfit as misfit:
            row = None if misfit.row is None else start + misfit.row
            raise Misfit(row, misfit.problem, misfit.hint) from None
        parts.append(part if isinstance(part, Column) else from_arrow(part, wanted))
        start += len(chunk)
    return concatenate(parts)


def _from_array(array: pa.Array, wanted: Type) -> pa.Array | Column:
    _validate(array)
    if types.is_null(array.type):
        return pa.nulls(len(array), wanted.arrow)
    given = array.type
    match wanted:
        case Type.INT64 if types.is_integer(given):
            return _integers(array)
        case Type.FLOAT64 if types.is_floating(given):
            return _aligned(array) if types.is_float64(given) else array.cast(pa.float64())
        case Type.FLOAT64 if types.is_integer(given):
            return array.cast(pa.float64(), safe=False)  # to the nearest, also beyond 2**53
        case Type.BOOL if types.is_boolean(given):
            return array
        case Type.STRING if _is_text(given):
            return _strings(array)
        case Type.TIMESTAMP if types.is_timestamp(given):
            return from_arrow_timestamp(_aligned(array))
        case Type.TIMESTAMP if types.is_integer(given):
            return from_arrow_timestamp(_integers(array).view(pa.timestamp("us")))
        case Type.TIMESTAMP if _is_text(given):
            return from_iso(_strings(array))
    raise wrong_type(0 if len(array) else None, wanted, f"Arrow {given}")


def _validate(array: pa.Array) -> None:
    """Refuses what an Arrow library should never have made: offsets out of bounds, text that is not UTF-8."""
    try:
        array.validate(full=True)
    except pa.ArrowException as error:
        raise Misfit(_first_invalid(array), f"not valid Arrow data: {error}", "check what wrote this data") from None


def _first_invalid(array: pa.Array) -> int | None:
    """The first row that is invalid by itself; None where the array as a whole is broken."""
    if not _is_valid(array, full=False):
        return None
    return next((row for row in range(len(array)) if not _is_valid(array.slice(row, 1), full=True)), None)


def _is_valid(array: pa.Array, full: bool) -> bool:
    try:
        array.validate(full=full)
    except pa.ArrowException:
        return False
    return True


def _integers(array: pa.Array) -> pa.Array:
    if types.is_int64(array.type):
        return _aligned(array)
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        row = pc.index(pc.greater(array, pa.scalar(INT64_MAX, pa.uint64())), True).as_py()
        raise wrong_value(row, Type.INT64, f"uint64 {array[row]} is out of the range of int64") from None


def _is_text(given: pa.DataType) -> bool:
    text = given.value_type if types.is_dictionary(given) else given
    return text in (pa.string(), pa.large_string(), pa.string_view())


def _strings(array: pa.Array) -> pa.Array:
    if types.is_dictionary(array.type):
        return array.dictionary.cast(pa.large_string()).take(array.indices)
    if types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return _aligned(array)


def _aligned(array: pa.Array) -> pa.Array:
    """The array; a copy where its values (a string's offsets) do not begin and end as numpy needs it."""
    width = 4 if types.is_string(array.type) else 8
    buffer = array.buffers()[1]
    if buffer is None or (buffer.address % width == 0 and buffer.size % width == 0):
        return array
    return pa.concat_arrays([array])
