"""What a poll gives out: result rows with their sign, birth and death."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cacq.data.arrays import Ints
from cacq.data.column import Column
from cacq.data.types import NEVER, Type


class Deltas:
    """Result rows of one query, in order. `exp` is `cacq.NEVER` where a row does not die."""

    def __init__(self, first: int, length: int, ts: Callable[[], Ints], columns: Mapping[str, Column]) -> None:
        self._first = first
        self._length = length
        self._ts = ts
        self._columns = columns

    def __len__(self) -> int:
        return self._length

    @cached_property
    def ts(self) -> Ints:
        """The event time of each row, in microseconds."""
        ts = self._ts()
        self._ts = lambda: ts
        return ts

    @cached_property
    def seq(self) -> Ints:
        """The number of each row among the results of the query, from 0 on."""
        return np.arange(self._first, self._first + len(self))

    @cached_property
    def op(self) -> Ints:
        """The sign of each row: 1 where it comes."""
        return np.ones(len(self), np.int64)

    @cached_property
    def exp(self) -> Ints:
        """When each row dies."""
        return np.full(len(self), NEVER)

    def __repr__(self) -> str:
        return f"<{len(self)} deltas of {', '.join(self._columns)}>"

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Numpy arrays by output name; masked where the column holds NULLs, strings as objects."""
        return {name: _array(column) for name, column in self._columns.items()}

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as tuples of Python values, None for NULL; timestamps are integers."""
        lists: Sequence[list[Any]] = [column.to_list() for column in self._columns.values()]
        return list(zip(*lists, strict=True))

    def to_arrow(self) -> pa.Table:
        """A table of seq, op, ts, exp (null where never) and the output columns, which keep their names."""
        frame = {
            "seq": pa.array(self.seq),
            "op": pa.array(self.op),
            "ts": pa.array(self.ts),
            "exp": pa.array(self.exp, mask=self.exp == NEVER),
        }
        names = [*frame, *self._columns]
        return pa.Table.from_arrays([*frame.values(), *(c.to_arrow() for c in self._columns.values())], names=names)


def _array(column: Column) -> npt.NDArray[Any]:
    if column.type is Type.STRING:
        values = np.empty(len(column), object)
        values[:] = column.values.to_pylist()
    else:
        values = column.values
    return values if column.valid is None else np.ma.MaskedArray(values, mask=~column.valid)
