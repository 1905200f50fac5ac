"""`register`: how fast queries come and go, and what one weighs.

*Bulk*: a fresh process (numba's disk cache is warm) registers all queries at once and pushes one row, so that work put
off until the first push counts. *One by one*: with all of them standing, batches of 256 tuples flow; between two pushes
one query is added and an old one cancelled. *Pause*: the longest push, add or cancel beyond the median of its kind.
*Bytes*: growth of the resident set by the standing queries, each with its text, its id and its handle. Each figure
comes from processes of their own (`cold.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import Goal, Params, Row, row
from bench.report import Panel

NAME = "register"
KINDS = ("dense", "sparse")
QUICK, FULL = 20_000, 100_000
QUICK_STEPS, STEPS = 300, 2_000
QUICK_RUNS, RUNS = 3, 5
FLOW_RUNS = 3
WARM_UP = 2_000
"""Queries of the process that fills numba's disk cache."""
ROOT = Path(__file__).parents[1]
TARGETS: dict[str, Goal] = {
    "bulk": 20_000.0,
    "p99": ("<=", 2.0),
    "longest pause": ("<=", 20.0),
    "resident set": ("<=", 1_024.0),
}


def measure(quick: bool) -> Iterator[Row]:
    """Bulk, then the flow, for either kind of queries."""
    queries, steps = (QUICK, QUICK_STEPS) if quick else (FULL, STEPS)
    for kind in KINDS:
        _child(kind, WARM_UP, 5)
        params: Params = {"queries": queries, "kind": kind, "seed": 7}
        cold = [_child(kind, queries, 0) for _ in range(QUICK_RUNS if quick else RUNS)]
        rates = [queries / run["seconds"] for run in cold]
        yield row(NAME, f"{kind}: register_many and a first push", params, "bulk", "queries/s", rates, _same(cold))
        flows = [_child(kind, queries, steps) for _ in range(1 if quick else FLOW_RUNS)]
        yield from _flow(kind, params | {"steps": steps, "batch": 256}, flows)


def _flow(kind: str, params: Params, flows: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Figures of the processes with a flow: milliseconds and bytes."""
    checksum = _same(flows)
    for action in ("register", "cancel", "push"):
        for metric, percent in (("p50", 50), ("p99", 99)):
            runs = [float(np.percentile(flow[action], percent)) / 1e6 for flow in flows]
            yield row(NAME, f"{kind}: {action} in the flow", params, metric, "ms", runs, checksum)
    pauses = []
    for flow in flows:
        beyond = [np.max(flow[action]) - np.median(flow[action]) for action in ("register", "cancel", "push")]
        pauses.append(float(max(beyond)) / 1e6)
    yield row(NAME, f"{kind}: flow", params, "longest pause", "ms", pauses, checksum, max(pauses))
    weights = [flow["bytes"] / int(params["queries"]) for flow in flows]
    yield row(NAME, f"{kind}: a standing query", params, "resident set", "bytes", weights, checksum)


def _child(kind: str, queries: int, steps: int) -> dict[str, Any]:
    """What a fresh process measured."""
    command = [sys.executable, "-m", "bench.cold", kind, str(queries), str(steps)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} ended with {done.returncode}: {done.stdout}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _same(runs: Sequence[dict[str, Any]]) -> str:
    """The checksum that all runs have; each has compared it with its own expectation."""
    (checksum,) = {run["checksum"] for run in runs}
    return str(checksum)


def target(figure: Row) -> Goal:
    """What was asked for; cancels and pushes are shown only."""
    if figure.metric == "p99" and ": register" not in figure.case:
        return None
    return TARGETS.get(figure.metric)


def panels(figures: Sequence[Row]) -> list[Panel]:
    """Rate, times and weight."""
    return [
        Panel("in bulk, cold", [r for r in figures if r.unit == "queries/s"], "", False),
        Panel("while tuples flow", [r for r in figures if r.unit == "ms"], ""),
        Panel("a standing query", [r for r in figures if r.unit == "bytes"], "", False),
    ]
