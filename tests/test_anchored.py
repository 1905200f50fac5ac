"""The anchored filter against brute force: every query on every row, in plain Python.

Capacities are tiny, so that levels freeze, merge in slices, run out of generations and overflow their output all the
time; `_check` runs after every action.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cacq.data.column import Column
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.filters.anchored import AnchoredFilter, Direction
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.fold import fold
from cacq.filters.keys import KeyColumns, Range
from cacq.kernels import slices
from cacq.query import ast
from cacq.query.normalize import normalize
from cacq.query.value_sets import float_key

SCHEMA = Schema.of({"a": "int64", "b": "int64", "f": "float64", "o": "bool", "t": "timestamp", "s": "string"})
COLUMNS = {name: ast.Column(name, type) for name, type in SCHEMA.columns.items()}
FLOATS = (-math.inf, -2.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.5, 1.0, 2.5, 1.7e308, -1.7e308, math.inf, math.nan)
DOMAINS: dict[str, Sequence[Any]] = {
    "a": range(-20, 21),
    "b": (INT64_MIN, INT64_MIN + 1, -(2**62), -3, -1, 0, 1, 2, 5, 2**40, 2**62, INT64_MAX - 1, INT64_MAX),
    "f": FLOATS,
    "o": (False, True),
    "t": range(1_700_000_000_000_000, 1_700_000_000_000_050, 7),
    "s": ("", "a", "ab", "b", "é", "日本", "a\0", "none of them"),
}
BOTH = (Direction.QUERIES, Direction.BATCH)

Row = dict[str, Any]
Test = tuple[str, Any, Any]
"""Column, least and greatest value; both inclusive."""


def rank(value: Any) -> tuple[bool, Any]:
    """Values in the order of SEMANTICS 23."""
    return (True, 0.0) if isinstance(value, float) and math.isnan(value) else (False, value)


def inside(row: Row, test: Test) -> bool:
    name, low, high = test
    value = row[name]
    if value is None:
        return False
    return value == low if isinstance(value, str) else rank(low) <= rank(value) <= rank(high)


def random_test(rng: random.Random) -> Test:
    name = rng.choice([*DOMAINS])
    low, high = rng.choice(DOMAINS[name]), rng.choice(DOMAINS[name])
    if name == "s":
        return name, low, low
    if rank(low) > rank(high) and rng.random() < 0.9:
        low, high = high, low
    return name, low, high


def random_record(rng: random.Random, rows: int) -> tuple[Record, list[Row]]:
    columns = {}
    values: dict[str, list[Any]] = {}
    for name, type in SCHEMA.columns.items():
        drawn = [rng.choice(DOMAINS[name]) for _ in range(rows)]
        valid = None
        if rng.random() < 0.6:
            valid = np.array([rng.random() < 0.8 for _ in range(rows)], np.bool_)
        array = pa.array(drawn, pa.string()) if type is Type.STRING else np.array(drawn, type.dtype)
        columns[name] = Column(type, array, valid)
        values[name] = [v if valid is None or valid[i] else None for i, v in enumerate(drawn)]
    record = Record(SCHEMA, 1, np.zeros(rows, np.int64), columns)
    return record, [{name: column[i] for name, column in values.items()} for i in range(rows)]


@dataclass
class Query:
    tests: list[Test]
    rest: ast.Expression | None = None


@dataclass
class Model:
    """The filter under test beside a dict of the queries that should be in it."""

    filter: AnchoredFilter
    keys: KeyColumns
    queries: dict[int, Query] = field(default_factory=dict)
    errors: dict[int, int] = field(default_factory=dict)

    def range_of(self, test: Test) -> Range:
        name, low, high = test
        key = self.keys.number(COLUMNS[name])
        if name == "s":
            number = self.keys.intern(key, low)
            return Range(key, number, number)
        if name == "f":
            return Range(key, float_key(low), float_key(high))
        return Range(key, int(low), int(high))

    def add(self, queries: dict[int, Query]) -> None:
        ranges = [self.range_of(test) for query in queries.values() for test in query.tests]
        first = np.cumsum([0, *(len(query.tests) for query in queries.values())])
        flat = np.array(ranges, np.int64).reshape(-1, 3)
        rest = {place: normalize(fold(query.rest))[0] for place, query in queries.items() if query.rest is not None}
        columns = [np.ascontiguousarray(flat[:, c]) for c in range(3)]
        self.filter.add(np.array([*queries], np.int64), first, *columns, rest)
        self.queries |= queries
        self.errors |= dict.fromkeys(rest, 0)

    def remove(self, places: list[int]) -> None:
        self.filter.remove(np.array(places, np.int64))
        for place in places:
            del self.queries[place]

    def expected(self, record: Record, rows: list[Row]) -> list[int]:
        pairs = []
        for place in sorted(self.queries):
            query = self.queries[place]
            found = [i for i, row in enumerate(rows) if all(inside(row, test) for test in query.tests)]
            if query.rest is not None and found:
                chosen = np.array(found)
                frame = Frame(len(found), lambda name, at=chosen: record.column(name).take(at))
                truth = evaluate(query.rest, frame)
                held = truth.values if truth.valid is None else truth.values & truth.valid
                self.errors[place] += 0 if frame.errors is None else int(frame.errors.sum())
                found = chosen[held].tolist()
            pairs += [place << 32 | row for row in found]
        return pairs

    def push(self, rng: random.Random, rows: int) -> int:
        record, values = random_record(rng, rows)
        found = self.filter.process(record)
        assert found.dtype == np.uint64
        assert found.tolist() == self.expected(record, values)
        return len(found)

    def check(self) -> None:
        self.filter._check()
        assert self.filter.empty == (not self.queries)


def model(direction: Direction, **capacities: int) -> Model:
    keys = KeyColumns()
    return Model(AnchoredFilter("anchored", keys, direction=direction, **capacities), keys)


def number(value: int) -> ast.Constant:
    return ast.Constant(value, Type.INT64)


def random_rest(rng: random.Random) -> ast.Expression:
    """A conjunction of clauses over several keys and shapes, some of which meet value errors."""
    a, b, f, s = (COLUMNS[name] for name in "abfs")
    text = ast.Constant(rng.choice(["a", "b", "é"]), Type.STRING)

    def leaf() -> ast.Expression:
        c = rng.randint(-5, 5)
        return rng.choice(
            [
                ast.Compare(rng.choice(["<", ">=", "!="]), a, number(c)),
                ast.In(b, (number(0), number(INT64_MAX), number(c))),
                ast.Compare(rng.choice(["<", ">"]), f, ast.Constant(float(c), Type.FLOAT64)),
                ast.Compare(rng.choice(["<", ">="]), s, text),
                ast.IsNull(rng.choice([a, f, s])),
                ast.Like(s, ast.Constant(f"%{rng.choice('abé')}%", Type.STRING)),
                ast.Compare("<", ast.Arithmetic("+", a, number(c), Type.INT64), b),
                ast.Compare(">", ast.Arithmetic("*", b, number(c + 9), Type.INT64), a),
                ast.Compare(
                    "<", ast.Arithmetic("/", a, ast.Arithmetic("-", b, number(c), Type.INT64), Type.FLOAT64), f
                ),
            ]
        )

    parts = [ast.Or((leaf(), leaf())) if rng.random() < 0.4 else leaf() for _ in range(rng.randint(1, 3))]
    return parts[0] if len(parts) == 1 else ast.And(tuple(parts))


def random_query(rng: random.Random, rest: float) -> Query:
    tests = [random_test(rng) for _ in range(rng.choice([1, 1, 2, 2, 2, 3, 5]))]
    while rng.random() < rest:
        predicate = random_rest(rng)
        if len(normalize(fold(predicate))) == 1 and normalize(fold(predicate))[0]:
            return Query(tests, predicate)
    return Query(tests)


@pytest.mark.parametrize("direction", [*BOTH, Direction.MEASURED])
@pytest.mark.parametrize("seed", range(12))
def test_random_changes_between_batches(seed: int, direction: Direction) -> None:
    rng = random.Random(seed)
    capacities = {"delta": rng.choice([1, 4, 30]), "slice": rng.choice([1, 3, 50]), "generations": rng.choice([2, 9])}
    under_test = model(direction, rows_at_a_time=rng.choice([7, 64, 300]), **capacities)
    found = 0
    for _ in range(60):
        action = rng.randrange(6)
        free = [place for place in range(80) if place not in under_test.queries]
        if action < 2 and free:
            chosen = rng.sample(free, min(len(free), rng.choice([1, 1, 2, 40])))
            under_test.add({place: random_query(rng, 0.0) for place in chosen})
        elif action == 2 and under_test.queries:
            gone = rng.sample(sorted(under_test.queries), rng.randint(1, min(6, len(under_test.queries))))
            under_test.remove(gone)
            back = rng.sample(gone, rng.randint(0, len(gone)))
            under_test.add({place: random_query(rng, 0.0) for place in back})
        elif action == 3:
            under_test.filter.fold_a_little()
        else:
            found += under_test.push(rng, rng.choice([1, 2, 17, rng.randint(1, 300)]))
        under_test.check()
    assert found
    assert under_test.filter.hits == found
    assert under_test.filter.candidates >= found


@pytest.mark.parametrize("direction", BOTH)
@pytest.mark.parametrize("seed", range(12))
def test_clauses_are_verified_and_value_errors_counted(seed: int, direction: Direction) -> None:
    rng = random.Random(100 + seed)
    under_test = model(direction, delta=8, slice=5)
    for _ in range(12):
        free = [place for place in range(40) if place not in under_test.queries]
        under_test.add({place: random_query(rng, 0.8) for place in free[: rng.randint(1, 20)]})
        under_test.push(rng, rng.randint(1, 120))
        under_test.check()
        under_test.remove(rng.sample(sorted(under_test.queries), rng.randint(0, len(under_test.queries))))
        under_test.check()
        for place, query in under_test.queries.items():
            if query.rest is not None:
                lone = len(normalize(fold(query.rest))[0]) == 1 and not isinstance(query.rest, ast.Or)
                counted = under_test.filter.errors_of(place)
                assert (counted > 0) == (under_test.errors[place] > 0)
                assert counted == under_test.errors[place] or not lone


def test_value_errors_of_a_place_start_at_zero() -> None:
    under_test = model(Direction.MEASURED)
    a, b = COLUMNS["a"], COLUMNS["b"]
    divided = ast.Compare("<", ast.Arithmetic("/", a, b, Type.FLOAT64), number(3))
    under_test.add({3: Query([("a", -20, 20)], divided)})
    columns = {"a": Column(Type.INT64, np.array([1, 2, 9])), "b": Column(Type.INT64, np.array([0, 1, 0]))}
    record = Record(SCHEMA, 1, np.zeros(3, np.int64), columns)
    assert under_test.filter.process(record).tolist() == [3 << 32 | 1]
    assert under_test.filter.errors_of(3) == 2
    under_test.remove([3])
    under_test.add({3: Query([("a", -20, 20)], divided)})
    assert under_test.filter.errors_of(3) == 0
    assert under_test.filter.errors_of(1_000_000) == 0


@pytest.mark.parametrize("direction", BOTH)
def test_extreme_bounds_and_values(direction: Direction) -> None:
    under_test = model(direction)
    ends = DOMAINS["b"]
    tests = [("b", low, high) for low in ends for high in ends]
    under_test.add({place: Query([test]) for place, test in enumerate(tests)})
    under_test.add({1000 + place: Query([test, ("b", 0, INT64_MAX)]) for place, test in enumerate(tests)})
    under_test.check()
    rng = random.Random(0)
    for rows in (1, 2, 33, 200):
        under_test.push(rng, rows)


@pytest.mark.parametrize("direction", BOTH)
@pytest.mark.parametrize("kind", ["one", "two values", "outliers", "heavy tail", "huge", "nearly sorted"])
def test_columns_of_every_distribution(kind: str, direction: Direction) -> None:
    rng = np.random.default_rng(5)
    rows = 3000
    columns = {
        "one": np.full(rows, 7),
        "two values": rng.integers(0, 2, rows) * (2**61),
        "outliers": np.where(rng.random(rows) < 0.01, rng.integers(-(2**62), 2**62, rows), rng.integers(0, 500, rows)),
        "heavy tail": np.exp(rng.normal(3, 4, rows)).astype(np.int64),
        "huge": rng.integers(INT64_MIN, INT64_MAX, rows),
        "nearly sorted": np.arange(rows) + rng.integers(0, 3, rows),
    }
    a, b = columns[kind], rng.permutation(columns[kind])
    keys = KeyColumns()
    numbers = np.array([keys.number(COLUMNS["a"]), keys.number(COLUMNS["b"])])
    queries = 400
    ends = np.sort(rng.choice(a, (queries, 2, 2)), axis=2)
    under_test = AnchoredFilter("anchored", keys, direction=direction)
    under_test.add(
        np.arange(queries),
        np.arange(0, 2 * queries + 1, 2),
        np.tile(numbers, queries),
        ends[:, :, 0].reshape(-1),
        ends[:, :, 1].reshape(-1),
    )
    values = {"a": Column(Type.INT64, a), "b": Column(Type.INT64, b)}
    found = under_test.process(Record(SCHEMA, 1, np.zeros(rows, np.int64), values))
    held = [
        (column >= ends[:, side, 0, None]) & (column <= ends[:, side, 1, None]) for side, column in enumerate((a, b))
    ]
    place, row = np.nonzero(held[0] & held[1])
    assert found.tolist() == (place << 32 | row).tolist()


@pytest.mark.parametrize("direction", BOTH)
def test_a_few_wide_ranges_do_not_cost_the_narrow_ones(direction: Direction) -> None:
    keys = KeyColumns()
    key = keys.number(COLUMNS["a"])
    queries = 5000
    lows = np.arange(queries) * 10
    highs = lows + 9
    highs[::500] = INT64_MAX
    under_test = AnchoredFilter("anchored", keys, direction=direction)
    under_test.add(np.arange(queries), np.arange(queries + 1), np.full(queries, key), lows, highs)
    under_test._check()
    record = Record(SCHEMA, 1, np.zeros(1, np.int64), {"a": Column(Type.INT64, np.array([45_005]))})
    assert [pair >> 32 for pair in under_test.process(record).tolist()] == [*range(0, 4501, 500)]
    assert under_test.candidates == 10


def test_a_place_may_be_taken_again_before_the_merge() -> None:
    under_test = model(Direction.MEASURED)
    record = Record(SCHEMA, 1, np.zeros(2, np.int64), {"a": Column(Type.INT64, np.array([1, 5]))})
    for low in (0, 4, 0, 4):
        under_test.add({9: Query([("a", low, low + 2)])})
        assert under_test.filter.process(record).tolist() == [9 << 32 | (low == 4)]
        under_test.remove([9])
        assert not len(under_test.filter.process(record))
        under_test.check()


def test_nothing_to_do_costs_no_column() -> None:
    under_test = model(Direction.MEASURED)
    empty = Record(SCHEMA, 1, np.zeros(3, np.int64), {})
    assert not len(under_test.filter.process(empty))
    assert under_test.filter.empty
    assert not under_test.filter.fold_a_little()
    under_test.add({0: Query([("a", 0, 1)])})
    assert under_test.filter.predicates == 1
    only_a = Record(SCHEMA, 1, np.zeros(1, np.int64), {"a": Column(Type.INT64, np.array([1]))})
    assert under_test.filter.process(only_a).tolist() == [0]


def test_merges_between_batches_end() -> None:
    under_test = model(Direction.MEASURED, delta=8, slice=10)
    rng = random.Random(3)
    for place in range(100):
        under_test.add({place: Query([("a", place % 20, 20)])})
    under_test.remove([*range(60)])
    under_test.push(rng, 50)
    while under_test.filter.fold_a_little():
        under_test.check()
        under_test.push(rng, 20)
    assert under_test.filter._levels.dead <= 20


def test_strings_known_later_are_found() -> None:
    keys = KeyColumns()
    key = keys.number(COLUMNS["s"])
    assert keys.number(COLUMNS["s"]) == key
    texts = ["x", "", "yy", "x", "z" * 100, None]
    valid = np.array([text is not None for text in texts])
    column = Column(Type.STRING, pa.array([text or "" for text in texts], pa.large_string()), valid)
    record = Record(SCHEMA, 1, np.zeros(6, np.int64), {"s": column})
    assert keys.values(record, key)[0].tolist()[:5] == [-1] * 5
    assert keys.intern(key, "x") == keys.intern(key, "x") == 0
    assert keys.values(record, key)[0].tolist()[:5] == [0, -1, -1, 0, -1]
    known = {text: keys.intern(key, text) for text in ("", "yy", *(f"filler {i}" for i in range(1000)))}
    found, present = keys.values(record, key)
    assert found.tolist()[:5] == [0, known[""], known["yy"], 0, -1]
    assert present.tolist() == valid.tolist()
    assert keys.values(record, key)[0] is found


def lines_of_a_batch(direction: Direction, queries: int, rows: int, rest: ast.Expression | None) -> int:
    """Lines of Python that one batch runs; every turn of a loop counts."""
    under_test = model(direction)
    under_test.add({place: Query([("a", -20, place - 10), ("b", 0, INT64_MAX)], rest) for place in range(queries)})
    record, _ = random_record(random.Random(1), rows)
    under_test.filter.process(record)
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        under_test.filter.process(record)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.skipif(slices.INTERPRETED, reason="kernels as Python run a line for each tuple")
@pytest.mark.parametrize("rest", [None, ast.Like(COLUMNS["s"], ast.Constant("%a%", Type.STRING))])
@pytest.mark.parametrize("direction", BOTH)
def test_the_interpreter_runs_per_batch(direction: Direction, rest: ast.Expression | None) -> None:
    few = lines_of_a_batch(direction, 30, 100, rest)
    assert lines_of_a_batch(direction, 300, 300, rest) < few + 25
