"""The results of one record: its surviving rows, stored once for all queries that want them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.data.column import Column
from cacq.data.lineage import WORD, bit
from cacq.kernels import answers

OVERHEAD = 1024
"""Bytes of Python objects around the arrays of a chunk, roughly."""


class Chunk:
    """Surviving rows in canonical order, the columns that queries show, and which queries want which row.

    Held as (rows x queries) until a query asks; then turned, once, into (queries x rows), so that each further
    query reads only its own bits.
    """

    def __init__(self, lsn: int, ts: Ints, columns: Mapping[str, Column], live: Words) -> None:
        self.lsn = lsn
        self.ts = ts
        self.columns = columns
        self.slots = live.shape[1] * WORD
        self._live = live
        self._turned: Words | None = None
        held = sum(column.nbytes for column in columns.values())
        self.nbytes = OVERHEAD + ts.nbytes + live.nbytes + held

    def __len__(self) -> int:
        return len(self.ts)

    def positions(self, slot: int) -> Ints:
        """The rows that the query in a slot wants, ascending."""
        if len(self) <= WORD and self._turned is None:
            return np.flatnonzero(self._live[:, slot // WORD] & bit(slot))
        out = np.empty(len(self), np.int64)
        return out[: answers.positions(self._by_query()[slot], out)]

    def count(self, slot: int) -> int:
        """How many rows the query in a slot wants."""
        if len(self) <= WORD and self._turned is None:
            return int(np.count_nonzero(self._live[:, slot // WORD] & bit(slot)))
        return int(answers.count(self._by_query()[slot]))

    def add_counts(self, out: Ints) -> None:
        """Add to each slot's entry how many rows its query wants."""
        answers.count_rows(self._by_query(), out[: self.slots])

    def _by_query(self) -> Words:
        if self._turned is None:
            turned = np.zeros((self.slots, (len(self) + WORD - 1) // WORD), np.uint64)
            answers.transpose(self._live, turned)
            self._turned = turned
            self._live = np.empty((0, 0), np.uint64)
        return self._turned
