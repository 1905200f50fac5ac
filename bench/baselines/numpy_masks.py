"""One query after another in numpy: what a careful user would write without an engine.

int64 columns, constants made arrays beforehand, results written into buffers that exist. With timeit on 4,096 values
that is 1.6 us a comparison against 2.1 us with a plain constant, and `nonzero` 3.1 us against 11 us for `index[mask]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.workload import BATCH, Ints, Query, Workload

Bools = npt.NDArray[np.bool_]
Term = tuple[Callable[..., Any], int, Any]
"""A comparison, the field it is about, and the constant as an array."""

COMPARE: dict[str, Callable[..., Any]] = {"<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal}


class NumpyMasks:
    """The queries of a workload, ready to be evaluated one by one on each of its batches."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.terms = [_terms(query) for query in workload.queries]

    def masks(self) -> Iterator[tuple[int, list[Bools]]]:
        """For each batch: (batch, a mask of its tuples for each query). The masks are overwritten by the next batch."""
        out = list(np.empty((len(self.terms), BATCH), np.bool_))
        scratch = np.empty(BATCH, np.bool_)
        for k, batch in enumerate(self.workload.batches):
            columns = list(batch)
            for terms, mask in zip(self.terms, out, strict=True):
                _fill(columns, terms, mask, scratch)
            yield k, out

    def rows(self) -> Iterator[tuple[int, Ints]]:
        """For each batch and each query: (query, the positions in the stream of the tuples it wants)."""
        mask, scratch = np.empty(BATCH, np.bool_), np.empty(BATCH, np.bool_)
        for k, batch in enumerate(self.workload.batches):
            columns, base = list(batch), np.array(k * BATCH)
            for q, terms in enumerate(self.terms):
                _fill(columns, terms, mask, scratch)
                rows = mask.nonzero()[0]
                yield q, np.add(rows, base, rows)


def _terms(query: Query) -> list[Term]:
    return [(COMPARE[p.operator], p.field, np.array(p.constant)) for p in query]


def _fill(columns: Sequence[Ints], terms: Sequence[Term], mask: Bools, scratch: Bools) -> None:
    """Set `mask` where all terms hold."""
    compare, field, constant = terms[0]
    compare(columns[field], constant, mask)
    for compare, field, constant in terms[1:]:
        compare(columns[field], constant, scratch)
        np.bitwise_and(mask, scratch, mask)
