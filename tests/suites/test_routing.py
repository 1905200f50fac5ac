"""Routing is no part of an answer: every policy, every seed, three hostile policies and a pool give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cacq.eddy import eddy, pool, routing
from tests.oracle.generate import Case, make_case
from tests.restless import make_restless
from tests.suites.driver import LINEAGES, answers


class Backwards:
    """Always the last operator it is offered."""

    def choose(self, operators: Sequence[Any], batch: Any) -> int:
        return len(operators) - 1


class Alternating:
    """First, last, first, last, ...: no two batches take the same way."""

    def __init__(self) -> None:
        self.asked = 0

    def choose(self, operators: Sequence[Any], batch: Any) -> int:
        self.asked += 1
        return 0 if self.asked % 2 else len(operators) - 1


class Loneliest:
    """Visits first the operator that serves the fewest predicates: the least work done for each visit."""

    def choose(self, operators: Sequence[Any], batch: Any) -> int:
        return min(range(len(operators)), key=lambda index: operators[index].predicates)


ROUTINGS = {
    "tickets, seed 1": lambda: {"policy": "tickets", "seed": 1},
    "tickets, seed 2": lambda: {"policy": "tickets", "seed": 2},
    "random, seed 1": lambda: {"policy": "random", "seed": 1},
    "random, seed 2": lambda: {"policy": "random", "seed": 2},
    "back pressure": lambda: {"policy": "back_pressure"},
    "tickets, functions in a pool": lambda: {"policy": "tickets", "function_workers": 2},
    "backwards": lambda: {"policy": Backwards()},
    "alternating": lambda: {"policy": Alternating()},
    "loneliest": lambda: {"policy": Loneliest()},
    "loneliest, functions in a pool": lambda: {"policy": Loneliest(), "function_workers": 1},
}


@pytest.mark.parametrize("seed", range(200_000, 200_100))
def test_the_way_through_the_eddy_changes_no_byte(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Morsels, queues and slices are so small here that each input has many of them, and predicates change their form
    of lineage all the time."""
    make_restless(monkeypatch)
    monkeypatch.setattr(pool, "MORSEL", 1 + seed % 7)
    monkeypatch.setattr(pool, "QUEUE", 1 + seed % 3)
    monkeypatch.setattr(pool, "EXPENSIVE", 0.0 if seed % 2 else pool.EXPENSIVE)
    monkeypatch.setattr(eddy, "SAMPLED", 2)
    monkeypatch.setattr(routing, "LARGE", 8)
    case: Case = make_case(seed, queries=1 + seed * 7 % 40, rows=20 + seed * 13 % 100)
    expected = answers(case, policy="fixed", lineage="dense")
    for number, (name, options) in enumerate(ROUTINGS.items()):
        lineage = LINEAGES[(seed + number) % len(LINEAGES)]
        actual = answers(case, **options(), lineage=lineage)
        assert actual == expected, f"seed {seed}, {name} with {lineage} lineage differs from fixed"
