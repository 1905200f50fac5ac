"""User functions that raised: which queries that stops, decided alike under every routing.

In the eddy a failed predicate counts as true. So a row arrives here with a query's bit if it may satisfy the query; it
is looked at again. If the row satisfies the query whatever the function would have said, the failure does not matter;
if it cannot satisfy it, the row is not the query's. Else the query stops at this row: it keeps what came before and
gets nothing from here on.
"""

from __future__ import annotations

import numpy as np

from cacq.data.batch import Failure
from cacq.data.lineage import bit
from cacq.data.record import Record
from cacq.eddy.batches import Survivors
from cacq.eddy.tables import Tables
from cacq.errors import FunctionError
from cacq.filters.functions import UserFunction
from cacq.filters.truth import truth_of


def settle(
    survivors: Survivors, record: Record, tables: Tables, functions: dict[str, UserFunction]
) -> dict[int, FunctionError]:
    """Take the rows that failures rule out from the survivors; the slots whose queries stop, each with its error."""
    stopped: dict[int, FunctionError] = {}
    for slot, failures in _by_slot(survivors, tables).items():
        positions = np.array(sorted(failures), np.int64)
        truth = truth_of(tables.disjuncts_of(slot), record, survivors.rows[positions], functions)
        live = survivors.live[:, tables.layout.word(slot)]
        live[positions[~truth.possible]] &= ~bit(slot)
        undecided = positions[truth.possible & ~truth.certain]
        if len(undecided):
            live[undecided[0] :] &= ~bit(slot)
            stopped[slot] = failures[int(undecided[0])].error
    return stopped


def _by_slot(survivors: Survivors, tables: Tables) -> dict[int, dict[int, Failure]]:
    """For each slot the positions among the survivors at which a function failed for it, and how. Where several
    functions failed for one row, the error that comes first in the alphabet stands for them, whatever the routing."""
    found: dict[int, dict[int, Failure]] = {}
    for failure in sorted(survivors.failures, key=lambda failure: failure.error.message):
        position = int(np.searchsorted(survivors.rows, failure.row))
        if position < len(survivors.rows) and survivors.rows[position] == failure.row:
            concerned = failure.slots.reshape(1, -1).copy()
            tables.fold(concerned)
            for slot in tables.layout.slots_of(survivors.live[position] & concerned[0]):
                found.setdefault(slot, {}).setdefault(position, failure)
    return found
