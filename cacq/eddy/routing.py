"""Routing policies: which of the operators that a batch still needs it visits next.

A policy may use clocks and random numbers: whatever it chooses, the results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from cacq.data.batch import Batch
from cacq.eddy.tickets import LEARNED
from cacq.errors import OptionError
from cacq.filters.operator import Operator

LARGE = 1024
"""Tuples from which on a slice of a batch explores; of smaller batches a whole one does."""
SAMPLED = 128
"""Tuples from which on a slice of a batch tries an operator that is not known yet."""
SLICE = 8
"""A slice is one part of so many."""
SLICED_BATCHES = 16
"""Of so many large batches one gives a slice, so 1 tuple in 128 explores. Most of what a slice costs are its own
visits: smaller slices of every batch cost more and teach no more."""
SMALL_BATCHES = 32
"""Of so many small batches one explores."""


class Policy(Protocol):
    """Anything that can choose. If it has a method `sample` as Lottery has, the eddy asks that first."""

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


class BackPressure:
    """The operator that would be done first: least time for the tuples that wait there and for these."""

    def choose(self, operators: Sequence[Operator], batch: Batch) -> int:
        if len(operators) == 1:
            return 0
        tuples = len(batch)
        accounts = [operator.account for operator in operators]
        times = [(account.waiting + tuples) * account.cost for account in accounts]
        return times.index(min(times))


class Lottery:
    """Chances by tickets and cost; and now and then another operator, so that its account stays true."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._large = SLICED_BATCHES
        self._small = SMALL_BATCHES
        self._turn = 0

    def choose(self, operators: Sequence[Operator], batch: Batch) -> int:
        if len(operators) == 1:
            return 0
        winner = self._draw(operators)
        if len(batch) < LARGE:
            self._small -= 1
            if self._small <= 0:
                self._small = self._pause(SMALL_BATCHES)
                return self._other(operators, winner)
        return winner

    def sample(self, operators: Sequence[Operator], batch: Batch) -> tuple[int, int] | None:
        """An operator that a slice of the batch should visit before the batch goes its way, and how many tuples it
        is to have. An operator that is not known yet comes first."""
        for index, operator in enumerate(operators):
            if operator.account.seen < LEARNED or not operator.account.timed:
                return index, min(LEARNED, len(batch) - 1)
        if len(batch) < LARGE:
            return None
        self._large -= 1
        if self._large > 0:
            return None
        self._large = self._pause(SLICED_BATCHES)
        winner = self._draw(operators)
        other = self._other(operators, winner)
        return None if other == winner else (other, max(1, len(batch) // SLICE))

    def _draw(self, operators: Sequence[Operator]) -> int:
        drawn = self._random.random() * sum([operator.account.weight for operator in operators])
        for index, operator in enumerate(operators):
            drawn -= operator.account.weight
            if drawn < 0:
                return index
        return len(operators) - 1

    def _pause(self, mean: int) -> int:
        """Batches until the next one explores: never the same number, or it could always be the first or always the
        last visit of a tuple."""
        return self._random.randrange(1, 2 * mean)

    def _other(self, operators: Sequence[Operator], winner: int) -> int:
        """Some operator besides the winner, in turn. Those that cost more are passed over the oftener, so that to
        explore costs no more than its share; it is the winner if all are."""
        others = len(operators) - 1
        self._turn += 1
        for step in range(others):
            other = (winner + 1 + (self._turn + step) % others) % len(operators)
            if self._random.random() * operators[other].account.cost <= operators[winner].account.cost:
                return other
        return winner


NAMES = ("tickets", "random", "fixed", "back_pressure")


def make(policy: str | Policy, seed: int) -> Policy:
    """The policy of that name, or the object itself if it can choose."""
    if not isinstance(policy, str):
        if not callable(getattr(policy, "choose", None)):
            raise OptionError(f"{policy!r} is no routing policy", "it needs a method choose(operators, batch) -> int")
        return policy
    match policy:
        case "tickets":
            return Lottery(seed)
        case "random":
            return Uniform(seed)
        case "fixed":
            return Fixed()
        case "back_pressure":
            return BackPressure()
    raise OptionError(f"the routing policy {policy!r} does not exist", f"policies are: {', '.join(NAMES)}")
