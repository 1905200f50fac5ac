"""The bare dense kernel: how fast lineage bitmaps go on one core with nothing around them.

A value is mapped to its elementary interval, the interval to a row of a bit table, the lineage of a tuple is the AND of
five rows; a 64 x 64 bit transpose then gives each query its tuples. No SQL, no routing, no NULL, no results kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba as nb
import numpy as np
import numpy.typing as npt

from bench.workload import BATCH, FIELDS, Ints, Query, Workload

Words = npt.NDArray[np.uint64]

LOWEST, HIGHEST = -(1 << 30), 1 << 30


class DenseKernel:
    """The bit tables of a workload's queries, built once, and the buffers that every batch is evaluated in."""

    def __init__(self, workload: Workload) -> None:
        words = (len(workload.queries) + 63) // 64
        self.workload = workload
        self.tables = [_bit_table(*_bounds(workload.queries, field)) for field in range(len(FIELDS))]
        self.live = np.zeros((BATCH, words), np.uint64)
        self.bitmaps = np.zeros((words * 64, BATCH // 64), np.uint64)

    def masks(self) -> Iterator[tuple[int, Words]]:
        """For each batch: (batch, a bitmap of its tuples for each query). The bitmaps are overwritten by the next."""
        for k, columns in enumerate(self.workload.batches):
            for field, (cuts, table) in enumerate(self.tables):
                intervals = np.searchsorted(cuts, columns[field], "right")
                if field == 0:
                    np.take(table, intervals, axis=0, out=self.live)
                else:
                    _narrow(self.live, intervals, table)
            _transpose(self.live, self.bitmaps)
            yield k, self.bitmaps


def _bounds(queries: tuple[Query, ...], field: int) -> tuple[Ints, Ints]:
    """What each query accepts on a field, as lowest and highest value, both inclusive."""
    low, high = np.full(len(queries), LOWEST), np.full(len(queries), HIGHEST)
    for q, query in enumerate(queries):
        for predicate in query:
            if predicate.field != field:
                continue
            match predicate.operator:
                case "<":
                    high[q] = predicate.constant - 1
                case "<=":
                    high[q] = predicate.constant
                case ">":
                    low[q] = predicate.constant + 1
                case ">=":
                    low[q] = predicate.constant
    return low, high


def _bit_table(low: Ints, high: Ints) -> tuple[Ints, Words]:
    """Cut points, and for each elementary interval between them the queries that accept it."""
    cuts = np.unique(np.concatenate([low, high + 1]))
    table = np.zeros((len(cuts) + 1, (len(low) + 63) // 64), np.uint64)
    _fill(table, np.searchsorted(cuts, low, "right"), np.searchsorted(cuts, high + 1, "right"))
    return cuts, table


@nb.njit(cache=True)
def _fill(table, first, last):  # type: ignore[no-untyped-def]
    for q in range(len(first)):
        for interval in range(first[q], last[q]):
            table[interval, q >> 6] |= np.uint64(1) << np.uint64(q & 63)


@nb.njit(nogil=True, cache=True)
def _narrow(live, intervals, table):  # type: ignore[no-untyped-def]
    for i in range(live.shape[0]):
        row, mine = table[intervals[i]], live[i]
        for w in range(live.shape[1]):
            mine[w] &= row[w]


@nb.njit(nogil=True, cache=True)
def _transpose(live, out):  # type: ignore[no-untyped-def]
    """(tuples x queries) bits -> (queries x tuples) bits, 64 x 64 at a time."""
    block = np.empty(64, np.uint64)
    for b in range(live.shape[0] >> 6):
        for w in range(live.shape[1]):
            for k in range(64):
                block[k] = live[b * 64 + k, w]
            j, mask = 32, np.uint64(0x00000000FFFFFFFF)
            while j != 0:
                k = 0
                while k < 64:
                    swapped = ((block[k] >> np.uint64(j)) ^ block[k + j]) & mask
                    block[k] ^= swapped << np.uint64(j)
                    block[k + j] ^= swapped
                    k = (k + j + 1) & ~j
                j >>= 1
                mask = mask ^ (mask << np.uint64(j)) if j else mask
            for k in range(64):
                out[w * 64 + k, b] = block[k]
