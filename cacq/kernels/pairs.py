"""Residual predicates: pairs of a tuple and a predicate that some query still needs.

The targets of predicate p are `first[p]` to `first[p + 1]`: the column and bit that its truth goes to, and the live
column (the guard) that holds the same bit of the query. Where column and guard are one, the predicate stands alone and
clears the bit if it is not true; else it is a term of a clause and clears the clause's open bit if it is true.
"""

from __future__ import annotations

from cacq.data.arrays import Bools, Ints, Words
from cacq.kernels.compiled import ONE, ZERO, kernel, trailing_zeros


@kernel
def needed(
    lineage: Words, first: Ints, words: Ints, guards: Ints, bits: Words, rows: Ints, predicates: Ints, counts: Ints
) -> None:
    """Fill `rows` and `predicates` with the pairs to evaluate; counts[0] is how many, counts[1] how many terms were
    spared because their clause is true already."""
    found, spared = 0, 0
    for i in range(lineage.shape[0]):
        for p in range(len(first) - 1):
            wanted = False
            for t in range(first[p], first[p + 1]):
                if lineage[i, guards[t]] & bits[t] != ZERO:
                    if words[t] != guards[t] and lineage[i, words[t]] & bits[t] == ZERO:
                        spared += 1
                    else:
                        wanted = True
            if wanted:
                rows[found], predicates[found] = i, p
                found += 1
    counts[0], counts[1] = found, spared


@kernel
def apply(
    lineage: Words, first: Ints, words: Ints, guards: Ints, bits: Words, rows: Ints, predicates: Ints, truth: Bools
) -> None:
    """Carry the truth of each pair into the lineage."""
    for k in range(len(rows)):
        i, p = rows[k], predicates[k]
        for t in range(first[p], first[p + 1]):
            if truth[k] != (words[t] == guards[t]):
                lineage[i, words[t]] &= ~bits[t]


@kernel
def tally(lineage: Words, rows: Ints, mask: Words, counts: Ints) -> None:
    """Add one to `counts[64 * column + bit]` for each of the rows and each query of `mask` that still wants it."""
    for k in range(len(rows)):
        for w in range(len(mask)):
            rest = lineage[rows[k], w] & mask[w]
            while rest != ZERO:
                counts[w * 64 + trailing_zeros(rest)] += 1
                rest &= rest - ONE


@kernel
def tally_terms(
    lineage: Words, first: Ints, guards: Ints, bits: Words, rows: Ints, predicates: Ints, counts: Ints
) -> None:
    """Add one to `counts[64 * column + bit]` for each pair and each query of its predicate that still wants the
    tuple."""
    for k in range(len(rows)):
        for t in range(first[predicates[k]], first[predicates[k] + 1]):
            if lineage[rows[k], guards[t]] & bits[t] != ZERO:
                counts[guards[t] * 64 + trailing_zeros(bits[t])] += 1
