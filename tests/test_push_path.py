"""On the push path the interpreter runs per batch: not per tuple, not per query."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import cacq

HOME = str(Path(cacq.__file__).parent)
COLUMNS = {"index": "int64", "a": "int64", "b": "float64", "s": "string", "ts": "timestamp"}
SHAPES = {
    "ranges": "a > {0} AND b < {0}.5",
    "disjunctions": "a = {0} OR b > {0}",
    "strings": "s = 'x{0}' OR s > 'y{0}'",
    "residuals": "a < b + {0}",
    "patterns": "s LIKE '%{0}%'",
    "errors": "a / (b - {0}) > 2",
    "everything at once": "(a > {0} OR b < {0} OR s = 'x{0}') AND a + b > {0} AND s LIKE '%{0}' AND a % 7 < b + {0}",
}


def batch(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(rows)
    return {
        "index": np.arange(rows),
        "a": rng.integers(0, 100, rows),
        "b": rng.integers(0, 100, rows).astype(float),
        "s": np.array([f"x{i % 100}" for i in range(rows)]),
        "ts": np.arange(rows),
    }


def lines_of_a_push(shape: str, queries: int, rows: int) -> int:
    """Lines of cacq's Python code that one push runs; every turn of a loop counts."""
    engine = cacq.Engine(policy="fixed")
    engine.create_stream("S", COLUMNS, timestamp="ts")
    engine.register_many(f"SELECT index FROM S WHERE {shape.format(i)}" for i in range(queries))
    data = batch(rows)
    engine.push("S", data)
    seen = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        seen += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        engine.push("S", data)
    finally:
        sys.settrace(before)
    return seen


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_push_runs_no_more_python_for_more_tuples(shape: str) -> None:
    few, many = lines_of_a_push(shape, 20, 30), lines_of_a_push(shape, 20, 3000)
    assert few > 100, "the trace saw nothing"
    assert many <= few * 1.1


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_push_runs_no_more_python_for_more_queries(shape: str) -> None:
    few, many = lines_of_a_push(shape, 3, 60), lines_of_a_push(shape, 300, 60)
    assert many <= few * 1.1
