"""Dense lineage: a matrix of words, a row for each tuple, a column of live bits for each 64 query slots and columns of
open clauses behind them (data/lineage.py). A filter's row of bits has 1 wherever nothing changes, so narrowing is
AND."""

from __future__ import annotations

from typing import Any

from cacq.data.arrays import Bools, Int32s, Ints, Octets, Words
from cacq.kernels.compiled import ZERO, kernel, popcount

DEAD, LEAVES, STAYS = 0, 1, 2


@kernel
def narrow(lineage: Words, rows: Int32s, matrix: Words) -> None:
    """AND a row of bits of the matrix into each tuple."""
    for i in range(lineage.shape[0]):
        mine, row = lineage[i], matrix[rows[i]]
        for w in range(lineage.shape[1]):
            mine[w] &= row[w]


@kernel
def narrow_all(
    lineage: Words, rows: Int32s, matrix: Words, pending: Words, checks: Bools, live_bits: Words, counts: Ints
) -> None:
    """Several filters one after another, each tuple only as far as it must go: filter k ANDs row `rows[k, i]`.

    Where `checks[k]`, a tuple that no query of `pending[k]`, those who need a filter behind it, still wants stops
    there. counts[k] grows by the tuples that stopped at filter k, and by how many of them are alive.
    """
    width, filters = lineage.shape[1], rows.shape[0]
    for i in range(lineage.shape[0]):
        mine = lineage[i]
        for k in range(filters):
            row = matrix[rows[k, i]]
            for w in range(width):
                mine[w] &= row[w]
            if checks[k] and not touches(mine, pending[k]):
                counts[k, 0] += 1
                counts[k, 1] += touches(mine, live_bits)
                break


@kernel
def touches(mine: Words, mask: Words) -> Any:
    """Whether one tuple has a bit of the mask."""
    found = ZERO
    for w in range(len(mine)):
        found |= mine[w] & mask[w]
    return found != ZERO


@kernel
def settled(lineage: Words, clauses: Ints, guards: Ints, mask: Words) -> int:
    """How many terms of `mask` belong to a live query whose clause is true already, so that they need no evaluation."""
    count = 0
    for c in range(len(clauses)):
        if mask[clauses[c]] != ZERO:
            for i in range(lineage.shape[0]):
                count += popcount(~lineage[i, clauses[c]] & lineage[i, guards[c]] & mask[clauses[c]])
    return count


@kernel
def finish(lineage: Words, clauses: Ints, guards: Ints, closing: Words) -> None:
    """Clear the queries of which a clause of `closing`, whose last term has been seen, is open."""
    for c in range(len(clauses)):
        if closing[clauses[c]] != ZERO:
            for i in range(lineage.shape[0]):
                lineage[i, guards[c]] &= ~(lineage[i, clauses[c]] & closing[clauses[c]])


@kernel
def survey(lineage: Words, incomplete: Words, live_bits: Words, fate: Octets, wanted: Words) -> int:
    """The fate of each tuple, by the queries in `incomplete` that still want it; returns how many stay.

    `wanted` collects the incomplete queries that any tuple is still live for.
    """
    staying = 0
    for i in range(lineage.shape[0]):
        mine = lineage[i]
        any_live, any_pending = ZERO, ZERO
        for w in range(len(incomplete)):
            pending = mine[w] & incomplete[w]
            any_live |= mine[w] & live_bits[w]
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
    """The positions of the tuples that a query of `mask`, bits of live columns, still wants; returns how many."""
    found = 0
    for i in range(lineage.shape[0]):
        any_wanted = ZERO
        for w in range(len(mask)):
            any_wanted |= lineage[i, w] & mask[w]
        if any_wanted != ZERO:
            out[found] = i
            found += 1
    return found
