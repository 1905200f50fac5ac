"""What is wrong is refused whole, with the place and a hint, and the engine goes on."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cacq

SCHEMA = {"a": "int64", "x": "float64", "s": "string", "p": "bool", "ts": "timestamp"}
GOOD = {"a": [1, 2], "x": [0.5, 1.5], "s": ["k", "l"], "p": [True, False], "ts": [10, 20]}


@pytest.fixture
def engine() -> cacq.Engine:
    """An engine with one stream S of all five types and one query that selects everything."""
    engine = cacq.Engine()
    engine.create_stream("S", SCHEMA, timestamp="ts")
    return engine


def without(name: str) -> dict[str, Any]:
    return {column: values for column, values in GOOD.items() if column != name}


REFUSED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a missing column": (without("x"), ("x",)),
    "an unknown column": (GOOD | {"y": [1, 2]}, ("y",)),
    "ragged columns": (GOOD | {"x": [0.5]}, ("x",)),
    "text for an integer": (GOOD | {"a": [1, "two"]}, ("a", "1")),
    "a float for an integer": (GOOD | {"a": [1, 2.5]}, ("a", "1")),
    "a boolean for an integer": (GOOD | {"a": [1, True]}, ("a", "1")),
    "an integer for a boolean": (GOOD | {"p": [True, 1]}, ("p", "1")),
    "a number for a string": (GOOD | {"s": ["k", 5]}, ("s", "1")),
    "an integer beyond int64": (GOOD | {"a": [1, 2**63]}, ("a", "1")),
    "an unsigned integer beyond int64": (GOOD | {"a": np.array([1, 2**63], np.uint64)}, ("a", "1")),
    "a NULL time": (GOOD | {"ts": [10, None]}, ("ts", "1")),
    "text that is no time": (GOOD | {"ts": ["2023-11-14", "soon"]}, ("ts", "1")),
    "a row that lacks a column": ([dict.fromkeys(SCHEMA), {"a": 1}], ("1",)),
    "a row that is no dict": ([7], ("0",)),
    "Arrow of another type": (pa.table(GOOD | {"a": ["1", "2"]}), ("a",)),
    "something else entirely": (42, ()),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_push_is_refused_whole_and_the_engine_goes_on(engine: cacq.Engine, wrong: str) -> None:
    query = engine.register("SELECT a FROM S")
    data, named = REFUSED[wrong]
    with pytest.raises(cacq.DataError) as caught:
        engine.push("S", data)
    assert all(name in caught.value.message for name in named)
    assert len(query.poll()) == 0
    assert query.clock is None
    assert engine.stats()["sources"]["S"]["tuples"] == 0
    engine.push("S", GOOD)
    assert query.poll().rows() == [(1,), (2,)]


def test_a_push_to_an_unknown_stream_names_the_nearest(engine: cacq.Engine) -> None:
    engine.create_stream("Readings", {"a": "int64"})
    with pytest.raises(cacq.CatalogError) as caught:
        engine.push("Reading", {"a": [1]})
    assert "Readings" in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "column", "hint"),
    [
        ("SELECT b FROM S", 8, None),
        ("SELECT temprature FROM T", 8, "temperature"),
        ("SELECT a FROM Z", 15, None),
        ("SELECT a FROM S WHERE a > 'x'", None, None),
        ("SELECT a FROM S WHERE", None, None),
        ("SELECT a FROM S ORDER BY a", None, None),
        ("SELECT COUNT(*) FROM S", None, None),
        ("SELECT a FROM S, S AS T", None, None),
        ("SELECT a FROM S [RANGE 5 MINUTES]", None, None),
        ("SELECT DISTINCT a FROM S", None, None),
        ("", None, None),
        ("SELECT a FROM S; SELECT a FROM S", None, None),
    ],
)
def test_wrong_sql_says_where_and_registers_nothing(
    engine: cacq.Engine, sql: str, column: int | None, hint: str | None
) -> None:
    engine.create_stream("T", {"temperature": "float64"})
    with pytest.raises(cacq.SqlError) as caught:
        engine.register(sql, name="wrong")
    assert caught.value.line == 1
    assert caught.value.column is not None
    assert caught.value.caret is not None
    assert "^" in caught.value.caret
    assert column in (None, caught.value.column)
    assert hint is None or hint in str(caught.value)
    assert engine.stats()["operators"] == []
    engine.register("SELECT a FROM S", name="wrong")


def test_a_caret_stands_under_the_place_in_its_line(engine: cacq.Engine) -> None:
    with pytest.raises(cacq.SqlError) as caught:
        engine.register("SELECT a\nFROM S\nWHERE a > 1 AND bb < 2")
    assert (caught.value.line, caught.value.column) == (3, 17)
    text, caret = caught.value.caret.rstrip("\n").split("\n")[-2:]
    assert text[caret.index("^") :].startswith("bb")


def test_of_many_queries_none_is_registered_when_one_is_wrong(engine: cacq.Engine) -> None:
    with pytest.raises(cacq.SqlError):
        engine.register_many(["SELECT a FROM S WHERE a > 1", "SELECT nothing FROM S"])
    assert engine.stats()["operators"] == []


@pytest.mark.parametrize(
    "options",
    [{"policy": "luck"}, {"policy": "best"}, {"policy": 7}, {"memory_bytes": 1}, {"lineage": "thin"}],
)
def test_an_option_that_does_not_exist_yet_is_refused_with_a_hint(options: dict[str, Any]) -> None:
    with pytest.raises(cacq.OptionError) as caught:
        cacq.Engine(**options)
    assert caught.value.hint


def test_a_stream_cannot_be_made_again_with_another_schema(engine: cacq.Engine) -> None:
    engine.create_stream("S", SCHEMA, timestamp="ts")
    with pytest.raises(cacq.CatalogError):
        engine.create_stream("S", {"a": "int64"})


HUGE = {
    "1 MB of text": "SELECT a FROM S WHERE s = '" + "x" * 1_000_000 + "'",
    "1 MB of conjunction": "SELECT a FROM S WHERE " + " AND ".join(["a > 0"] * 100_000),
    "1 MB of disjunction": "SELECT a FROM S WHERE " + " OR ".join(f"a = {i}" for i in range(80_000)),
    "10,000 parentheses": "SELECT a FROM S WHERE " + "(" * 10_000 + "a > 0" + ")" * 10_000,
    "10,000 open parentheses": "SELECT a FROM S WHERE " + "(" * 10_000,
    "10,000 negations": "SELECT a FROM S WHERE " + "NOT " * 10_000 + "a > 0",
    "10,000 minus signs": "SELECT a FROM S WHERE " + "- " * 10_000 + "a > 0",
    "10,000 additions": "SELECT a FROM S WHERE a" + " + 0" * 10_000 + " > 0",
    "100,000 IN values": "SELECT a FROM S WHERE a IN (" + ", ".join(map(str, range(1, 100_001))) + ")",
    "20 ORs of ANDs": "SELECT a FROM S WHERE " + " OR ".join(f"(a > {i} AND x > {i})" for i in range(-20, 0)),
    "a product of ORs": "SELECT a FROM S WHERE " + " AND ".join(f"(a > {-i} OR x > {i})" for i in range(200)),
    "a pattern of wildcards": "SELECT a FROM S WHERE NOT s LIKE '" + "%a" * 50_000 + "'",
    "a very long number": "SELECT a FROM S WHERE a < " + "9" * 100_000,
}


PATIENCE = 20
"""Seconds of processor time after which it counts as a hang."""


@pytest.mark.parametrize("kind", HUGE)
def test_huge_sql_works_or_is_refused_clearly(engine: cacq.Engine, kind: str) -> None:
    small = engine.register("SELECT a FROM S WHERE a = 2")
    start = process_time()
    try:
        query = engine.register(HUGE[kind])
    except cacq.SqlError as error:
        query = None
        assert error.message
        assert len(str(error)) < 10_000
    engine.push("S", GOOD)
    assert process_time() - start < PATIENCE
    assert small.poll().rows() == [(2,)]
    if query is not None and kind != "1 MB of text":
        assert query.poll().rows() == [(1,), (2,)]
