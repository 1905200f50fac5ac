"""How the lineage of a source's tuples is laid out, and sets of query slots.

A *slot* is a query's bit; slots come in words of 64. The lineage of a tuple is a row of 64-bit columns. Each word of
slots has a live column (is the query in slot s still interested?) and behind it its clause columns: bit b of a clause
column is set while that clause of the query in bit b of the live column, its *guard*, is still open. So every filter is
one AND of columns, finishing a clause is one more, and no bit is ever moved. A new word's columns come behind all
others, so columns never move either.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bitarray import bitarray

from cacq.data.arrays import Ints, Words

WORD = 64


class Layout:
    """Where each slot's bits are: word w has a live column and then `depths[w]` clause columns."""

    def __init__(self, depths: Sequence[int]) -> None:
        spans = np.array(depths, np.int64) + 1
        self.columns: Ints = np.cumsum(spans) - spans
        """The live column of each word."""
        self.live_words = len(spans)
        self.width = int(spans.sum())
        live = np.zeros(self.width, np.bool_)
        live[self.columns] = True
        self.clauses: Ints = np.flatnonzero(~live)
        """The clause columns."""
        self.guards: Ints = np.repeat(self.columns, spans)[self.clauses]
        """For each clause column the live column that it belongs to."""
        self.live_bits: Words = np.where(live, ~np.uint64(0), np.uint64(0))
        """Ones in the live columns, zeros in the others."""

    def __contains__(self, slot: int) -> bool:
        return slot < self.live_words * WORD

    def word(self, slot: int) -> int:
        """Which live column, counting only these, holds the slot's bit."""
        return slot // WORD

    def column(self, slot: int, clause: int = -1) -> int:
        """The column of the slot's own bit, or of the bit that says whether a clause of its query is open."""
        return int(self.columns[slot // WORD]) + 1 + clause

    def live(self, lineage: Words) -> Words:
        """The live columns of a lineage, without a copy where there are no others."""
        return lineage if self.width == self.live_words else np.ascontiguousarray(lineage[:, self.columns])

    def spread(self, slots: bitarray) -> Words:
        """A set of slots as bits of the live columns; the other columns are 0."""
        held = np.frombuffer(slots.tobytes(), np.uint64)[: self.live_words]
        columns = np.zeros(self.width, np.uint64)
        columns[self.columns[: len(held)]] = held
        return columns

    def slots_of(self, live: Words) -> list[int]:
        """The slots whose bits are set in live columns (these only), ascending."""
        slots: list[int] = np.flatnonzero(np.unpackbits(live.view(np.uint8), bitorder="little")).tolist()
        return slots

    def add_by_slot(self, counts: Ints, out: Ints) -> None:
        """Add counts for each bit of the live columns to the entries of their slots."""
        out[: len(counts)] += counts


def slot_set() -> bitarray:
    """An empty set of slots; it grows as slots are put in."""
    return bitarray(endian="little")


def put(slots: bitarray, slot: int) -> None:
    """Add a slot."""
    if slot >= len(slots):
        slots.extend(bitarray(slot - len(slots) + WORD - slot % WORD, endian="little"))
    slots[slot] = 1


def drop(slots: bitarray, slot: int) -> None:
    """Take a slot out, if it is in."""
    if slot < len(slots):
        slots[slot] = 0


def bit(slot: int) -> np.uint64:
    """The slot's bit within its word."""
    return np.uint64(1 << (slot % WORD))
