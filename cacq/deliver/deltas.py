"""What a poll gives out: result rows with their sign, birth and death."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cacq.data.arrays import Ints
from cacq.data.column import Column
from cacq.data.types import NEVER, Type


class Deltas:
    """Result rows of one query, in order. `exp` is `cacq.NEVER` where a row does not die."""

    def __init__(self, seq: Ints, op: Ints, ts: Ints, exp: Ints, columns: Mapping[str, Column]) -> None:
        self.seq = seq
        self.op = op
        self.ts = ts
        self.exp = exp
        self._columns = columns

    def __len__(self) -> int:
        return len(self.seq)

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
