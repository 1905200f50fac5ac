"""One accepted push: the rows of one stream under one LSN, their event times, and their columns as they came in."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from cacq.data.arrays import Ints
from cacq.data.column import Column, from_arrow
from cacq.data.schema import Schema


class Record:
    """Rows of one stream. A column is decoded when somebody first asks for it, so columns nobody names cost nothing."""

    def __init__(self, schema: Schema, lsn: int, ts: Ints, columns: Mapping[str, pa.Array | Column]) -> None:
        self.schema = schema
        self.lsn = lsn
        self.ts = ts
        self._columns = dict(columns)

    def __len__(self) -> int:
        return len(self.ts)

    def column(self, name: str) -> Column:
        """The whole column, decoded."""
        held = self._columns[name]
        if not isinstance(held, Column):
            held = self._columns[name] = from_arrow(held, self.schema.columns[name])
        return held
