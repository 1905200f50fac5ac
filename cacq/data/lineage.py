"""How the lineage of a source's tuples is laid out, and sets of query slots.

A *slot* is a query's bit. The lineage of a tuple is a row of 64-bit words: first the live words (is the query in
slot s still interested?), then the clause words. A clause word belongs to one live word, its *guard*: bit b of both
is about the same query, so finishing a clause is one AND of words and no bit is ever moved. Only live words whose
queries hold disjunctions over several operators have clause words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from bitarray import bitarray

from cacq.data.arrays import Ints, Words

WORD = 64


@dataclass(frozen=True, eq=False)
class Layout:
    """`live_words` words for the queries, then a clause word for each entry of `guards`."""

    live_words: int
    guards: Ints

    @property
    def width(self) -> int:
        """Words of a tuple."""
        return self.live_words + len(self.guards)


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


def words(slots: bitarray, count: int) -> Words:
    """The set as that many words."""
    out = np.zeros(count, np.uint64)
    held = np.frombuffer(slots.tobytes(), np.uint64)[:count]
    out[: len(held)] = held
    return out


def bit(slot: int) -> np.uint64:
    """The slot's bit within its word."""
    return np.uint64(1 << (slot % WORD))


def slots_of(mask: Words) -> list[int]:
    """The slots of a set, ascending."""
    return [int(slot) for slot in np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))]
