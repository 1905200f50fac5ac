"""A query's time in a slot, and how many of the results of each slot have been dropped.

When memory runs out the oldest results go; what went is added up by slot. A query learns how many of its results are
gone from two numbers: the sum where its time in the slot begins, and the sum now (or where its time ends). A slot may
have had other tenants before and after.
"""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Ints
from cacq.data.lineage import WORD
from cacq.data.types import NEVER
from cacq.deliver.block import Block
from cacq.deliver.segment import Segment

UNKNOWN = -1
"""Stands for a sum that is not known yet, because the record at which it is taken has not been dropped."""


class Tenancy:
    """One query's time in a slot: it gets the rows with `since < lsn < until`. `read` is the LSN up to which it has
    got them, `taken` how many they were, with those it was told are lost."""

    __slots__ = ("dropped_at_end", "dropped_before", "read", "since", "slot", "taken", "until")

    def __init__(self, slot: int, since: int) -> None:
        self.slot = slot
        self.since = since
        self.until = NEVER
        self.read = since
        self.taken = 0
        self.dropped_before = UNKNOWN
        self.dropped_at_end = UNKNOWN


class Farewell:
    """Counts what each slot's query has in a segment that will be dropped, some of it at a time: a large segment takes
    longer than a push should."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        dense, sparse = segment.slots()
        self.dense: Ints = np.zeros(dense, np.int64)
        self.sparse: Ints = np.zeros(sparse, np.int64)
        self._waiting = segment.lineage()
        self._credit = 0

    def count(self, nbytes: int | None = None) -> None:
        """Count on, so many bytes of lineage more than so far on average; or all that is left."""
        self._credit += nbytes or 0
        while self._waiting and (nbytes is None or self._credit >= self._waiting[-1].nbytes):
            part = self._waiting.pop()
            part.add_counts(self.dense if isinstance(part, Block) else self.sparse)
            self._credit -= part.nbytes


class Sums:
    """A number for each slot, dense or sparse; 0 for those it has not heard of."""

    def __init__(self) -> None:
        self._dense: Ints = np.zeros(0, np.int64)
        self._sparse: Ints = np.zeros(0, np.int64)

    def __getitem__(self, slot: int) -> int:
        sums, place = (self._dense, slot) if slot >= 0 else (self._sparse, ~slot)
        return int(sums[place]) if place < len(sums) else 0

    def add(self, farewell: Farewell) -> None:
        """Add how many rows of a segment each slot's query wants."""
        self._dense = _with_room(self._dense, len(farewell.dense))
        self._sparse = _with_room(self._sparse, len(farewell.sparse))
        self._dense[: len(farewell.dense)] += farewell.dense
        self._sparse[: len(farewell.sparse)] += farewell.sparse


def _with_room(sums: Ints, size: int) -> Ints:
    if size <= len(sums):
        return sums
    grown = np.zeros(max(size, 2 * len(sums) // WORD * WORD), np.int64)
    grown[: len(sums)] = sums
    return grown
