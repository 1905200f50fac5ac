"""The columns of one source that sparse predicates look at, as int64 keys in the order of their values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cacq.data.arrays import NO_NULLS, Bools, Int32s, Ints, Octets
from cacq.data.column import Column
from cacq.data.record import Record
from cacq.data.types import Type
from cacq.kernels import interned, intervals
from cacq.query import ast


class Range(NamedTuple):
    """True where `low <= key <= high`; NULL is in no range."""

    key: int
    low: int
    high: int


class KeyColumns:
    """Numbers for columns and, for strings, numbers for the constants that predicates compare them with.

    Strings have no order here: equality with a constant is the range from its number to its number. Numbers of
    constants are not taken back. Keys are computed once for a record, of which the last one is held.
    """

    def __init__(self) -> None:
        self._columns: list[ast.Column] = []
        self._numbers: dict[str, int] = {}
        self._constants: dict[int, _Constants] = {}
        self._record: Record | None = None
        self._values: dict[int, tuple[Ints, Bools]] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def number(self, column: ast.Column) -> int:
        """The number of a column; the same column has the same number always."""
        if column.name not in self._numbers:
            self._numbers[column.name] = len(self._columns)
            if column.type is Type.STRING:
                self._constants[len(self._columns)] = _Constants()
            self._columns.append(column)
        return self._numbers[column.name]

    def type(self, key: int) -> Type:
        """The type of a column by its number."""
        return self._columns[key].type

    def intern(self, key: int, text: str) -> int:
        """The number of a constant that a string column is compared with."""
        constants = self._constants[key]
        if text not in constants.numbers and self._record is not None:
            self._values.pop(key, None)
        return constants.number(text)

    def values(self, record: Record, key: int) -> tuple[Ints, Bools]:
        """The key of each row, and which rows are not NULL (empty: all). Strings that are no constant have -1."""
        if record is not self._record:
            self._record, self._values = record, {}
        held = self._values.get(key)
        if held is None:
            column = record.column(self._columns[key].name)
            if column.type is Type.INT64 or column.type is Type.TIMESTAMP:
                keys = column.values
            elif column.type is Type.STRING:
                keys = self._constants[key].numbers_of(column)
            else:
                keys = keys_of(column)
            held = self._values[key] = keys, NO_NULLS if column.valid is None else column.valid
        return held

    def some(self, record: Record, key: int, rows: Ints) -> tuple[Ints, Bools]:
        """The same for some rows of a record only."""
        column = record.column(self._columns[key].name).take(rows)
        return self._keys(key, column), NO_NULLS if column.valid is None else column.valid

    def _keys(self, key: int, column: Column) -> Ints:
        if column.type is Type.STRING:
            return self._constants[key].numbers_of(column)
        return keys_of(column)

    @property
    def nbytes(self) -> int:
        """Bytes of the constants of string columns."""
        return sum(constants.nbytes for constants in self._constants.values())


def keys_of(column: Column) -> Ints:
    """The keys of a column that is not one of strings."""
    values: Ints = column.values
    if column.type is Type.FLOAT64:
        values = np.empty(len(column), np.int64)
        intervals.keys_of_floats(column.values, column.values.view(np.int64), values)
    elif column.type is Type.BOOL:
        values = column.values.astype(np.int64)
    return values


class _Constants:
    """Strings by number: a dict for the planner, and a hash table over UTF-8 that kernels search."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._fresh: list[bytes] = []
        self._offsets: Ints = np.zeros(1, np.int64)
        self._data: Octets = np.zeros(1, np.uint8)
        self._count = 0
        self._table: Int32s = np.full(16, -1, np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; the dict holds about 100 more for each constant."""
        return self._offsets.nbytes + self._data.nbytes + self._table.nbytes

    def number(self, text: str) -> int:
        """The number of a constant, a new one where it has none."""
        if text not in self.numbers:
            self.numbers[text] = len(self.numbers)
            self._fresh.append(text.encode())
        return self.numbers[text]

    def numbers_of(self, column: Column) -> Ints:
        """The number of each string, -1 for those that are no constant."""
        if self._fresh:
            self._take_in()
        out = np.empty(len(column), np.int64)
        interned.numbers_of_texts(*column.text(), self._offsets, self._data, self._table, out)
        return out

    def _take_in(self) -> None:
        """Put new constants into the arrays, which double when they are full."""
        fresh, start = self._fresh, self._count
        stop = start + len(fresh)
        ends = self._offsets[start] + np.cumsum([len(text) for text in fresh])
        if stop >= len(self._offsets):
            self._offsets = _room(self._offsets, start + 1, 2 * stop + 1)
        if ends[-1] > len(self._data):
            self._data = _room(self._data, int(self._offsets[start]), 2 * int(ends[-1]))
        self._offsets[start + 1 : stop + 1] = ends
        self._data[self._offsets[start] : ends[-1]] = np.frombuffer(b"".join(fresh), np.uint8)
        if 2 * stop > len(self._table):
            self._table = np.full(4 << stop.bit_length(), -1, np.int32)
            start = 0
        interned.intern(self._offsets, self._data, start, stop, self._table)
        self._fresh, self._count = [], stop


def _room(array: npt.NDArray[Any], used: int, size: int) -> npt.NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[:used] = array[:used]
    return larger
