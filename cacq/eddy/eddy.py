"""The eddy: takes the rows of a record, routes them through the operators of their source, and gives out the rows
that some query wants, each with the queries that want it.

The eddy holds a pool of batches and takes the deepest first. A policy chooses the next operator; the operator narrows
the lineage. Then tuples that no query wants are gone, tuples whose queries are all complete are delivered, the rest
goes back into the pool.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter_ns

import numpy as np

from cacq.data.arrays import NO_PAIRS, Ints, Words
from cacq.data.batch import Batch, Failure, begin
from cacq.data.record import Record
from cacq.eddy.routing import Policy
from cacq.eddy.tables import Tables
from cacq.eddy.tickets import Ledger
from cacq.errors import OptionError
from cacq.kernels import lineages

TILE_BYTES = 1 << 20
"""Lineage that is worked on at a time, so that it stays in the cache."""
MAX_TILE = 1 << 14


@dataclass(frozen=True, eq=False)
class Survivors:
    """Rows of the record that at least one query wants, ascending, with their live words; `pairs` says for the sparse
    queries which of these rows they want: `place << 32 | position among the rows`, ascending."""

    rows: Ints
    live: Words
    failures: list[Failure]
    pairs: Words = field(default_factory=lambda: NO_PAIRS)


class Eddy:
    """Routes the records of all sources of a flow."""

    def __init__(self, policy: Policy, ledger: Ledger) -> None:
        self._policy = policy
        self._ledger = ledger

    def route(self, record: Record, tables: Tables) -> Survivors:
        """Every row of the record through every operator of its source that a query which still wants it needs."""
        tables.refresh()
        failures: list[Failure] = []
        delivered: list[Batch] = []
        if tables.enabled.any():
            tile = max(1, min(MAX_TILE, TILE_BYTES // (8 * tables.layout.width)))
            for start in range(0, len(record), tile):
                stop = min(start + tile, len(record))
                batch = begin(record, start, stop, tables.enabled, len(tables.masks), tables.layout, failures)
                delivered += self._drain(batch, tables)
        return _collect(delivered, failures, tables)

    def _drain(self, batch: Batch, tables: Tables) -> list[Batch]:
        """Route one tile until nothing of it is left; what was delivered of it, in no order."""
        delivered: list[Batch] = []
        pool = _sort(batch, tables, delivered)
        while pool:
            batch = pool.pop()
            ready = tables.ready(batch)
            chosen = self._policy.choose([tables.operators[i] for i in ready], batch)
            if chosen not in range(len(ready)):
                raise OptionError(f"the routing policy chose {chosen!r} of {len(ready)} operators")
            index = ready[chosen]
            pool += self._visit(index, batch, tables, delivered)
        return delivered

    def _visit(self, index: int, batch: Batch, tables: Tables, delivered: list[Batch]) -> list[Batch]:
        """Let an operator narrow the batch; what is still needed of it."""
        operator = tables.operators[index]
        started, taken = perf_counter_ns(), len(batch)
        batch = operator.process(batch)
        batch.visited(index)
        layout = batch.layout
        if len(layout.guards):
            finishing = tables.finishing(index, batch.done)
            lineages.finish(batch.lineage, layout.guards, finishing, layout.live_words)
        already = sum(map(len, delivered))
        staying = _sort(batch, tables, delivered)
        returned = sum(map(len, staying)) + sum(map(len, delivered)) - already
        spent = perf_counter_ns() - started
        operator.counters.record(taken, returned, spent)
        self._ledger.account(operator).record(operator.predicates, taken, returned, spent)
        return staying


def _sort(batch: Batch, tables: Tables, delivered: list[Batch]) -> list[Batch]:
    """Drop the dead, deliver the complete, return the rest (none or one batch)."""
    incomplete = tables.incomplete(batch.done)
    fate = np.empty(len(batch), np.uint8)
    wanted = np.zeros(len(incomplete), np.uint64)
    staying = lineages.survey(batch.lineage, incomplete, fate, wanted)
    if staying < len(batch):
        leaving = fate == lineages.LEAVES
        if leaving.any():
            delivered.append(batch.keep(leaving))
        if not staying:
            return []
        batch = batch.keep(fate == lineages.STAYS)
    batch.wanted = wanted
    return [batch]


def _collect(delivered: list[Batch], failures: list[Failure], tables: Tables) -> Survivors:
    """One answer of all delivered batches, in the order of rows."""
    live_words = tables.layout.live_words
    if not delivered:
        return Survivors(np.empty(0, np.int64), np.empty((0, live_words), np.uint64), failures)
    if len(delivered) == 1:
        rows, live = delivered[0].rows, np.ascontiguousarray(delivered[0].live)
    else:
        rows = np.concatenate([batch.rows for batch in delivered])
        live = np.concatenate([batch.live for batch in delivered])
        order = np.argsort(rows)
        rows, live = rows[order], live[order]
    tables.fold(live)
    return Survivors(rows, live, failures)
