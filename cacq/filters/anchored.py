"""The anchored filter: very many selective queries, each hung on one of its ranges and verified on the few candidates.

There are two directions. Queries as index: for each row, search the anchors that hold its value; a row costs its
candidates, so this is for small batches. Batch as index: sort the batch by each column; each query scans the slice that
its anchor holds; a query costs some nanoseconds whatever the batch, so this is for large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import numpy as np

from cacq.data.arrays import Bools, Ints, Words
from cacq.data.record import Record
from cacq.data.types import Type
from cacq.filters.keys import KeyColumns
from cacq.filters.levels import DELTA, SLICE, Levels
from cacq.filters.operator import Account, Counters
from cacq.filters.verify import Verifier
from cacq.kernels import anchors, pair_order, slices
from cacq.kernels.anchors import FOUND, GENERATION, Generations, Terms
from cacq.query.normalize import Conjunction

SEARCH, CANDIDATE = 50, 7
"""Queries as index, nanoseconds: to search a segment for a row, and to look at a candidate."""
START, QUERY, SORTED, SCANNED = 40_000, 26, 14, 0.1
"""Batch as index, nanoseconds: for a batch, for a query, for a value in a sorted column, and for a candidate."""
ASSUMED = 0.01
"""The share of anchors that hold a value, before any batch was seen."""
FEW = 256
"""Pairs that numpy sorts as fast as the kernel."""
ROOM = 4096
NO_PAIRS: Words = np.empty(0, np.uint64)
NO_NULL_ROWS: Bools = np.empty((0, 0), np.bool_)


class Direction(Enum):
    """What is searched by what; MEASURED takes the one that costs less."""

    MEASURED = "measured"
    QUERIES = "queries as index"
    BATCH = "batch as index"


class AnchoredFilter:
    """Queries known by their place. Each has ranges, the first of them its anchor, and perhaps clauses of terms."""

    kind = "anchored filter"

    def __init__(
        self,
        name: str,
        keys: KeyColumns,
        *,
        direction: Direction = Direction.MEASURED,
        delta: int = DELTA,
        slice: int = SLICE,
        rows_at_a_time: int = slices.MOST_ROWS,
        generations: int = GENERATION,
    ) -> None:
        self.name = name
        self.counters = Counters()
        self.account = Account()
        self.candidates = 0
        self.hits = 0
        self._keys = keys
        self._direction = direction
        self._rows_at_a_time = rows_at_a_time
        self._last_generation = generations
        self._levels = Levels(delta, slice)
        self._verifier = Verifier()
        self._generations: Generations = np.zeros(0, np.uint16)
        self._terms = np.zeros(0, np.uint16)
        self._predicates = 0
        self._share: float | None = None
        self._out: Words = np.empty(ROOM, np.uint64)
        self._index: slices.Index | None = None

    @property
    def predicates(self) -> int:
        """How many ranges and terms are applied at once."""
        return self._predicates

    @property
    def empty(self) -> bool:
        """Whether there is no query here."""
        return self._predicates == 0

    @property
    def nbytes(self) -> int:
        """Bytes that the queries take, without their clauses."""
        return self._levels.nbytes + self._generations.nbytes + self._terms.nbytes

    def errors_of(self, place: int) -> int:
        """How often an overflow or a division by zero gave NULL in a clause of this place."""
        return int(self._verifier.errors[place]) if place < len(self._verifier.errors) else 0

    def add(
        self,
        places: Ints,
        first: Ints,
        keys: Ints,
        lows: Ints,
        highs: Ints,
        rest: Mapping[int, Conjunction] | None = None,
    ) -> None:
        """Add queries: that of places[i] has the inclusive ranges `first[i]` to `first[i + 1]`, its anchor first, and
        the clauses `rest[places[i]]`. No place may be in use. O(delta) for a few, O(all) for more than fit there."""
        if not len(places):
            return
        self._make_room(int(places.max()) + 1)
        assert not self._terms[places].any(), "a place is in use"
        counts = np.diff(first)
        for place, conjunction in (rest or {}).items():
            if place >= len(self._verifier.errors):
                self._verifier.make_room(len(self._terms))
            self._verifier.add(place, conjunction)
        self._terms[places] = counts
        self._predicates += int(counts.sum()) + sum(len(clause) for held in (rest or {}).values() for clause in held)
        self._levels.add(places, Terms(first, keys, lows, highs), self._generations, len(self._keys))

    def remove(self, places: Ints) -> None:
        """Take queries out: the next batch does not see them. Their memory is given back by later merges."""
        if not len(places):
            return
        assert self._terms[places].all(), "a place is not in use"
        self._predicates -= int(self._terms[places].sum())
        self._terms[places] = 0
        self._generations[places] += 1
        self._levels.dead += len(places)
        if len(self._verifier):
            for place in places.tolist():
                self._predicates -= self._verifier.remove(place)
        spent = places[self._generations[places] == self._last_generation]
        if len(spent):
            self._levels.settle(self._generations)
            self._generations[spent] = 0

    def fold_a_little(self) -> bool:
        """Merge a slice of what waits to be merged, between batches; whether something did."""
        return self._levels.fold_a_little(self._generations)

    def process(self, record: Record) -> Words:
        """Every pair of a query and a row of the record that satisfies it, ascending, as place << 32 | row."""
        rows = len(record)
        if not rows or not self._levels.all:
            return NO_PAIRS
        counts = np.zeros(2, np.int64)
        for start in range(0, rows, self._rows_at_a_time):
            self._match(record, start, min(start + self._rows_at_a_time, rows), counts)
        found, candidates = counts.tolist()
        share = candidates / (rows * len(self._levels))
        self._share = share if self._share is None else 0.75 * self._share + 0.25 * share
        pairs = self._sorted(found, rows)
        if len(self._verifier) and found:
            places, at = (pairs >> np.uint64(32)).astype(np.int64), (pairs & np.uint64(0xFFFFFFFF)).astype(np.int64)
            pairs = pairs[self._verifier.keep(record, places, at)]
        self.candidates += candidates
        self.hits += len(pairs)
        return pairs

    def _match(self, record: Record, start: int, stop: int, counts: Ints) -> None:
        """Put the pairs of the rows `[start, stop)` behind those that were found so far."""
        values, nulls = self._gather(record, start, stop)
        index = None if self._by_queries(stop - start) else self._indexed(values, nulls)
        before = counts.copy()
        while True:
            for level in self._levels.all:
                if index is None:
                    anchors.stab(level, self._generations, values, nulls, start, self._out, counts)
                else:
                    slices.slices(level, self._generations, values, nulls, index, start, self._out, counts)
            if counts[FOUND] <= len(self._out):
                return
            larger = np.empty(int(counts[FOUND]) * 5 // 4, np.uint64)
            larger[: before[FOUND]] = self._out[: before[FOUND]]
            self._out = larger
            counts[:] = before

    def _gather(self, record: Record, start: int, stop: int) -> tuple[Ints, Bools]:
        """The keys of these rows, a row of the matrix for each column; and where they are NULL, if they are at all."""
        values = np.empty((len(self._keys), stop - start), np.int64)
        nulls = NO_NULL_ROWS
        for key in self._levels.looked_at:
            column, valid = self._keys.values(record, key)
            values[key] = column[start:stop]
            if len(valid):
                nulls = nulls if len(nulls) else np.zeros(values.shape, np.bool_)
                np.logical_not(valid[start:stop], out=nulls[key])
        return values, nulls

    def _by_queries(self, rows: int) -> bool:
        """Whether to take the queries as index for that many rows: the estimate of the cost is less.

        The constants are from `python -m bench.anchored fit`."""
        if self._direction is not Direction.MEASURED:
            return self._direction is Direction.QUERIES
        queries = len(self._levels)
        candidates = (ASSUMED if self._share is None else self._share) * queries
        segments = sum(len(level.segments) for level in self._levels.all)
        by_queries = rows * (segments * SEARCH + candidates * CANDIDATE)
        by_batch = START + queries * QUERY + rows * (len(self._levels.compared) * SORTED + candidates * SCANNED)
        return by_queries < by_batch

    def _indexed(self, values: Ints, nulls: Bools) -> slices.Index:
        """The rows in the order of each column that an anchor or the range beside it looks at."""
        index = self._index
        if index is None or index.order.shape != values.shape:
            index = self._index = _empty_index(*values.shape)
        for key in self._levels.compared:
            index.scales[key, 2] = self._keys.type(key) is Type.FLOAT64
            slices.index_column(values, nulls, key, index)
        return index

    def _sorted(self, found: int, rows: int) -> Words:
        pairs = self._out[:found]
        if len(self._out) > 8 * (found + ROOM):
            self._out = np.empty(2 * (found + ROOM), np.uint64)
        if found <= FEW:
            pairs = pairs.copy()
            pairs.sort()
            return pairs
        other = np.empty(found, np.uint64)
        return other if pair_order.sort_pairs(pairs, rows, len(self._terms), other) else pairs.copy()

    def _make_room(self, places: int) -> None:
        if places > len(self._terms):
            more = max(places, 5 * len(self._terms) // 4) - len(self._terms)
            self._terms = np.concatenate([self._terms, np.zeros(more, np.uint16)])
            self._generations = np.concatenate([self._generations, np.zeros(more, np.uint16)])

    def _check(self) -> None:
        """The levels are in order; each place in use has one live entry, with its ranges; and no other has one."""
        self._levels._check(self._generations)
        self._verifier._check(self._terms > 0)
        live = np.zeros(len(self._terms), np.int64)
        for level in self._levels.all:
            places, stamps = level.marks[:, anchors.PLACE], level.marks[:, anchors.STAMP]
            np.add.at(live, places[(stamps & GENERATION) == self._generations[places]], 1)
        assert live.tolist() == (self._terms > 0).tolist()
        assert self._predicates == int(self._terms.sum()) + self._verifier.predicates


def _empty_index(keys: int, rows: int) -> slices.Index:
    """Room for a batch of that many rows: two buckets or more for each."""
    return slices.Index(
        order=np.empty((keys, rows), np.uint16),
        ordered=np.empty((keys, rows + 1), np.int64),
        position=np.empty((keys, rows), np.uint16),
        directory=np.empty((keys, (2 << rows.bit_length()) + 2), np.uint16),
        scales=np.empty((keys, 3), np.float64),
        lengths=np.zeros(keys, np.int64),
        gathered=np.empty((keys, rows + slices.LANES), np.uint16),
    )
