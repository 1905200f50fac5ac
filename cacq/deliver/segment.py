"""The results of one or more adjacent records: their surviving rows, stored once for all queries that want them.

Rows and columns never change. How the lineage is held does: it is put into the form that is read fast when somebody
reads it, never before, and what has been put so stays so when segments are merged.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cacq.data.arrays import Ints, Words
from cacq.data.column import Column, concatenate
from cacq.data.types import Type
from cacq.deliver.block import Block, bytes_of, join, runs_of, slots_in, turn
from cacq.deliver.chunk import Chunk
from cacq.deliver.pick import PAIRED, Pick
from cacq.kernels import answers
from cacq.kernels.picks import HALF

OVERHEAD, COLUMN, PART, RECORD = 700, 400, 350, 16
"""Bytes of Python objects around the arrays: of a segment, of a column, of a block or run; and what a record takes."""


@dataclass(frozen=True)
class Capacity:
    """When small things become bigger ones. Tests make these tiny, to be at every edge."""

    rows: int = 1 << 17
    nbytes: int = 1 << 26
    """A merged segment has at most so many rows and bytes."""
    share: int = 16
    """And its bytes are at most one in so many of the budget, because a segment is dropped as a whole."""
    loose: int = 64
    """So many segments that may yet grow are merged when one more comes."""
    growth: int = 4
    """Then those are merged that are not so many times as large as all newer ones together."""
    scattered: int = 4
    """A reader that has to look at more segments that may yet grow, or at more runs of pairs, has them merged."""
    scanned: int = 512
    """Where a reader wants more rows at once, lineage that is held as (rows x queries) is turned."""


class Run:
    """Which sparse queries want which of `rows` rows from row `start` of a segment on: `place << 32 | row - start`."""

    __slots__ = ("pairs", "rows", "start")

    def __init__(self, start: int, rows: int, pairs: Words) -> None:
        self.start = start
        self.rows = rows
        self.pairs = pairs

    def pick(self, slot: int, start: int, stop: int) -> Pick:
        """The rows of [start, stop) that the query in a slot wants."""
        return Pick(
            PAIRED, self.pairs, ~slot, max(start - self.start, 0), min(stop - self.start, self.rows), self.start
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the pairs."""
        return int(self.pairs.nbytes)

    def add_counts(self, out: Ints) -> None:
        """Add to each place's entry how many rows its query wants."""
        answers.tally_pairs(self.pairs, out)


class Segment:
    """Rows of several records in the order of (LSN, row), and which queries want which."""

    __slots__ = ("_blocks", "_capacity", "_lsns", "_runs", "_starts", "columns", "nbytes", "ts")

    def __init__(
        self,
        records: tuple[array[int], array[int]],
        ts: Ints,
        columns: Mapping[str, Column],
        blocks: list[Block],
        runs: list[Run],
        capacity: Capacity,
    ) -> None:
        self._lsns, self._starts = records
        self.ts = ts
        self.columns = columns
        self._blocks = blocks
        self._runs = runs
        self._capacity = capacity
        lineage = bytes_of(blocks) + sum(run.pairs.nbytes for run in runs)
        objects = OVERHEAD + PART * (len(blocks) + len(runs)) + COLUMN * len(columns) + RECORD * len(self._lsns)
        self.nbytes = objects + ts.nbytes + sum(column.nbytes for column in columns.values()) + lineage

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def first_lsn(self) -> int:
        """The LSN of its oldest record."""
        return self._lsns[0]

    @property
    def last_lsn(self) -> int:
        """The LSN of its newest record."""
        return self._lsns[-1]

    def row_of(self, lsn: int) -> int:
        """The first row of a record with this LSN or a greater one."""
        record = bisect_left(self._lsns, lsn)
        return self._starts[record] if record < len(self._starts) else len(self)

    def picks(self, slot: int, start: int, stop: int) -> list[Pick]:
        """The rows of [start, stop) that the query in a slot wants, piece by piece."""
        if slot < 0:
            return [run.pick(slot, start, stop) for run in self._sparse(start, stop)]
        return [block.pick(slot, start, stop) for block in self._dense(start, stop) if slot in block.layout]

    def count(self, slot: int, start: int, stop: int) -> int:
        """How many rows of [start, stop) the query in a slot wants. Turns nothing: it is for segments that are
        going."""
        if slot < 0:
            return sum(pick.size() for pick in self.picks(slot, start, stop))
        blocks = [block for block in self._blocks if block.overlap(start, stop) and slot in block.layout]
        return sum(block.pick(slot, start, stop).size() for block in blocks)

    def slots(self) -> tuple[int, int]:
        """How many dense slots and sparse places an array needs to have an entry for each that occurs."""
        places = max((int(run.pairs[-1] >> answers.SHIFT) + 1 for run in self._runs), default=0)
        return max((slots_in(block.layout) for block in self._blocks), default=0), places

    def lineage(self) -> list[Block | Run]:
        """All parts of its lineage."""
        return [*self._blocks, *self._runs]

    def _dense(self, start: int, stop: int) -> list[Block]:
        """The blocks that hold [start, stop), turned if that pays."""
        rows = 0
        waited_for = False
        for block in self._blocks:
            if block.live is not None:
                overlap = block.overlap(start, stop)
                rows += overlap
                block.scanned += overlap
                waited_for = waited_for or block.worth_turning()
        if rows > self._capacity.scanned or waited_for:
            self._turn(start, stop)
        return [block for block in self._blocks if block.overlap(start, stop)]

    def _turn(self, start: int, stop: int) -> None:
        blocks: list[Block] = []
        for run in runs_of(self._blocks):
            touched = run[0].live is not None and any(block.overlap(start, stop) for block in run)
            blocks += [turn(run)] if touched else run
        self._blocks = blocks

    def _sparse(self, start: int, stop: int) -> list[Run]:
        """The runs that hold [start, stop), as one if they were many."""
        found = [run for run in self._runs if run.start < stop and start < run.start + run.rows]
        if len(found) > self._capacity.scattered:
            first, last = self._runs[0].start, self._runs[-1]
            pairs = np.concatenate([run.pairs + np.uint64(run.start - first) for run in self._runs])
            pairs.sort()
            self._runs = found = [Run(first, last.start + last.rows - first, pairs)]
        return found

    def parts(self, rows: int) -> tuple[list[Block], list[Run]]:
        """Its lineage as that of a segment in which so many rows come before it."""
        runs = [Run(run.start + rows, run.rows, run.pairs) for run in self._runs]
        return [block.moved(rows) for block in self._blocks], runs

    def records(self, rows: int) -> Iterator[tuple[int, int]]:
        """Its records as (LSN, first row), where so many rows come before it."""
        for lsn, start in zip(self._lsns, self._starts, strict=True):
            yield lsn, start + rows

    def _check(self) -> None:
        """Records ascend and have rows, lineage is about rows that there are (used by tests)."""
        assert len(self._lsns) == len(self._starts) > 0 == self._starts[0]
        assert all(a < b for a, b in pairwise(self._lsns))
        assert all(a < b for a, b in pairwise([*self._starts, len(self)]))
        assert all(len(column) == len(self) for column in self.columns.values())
        for parts in (self._blocks, self._runs):
            edges = [edge for part in parts for edge in (part.start, part.start + part.rows)]
            assert edges == sorted(edges) and (not edges or (edges[0] >= 0 and edges[-1] <= len(self)))
        for run in self._runs:
            assert len(run.pairs) and (np.diff(run.pairs) > 0).all()
            assert int((run.pairs & HALF).max()) < run.rows


def segment_of(chunk: Chunk, capacity: Capacity) -> Segment:
    """The results of one record as a segment."""
    rows = len(chunk.ts)
    blocks = [Block(0, rows, chunk.layout, chunk.live)] if chunk.layout.live_words else []
    runs = [Run(0, rows, chunk.pairs)] if len(chunk.pairs) else []
    return Segment((array("q", (chunk.lsn,)), array("q", (0,))), chunk.ts, chunk.columns, blocks, runs, capacity)


def merge(segments: Sequence[Segment], capacity: Capacity) -> Segment:
    """Adjacent segments as one. Where a segment lacks a column, nobody can ask for it: something stands there."""
    lsns, starts = array("q"), array("q")
    blocks: list[Block] = []
    runs: list[Run] = []
    rows = 0
    for segment in segments:
        for lsn, start in segment.records(rows):
            lsns.append(lsn)
            starts.append(start)
        more_blocks, more_runs = segment.parts(rows)
        blocks += more_blocks
        runs += more_runs
        rows += len(segment)
    known = {name: column.type for segment in segments for name, column in segment.columns.items()}
    columns = {
        name: concatenate([_column(segment, name, type) for segment in segments]) for name, type in known.items()
    }
    ts = np.concatenate([segment.ts for segment in segments])
    return Segment((lsns, starts), ts, columns, _packed(blocks, capacity.scanned), runs, capacity)


def _column(segment: Segment, name: str, type: Type) -> Column:
    held = segment.columns.get(name)
    if held is not None:
        return held
    rows = len(segment)
    return Column(type, pa.nulls(rows, pa.large_string()) if type is Type.STRING else np.zeros(rows, type.dtype))


JOINED = 1 << 18
"""Bytes of lineage up to which neighbours are joined: 64 records of 256 rows and 20,000 queries took 24 ms without
this."""


def _packed(blocks: list[Block], most: int) -> list[Block]:
    """Neighbours that are scanned joined, as long as they have at most so many rows; larger ones are not copied."""
    packed: list[Block] = []
    for run in runs_of(blocks):
        group: list[Block] = []
        for block in run:
            rows = block.stop - group[0].start if group else 0
            if rows > most or 8 * rows * block.layout.live_words > JOINED:
                packed.append(join(group) if len(group) > 1 else group[0])
                group = []
            group.append(block)
        packed.append(join(group) if len(group) > 1 else group[0])
    return packed


NO_SEGMENT = Segment((array("q"), array("q")), np.empty(0, np.int64), {}, [], [], Capacity())
