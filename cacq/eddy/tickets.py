"""Tickets: what an operator is worth to the eddy (CACQ section 4).

An operator is credited a ticket for each predicate that it applies to each tuple it takes, and debited the same for
each tuple that comes back: a filter that applies many predicates and returns few tuples gathers the most. Its balance
is that of the last MEMORY tuples it took, so it forgets, and never falls below one. It counts by tuples: how the input
is cut into batches does not matter. Tuples that had no other operator to visit teach nothing: whichever comes last
returns none.
"""

from __future__ import annotations

from cacq.filters.operator import Operator

MEMORY = 1024
"""Tuples after which the balance has forgotten most of what was before."""
LEARNED = 32
"""Tuples after which a balance says something."""
VISIT_TUPLES = 1024
"""A visit costs about as much as so many tuples in a cheap filter, so that small batches do not look expensive."""
LEAST_COST = 30.0
"""Nanoseconds a tuple below which differences are noise and the eddy's own work."""
SHARPNESS = 16
"""Chances go with this power of tickets / cost."""


def record(operator: Operator, taken: int, returned: int, nanoseconds: int, had_choice: bool) -> None:
    """One visit: credit what was taken, debit what came back to the eddy, note what it cost. A visit without a choice
    changes no tickets. What counts as cost is the least of three visits in a row: the clock also runs while others have
    the processor, and the first visit may compile."""
    account = operator.account
    if had_choice:
        account.consumed += ((taken - returned) / taken - account.consumed) * taken / (taken + account.seen)
        account.seen = min(MEMORY, account.seen + taken)
    spent = nanoseconds / (taken + VISIT_TUPLES)
    least = min(spent, account.last, account.before_last)
    account.last, account.before_last = spent, account.last
    if operator.counters.visits >= 3:
        account.cost = max(LEAST_COST, account.cost + (least - account.cost) * taken / (taken + account.timed))
        account.timed = min(MEMORY, account.timed + taken)
    account.tickets = max(1.0, MEMORY * account.consumed * operator.predicates)
    account.weight = (account.tickets / max(LEAST_COST, account.cost)) ** SHARPNESS
