"""Walks a case through an engine and the plain oracle side by side, and compares what both say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import cacq
from cacq.testing import ManualClock
from tests.oracle import duck
from tests.oracle.compare import as_bytes, difference, read, same
from tests.oracle.forms import pushable
from tests.oracle.functions import FUNCTIONS
from tests.oracle.generate import START, Advance, Cancel, Case, Poll, Push, Register, Tick
from tests.oracle.language import Stream
from tests.oracle.plain import Delta, Model

LINEAGES = ("auto", "sparse", "dense")
"""Forms of lineage that an engine can be told to use."""


def new_engine(stream: Stream, **options: Any) -> tuple[cacq.Engine, ManualClock]:
    """An engine with the stream, the functions of random queries, and a clock in the test's hands."""
    clock = ManualClock()
    clock.set(START)
    engine = cacq.Engine(clock=clock, **options)
    engine.create_stream(stream.name, stream.schema, timestamp=stream.timestamp, lateness=stream.lateness)
    for function in FUNCTIONS.values():
        engine.register_function(
            function.name, function.function, args=list(function.arguments), returns=function.returns
        )
    return engine, clock


@dataclass
class Run:
    """One case on its way. `checks` counts the answers compared, by oracle."""

    case: Case
    options: dict[str, Any] = field(default_factory=dict)
    checks: Counter[str] = field(default_factory=Counter)
    handles: dict[int, Any] = field(default_factory=dict)
    models: dict[int, int] = field(default_factory=dict)
    seen: dict[int, list[Delta]] = field(default_factory=dict)
    moments: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """For each query the (rows pushed, deltas seen) at each poll."""

    def __post_init__(self) -> None:
        case = self.case
        self.engine, self.clock = new_engine(case.stream, policy=case.policy, seed=case.seed, **self.options)
        self.model = Model(self.clock)
        self.model.create_stream(case.stream)
        self.now = START
        self.lsn = -1

    def walk(self) -> Run:
        """Every step of the case, with all checks by the plain oracle."""
        for step in self.case.steps:
            match step:
                case Register(queries=queries, together=together):
                    self.register(queries, together)
                case Cancel(query=query):
                    self.handles[query].cancel()
                    self.model.cancel(self.models[query])
                case Push():
                    self.push(step)
                case Advance(ts=ts):
                    self.engine.advance(self.case.stream.name, ts)
                    self.model.advance(self.case.stream.name, ts)
                case Tick(microseconds=microseconds):
                    self.now += microseconds
                    self.clock.set(self.now)
                case Poll(queries=queries):
                    for query in queries:
                        self.poll(query)
        return self

    def register(self, queries: tuple[int, ...], together: bool) -> None:
        texts = [self.case.texts[query] for query in queries]
        if together:
            added = self.engine.register_many(texts)
        else:
            names = [f"query {query}" if query % 2 else None for query in queries]
            added = [self.engine.register(text, name=name) for text, name in zip(texts, names, strict=True)]
        for query, handle in zip(queries, added, strict=True):
            self.handles[query] = handle
            self.models[query] = self.model.register(self.case.queries[query])
            self.seen[query], self.moments[query] = [], []

    def push(self, step: Push) -> None:
        stream = self.case.stream
        pushed = self.engine.push(stream.name, pushable(stream, step.rows, Random(step.form)))
        expected = self.model.push(stream.name, step.rows)
        assert (pushed.rows, pushed.late) == expected, f"seed {self.case.seed}: push of {len(step.rows)} rows"
        assert pushed.lsn > self.lsn, f"seed {self.case.seed}: LSN {pushed.lsn} after {self.lsn}"
        self.lsn = pushed.lsn

    def poll(self, query: int) -> None:
        """Compares the deltas since the last poll: the earlier ones were compared then."""
        deltas = self.handles[query].poll()
        actual, expected = read(deltas), self.model.poll(self.models[query])
        if not same(actual, expected):
            raise AssertionError(self.complaint(query, difference(actual, expected)))
        names = self.case.queries[query].names
        if not all(wanted in (None, name) for wanted, name in zip(names, deltas.columns, strict=True)):
            raise AssertionError(self.complaint(query, f"columns are {list(deltas.columns)}, expected {names}"))
        self.seen[query] += actual
        self.moments[query].append((len(self.model.streams[self.case.stream.name].rows), len(self.seen[query])))
        self.checks["plain"] += 1

    def ask_duck(self, oracle: duck.Duck, most: int) -> None:
        """Compares the answers of up to `most` queries at every moment at which they were polled."""
        case, flowing = self.case, self.model.streams[self.case.stream.name]
        asked = [query for query in self.seen if duck.can_answer(case.queries[query], case.extreme)]
        oracle.load(case.stream, flowing.rows, flowing.times)
        for query in Random(case.seed).sample(asked, min(most, len(asked))):
            standing = self.model.standing[self.models[query]]
            found = oracle.answer(case.queries[query])
            for pushed, deltas in self.moments[query]:
                stop = pushed if standing.stop is None else min(pushed, standing.stop)
                expected = duck.deltas(found, standing.start, stop)
                if not same(self.seen[query][:deltas], expected):
                    told = difference(self.seen[query][:deltas], expected)
                    raise AssertionError(self.complaint(query, f"DuckDB: {told}"))
                self.checks["duck"] += 1

    def complaint(self, query: int, told: str) -> str:
        case = self.case
        schema = f"{case.stream.name} {case.stream.schema}"
        return f"seed {case.seed}, policy {case.policy}, query {query} over {schema}:\n{case.texts[query]}\n{told}"


def answers(case: Case, watched: Iterable[int] | None = None, **options: Any) -> dict[int, dict[str, bytes]]:
    """The bytes of the answers of the watched queries (else all) after the case's pushes and query changes.

    Queries are polled once, at the end; a query that is registered again is another one from then on.
    """
    engine, clock = new_engine(case.stream, **options)
    now, handles = START, dict[int, Any]()
    for step in case.steps:
        match step:
            case Register(queries=queries, together=together):
                texts = [case.texts[query] for query in queries]
                added = engine.register_many(texts) if together else [engine.register(text) for text in texts]
                handles.update(zip(queries, added, strict=True))
            case Cancel(query=query):
                handles[query].cancel()
            case Push(rows=rows, form=form):
                engine.push(case.stream.name, pushable(case.stream, rows, Random(form)))
            case Advance(ts=ts):
                engine.advance(case.stream.name, ts)
            case Tick(microseconds=microseconds):
                now += microseconds
                clock.set(now)
    return {query: as_bytes(handles[query].poll()) for query in (handles if watched is None else watched)}
