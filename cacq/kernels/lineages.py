"""Dense lineage: a matrix of words, a row for each tuple. First the live words (a bit for each query slot), then the
clause words (a bit for each disjunction that is known to be true)."""

from __future__ import annotations

from cacq.data.arrays import Int32s, Ints, Octets, Words
from cacq.kernels.compiled import ZERO, kernel, popcount

DEAD, LEAVES, STAYS = 0, 1, 2


@kernel
def narrow(lineage: Words, intervals: Int32s, table: Words, live_words: int) -> None:
    """Keep live what the table's row accepts, and mark the clauses that it makes true."""
    for i in range(lineage.shape[0]):
        mine, row = lineage[i], table[intervals[i]]
        for w in range(live_words):
            mine[w] &= row[w]
        for w in range(live_words, lineage.shape[1]):
            mine[w] |= row[w]


@kernel
def settled(lineage: Words, guards: Ints, mask: Words, live_words: int) -> int:
    """How many terms of `mask` belong to a live query whose clause is true already, so that they need no evaluation."""
    count = 0
    for c in range(len(guards)):
        if mask[c] != ZERO:
            for i in range(lineage.shape[0]):
                count += popcount(lineage[i, live_words + c] & lineage[i, guards[c]] & mask[c])
    return count


@kernel
def finish(lineage: Words, guards: Ints, mask: Words, live_words: int) -> None:
    """AND the clauses of `mask`, whose last term has been seen, into the queries that they belong to."""
    for c in range(len(guards)):
        if mask[c] != ZERO:
            for i in range(lineage.shape[0]):
                lineage[i, guards[c]] &= lineage[i, live_words + c] | ~mask[c]


@kernel
def survey(lineage: Words, incomplete: Words, fate: Octets, wanted: Words) -> int:
    """The fate of each tuple, by the queries in `incomplete` that still want it; returns how many stay.

    `wanted` collects the incomplete queries that any tuple is still live for.
    """
    staying = 0
    for i in range(lineage.shape[0]):
        mine = lineage[i]
        any_live, any_pending = ZERO, ZERO
        for w in range(len(incomplete)):
            pending = mine[w] & incomplete[w]
            any_live |= mine[w]
            any_pending |= pending
            wanted[w] |= pending
        if any_pending != ZERO:
            fate[i] = STAYS
            staying += 1
        else:
            fate[i] = LEAVES if any_live != ZERO else DEAD
    return staying


@kernel
def fold(live: Words, from_words: Ints, from_bits: Words, to_words: Ints, to_bits: Words) -> None:
    """Move each bit of a disjunct's slot to the slot of its query."""
    for k in range(len(from_words)):
        for i in range(live.shape[0]):
            if live[i, from_words[k]] & from_bits[k] != ZERO:
                live[i, from_words[k]] &= ~from_bits[k]
                live[i, to_words[k]] |= to_bits[k]


@kernel
def wanting(lineage: Words, mask: Words, out: Ints) -> int:
    """The positions of the tuples that a query of `mask` still wants; returns how many."""
    found = 0
    for i in range(lineage.shape[0]):
        any_wanted = ZERO
        for w in range(len(mask)):
            any_wanted |= lineage[i, w] & mask[w]
        if any_wanted != ZERO:
            out[found] = i
            found += 1
    return found
