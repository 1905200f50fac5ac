"""Routing policies: which of the operators that a batch still needs it visits next.

A policy may use clocks and random numbers: whatever it chooses, the results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from cacq.data.batch import Batch
from cacq.eddy.tickets import Ledger
from cacq.errors import OptionError
from cacq.filters.operator import Operator


class Policy(Protocol):
    """Anything that can choose."""

    def choose(self, operators: Sequence[Operator], batch: Batch) -> int:
        """The index of the operator to visit; there is at least one."""


class Fixed:
    """Always the oldest operator first."""

    def choose(self, operators: Sequence[Operator], batch: Batch) -> int:
        return 0


class Uniform:
    """Any operator, with equal chances."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def choose(self, operators: Sequence[Operator], batch: Batch) -> int:
        return self._random.randrange(len(operators))


class Lottery:
    """Chances by tickets and cost."""

    def __init__(self, seed: int, ledger: Ledger) -> None:
        self._random = Random(seed)
        self._ledger = ledger

    def choose(self, operators: Sequence[Operator], batch: Batch) -> int:
        if len(operators) == 1:
            return 0
        weights = [self._ledger.account(operator).weight for operator in operators]
        drawn = self._random.random() * sum(weights)
        for index, weight in enumerate(weights):
            drawn -= weight
            if drawn < 0:
                return index
        return len(operators) - 1


NAMES = ("tickets", "random", "fixed")


def make(policy: str | Policy, seed: int, ledger: Ledger) -> Policy:
    """The policy of that name, or the object itself if it can choose."""
    if not isinstance(policy, str):
        if not callable(getattr(policy, "choose", None)):
            raise OptionError(f"{policy!r} is no routing policy", "it needs a method choose(operators, batch) -> int")
        return policy
    if policy == "tickets":
        return Lottery(seed, ledger)
    if policy == "random":
        return Uniform(seed)
    if policy == "fixed":
        return Fixed()
    missing = "is not available in this version" if policy == "back_pressure" else "does not exist"
    raise OptionError(f"the routing policy {policy!r} {missing}", f"policies are: {', '.join(NAMES)}")
