"""User functions that raised: which queries that stops, decided alike under every routing.

In the eddy a failed predicate counts as true. So a row arrives here with a query's bit if all its other predicates
allow it; if the row satisfies the query without the failed one too, the failure does not matter. Else the query
stops at this row: it keeps what came before and gets nothing from here on.
"""

from __future__ import annotations

import numpy as np

from cacq.data.lineage import WORD, bit, slots_of
from cacq.data.record import Record
from cacq.eddy.eddy import Survivors
from cacq.eddy.tables import Tables
from cacq.errors import FunctionError
from cacq.filters.functions import UserFunction
from cacq.filters.truth import holds


def settle(
    survivors: Survivors, record: Record, tables: Tables, functions: dict[str, UserFunction]
) -> dict[int, FunctionError]:
    """Take the rows that failures rule out from the survivors; the slots whose queries stop, each with its error."""
    stopped: dict[int, FunctionError] = {}
    for failure in sorted(survivors.failures, key=lambda failure: failure.row):
        position = int(np.searchsorted(survivors.rows, failure.row))
        if position == len(survivors.rows) or survivors.rows[position] != failure.row:
            continue
        concerned = failure.slots.reshape(1, -1).copy()
        tables.fold(concerned)
        for slot in slots_of(survivors.live[position] & concerned[0]):
            if not holds(tables.disjuncts_of(slot), record, failure.row, functions):
                survivors.live[position:, slot // WORD] &= ~bit(slot)
                stopped.setdefault(slot, failure.error)
    return stopped
