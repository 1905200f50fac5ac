"""Tickets: what an operator is worth to the eddy (CACQ section 4).

An operator is credited one ticket for each predicate and tuple that it takes, and debited the same for each tuple
that it returns: a filter that applies many predicates and lets few tuples pass gathers the most. The balance decays,
so that it forgets, and never falls below one. Cost is what a tuple has taken lately, in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from cacq.filters.operator import Operator

DECAY = 0.9
"""Share of the balance that is left after each visit."""


@dataclass
class Account:
    """The balance of one operator, an average over recent visits for each tuple taken."""

    tickets: float = 1.0
    cost: float = 1.0

    def record(self, predicates: int, taken: int, returned: int, nanoseconds: int) -> None:
        """One visit: credit what was taken, debit what came back."""
        earned = predicates * (taken - returned) / taken
        self.tickets = max(1.0, DECAY * self.tickets + (1 - DECAY) * (1 + earned))
        self.cost = DECAY * self.cost + (1 - DECAY) * max(1.0, nanoseconds / taken)

    @property
    def weight(self) -> float:
        """Chances in the lottery. Squared: plainly proportional draws visit 1.23 filters a tuple on CACQ's table 3
        against 1.17 (simulated, DESIGN 6)."""
        return (self.tickets / self.cost) ** 2


class Ledger:
    """The accounts of all operators that there are."""

    def __init__(self) -> None:
        self._accounts: WeakKeyDictionary[Operator, Account] = WeakKeyDictionary()

    def account(self, operator: Operator) -> Account:
        """The operator's account, opened with one ticket when it is first asked for."""
        account = self._accounts.get(operator)
        if account is None:
            account = self._accounts[operator] = Account()
        return account
