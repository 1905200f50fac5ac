"""The sparse half of `selections`: 1,000 to 100,000 queries of two 1 % ranges, each tuple wanted by n / 10,000 of them.

*Push*: every tuple has been routed and its results are kept, in order, for whoever polls; nothing is polled.
*All polled*: the same and then every query polled to its rows, once after the last push.
The loops in numpy and the peers put rows out; they are timed on the first batches only where they are slow (their
`tuples` in the JSON rows say how many), because a rate is what counts. On those batches the bare kernel must have their
checksum, and on all batches the engine the bare kernel's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

import cacq
from bench.baselines.numpy_ranges import NumpyRanges
from bench.baselines.peers import DuckdbJoin, PolarsJoin, PolarsQueries
from bench.baselines.sparse_kernel import SparseKernel
from bench.measure import Checksum, Contender, Goal, Params, Row, agreed_checksum, interleaved, ratio, row, throughput
from bench.stored import kept_results, stored_bytes
from bench.workload import SCHEMA, Ints, SparseWorkload, sparse_selections

NAME = "selections"
RETAIN = 8 << 30
"""Nothing that a run makes may be dropped before it is polled."""
BATCHES = (4_096, 16_384)
QUICK, FULL = (1_000, 100_000), (1_000, 10_000, 100_000)
TUPLES = 20 * 16_384
QUICK_TUPLES = 5 * 16_384
PUSH, POLLED, KERNEL, NUMPY, SORTED = "engine, push", "engine, all polled", "bare kernel", "numpy rows", "numpy, sorted"
DUCKDB, POLARS, POLARS_JOIN = "DuckDB join", "Polars query by query", "Polars join"
TARGETS: dict[tuple[str, int], Goal] = {
    (f"{PUSH} / {NUMPY}", 100_000): 30.0,
    (f"{PUSH} / {KERNEL}", 100_000): 0.4,
    (f"{PUSH}, 1,000 / 100,000", 100_000): ("<=", 12.0),
    (PUSH, 1_000): 2_000_000.0,
}
"""By (case without its batch size, number of queries); they hold for either batch size."""


class Rows(Protocol):
    """Something that gives the rows of each query, or of all of them, batch by batch."""

    def rows(self) -> Iterable[tuple[int | Ints, Ints]]:
        """(query, or query of each row; positions in the stream)."""


class Source:
    """A baseline or a peer that puts rows out."""

    def __init__(self, case: str, tuples: int, source: Rows) -> None:
        self.case, self.tuples, self.source = case, tuples, source

    def run(self) -> None:
        for _ in self.source.rows():
            pass

    def settle(self) -> None:
        pass

    def checksum(self) -> str:
        found = [(np.broadcast_to(queries, rows.shape), rows) for queries, rows in self.source.rows()]
        total = Checksum(self.tuples)
        total.add_pairs(np.concatenate([q for q, _ in found]), np.concatenate([rows for _, rows in found]))
        return str(total)


class SortedRanges(NumpyRanges):
    """The loop over slices of the sorted batch."""

    def rows(self) -> Iterator[tuple[int, Ints]]:
        return self.sorted_rows()


class Pairs(Source):
    """The bare kernel; what is timed ends with its pairs."""

    source: SparseKernel

    def run(self) -> None:
        for _ in self.source.pairs():
            pass


class Standing:
    """An engine in which the queries of a workload stand."""

    def __init__(self, workload: SparseWorkload) -> None:
        self.engine = cacq.Engine(retain_bytes=RETAIN)
        self.engine.create_stream("S", SCHEMA)
        self.queries = self.engine.register_many(workload.texts())


class Push:
    """The engine; `settle` polls every query and keeps how long that took."""

    def __init__(self, case: str, standing: Standing, workload: SparseWorkload) -> None:
        self.case, self.tuples, self.standing = case, workload.tuples, standing
        self.batches = [workload.rows(k) for k in range(len(workload.batches))]
        self.polling: list[float] = []
        self.kept = 0

    def run(self) -> None:
        for batch in self.batches:
            self.standing.engine.push("S", batch)

    def settle(self) -> None:
        start = time.perf_counter()
        for query in self.standing.queries:
            len(query.poll().columns["index"])
        self.polling.append(time.perf_counter() - start)

    def checksum(self) -> str:
        self.run()
        self.kept = kept_results(self.standing.engine)
        found = [query.poll().columns["index"] for query in self.standing.queries]
        rows, lengths = np.concatenate(found), [len(rows) for rows in found]
        queries = np.repeat(np.arange(len(found)), lengths)
        disordered = (np.diff(rows) <= 0) & (np.diff(queries) == 0)
        if disordered.any():
            raise SystemExit(f"results of query {queries[disordered.argmax()]} are not in the order of their tuples")
        total = Checksum(self.tuples)
        total.add_pairs(queries, rows)
        return str(total)


def slow_contenders(prefix: str, workload: SparseWorkload, quick: bool) -> list[Source]:
    """The loops in numpy, on as many batches as they do in about half a second, and the peers, on one batch."""
    queries, first = len(workload.low), workload.batch == BATCHES[0]
    if quick and not first:
        return []
    few, one = workload.head(max(1, 200_000_000 // workload.batch // queries)), workload.head(1)
    found = [
        Source(prefix + NUMPY, few.tuples, NumpyRanges(few)),
        Source(prefix + SORTED, few.tuples, SortedRanges(few)),
        Source(prefix + DUCKDB, one.tuples, DuckdbJoin(one)),
        Source(prefix + POLARS_JOIN, one.tuples, PolarsJoin(one)),
    ]
    if queries <= QUICK[0] or (first and not quick):
        found.append(Source(prefix + POLARS, one.tuples, PolarsQueries(one)))
    return found


def measure(quick: bool) -> Iterator[Row]:
    """All figures, size by size and batch size by batch size."""
    base: dict[int, Row] = {}
    for queries in QUICK if quick else FULL:
        standing: Standing | None = None
        for batch in BATCHES:
            tuples = QUICK_TUPLES if quick else TUPLES
            workload = sparse_selections(queries, tuples // batch, batch=batch)
            standing = standing or Standing(workload)
            figures = list(_figures(workload, standing, quick))
            yield from figures
            push = figures[0]
            base.setdefault(batch, push)
            if queries != QUICK[0]:
                case = f"{push.case}, {QUICK[0]:,} / {queries:,}"
                costs = [a / b for a, b in zip(base[batch].runs, push.runs, strict=True)]
                yield row(NAME, case, push.params, "ratio", "x", costs, push.checksum)


def _figures(workload: SparseWorkload, standing: Standing, quick: bool) -> Iterator[Row]:
    """The engine's pushes first, then the others, then the ratios."""
    prefix = f"sparse {workload.batch:,}: "
    params: Params = {"queries": len(workload.low), "batch": workload.batch, "seed": workload.seed}
    kernel = Pairs(prefix + KERNEL, workload.tuples, SparseKernel(workload))
    push = Push(prefix + PUSH, standing, workload)
    slow = slow_contenders(prefix, workload, quick)
    checksums = {workload.tuples: agreed_checksum([kernel, push])}
    for tuples in sorted({source.tuples for source in slow}):
        few = Source(KERNEL, tuples, SparseKernel(workload.head(tuples // workload.batch)))
        checksums[tuples] = agreed_checksum([*(source for source in slow if source.tuples == tuples), few])
    rivals: list[Contender] = [push, kernel, *slow]
    seconds = interleaved(rivals)
    figures = {
        rival.case: throughput(
            NAME, rival.case, params | {"tuples": rival.tuples}, seconds[rival.case], checksums[rival.tuples]
        )
        for rival in (push, kernel, *slow)
    }
    checksum = checksums[workload.tuples]
    polled = [a + b for a, b in zip(seconds[push.case], push.polling[1:], strict=True)]
    yield figures[push.case]
    yield throughput(NAME, prefix + POLLED, params | {"tuples": workload.tuples}, polled, checksum)
    yield from (figure for case, figure in figures.items() if case != push.case)
    for rival in (kernel, *slow):
        yield _short(ratio(figures[push.case], figures[rival.case]), prefix)
    yield from stored_bytes(
        NAME, prefix[:-2], standing.engine, push.kept, params | {"tuples": workload.tuples}, checksum
    )


def _short(figure: Row, prefix: str) -> Row:
    """The same figure with the batch size named once."""
    case = prefix + figure.case.replace(prefix, "")
    return row(figure.bench, case, figure.params, figure.metric, figure.unit, figure.runs, figure.checksum)


def target(figure: Row) -> Goal:
    """The value to reach, where there is one."""
    _, _, case = figure.case.partition(": ")
    return TARGETS.get((case, int(figure.params["queries"])))
