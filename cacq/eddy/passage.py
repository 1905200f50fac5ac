"""Several grouped filters in one kernel, counted as the visits they are.

Each tuple goes through the filters in the order of the policy, and no further than it must. Whether a tuple may stop is
looked at behind filters that have stopped tuples lately, and now and then behind all of them, so that a change is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns

import numpy as np

from cacq.data.batch import Batch
from cacq.eddy import tickets
from cacq.eddy.sorting import Batches, sort
from cacq.eddy.tables import Tables
from cacq.filters.grouped import GroupedFilter
from cacq.kernels import lineages

WORTHWHILE = 0.02
"""Share of tuples that a filter must have stopped for looking behind it to pay."""
LOOK = 8
"""Of so many batches one looks behind every filter."""


class Passage:
    """Passes batches through several filters at a time."""

    def __init__(self) -> None:
        self._batches = 0

    def visit(self, order: Sequence[int], batch: Batch, needs_more: bool, tables: Tables, batches: Batches) -> None:
        """The batch through these filters, all of them direct; whether it needs others as well."""
        filters = [_filter(tables, index) for index in order]
        self._batches = (self._batches + 1) % LOOK
        checks = np.array([not self._batches or each.account.consumed > WORTHWHILE for each in filters])
        checks[-1] = needs_more
        rows = np.empty((len(order), len(batch)), np.int32)
        spent = []
        clock = perf_counter_ns()
        for k, each in enumerate(filters):
            each.rows_of(batch, rows[k])
            clock, before = perf_counter_ns(), clock
            spent.append(clock - before)
        counts = np.zeros((len(order), 2), np.int64)
        pending, layout = tables.pending(tuple(order), batch.done), batch.layout
        lineages.narrow_all(batch.lineage, rows, tables.bits.matrix, pending, checks, layout.live_bits, counts)
        batch.done = batch.done.copy()
        batch.done[list(order)] = True
        tuples = len(batch)
        staying, leaving = sort(batch, tables, batches)
        spent_together = perf_counter_ns() - clock
        arriving = tuples
        for k, (stopped, delivered) in enumerate(counts.tolist()):
            last = k == len(order) - 1
            passed = staying if last else arriving - stopped
            alive = leaving if last else delivered
            cost = spent[k] + spent_together * arriving // (tuples * len(order))
            filters[k].counters.record(arriving, passed + alive, cost)
            tickets.record(filters[k], arriving, passed, cost, bool(checks[k]))
            arriving -= stopped
            leaving -= alive
            if not arriving:
                break


def _filter(tables: Tables, index: int) -> GroupedFilter:
    operator = tables.operators[index]
    assert isinstance(operator, GroupedFilter)
    return operator
