"""A whole case from one integer: a stream, queries that come and go, pushes, punctuations and moments to poll."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.oracle.language import INT64_MAX, INT64_MIN, Column, Query, Stream
from tests.oracle.plain import Row
from tests.oracle.queries import Domains, QueryMaker
from tests.oracle.spelling import to_sql

START = 1_700_000_000_000_000
"""The first event time, in November 2023."""
POLICIES = ("tickets", "random", "fixed", "back_pressure")
NAMES = ("a", "b", "c", "d", "e", "x", "index", "Level", "room_id", "temperature")
INTEGERS = [0, 1, 2, 3, 5, 7, 42, 90, 100, -1, -3, -50]
EXTREME_INTEGERS = [INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62]
FLOATS = [0.0, -0.0, 0.1, 0.5, 1.0, 1.5, 2.5, 90.5, 100.0, -1.0, -2.25, math.nan, math.inf, -math.inf, 5e-324, 1e308]
EXTREME_FLOATS = [2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e300, 9223372036854774784.0]
STRINGS = ["", "a", "b", "ab", "abc", "A", "B", "a%b", "a_b", "%", "_", "!", "'", "a'b", "a\\b", " a", "a\nb", "z" * 40,
           "é", "e\u0301", "日本", "日", "😀", "😀a", "ﬀ", "\ufffd", "a\x00b"]  # fmt: skip


@dataclass(frozen=True)
class Register:
    """The queries with these numbers; `together` by one call of register_many."""

    queries: tuple[int, ...]
    together: bool


@dataclass(frozen=True)
class Cancel:
    query: int


@dataclass(frozen=True)
class Push:
    """One record; `form` seeds the choice of the input form."""

    rows: list[Row]
    form: int


@dataclass(frozen=True)
class Advance:
    ts: int


@dataclass(frozen=True)
class Tick:
    """The manual clock moves; backwards too, as wall clocks do."""

    microseconds: int


@dataclass(frozen=True)
class Poll:
    queries: tuple[int, ...]


Step = Register | Cancel | Push | Advance | Tick | Poll


@dataclass(frozen=True)
class Case:
    seed: int
    stream: Stream
    queries: list[Query]
    texts: list[str]
    steps: list[Step]
    policy: str
    extreme: bool
    """Whether integers beyond 2**53 occur, where DuckDB compares int64 with float64 inexactly."""

    @property
    def rows(self) -> list[Row]:
        """All rows in the order they are pushed."""
        return [row for step in self.steps if isinstance(step, Push) for row in step.rows]


def make_case(seed: int, queries: int = 10, rows: int = 30) -> Case:
    """The case of that seed with that many queries and rows."""
    random = Random(seed)
    maker = CaseMaker(random, queries, rows)
    return Case(
        seed=seed,
        stream=maker.stream,
        queries=maker.queries,
        texts=[to_sql(query, random) for query in maker.queries],
        steps=maker.steps(),
        policy=random.choice(POLICIES),
        extreme=maker.extreme,
    )


class CaseMaker:
    """Draws the parts of a case in a fixed order from one random generator."""

    def __init__(self, random: Random, queries: int, rows: int) -> None:
        self.random = random
        self.extreme = random.random() < 0.4
        self.stream = self.make_stream()
        self.domains = self.make_domains()
        self.now = START
        self.rows = [self.row() for _ in range(rows)]
        maker = QueryMaker(random, self.stream, self.domains, self.extreme)
        self.queries: list[Query] = []
        for _ in range(queries):
            self.queries.append(maker.query(self.queries))

    def make_stream(self) -> Stream:
        random = self.random
        names = random.sample(NAMES, random.randint(1, 6))
        types = random.choices(("int64", "float64", "string", "bool", "timestamp"), (5, 4, 4, 2, 1), k=len(names))
        columns = [Column(name, type) for name, type in zip(names, types, strict=True)]
        timestamp = None
        if random.random() < 0.65:
            columns.insert(random.randint(0, len(columns)), Column("ts", "timestamp"))
            timestamp = "ts"
        lateness = random.choice((0.0, 0.0, 0.001, 1.5))
        return Stream(random.choice(("S", "S", "Readings", "network.tcpdump")), tuple(columns), timestamp, lateness)

    def make_domains(self) -> Domains:
        """A few values for each column, and NULLs in some."""
        random, domains = self.random, {}
        for column in self.stream.columns:
            values = random.sample(pool := self.pool(column.type), min(len(pool), random.randint(2, 9)))
            if column.name != self.stream.timestamp:
                values += [None] * random.choice((0, 0, 1, 1, len(values)))
                if random.random() < 0.02:
                    values = [None]
            domains[column.name] = values
        return domains

    def pool(self, type: str) -> list[Any]:
        if type == "int64":
            return INTEGERS + EXTREME_INTEGERS * self.extreme
        if type == "float64":
            return FLOATS + EXTREME_FLOATS * self.extreme
        if type == "string":
            return STRINGS
        if type == "bool":
            return [True, False]
        return [START + step for step in (-2_000_000, -1_000, -1, 0, 1, 1_000, 2_000_000, 3_600_000_000)] + [0, -1]

    def row(self) -> Row:
        values = []
        for column in self.stream.columns:
            if column.name == self.stream.timestamp:
                values.append(self.event_time())
            else:
                values.append(self.random.choice(self.domains[column.name]))
        return tuple(values)

    def event_time(self) -> int:
        """Mostly growing, with ties, and now and then far back: such rows may be late."""
        self.now += self.random.choice((0, 0, 1, 1_000, 1_000, 500_000, 2_000_000))
        return self.now - self.random.choice((1, 1_000, 5_000_000)) if self.random.random() < 0.1 else self.now

    def steps(self) -> list[Step]:
        """Pushes in three to six records; queries are added and cancelled and polled between them."""
        random = self.random
        waiting = list(range(len(self.queries)))
        random.shuffle(waiting)
        active: list[int] = []
        cancelled: list[int] = []
        steps: list[Step] = []
        cuts = sorted(random.randint(0, len(self.rows)) for _ in range(random.randint(3, 5)))
        for first, last in zip([0, *cuts], [*cuts, len(self.rows)], strict=True):
            share = math.ceil(len(waiting) * random.choice((0.1, 0.7, 0.9, 1.0)))
            steps += self.registrations(waiting[:share])
            active += waiting[:share]
            del waiting[:share]
            steps += self.time_passes(self.rows[first:last])
            steps.append(Push(self.rows[first:last], random.getrandbits(32)))
            if random.random() < 0.8:
                steps.append(self.poll(active + cancelled))
            for query in [query for query in active if random.random() < 0.06]:
                active.remove(query)
                cancelled.append(query)
                steps.append(Cancel(query))
        return [*steps, Poll(tuple(active + cancelled))]

    def poll(self, queries: list[int]) -> Poll:
        if self.random.random() < 0.8:
            return Poll(tuple(queries))
        return Poll(tuple(query for query in queries if self.random.random() < 0.5))

    def registrations(self, queries: list[int]) -> list[Step]:
        """Some one by one, the rest together."""
        if not queries:
            return []
        cut = self.random.choice((0, len(queries), self.random.randint(0, len(queries))))
        steps: list[Step] = [Register((query,), together=False) for query in queries[:cut]]
        return [*steps, Register(tuple(queries[cut:]), together=True)] if queries[cut:] else steps

    def time_passes(self, coming: list[Row]) -> list[Step]:
        """Punctuations, some of which make rows of the next record late; ticks where rows are stamped on arrival."""
        if self.stream.timestamp is None:
            return [Tick(self.random.choice((0, 1, 1_000, 7_000_000, -3_000)))]
        if self.random.random() > 0.2 or not coming:
            return []
        position = [column.name for column in self.stream.columns].index(self.stream.timestamp)
        return [Advance(self.random.choice(coming)[position] + self.random.choice((-1, 0, 0, 1)))]
