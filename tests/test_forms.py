"""Predicates change between dense and sparse lineage as the data changes, and nobody can tell from the results."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

import cacq
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.eddy import forms, sample
from cacq.eddy.forms import Forms
from cacq.eddy.sample import Sample
from cacq.filters.keys import KeyColumns
from cacq.query import ast
from cacq.testing import ManualClock
from tests.oracle.compare import read
from tests.restless import ROWS, make_restless

SCHEMA = {"a": "int64", "b": "int64", "c": "int64", "s": "string"}
WATCHED = (
    "SELECT a, b FROM S WHERE a BETWEEN 0 AND 9",
    "SELECT b FROM S WHERE a BETWEEN 0 AND 9 AND b / c > 2",
    "SELECT a, b / c AS d FROM S WHERE a >= 0 AND a < 10 AND b > 1 AND s = 'x1'",
)
CROWD = tuple(f"SELECT a FROM S WHERE a = {1000 + number}" for number in range(20))


def rows_of(rng: Random, count: int, share: float) -> list[dict[str, Any]]:
    """So large a share of the rows has `a` between 0 and 9."""
    return [
        {
            "a": rng.choice([None, *range(10)]) if rng.random() < share else rng.randint(10, 5_000),
            "b": rng.choice([None, 0, 1, 5, 9]),
            "c": rng.choice([0, 1, 2]),
            "s": rng.choice(["x1", "x1", "y", None]),
        }
        for _ in range(count)
    ]


class Twins:
    """Two engines that are told the same; the second one may only use dense lineage. Routing is fixed, and the filter
    on `a` is the first operator, so that value errors can be compared too."""

    def __init__(self, **options: Any) -> None:
        self.engines = [
            cacq.Engine(policy="fixed", clock=ManualClock(), lineage=lineage, **options)
            for lineage in ("auto", "dense")
        ]
        for engine in self.engines:
            engine.create_stream("S", SCHEMA)
        self.queries: dict[str, tuple[Any, Any]] = {}
        self.register("first", "SELECT a FROM S WHERE a BETWEEN 0 AND 9 OR a > 4990")

    @property
    def standing(self) -> Any:
        return self.engines[0]._streams["S"].standing

    def register(self, name: str, sql: str) -> None:
        first, second = (engine.register(sql) for engine in self.engines)
        self.queries[name] = first, second

    def register_many(self, texts: dict[str, str]) -> None:
        added = zip(*(engine.register_many(texts.values()) for engine in self.engines), strict=True)
        self.queries |= zip(texts, added, strict=True)

    def cancel(self, name: str) -> None:
        for query in self.queries[name]:
            query.cancel()

    def push(self, rows: list[dict[str, Any]]) -> None:
        first, second = (engine.push("S", rows) for engine in self.engines)
        assert first == second
        self.standing._check()
        self.engines[0]._streams["S"].tables.anchored._check()

    def is_sparse(self, name: str) -> bool:
        return bool(self.queries[name][0]._standing.sparse)

    def check(self, name: str) -> None:
        """Both engines say the same of a query."""
        first, second = (told_by(query) for query in self.queries[name])
        assert first == second, name


def told_by(query: Any) -> Any:
    """Everything that can be seen of a query."""
    counts = query.results, query.value_errors, query.state
    try:
        return counts, read(query.poll()), query.value_errors
    except cacq.ResultsLost as lost:
        return counts, lost.count, read(query.poll()), query.results


@pytest.mark.parametrize("options", [{}, {"retain_bytes": 0}], ids=["all is held", "nothing is held"])
@pytest.mark.parametrize("seed", range(4))
def test_a_query_that_moves_back_and_forth_loses_nothing(
    seed: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries with a predicate in common come at different times, some go while it is here or there."""
    make_restless(monkeypatch)
    rng, twins = Random(seed), Twins(**options)
    for number, sql in enumerate(WATCHED):
        twins.register(f"early {number}", sql)
    twins.register_many(dict(enumerate(CROWD)))
    history: list[list[bool]] = [[] for _ in WATCHED]
    for phase, share in enumerate([0.01, 0.6, 0.01, 0.6, 0.01]):
        for step in range(18):
            twins.push(rows_of(rng, rng.choice([1, 20, 70]), share))
            for number, past in enumerate(history):
                past.append(twins.is_sparse(f"early {number}"))
            if step == 9:
                twins.register(f"{phase}: late", "SELECT c, b FROM S WHERE a < 10 AND 0 <= a")
                twins.register_many({f"{phase}: late {number}": sql for number, sql in enumerate(WATCHED)})
            if step == 14 and phase:
                twins.cancel(f"{phase - 1}: late 0")
                twins.cancel(f"{phase - 1}: late 1")
            for name in rng.sample(list(twins.queries), 3):
                twins.check(name)
    shared = {id(twins.queries[name][0]._standing) for name in ("early 0", "2: late", "3: late 0")}
    assert len(shared) == 1
    for past in history:
        moves = sum(one != other for one, other in pairwise(past))
        assert moves >= 4, "it was to move at least twice in either direction"
    for name in twins.queries:
        twins.check(name)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_lost_is_counted_through_moves(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two forms take different memory, so different results are lost; those that are left are the same."""
    make_restless(monkeypatch)
    rng, held = Random(seed), Twins(retain_bytes=4_000)
    full = cacq.Engine(policy="fixed", clock=ManualClock(), lineage="dense")
    full.create_stream("S", SCHEMA)
    held.register_many(dict(enumerate([*WATCHED, *CROWD])))
    expected = full.register_many([*WATCHED, *CROWD])
    seen: dict[int, list[Any]] = {number: [] for number in range(len(WATCHED))}
    missed = dict.fromkeys(seen, 0)
    for share in (0.01, 0.6, 0.01, 0.6):
        for _ in range(15):
            rows = rows_of(rng, 40, share)
            held.push(rows)
            full.push("S", rows)
        for number in range(len(WATCHED)):
            mine = held.queries[number][0]  # type: ignore[index]
            try:
                seen[number] += read(mine.poll())
            except cacq.ResultsLost as lost:
                missed[number] += lost.count
                seen[number] += read(mine.poll())
            assert mine.results == expected[number].results == len(seen[number]) + missed[number]
    assert held.standing.moves > 4 and all(missed.values())
    for number, deltas in seen.items():
        everything = read(expected[number].poll())
        without_time = [(seq, row) for seq, _, _, _, row in deltas]
        assert without_time == [(seq, everything[seq][-1]) for seq, _ in without_time]


def test_between_the_thresholds_a_predicate_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    make_restless(monkeypatch)
    between = (forms.SPARSE_BELOW + forms.DENSE_ABOVE) / 2
    monkeypatch.setattr(sample, "ROWS", 2_000)
    rng, twins = Random(1), Twins()
    rows = rows_of(rng, 2_000, 0.0)
    for row in rows[: int(2_000 * between)]:
        row["a"] = 5
    twins.register_many(dict(enumerate(CROWD)))
    for share, sparse in ((0.01, True), (0.6, False)):
        name = f"since {share}"
        twins.register(name, WATCHED[0])
        for _ in range(12):
            twins.push(rows_of(rng, 2_000, share))
        assert twins.is_sparse(name) == sparse
        for _ in range(4):
            twins.push(rows)
        before = twins.standing.moves
        for _ in range(12):
            twins.push(rows)
        assert twins.is_sparse(name) == sparse and twins.standing.moves == before
        twins.check(name)
        twins.cancel(name)


class Known:
    """A sample that says what it is told."""

    def __init__(self, *shares: float) -> None:
        self._shares = np.array(shares)

    def shares(self, key: int, lows: Any, highs: Any) -> Any:
        return self._shares


def test_the_share_decides_with_some_inertia() -> None:
    known: Any = Known(0.0, 0.029, 0.031, 0.05, 0.079, 0.081, 1.0)
    auto, bounds = Forms("auto", known), np.zeros((7, 1), np.int64)
    assert auto.judge((0,), bounds, bounds, False).selective.tolist() == [True, True] + [False] * 5
    assert auto.judge((0,), bounds, bounds, True).selective.tolist() == [True] * 5 + [False] * 2
    assert Forms("sparse", known).judge((0,), bounds, bounds, False).selective.all()


def test_few_selective_predicates_are_not_worth_an_anchored_filter() -> None:
    known: Any = Known()
    auto, dense, sparse = (Forms(lineage, known) for lineage in ("auto", "dense", "sparse"))
    opened = []
    for selective in (forms.MANY - 1, forms.MANY, forms.FEW, forms.FEW - 1, forms.MANY - 1, forms.MANY):
        for each in (auto, dense, sparse):
            each.count(selective)
        opened.append(auto.open)
        assert sparse.open and not dense.open
    assert opened == [False, True, True, False, False, True]


def test_the_last_few_become_dense_again(monkeypatch: pytest.MonkeyPatch) -> None:
    make_restless(monkeypatch, many=8, few=5)
    rng, twins = Random(3), Twins()
    for number, sql in enumerate(CROWD[:7]):
        twins.register(f"{number}", sql)
    for _ in range(6):
        twins.push(rows_of(rng, 30, 0.01))
    assert not any(twins.is_sparse(f"{number}") for number in range(7)), "too few to begin with"
    twins.register("8th", CROWD[7])
    for _ in range(10):
        twins.push(rows_of(rng, 30, 0.01))
    assert twins.is_sparse("0") and twins.is_sparse("8th")
    for number in range(4):
        twins.cancel(f"{number}")
    for _ in range(12):
        twins.push(rows_of(rng, 30, 0.01))
    assert not any(twins.is_sparse(name) for name in ("4", "5", "6", "8th"))
    assert twins.engines[0]._streams["S"].tables.anchored.empty
    for name in twins.queries:
        twins.check(name)


def test_two_predicates_that_change_places_at_one_record_keep_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """One leaves its slot and the other takes it before the same record, which is full of rows of the other."""
    make_restless(monkeypatch)
    monkeypatch.setattr(sample, "LOOKS", 1)
    twins, changed = Twins(), 0
    twins.register_many({"low": "SELECT a FROM S WHERE a BETWEEN 0 AND 9", **dict(enumerate(CROWD[:6]))})
    twins.register("high", "SELECT a FROM S WHERE a BETWEEN 100 AND 109")
    for number in range(60):
        left = twins.queries["low"][0]._standing.slots, twins.queries["high"][0]._standing.slots
        first = 0 if number // 6 % 2 else 100
        twins.push([{"a": first + k % 10, "b": 1, "c": 1, "s": ""} for k in range(ROWS + 8)])
        taken = twins.queries["low"][0]._standing.slots, twins.queries["high"][0]._standing.slots
        changed += left[0] == taken[1] != left[1]
        changed += left[1] == taken[0] != left[0]
    assert changed > 4
    for name in ("low", "high"):
        twins.check(name)


@pytest.mark.parametrize("lineage", ["dense", "sparse"])
def test_a_place_that_had_value_errors_is_handed_on_without_them(lineage: str) -> None:
    engine = cacq.Engine(lineage=lineage)
    engine.create_stream("S", SCHEMA)
    failing = engine.register("SELECT a FROM S WHERE a = 1 AND b / c > 2")
    engine.push("S", [{"a": 1, "b": 1, "c": 0, "s": ""}])
    failing.cancel()
    plain = engine.register("SELECT a FROM S WHERE a = 1")
    again = engine.register("SELECT b FROM S WHERE a = 1")
    assert (failing.value_errors, plain.value_errors, again.value_errors) == (1, 0, 0)


def test_a_cancelled_query_that_has_read_everything_stays_silent() -> None:
    """Its end and what it has read lie in one segment, with records in between and after."""
    engine = cacq.Engine(lineage="sparse")
    engine.create_stream("S", SCHEMA)
    query = engine.register("SELECT a FROM S WHERE a = 1")
    rows = [{"a": value, "b": 1, "c": 0, "s": ""} for value in (1, 2, 2)]
    engine.push("S", rows)
    query.cancel()
    heir = engine.register("SELECT a FROM S WHERE a = 2")
    assert heir._standing.slots == (~0,), "it has the place of the first one"
    engine.push("S", rows)
    assert len(query.poll()) == 1
    for _ in range(5):
        engine.push("S", rows)
    assert len(heir.poll()) == 12, "it reads, so segments are merged"
    assert len(query.poll()) == 0 and query.results == 1


def test_a_passage_visits_each_filter_once() -> None:
    engine = cacq.Engine(policy="fixed", lineage="dense")
    engine.create_stream("S", SCHEMA)
    query = engine.register("SELECT a FROM S WHERE a > 0 AND b > 0 AND c > 0")
    engine.push("S", [{"a": 1, "b": 1, "c": 1, "s": ""}] * 10)
    operators = engine._streams["S"].tables.operators_in_use()
    assert [(each.counters.visits, each.counters.tuples_in) for each in operators] == [(1, 10)] * 3
    assert query.results == 10


def test_an_empty_push_has_nothing_to_sample() -> None:
    engine = cacq.Engine()
    engine.create_stream("S", SCHEMA)
    engine.push("S", [{"a": 1, "b": 1, "c": 0, "s": ""}] * 3)
    query = engine.register("SELECT a FROM S WHERE a = 1")
    engine.push("S", [])
    assert query.results == 0


def sampled(keys: KeyColumns, schema: Schema, batches: list[list[int | None]]) -> Sample:
    """A sample that has looked at these values of `a`."""
    found = Sample(keys)
    for lsn, values in enumerate(batches):
        engine = cacq.Engine()
        engine.create_stream("S", {"a": "int64"})
        columns, ts = engine._streams["S"].check({"a": values})
        found.look(Record(schema, lsn, ts, columns))
    return found


def estimate(found: Sample, low: int, high: int) -> float:
    return float(found.shares(0, np.array([low]), np.array([high]))[0])


def test_the_sample_knows_how_many_rows_a_range_accepts() -> None:
    keys, schema, rng = KeyColumns(), Schema.of({"a": "int64"}), np.random.default_rng(5)
    assert keys.number(ast.Column("a", Type.INT64)) == 0
    nothing = sampled(keys, schema, [])
    assert estimate(nothing, 5, 5) == pytest.approx(sample.EQUAL)
    assert estimate(nothing, 5, 9) == pytest.approx(sample.BETWEEN)
    assert estimate(nothing, INT64_MIN, 9) == estimate(nothing, 9, INT64_MAX) == pytest.approx(sample.OPEN)

    uniform = [[int(value) for value in rng.integers(0, 1000, 500)] for _ in range(40)]
    found = sampled(keys, schema, uniform)
    for low, high in ((0, 99), (500, 999), (INT64_MIN, 250), (900, INT64_MAX), (0, 999)):
        true = (min(high, 999) - max(low, 0) + 1) / 1000
        assert estimate(found, low, high) == pytest.approx(true, abs=0.05)
    assert estimate(found, 2_000, 3_000) < forms.SPARSE_BELOW
    assert estimate(found, 9, 3) < forms.SPARSE_BELOW

    halves: list[list[int | None]] = [[None, None, 7, 7] * 125 for _ in range(40)]
    assert estimate(sampled(keys, schema, halves), 7, 7) == pytest.approx(0.5, abs=0.1), "NULL is in no range"
    changed = sampled(keys, schema, [*uniform, *[[5_000] * 500] * 40])
    assert estimate(changed, 0, 999) < forms.SPARSE_BELOW and estimate(changed, 5_000, 5_000) > 0.9
    edges = sampled(keys, schema, [[INT64_MIN, INT64_MAX]] * 600)
    assert estimate(edges, INT64_MIN, INT64_MIN) == pytest.approx(0.5, abs=0.1)


def test_a_sample_takes_little_of_each_record() -> None:
    keys, schema = KeyColumns(), Schema.of({"a": "int64"})
    keys.number(ast.Column("a", Type.INT64))
    found = sampled(keys, schema, [[1] * 100_000, [2] * 100_000])
    assert found._held == 2 * sample.ROWS // sample.LOOKS
    assert estimate(found, 1, 1) == estimate(found, 2, 2)
