"""A column of a batch: values, and which of them are not NULL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cacq.data.arrays import Bools, Ints, Octets
from cacq.data.types import Type


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one type. Immutable by convention: nobody writes into `values` or `valid` after construction.

    `values` is a numpy array of `type.dtype`; for strings it is an Arrow string or large_string array, untouched
    since it came in. `valid` is None where no value is NULL; else a bool array. What stands in `values` under a
    NULL is arbitrary.
    """

    type: Type
    values: Any
    valid: Bools | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes this column keeps alive."""
        return int(self.values.nbytes) + (0 if self.valid is None else self.valid.nbytes)

    def take(self, rows: Ints) -> Column:
        """The rows with these positions, in this order."""
        valid = None if self.valid is None else self.valid[rows]
        values = self.values.take(pa.array(rows)) if self.type is Type.STRING else self.values[rows]
        return Column(self.type, values, valid)

    def slice(self, start: int, stop: int) -> Column:
        """Rows `[start, stop)` without copying."""
        valid = None if self.valid is None else self.valid[start:stop]
        return Column(self.type, self.values[start:stop], valid)

    def detached(self) -> Column:
        """The same column; copied where it is a small part of memory that it would keep alive as a whole."""
        if _pinned(self.values) <= 2 * self.values.nbytes + 4096:
            return self
        return self.take(np.arange(len(self)))

    def text(self) -> tuple[Ints, Octets]:
        """Strings as kernels read them: value i is `data[offsets[i]:offsets[i + 1]]`, in UTF-8."""
        array = self.values
        _, offsets, data = array.buffers()
        width = np.int32 if pa.types.is_string(array.type) else np.int64
        if len(array) == 0 or offsets is None:
            return np.zeros(len(array) + 1, np.int64), np.zeros(1, np.uint8)
        view = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1]
        raw = np.zeros(1, np.uint8) if data is None or data.size == 0 else np.frombuffer(data, np.uint8)
        return view.astype(np.int64, copy=False), raw

    def to_list(self) -> list[Any]:
        """The values as Python objects, None for NULL; timestamps are integers."""
        values: list[Any] = self.values.to_pylist() if self.type is Type.STRING else self.values.tolist()
        if self.valid is None:
            return values
        return [value if present else None for value, present in zip(values, self.valid.tolist(), strict=True)]

    def to_arrow(self) -> pa.Array:
        """The column as an Arrow array of `type.arrow`."""
        mask = None if self.valid is None else ~self.valid
        if self.type is not Type.STRING:
            storage = pa.array(self.values, mask=mask)
            return storage.cast(self.type.arrow) if storage.type != self.type.arrow else storage
        array = self.values.cast(self.type.arrow)
        if mask is None:
            return array
        return pc.if_else(pa.array(self.valid), array, pa.scalar(None, self.type.arrow))


def _pinned(values: Any) -> int:
    """Bytes that stay in memory as long as the values do."""
    if isinstance(values, pa.Array):
        buffers = [buffer for buffer in values.buffers() if buffer is not None]
    else:
        root: Any = values
        while isinstance(root, np.ndarray) and root.base is not None:
            root = root.base
        root = root.obj if isinstance(root, memoryview) else root
        if not isinstance(root, pa.Buffer):
            return int(root.nbytes)
        buffers = [root]
    return sum(_root(buffer).size for buffer in buffers)


def _root(buffer: pa.Buffer) -> pa.Buffer:
    while buffer.parent is not None:
        buffer = buffer.parent
    return buffer


def from_arrow(array: pa.Array, type: Type) -> Column:
    """The column behind an Arrow array of exactly that type; no copy where the layout allows it.

    Only booleans and NULL maps are unpacked from bits to bytes.
    """
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    if type is Type.STRING:
        return Column(type, array, valid)
    if type is Type.BOOL:
        return Column(type, _bits(array), valid)
    buffer = array.buffers()[1]
    values = np.frombuffer(buffer, type.dtype)[array.offset : array.offset + len(array)] if len(array) else None
    return Column(type, np.empty(0, type.dtype) if values is None else values, valid)


def _bits(array: pa.Array) -> Bools:
    """An Arrow boolean array as one byte a value."""
    if not len(array):
        return np.empty(0, np.bool_)
    packed = np.frombuffer(array.buffers()[1], np.uint8)
    first, skip = divmod(array.offset, 8)
    bits = np.unpackbits(packed[first:], bitorder="little", count=skip + len(array))
    return bits[skip:].view(np.bool_)


def concatenate(columns: Sequence[Column]) -> Column:
    """All rows of the columns, one after another; they have one type and there is at least one."""
    if len(columns) == 1:
        return columns[0]
    type = columns[0].type
    valid = None
    if any(column.valid is not None for column in columns):
        valid = np.concatenate([np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in columns])
    if type is Type.STRING:
        return Column(type, pa.concat_arrays([c.values.cast(pa.large_string()) for c in columns]), valid)
    return Column(type, np.concatenate([c.values for c in columns]), valid)


def empty(type: Type) -> Column:
    """A column without rows."""
    return Column(type, pa.array([], pa.large_string()) if type is Type.STRING else np.empty(0, type.dtype))
