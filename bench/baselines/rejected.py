"""Designs that were tried and not taken, kept to be measured against (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.workload import Ints
from cacq.data.arrays import Words
from cacq.kernels.compiled import ZERO, kernel


@kernel
def gather_clauses(lineage: Words, clause_words: Ints, clause_bits: Words, words: Ints, bits: Words) -> None:
    """Clauses in slots of their own: each is looked up and, if it is open, cleared in its query, bit by bit."""
    for i in range(lineage.shape[0]):
        for c in range(len(words)):
            if lineage[i, clause_words[c]] & clause_bits[c] != ZERO:
                lineage[i, words[c]] &= ~bits[c]


def one_operator_a_predicate(left: Ints, right: Ints, constants: Sequence[int], live: Words) -> None:
    """`left < right + constant` for each query in turn, its truth put into the query's bit of each tuple."""
    for q, constant in enumerate(constants):
        passed = left < right + constant
        live[:, q >> 6] |= passed.astype(np.uint64) << np.uint64(q & 63)
