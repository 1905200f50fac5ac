"""What is left of a record when the eddy is done: the rows that some query wants, and which queries want them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cacq.data.arrays import NO_PAIRS, Ints, Words
from cacq.data.batch import Batch, Failure
from cacq.eddy.tables import Tables

ROW = np.uint64(0xFFFFFFFF)
"""The half of a pair that says which row it is about."""


@dataclass(frozen=True, eq=False)
class Survivors:
    """Rows of the record that at least one query wants, ascending, with their live words; `pairs` says for the sparse
    queries which of these rows they want: `place << 32 | position among the rows`, ascending."""

    rows: Ints
    live: Words
    failures: list[Failure]
    pairs: Words


def collect(delivered: list[Batch], failures: list[Failure], tables: Tables) -> Survivors:
    """One answer of all delivered batches, in the order of rows."""
    live_words = tables.layout.live_words
    if not delivered:
        return Survivors(np.empty(0, np.int64), np.empty((0, live_words), np.uint64), failures, NO_PAIRS)
    if len(delivered) == 1:
        rows, live = delivered[0].rows, delivered[0].live
    else:
        rows = np.concatenate([batch.rows for batch in delivered])
        live = np.concatenate([batch.live for batch in delivered])
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows)
            rows, live = rows[order], live[order]
    tables.fold(live)
    return Survivors(rows, live, failures, NO_PAIRS)


def with_pairs(dense: Survivors, pairs: Words, length: int) -> Survivors:
    """The same with the pairs (place << 32 | row of the record) of the sparse queries; the record has so many rows."""
    if not len(pairs):
        return dense
    kept = np.zeros(length, np.bool_)
    kept[dense.rows] = True
    kept[(pairs & ROW).view(np.int64)] = True
    rows = np.flatnonzero(kept)
    live = dense.live
    if len(rows) > len(dense.rows):
        live = np.zeros((len(rows), dense.live.shape[1]), np.uint64)
        if len(dense.rows):
            live[np.searchsorted(rows, dense.rows)] = dense.live
    if len(rows) < length:
        position = np.cumsum(kept) - 1
        pairs = (pairs & ~ROW) | position[(pairs & ROW).view(np.int64)].view(np.uint64)
    return Survivors(rows, live, dense.failures, pairs)
