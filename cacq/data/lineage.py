"""How the lineage of a source's tuples is laid out, and sets of query slots.

A *slot* is a query's bit. The lineage of a tuple is a row of 64-bit words: first the live words (is the query in
slot s still interested?), then the clause words. A clause word belongs to one live word, its *guard*: bit b of both
is about the same query, so finishing a clause is one AND of words and no bit is ever moved. Only live words whose
queries hold disjunctions over several operators have clause words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bitarray import bitarray

from cacq.data.arrays import Ints, Words

WORD = 64


class Layout:
    """Where each slot's bits are. Slots are numbered in words of 64; the lineage holds only some of these words, in
    order: the live words. Behind all of them come the clause words, `depths[i]` of them for live word i."""

    def __init__(self, words: Sequence[int], depths: Sequence[int]) -> None:
        self.words: Ints = np.array(words, np.int64)
        self.guards: Ints = np.repeat(np.arange(len(words)), np.array(depths, np.int64))
        self.live_words = len(words)
        self.width = len(words) + len(self.guards)
        firsts = np.cumsum([self.live_words, *depths])
        self._place = {word: (i, int(firsts[i])) for i, word in enumerate(words)}

    def __contains__(self, slot: int) -> bool:
        return slot // WORD in self._place

    def word(self, slot: int) -> int:
        """The live word that holds the slot's bit."""
        return self._place[slot // WORD][0]

    def clause_word(self, slot: int, clause: int) -> int:
        """The word that says whether this clause of the slot's query is true, at the same bit."""
        return self._place[slot // WORD][1] + clause

    def live(self, slots: bitarray) -> Words:
        """A set of slots as live words; slots without a word are left out."""
        held = np.frombuffer(slots.tobytes(), np.uint64)
        padded = np.zeros(max(len(held), int(self.words.max(initial=-1)) + 1), np.uint64)
        padded[: len(held)] = held
        return padded[self.words]

    def slots_of(self, live: Words) -> list[int]:
        """The slots whose bits are set in live words, ascending."""
        bits = np.flatnonzero(np.unpackbits(live.view(np.uint8), bitorder="little"))
        return [int(slot) for slot in self.words[bits // WORD] * WORD + bits % WORD]

    def add_by_slot(self, counts: Ints, out: Ints) -> None:
        """Add counts for each bit of the live words to the entries of their slots."""
        out.reshape(-1, WORD)[self.words] += counts.reshape(-1, WORD)


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
