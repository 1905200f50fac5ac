"""The rest of `selections`: what sharing one eddy, several sources and the width of a tuple do to dense queries.

*One eddy a query* (CACQ figure 6): an engine for each query against one for all, rows out on both sides.
*Sources* (figure 7): the same number of queries and tuples over one stream or over twenty; query q stands over stream
q mod k and batch j goes to stream j mod k. Twenty queries on field a as in the paper, and a thousand of all fields. A
tuple then meets fewer queries, so beside it stands every query over every stream: as many results as with one.
*Columns*: five queries over tuples with more and more columns that no query speaks of.
*Slots* (figure 4): five queries in a lineage that has had room for many, the others having been cancelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

import cacq
from bench.baselines.numpy_masks import NumpyMasks
from bench.dense import RETAIN, RowsOfEngine, RowsOfNumpy
from bench.measure import Checksum, Contender, Goal, Params, Row, agreed_checksum, interleaved, ratio, throughput
from bench.workload import BATCH, OPERATORS, SCHEMA, Predicate, Workload, selections

NAME = "selections"
SOURCES = 20
SEPARATE = (1, 10, 100)
COLUMNS = (0, 5, 10, 20, 40)
SLOTS = (5, 64, 320, 1_000, 3_000)
ONE_EDDY, EDDY_EACH = "one eddy for all queries", "one eddy a query"


class EddyForEach:
    """A separate engine for each query; every tuple is pushed into all of them."""

    case = EDDY_EACH

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.engines, self.queries = [], []
        for text in workload.texts():
            engine = cacq.Engine()
            engine.create_stream("S", SCHEMA)
            self.engines.append(engine)
            self.queries.append(engine.register(text))
        self.batches = [workload.rows(k) for k in range(len(workload.batches))]

    def run(self) -> None:
        for batch in self.batches:
            for engine in self.engines:
                engine.push("S", batch)
        for query in self.queries:
            len(query.poll().columns["index"])

    def settle(self) -> None:
        pass

    def checksum(self) -> str:
        for batch in self.batches:
            for engine in self.engines:
                engine.push("S", batch)
        return _polled(enumerate(self.queries), self.workload.tuples)


class SharedEddy(RowsOfEngine):
    """All queries in one engine."""

    case = ONE_EDDY


class Sources:
    """The tuples of a workload dealt out to several streams of one engine, and its queries too, or all to each."""

    def __init__(self, case: str, workload: Workload, sources: int, every: bool = False) -> None:
        self.case, self.workload, self.sources, self.every = case, workload, sources, every
        self.engine = cacq.Engine(retain_bytes=RETAIN)
        for source in range(sources):
            self.engine.create_stream(f"S{source}", SCHEMA)
        places = [
            (q, source) for source in range(sources) for q in range(len(workload.queries)) if self._stands(q, source)
        ]
        texts = workload.texts()
        standing = self.engine.register_many([texts[q].replace(" FROM S ", f" FROM S{s} ") for q, s in places])
        self.queries = [(q, query) for (q, _), query in zip(places, standing, strict=True)]
        self.batches = [(f"S{k % sources}", workload.rows(k)) for k in range(len(workload.batches))]

    def _stands(self, query: int, source: int) -> bool:
        return self.every or query % self.sources == source

    def run(self) -> None:
        self._push()
        for _, query in self.queries:
            len(query.poll().columns["index"])

    def settle(self) -> None:
        pass

    def _push(self) -> None:
        for stream, batch in self.batches:
            self.engine.push(stream, batch)

    def checksum(self) -> str:
        self._push()
        return _polled(self.queries, self.workload.tuples)

    def expected(self) -> str:
        """The checksum by the loop in numpy."""
        total = Checksum(self.workload.tuples)
        for k, masks in NumpyMasks(self.workload).masks():
            for q, mask in enumerate(masks):
                if self._stands(q, k % self.sources):
                    total.add(q, k * BATCH + np.flatnonzero(mask))
        return str(total)


class Columns(RowsOfEngine):
    """Tuples with columns that no query speaks of."""

    def __init__(self, workload: Workload, unused: int) -> None:
        self.case = f"{unused} unused columns"
        names = [f"unused_{number}" for number in range(unused)]
        self.workload = workload
        self.engine = cacq.Engine()
        self.engine.create_stream("S", SCHEMA | dict.fromkeys(names, "int64"))
        self.queries = self.engine.register_many(workload.texts())
        batches = [workload.rows(k) for k in range(len(workload.batches))]
        self.batches = [batch | {name: batch["a"].copy() for name in names} for batch in batches]


class Slots(RowsOfEngine):
    """A few queries, spread over the slots of many that were registered and cancelled."""

    def __init__(self, workload: Workload, slots: int) -> None:
        super().__init__(workload)
        self.case = f"{slots:,} slots"
        self.engine = cacq.Engine()
        self.engine.create_stream("S", SCHEMA)
        texts = selections(slots, 1, seed=8).texts()  # others: an engine gives equal queries one slot
        places = [place * slots // len(workload.queries) for place in range(len(workload.queries))]
        for place, text in zip(places, workload.texts(), strict=True):
            texts[place] = text
        standing = self.engine.register_many(texts)
        self.queries = [standing[place] for place in places]
        for number, query in enumerate(standing):
            if number not in places:
                self.engine.cancel(query)


def _polled(queries: Iterable[tuple[int, cacq.Query]], tuples: int) -> str:
    total = Checksum(tuples)
    for q, query in queries:
        total.add(q, query.poll().columns["index"])
    return str(total)


def measure(quick: bool) -> Iterator[Row]:
    """All figures."""
    yield from _separate(400 if quick else 5_000)
    yield from _sources(1 if quick else 5)
    five = selections(5, 40 if quick else 200)
    yield from _compared([Columns(five, unused) for unused in COLUMNS], five, "columns", COLUMNS)
    yield from _compared([Slots(five, slots) for slots in SLOTS], five, "slots", SLOTS)


def _params(workload: Workload) -> Params:
    return {"queries": len(workload.queries), "batch": BATCH, "seed": workload.seed, "tuples": workload.tuples}


def _separate(pushes: int) -> Iterator[Row]:
    for queries in SEPARATE:
        workload = selections(queries, min(pushes // queries, 100))
        rivals: list[Contender] = [SharedEddy(workload), EddyForEach(workload)]
        checksum = agreed_checksum([RowsOfNumpy(workload), *rivals])
        times = interleaved(rivals)
        shared, each = (
            throughput(NAME, case, _params(workload), times[case], checksum) for case in (ONE_EDDY, EDDY_EACH)
        )
        yield from (shared, each, ratio(shared, each))


def _sources(rounds: int) -> Iterator[Row]:
    for name, workload in (("field a", _on_field_a(rounds * 80)), ("all fields", selections(1_000, rounds * 20))):
        rivals = [
            Sources(f"1 source, {name}", workload, 1),
            Sources(f"{SOURCES} sources, {name}", workload, SOURCES),
        ]
        if len(workload.queries) < 1_000:
            rivals.append(Sources(f"{SOURCES} sources, {name}, every query over each", workload, SOURCES, True))
        sums = {rival.case: rival.checksum() for rival in rivals}
        for rival in rivals:
            if sums[rival.case] != rival.expected():
                raise SystemExit(f"outputs differ: {rival.case} has {sums[rival.case]}, numpy {rival.expected()}")
        times = interleaved(rivals)
        figures = [throughput(NAME, case, _params(workload), times[case], sums[case]) for case in times]
        yield from figures
        yield from (ratio(figure, figures[0]) for figure in figures[1:])


def _on_field_a(batches: int) -> Workload:
    """Twenty queries with one predicate, on field a: CACQ section 3.2.8, second experiment."""
    rng = np.random.default_rng(7)
    drawn = zip(rng.integers(0, len(OPERATORS), 20).tolist(), rng.integers(0, 100, 20).tolist(), strict=True)
    queries = tuple((Predicate(0, OPERATORS[operator], constant),) for operator, constant in drawn)
    return Workload(selections(1, batches).batches, 7, queries)


def _compared(rivals: Sequence[RowsOfEngine], workload: Workload, name: str, sizes: Sequence[int]) -> Iterator[Row]:
    """The throughput of each and its ratio to the first."""
    checksum = agreed_checksum([RowsOfNumpy(workload), *rivals])
    times = interleaved(rivals)
    figures = [
        throughput(NAME, rival.case, _params(workload) | {name: size}, times[rival.case], checksum)
        for rival, size in zip(rivals, sizes, strict=True)
    ]
    yield from figures
    yield ratio(figures[-1], figures[0])


def target(figure: Row) -> Goal:
    """Twenty sources should do at least 0.7 of one; the rest is shown only."""
    dealt = figure.case.startswith(f"{SOURCES} sources") and "every query" not in figure.case
    return 0.7 if figure.metric == "ratio" and dealt else None
