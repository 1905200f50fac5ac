"""The results of one record: its surviving rows, stored once for all queries that want them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.data.column import Column
from cacq.data.lineage import WORD, Layout, bit
from cacq.kernels import answers, pairs

OVERHEAD = 1024
"""Bytes of Python objects around the arrays of a chunk, roughly."""


class Chunk:
    """Surviving rows in canonical order, the columns that queries show, and which queries want which row.

    Held as (rows x queries). Where there are more than 64 rows it is turned into (queries x rows), once, when a query
    first asks, so that each further query reads only its own bits.
    """

    def __init__(self, lsn: int, ts: Ints, columns: Mapping[str, Column], live: Words, layout: Layout) -> None:
        self.lsn = lsn
        self.ts = ts
        self.columns = columns
        self.slots = layout.live_words * WORD
        self._layout = layout
        self._live = live
        self._turned: Words | None = None
        held = sum(column.nbytes for column in columns.values())
        turned = len(live) > WORD and live.shape[1] * WORD * ((len(live) + WORD - 1) // WORD) * 8
        self.nbytes = OVERHEAD + ts.nbytes + max(live.nbytes, turned) + held

    def __len__(self) -> int:
        return len(self.ts)

    def positions(self, slot: int) -> Ints:
        """The rows that the query in a slot wants, ascending."""
        if len(self) <= WORD:
            return np.flatnonzero(self._live[:, self._layout.word(slot)] & bit(slot))
        out = np.empty(len(self), np.int64)
        return out[: answers.positions(self._bits(slot), out)]

    def count(self, slot: int) -> int:
        """How many rows the query in a slot wants."""
        if len(self) <= WORD:
            return int(np.count_nonzero(self._live[:, self._layout.word(slot)] & bit(slot)))
        return int(answers.count(self._bits(slot)))

    def add_counts(self, out: Ints) -> None:
        """Add to each slot's entry how many rows its query wants."""
        counts = np.zeros(self._layout.live_words * WORD, np.int64)
        if len(self) <= WORD:
            everyone = np.full(self._layout.live_words, ~np.uint64(0), np.uint64)
            pairs.tally(self._live, np.arange(len(self)), everyone, counts)
        else:
            answers.count_rows(self._by_query(), counts)
        self._layout.add_by_slot(counts, out)

    def _bits(self, slot: int) -> Words:
        bits: Words = self._by_query()[self._layout.word(slot) * WORD + slot % WORD]
        return bits

    def _by_query(self) -> Words:
        if self._turned is None:
            turned = np.zeros((self._live.shape[1] * WORD, (len(self) + WORD - 1) // WORD), np.uint64)
            answers.transpose(self._live, turned)
            self._turned = turned
            self._live = np.empty((0, 0), np.uint64)
        return self._turned
