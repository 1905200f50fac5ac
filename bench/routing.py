"""`routing`: how many filters a tuple enters, by policy (CACQ figure 9, the queries of table 3).

S(index, a..e) with integers uniform in [0, 100); five queries over five grouped filters. Every seed makes other tuples
and other draws; what tickets take to learn is part of the figure. *fixed best* is the order that costs the fewest
filters on these tuples, *fixed worst* the one that costs the most, both found by trying all 120 in numpy; *optimal* is
the count for the best one, in numpy, without an engine.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations
from typing import Any

import numpy as np

import cacq
from bench.measure import Checksum, Params, Row, row
from bench.workload import BATCH, FIELDS, Ints

NAME = "routing"
SEEDS = (1, 2, 3, 4, 5)
BATCHES, QUICK_BATCHES = 245, 60
THRESHOLDS = dict(zip(FIELDS, (90, 70, 50, 30, 10), strict=True))
TERMS = [f"{field} > {threshold}" for field, threshold in THRESHOLDS.items()]
QUERIES = [f"SELECT index FROM S WHERE {' AND '.join(TERMS[:count])}" for count in range(1, len(TERMS) + 1)]
POINTS = 40
"""Points of a line over time."""


class Order:
    """A policy that knows the order: operators by the attribute they are over."""

    def __init__(self, order: Sequence[str]) -> None:
        self._rank = {f"S: {attribute}": rank for rank, attribute in enumerate(order)}

    def choose(self, operators: Sequence[Any], batch: Any) -> int:
        return min(range(len(operators)), key=lambda index: self._rank[operators[index].name])


class Run:
    """One engine on its way through the batches: seconds of its pushes, and filters entered by batch."""

    def __init__(self, queries: Sequence[str], **options: Any) -> None:
        self.engine = cacq.Engine(**options)
        self.engine.create_stream("S", dict.fromkeys(("index", *FIELDS), "int64"))
        self.queries = self.engine.register_many(queries)
        self.seconds = 0.0
        self.entered: list[int] = []
        self.tuples = 0

    def push(self, batch: Ints) -> None:
        """One batch, timed."""
        length = batch.shape[1]
        data = {"index": np.arange(self.tuples, self.tuples + length)} | dict(zip(FIELDS, batch, strict=True))
        start = time.perf_counter()
        self.engine.push("S", data)
        self.seconds += time.perf_counter() - start
        self.tuples += length
        self.entered.append(sum(operator["tuples_in"] for operator in self.engine.stats()["operators"]))

    @property
    def filters(self) -> float:
        """Filters entered for each tuple."""
        return self.entered[-1] / self.tuples

    def checksum(self) -> str:
        """The digest of all results."""
        total = Checksum(self.tuples)
        for number, query in enumerate(self.queries):
            total.add(number, query.poll().columns["index"])
        return str(total)


def measure(quick: bool) -> Iterator[Row]:
    """Filters a tuple and tuples a second of each policy, a run a seed; then filters a tuple over time."""
    batches = QUICK_BATCHES if quick else BATCHES
    runs: dict[str, list[Run]] = {}
    optimal: list[float] = []
    sums: list[str] = []
    Run(QUERIES).push(np.zeros((len(FIELDS), BATCH), np.int64))  # compiles
    for seed in SEEDS:
        data = np.random.default_rng(seed).integers(0, 100, (batches, len(FIELDS), BATCH))
        costs = {order: filters_of_order(order, data[:20]) for order in permutations(FIELDS)}
        best, worst = min(costs, key=costs.__getitem__), max(costs, key=costs.__getitem__)
        optimal.append(filters_of_order(best, data))
        started = {
            "tickets": Run(QUERIES, policy="tickets", seed=seed),
            "random": Run(QUERIES, policy="random", seed=seed),
            "back_pressure": Run(QUERIES, policy="back_pressure"),
            "fixed worst": Run(QUERIES, policy=Order(worst)),
            "fixed best": Run(QUERIES, policy=Order(best)),
        }
        gc.collect()
        for batch in data:
            for run in started.values():
                run.push(batch)
        for case, run in started.items():
            runs.setdefault(case, []).append(run)
        found = {case: run.checksum() for case, run in started.items()}
        if len(set(found.values())) != 1:
            raise SystemExit(f"outputs differ: {found}")
        sums.append(found["tickets"])
    params: Params = {"queries": len(QUERIES), "tuples": batches * BATCH, "batch": BATCH, "seeds": len(SEEDS)}
    checksum = " ".join(sums)
    for case, mine in runs.items():
        yield row(NAME, case, params, "filters", "filters/tuple", [run.filters for run in mine], checksum)
    yield row(NAME, "optimal (numpy)", params, "filters", "filters/tuple", optimal, checksum)
    for case, mine in runs.items():
        yield row(NAME, case, params, "throughput", "tuples/s", [run.tuples / run.seconds for run in mine], checksum)
    for case, mine in runs.items():
        yield row(NAME, case, params, "course", "filters/tuple", course(mine[0].entered, BATCH), checksum)


def filters_of_order(order: Sequence[str], data: Ints) -> float:
    """Filters that a tuple enters in this order: a filter is entered while a query that needs it is still alive."""
    passes = {field: data[:, k] > THRESHOLDS[field] for k, field in enumerate(FIELDS)}
    alive = [np.ones(data[:, 0].shape, np.bool_) for _ in QUERIES]
    entered = 0
    for attribute in order:
        first = FIELDS.index(attribute)
        entered += int(np.count_nonzero(np.logical_or.reduce(alive[first:])))
        for query in range(first, len(QUERIES)):
            alive[query] &= passes[attribute]
    return entered / alive[0].size


def course(entered: Sequence[int], batch: int) -> list[float]:
    """Filters a tuple over time, of counts that grow from batch to batch, in a few points."""
    step = max(1, len(entered) // POINTS)
    marks = [0, *entered[step - 1 :: step]]
    return [(after - before) / (step * batch) for before, after in pairwise(marks)]


def target(figure: Row) -> tuple[str, float] | None:
    """At most 1.2 filters a tuple (the paper's tickets: 1.3)."""
    return ("<=", 1.2) if (figure.case, figure.metric) == ("tickets", "filters") else None
