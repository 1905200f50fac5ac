"""The bare sparse kernel: very many selective queries on one core with nothing around them.

Queries are data and the batch is the index: sort the batch by each field; every query hangs on one of its ranges (its
anchor), finds its slice of the batch with a moving pointer and checks the other range on the few tuples of the slice.
Out come (query, tuple) pairs as int32 in no particular order. No SQL, no routing, no NULL, no results kept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba as nb
import numpy as np
import numpy.typing as npt

from bench.workload import FIELDS, Ints, SparseWorkload

Int32s = npt.NDArray[np.int32]


class SparseKernel:
    """The queries of a workload sorted by anchor and lower bound, and the buffers that every batch is evaluated in."""

    def __init__(self, workload: SparseWorkload) -> None:
        self.workload = workload
        fields, low = workload.fields.astype(np.int32), workload.low.astype(np.int32)
        self.queries = np.lexsort((low[:, 0], fields[:, 0])).astype(np.int32)
        fields, low, high = fields[self.queries], low[self.queries], workload.high.astype(np.int32)[self.queries]
        starts = np.searchsorted(fields[:, 0], np.arange(len(FIELDS) + 1))
        columns = (fields[:, 1], low[:, 0], high[:, 0], low[:, 1], high[:, 1])
        self.standing = (starts, *(column.copy() for column in columns))
        room = workload.batch * len(low) // 500 + 10_000  # twenty times what is expected
        self.out = np.empty(room, np.int32), np.empty(room, np.int32)
        self.data = [batch.astype(np.int32) for batch in workload.batches]

    def pairs(self) -> Iterator[tuple[int, Int32s, Int32s]]:
        """For each batch: (batch, query, tuple in the batch), overwritten by the next.

        A query is its rank in `queries`.
        """
        out_query, out_tuple = self.out
        for k, batch in enumerate(self.data):
            order = np.argsort(batch, axis=1).astype(np.int32)
            by_field = np.stack([batch[:, order[field]] for field in range(len(FIELDS))])
            found = _match(by_field, order, *self.standing, out_query, out_tuple)
            yield k, out_query[:found], out_tuple[:found]

    def rows(self) -> Iterator[tuple[Ints, Ints]]:
        """For each batch: (query, position in the stream) of all pairs."""
        for k, ranks, tuples in self.pairs():
            yield self.queries[ranks].astype(np.int64), k * self.workload.batch + tuples.astype(np.int64)


@nb.njit(nogil=True, cache=True)
def _match(by_field, order, starts, other, lo, hi, lo2, hi2, out_query, out_tuple):  # type: ignore[no-untyped-def]
    """by_field[f, g] holds field g of the batch in the order of field f."""
    found, n = 0, order.shape[1]
    for f in range(order.shape[0]):
        keys, begin = by_field[f, f], 0
        for q in range(starts[f], starts[f + 1]):
            while begin < n and keys[begin] < lo[q]:
                begin += 1
            end, step = begin, 1
            while end + step < n and keys[end + step] <= hi[q]:
                step <<= 1
            stop = min(end + step, n)
            while end < stop:
                mid = (end + stop) >> 1
                if keys[mid] <= hi[q]:
                    end = mid + 1
                else:
                    stop = mid
            values, low, width = by_field[f, other[q]], lo2[q], np.uint32(hi2[q] - lo2[q])
            i = begin
            while i + 8 <= end:  # a constant trip count: the compiler makes it one vector compare
                hits = 0
                for k in range(8):
                    hits += np.uint32(values[i + k] - low) <= width
                if hits:
                    for k in range(8):
                        if np.uint32(values[i + k] - low) <= width:
                            out_query[found], out_tuple[found] = q, order[f, i + k]
                            found += 1
                i += 8
            while i < end:
                if np.uint32(values[i] - low) <= width:
                    out_query[found], out_tuple[found] = q, order[f, i]
                    found += 1
                i += 1
    return found
