"""Filters with very many predicates on one attribute: memory stays bounded, answers stay right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cacq
from cacq.filters.checkpoints import Checkpoints
from cacq.filters.grouped import GroupedFilter
from cacq.testing import ManualClock

PREDICATES = 100_000
DOMAIN = 10_000_000
BELOW, ABOVE = -1_000, DOMAIN + 1_000
"""Stand for a range without a low end, or without a high end."""


def new_engine() -> Any:
    engine = cacq.Engine(clock=ManualClock(), lineage="dense")
    engine.create_stream("S", {"a": "int64"})
    return engine


def ranges(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that all differ: a `<` for every third, a `>=` for every third, else both."""
    rng = np.random.default_rng(seed)
    constants = rng.choice(DOMAIN, 2 * count, replace=False).astype(np.int64)
    lows, highs = np.minimum(constants[:count], constants[count:]), np.maximum(constants[:count], constants[count:])
    lows[::3], highs[1::3] = BELOW, ABOVE
    return lows, highs


def text(low: int, high: int) -> str:
    low_end = f"a >= {low}" if low > BELOW else ""
    high_end = f"a < {high}" if high < ABOVE else ""
    return f"SELECT a FROM S WHERE {' AND '.join(filter(None, (low_end, high_end)))}"


def only_filter(engine: Any) -> GroupedFilter:
    (operator,) = engine._streams["S"].tables.operators.values()
    assert isinstance(operator, GroupedFilter)
    return operator


def held(engine: Any) -> int:
    """Bytes of rows of bits and of flips between them."""
    checkpoints = only_filter(engine)._checkpoints
    return int(engine._streams["S"].tables.bits.nbytes + checkpoints._cuts.nbytes + checkpoints._codes.nbytes)


def check_answers(engine: Any, queries: list[Any], lows: np.ndarray, highs: np.ndarray, values: np.ndarray) -> None:
    """One push, what all queries have together and what some have one by one, against numpy."""
    before = sum(query.results for query in queries[::97])
    engine.push("S", {"a": values})
    inside = (lows[::97] <= values[:, None]) & (values[:, None] < highs[::97])
    assert sum(query.results for query in queries[::97]) - before == int(inside.sum())
    for query, low, high in list(zip(queries, lows, highs, strict=True))[:: len(queries) // 50]:
        found = query.poll().columns["a"]
        assert found[len(found) - int(((low <= values) & (values < high)).sum()) :].tolist() == [
            value for value in values.tolist() if low <= value < high
        ]


def test_a_hundred_thousand_ranges_with_constants_of_their_own() -> None:
    engine = new_engine()
    lows, highs = ranges(1, PREDICATES)
    queries = engine.register_many([text(low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)])
    words = PREDICATES // 64 + 1
    flips = int((lows > BELOW).sum() + (highs < ABOVE).sum())
    checkpoints = only_filter(engine)._checkpoints
    assert only_filter(engine).predicates == PREDICATES
    assert len(checkpoints.rows) * words * 8 < flips * words * 8 / 40, "a row for each cut would be 2 GB"
    assert held(engine) < 80 << 20
    rng = np.random.default_rng(2)
    picked = np.concatenate([lows[::9_999], highs[::9_999], highs[::9_999] - 1, [-5, DOMAIN + 5]])
    check_answers(engine, queries, lows, highs, picked)
    check_answers(engine, queries, lows, highs, rng.integers(-10, DOMAIN + 10, 300))
    checkpoints._check()


def test_ranges_that_come_and_go_one_by_one_give_their_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget allows 64 rows of bits, so most cuts are flips between rows."""
    monkeypatch.setattr(Checkpoints, "_most_rows", lambda self: 64)
    engine = new_engine()
    lows, highs = ranges(3, 3_000)
    texts = [text(low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    queries = engine.register_many(texts[:1_000])
    start, most = held(engine), 0
    values = np.random.default_rng(4).integers(0, DOMAIN, 100)
    for number in range(1_000, 3_000):
        queries.append(engine.register(texts[number]))
        queries[number - 1_000].cancel()
        if number % 400 == 0:
            engine.push("S", {"a": values})
            most = max(most, held(engine))
    assert most < 3 * start
    now = slice(2_000, 3_000)
    check_answers(engine, queries[now], lows[now], highs[now], np.concatenate([values, lows[now][::50]]))
    only_filter(engine)._checkpoints._check()
    for query in queries[2_001:]:
        query.cancel()
    engine.push("S", {"a": values})
    checkpoints = only_filter(engine)._checkpoints
    assert len(checkpoints.rows) <= 3 and checkpoints._used_slabs <= 1
    assert engine._streams["S"].tables.layout.live_words <= 1_001 // 64 + 1
