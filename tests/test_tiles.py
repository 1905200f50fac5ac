"""Records that are cut into many tiles, slots that come and go: what a user cannot see must not change an answer."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import cacq
from cacq.eddy import eddy as eddy_module


def engine_with(queries: list[str], **options: object) -> tuple[cacq.Engine, list[cacq.Query]]:
    engine = cacq.Engine(**options)  # type: ignore[arg-type]
    engine.create_stream("S", {"a": "int64", "b": "int64"})
    return engine, engine.register_many(queries)


@pytest.mark.parametrize("tile", [1, 2, 7, 64, 100])
def test_where_a_record_is_cut_into_tiles_changes_no_result(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [f"SELECT a, b FROM S WHERE a > {i} OR b < {i} AND a % 3 = {i % 3}" for i in range(0, 100, 7)]
    rng = np.random.default_rng(tile)
    data = {"a": rng.integers(0, 100, 300), "b": rng.integers(0, 100, 300)}
    whole, expected = engine_with(queries)
    whole.push("S", data)
    monkeypatch.setattr(eddy_module, "MAX_TILE", tile)
    tiled, found = engine_with(queries)
    tiled.push("S", data)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.poll().rows() == theirs.poll().rows()


def test_words_of_cancelled_queries_leave_the_lineage() -> None:
    engine, (kept,) = engine_with(["SELECT a FROM S WHERE a > 5"])
    others = engine.register_many([f"SELECT a FROM S WHERE a = {i} OR b = {i}" for i in range(2_000)])
    engine.push("S", {"a": [6], "b": [0]})
    wide = kept._stream.tables.layout.width
    for query in others:
        query.cancel()
    engine.push("S", {"a": [7, 5], "b": [0, 0]})
    assert wide > 60
    assert kept._stream.tables.layout.width <= 5
    kept._stream.tables._check()
    assert kept.poll().rows() == [(6,), (7,)]


@pytest.mark.parametrize("seed", range(10))
def test_queries_that_come_and_go_across_layouts_get_their_rows(seed: int) -> None:
    rng = random.Random(seed)
    engine, _ = engine_with([], policy="random", seed=seed)
    standing: dict[int, cacq.Query] = {}
    expected: dict[int, list[tuple[int]]] = {}
    for step in range(60):
        for _ in range(rng.choice([0, 1, 70, 200])):
            limit = rng.randrange(1_000_000)
            if limit not in standing:
                standing[limit] = engine.register(f"SELECT a FROM S WHERE a > {limit} OR b > {limit}")
                expected[limit] = []
        for limit in rng.sample(sorted(standing), int(len(standing) * rng.choice([0, 0, 0.5, 0.98]))):
            query = standing.pop(limit)
            query.cancel()
            assert query.poll().rows() == expected.pop(limit), f"seed {seed}, step {step}"
        row = (rng.randrange(1_000_000), rng.randrange(1_000_000))
        engine.push("S", {"a": [row[0]], "b": [row[1]]})
        for limit, rows in expected.items():
            rows.extend([(row[0],)] * (max(row) > limit))
    for limit, query in standing.items():
        assert query.poll().rows() == expected[limit], f"seed {seed}"


def test_two_zeros_are_two_constants_to_a_user_function() -> None:
    engine, _ = engine_with([])
    engine.register_function("positive", lambda a, zero: math.copysign(1, zero) > 0, ["int64", "float64"], "bool")
    plus = engine.register("SELECT a FROM S WHERE positive(a, 0.0)")
    minus = engine.register("SELECT a FROM S WHERE positive(a, -0.0)")
    engine.push("S", {"a": [1], "b": [1]})
    assert plus.poll().rows() == [(1,)]
    assert minus.poll().rows() == []


@pytest.mark.parametrize("branches", [2, 10, 70, 100])
def test_a_failure_that_does_not_matter_stops_no_query_in_any_normal_form(branches: int) -> None:
    def boom(a: int, b: int) -> bool:
        raise ValueError("boom")

    others = " OR ".join(f"(a = {i} AND b = {i})" for i in range(branches))
    engine, _ = engine_with([])
    engine.register_function("boom", boom, ["int64", "int64"], "bool")
    query = engine.register(f"SELECT a FROM S WHERE (boom(a, 1) AND b = 99) OR {others}")
    engine.push("S", {"a": [1, 7, 1], "b": [1, 8, 1]})
    assert (query.state, query.poll().rows()) == ("active", [(1,), (1,)])
    engine.push("S", {"a": [0, 5, 0], "b": [0, 99, 0]})
    assert (query.state, query.poll().rows()) == ("parked", [(0,)])
    assert "boom" in str(query.error)


def test_a_function_with_a_constant_that_raises_parks_its_query_at_that_row() -> None:
    def picky(a: int, limit: int) -> bool:
        if a == limit:
            raise ValueError("that one")
        return True

    engine, _ = engine_with([])
    engine.register_function("picky", picky, ["int64", "int64"], "bool")
    query = engine.register("SELECT a FROM S WHERE picky(a, 3) AND b > 0")
    engine.push("S", {"a": [1, 3, 2], "b": [1, 0, 1]})
    assert (query.state, query.poll().rows()) == ("active", [(1,), (2,)])
    engine.push("S", {"a": [4, 3, 5], "b": [1, 1, 1]})
    assert (query.state, query.poll().rows()) == ("parked", [(4,)])


def test_an_exception_without_a_text_parks_its_query_like_any_other() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def fails(a: int) -> bool:
        raise Mute

    engine, _ = engine_with([])
    engine.register_function("fails", fails, ["int64"], "bool")
    query = engine.register("SELECT a FROM S WHERE fails(a)")
    engine.push("S", {"a": [1], "b": [1]})
    assert query.state == "parked"
