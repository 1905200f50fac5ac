"""Routing is no part of an answer: every policy, every seed and two hostile policies give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.oracle.generate import Case, make_case
from tests.suites.driver import answers


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


class Busiest:
    """Visits first what has seen most so far, whatever it is good for."""

    def __init__(self) -> None:
        self.visits: dict[int, int] = {}

    def choose(self, operators: Sequence[Any], batch: Any) -> int:
        chosen = max(range(len(operators)), key=lambda i: self.visits.get(id(operators[i]), 0))
        self.visits[id(operators[chosen])] = self.visits.get(id(operators[chosen]), 0) + 1
        return chosen


ROUTINGS = {
    "tickets, seed 1": lambda: {"policy": "tickets", "seed": 1},
    "tickets, seed 2": lambda: {"policy": "tickets", "seed": 2},
    "random, seed 1": lambda: {"policy": "random", "seed": 1},
    "random, seed 2": lambda: {"policy": "random", "seed": 2},
    "random, seed 3": lambda: {"policy": "random", "seed": 3},
    "backwards": lambda: {"policy": Backwards()},
    "alternating": lambda: {"policy": Alternating()},
    "busiest": lambda: {"policy": Busiest()},
}


@pytest.mark.parametrize("seed", range(200_000, 200_100))
def test_the_way_through_the_eddy_changes_no_byte(seed: int) -> None:
    case: Case = make_case(seed, queries=1 + seed * 7 % 60, rows=20 + seed * 13 % 100)
    expected = answers(case, policy="fixed")
    for name, options in ROUTINGS.items():
        actual = answers(case, **options())
        assert actual == expected, f"seed {seed}, {name} differs from fixed"
