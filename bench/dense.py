"""The dense half of `selections`: 1 to 10,000 queries of the paper, each tuple wanted by a fifth of them (figure 6).

*Masks out*: each query has a bitmap of the tuples it wants. The engine makes these bitmaps, for all queries at once,
when the first query is polled: so one query is polled after each push, and the others not at all. Without that poll the
engine would be spared the transpose that the bare kernel does.
*Rows out*: every query has got S.index of its tuples; the engine is polled once a query, after the last push.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import cacq
from bench.baselines.dense_kernel import DenseKernel
from bench.baselines.numpy_masks import NumpyMasks
from bench.measure import Checksum, Contender, Goal, Params, Row, agreed_checksum, interleaved, ratio, throughput
from bench.stored import kept_results, stored_bytes
from bench.workload import BATCH, SCHEMA, Workload, selections

NAME = "selections"
FULL = {1: 200, 10: 200, 100: 200, 1_000: 50, 10_000: 50}
QUICK = {1: 50, 10: 50, 100: 50, 1_000: 15, 10_000: 3}
"""Batches by number of queries."""
RETAIN = 4 << 30
"""Nothing that a run makes may be dropped before it is polled."""
RATIOS = (
    ("masks: engine", "masks: bare kernel"),
    ("masks: engine", "masks: numpy"),
    ("rows: engine", "rows: numpy"),
)
TARGETS = {
    ("masks: engine / masks: bare kernel", 1_000): 0.5,
    ("masks: engine / masks: numpy", 1_000): 1.0,
    ("rows: engine / rows: numpy", 1_000): 1.3,
    ("masks: engine / masks: bare kernel", 10_000): 0.5,
    ("masks: engine / masks: numpy", 10_000): 4.5,
    ("rows: engine / rows: numpy", 10_000): 2.5,
}
"""The least ratio to reach, by (case, number of queries)."""


class MasksOfNumpy:
    """A bool mask for each query and batch, overwritten by the next batch."""

    case = "masks: numpy"

    def __init__(self, workload: Workload) -> None:
        self.numpy = NumpyMasks(workload)

    def run(self) -> None:
        for _ in self.numpy.masks():
            pass

    def settle(self) -> None:
        pass

    def checksum(self) -> str:
        total = Checksum(self.numpy.workload.tuples)
        for k, masks in self.numpy.masks():
            for q, mask in enumerate(masks):
                total.add(q, k * BATCH + np.flatnonzero(mask))
        return str(total)


class RowsOfNumpy(MasksOfNumpy):
    """The position in the stream (which is S.index) of each query's tuples, batch by batch."""

    case = "rows: numpy"

    def run(self) -> None:
        for _ in self.numpy.rows():
            pass

    def checksum(self) -> str:
        total = Checksum(self.numpy.workload.tuples)
        for q, rows in self.numpy.rows():
            total.add(q, rows)
        return str(total)


class MasksOfKernel:
    """A bitmap for each query and batch, overwritten by the next batch."""

    case = "masks: bare kernel"

    def __init__(self, workload: Workload) -> None:
        self.kernel = DenseKernel(workload)

    def run(self) -> None:
        for _ in self.kernel.masks():
            pass

    def settle(self) -> None:
        pass

    def checksum(self) -> str:
        workload = self.kernel.workload
        total = Checksum(workload.tuples)
        for k, bitmaps in self.kernel.masks():
            for q in range(len(workload.queries)):
                bits = np.unpackbits(bitmaps[q].view(np.uint8), bitorder="little")
                total.add(q, k * BATCH + np.flatnonzero(bits))
        return str(total)


class MasksOfEngine:
    """The engine with a bitmap for each query; what they hold is polled between the runs."""

    case = "masks: engine"

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.engine = cacq.Engine(retain_bytes=RETAIN)
        self.engine.create_stream("S", SCHEMA)
        self.queries = self.engine.register_many(workload.texts())
        self.batches = [workload.rows(k) for k in range(len(workload.batches))]
        self.kept = 0

    def run(self) -> None:
        for batch in self.batches:
            self.engine.push("S", batch)
            self.queries[0].poll()

    def settle(self) -> None:
        for query in self.queries:
            query.poll()

    def push(self) -> None:
        for batch in self.batches:
            self.engine.push("S", batch)

    def checksum(self) -> str:
        self.push()
        self.kept = kept_results(self.engine)
        total = Checksum(self.workload.tuples)
        for q, query in enumerate(self.queries):
            rows = query.poll().columns["index"]
            if not (np.diff(rows) > 0).all():
                raise SystemExit(f"results of query {q} are not in the order of their tuples")
            total.add(q, rows)
        return str(total)


class RowsOfEngine(MasksOfEngine):
    """The engine with every query polled to its rows."""

    case = "rows: engine"

    def run(self) -> None:
        self.push()
        for query in self.queries:
            len(query.poll().columns["index"])

    def settle(self) -> None:
        pass


def contenders(workload: Workload) -> list[Contender]:
    """Both sides of every ratio; the baseline whose checksum the others must have comes first."""
    return [kind(workload) for kind in (MasksOfNumpy, MasksOfKernel, MasksOfEngine, RowsOfNumpy, RowsOfEngine)]


def measure(quick: bool) -> Iterator[Row]:
    """All figures, size by size: the throughput of each contender, then the ratios, paired run by run."""
    for queries, batches in (QUICK if quick else FULL).items():
        workload = selections(queries, batches)
        params: Params = {"queries": queries, "tuples": workload.tuples, "batch": BATCH, "seed": workload.seed}
        rivals = contenders(workload)
        checksum = agreed_checksum(rivals)
        figures = {
            case: throughput(NAME, case, params, seconds, checksum) for case, seconds in interleaved(rivals).items()
        }
        yield from figures.values()
        for mine, theirs in RATIOS:
            yield ratio(figures[mine], figures[theirs])
        if queries >= 1_000:
            (engine,) = (rival for rival in rivals if isinstance(rival, RowsOfEngine))
            yield from stored_bytes(NAME, "dense", engine.engine, engine.kept, params, checksum)


def target(figure: Row) -> Goal:
    """The least value this figure should have, where there is one."""
    return TARGETS.get((figure.case, int(figure.params["queries"])))
