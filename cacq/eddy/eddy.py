"""The eddy: takes the rows of a record, routes them through the operators of their source, and gives out the rows
that some query wants, each with the queries that want it.

The eddy holds batches that wait and takes the deepest first. A policy chooses the next operator; the operator narrows
the lineage. Then tuples that no query wants are gone, tuples whose queries are all complete are delivered, the rest
waits again. A policy that can `sample` may send a slice of a large batch ahead, to learn what an operator is worth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter_ns

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.data.batch import Batch, Failure, begin
from cacq.data.record import Record
from cacq.eddy import tickets
from cacq.eddy.routing import SAMPLED, Policy
from cacq.eddy.tables import Tables
from cacq.errors import OptionError
from cacq.kernels import lineages

TILE_BYTES = 1 << 20
"""Lineage that is worked on at a time, so that it stays in the cache."""
MAX_TILE = 1 << 14


@dataclass(frozen=True, eq=False)
class Survivors:
    """Rows of the record that at least one query wants, ascending, with their live words."""

    rows: Ints
    live: Words
    failures: list[Failure]


@dataclass
class Batches:
    """The batches of a record: those that wait for more operators, and those that have all they need, in no order."""

    waiting: list[Batch] = field(default_factory=list)
    delivered: list[Batch] = field(default_factory=list)


class Eddy:
    """Routes the records of all sources of a flow."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._sample = getattr(policy, "sample", None)

    def route(self, record: Record, tables: Tables) -> Survivors:
        """Every row of the record through every operator of its source that a query which still wants it needs."""
        tables.refresh()
        failures: list[Failure] = []
        batches = Batches()
        if tables.enabled.any():
            tile = max(1, min(MAX_TILE, TILE_BYTES // (8 * tables.layout.width)))
            for start in range(0, len(record), tile):
                stop = min(start + tile, len(record))
                batch = begin(record, start, stop, tables.enabled, len(tables.masks), tables.layout, failures)
                self._drain(batch, tables, batches)
        return _collect(batches.delivered, failures, tables)

    def _drain(self, tile: Batch, tables: Tables, batches: Batches) -> None:
        """Route one tile until nothing of it waits."""
        sort(tile, tables, batches)
        while batches.waiting:
            batch = batches.waiting.pop()
            ready = tables.ready(batch)
            batch, index = self._choose(batch, ready, tables, batches)
            self._visit(index, batch, len(ready) > 1, tables, batches)

    def _choose(self, batch: Batch, ready: list[int], tables: Tables, batches: Batches) -> tuple[Batch, int]:
        """The operator that the batch visits next. It may be a part of the batch: then the rest waits."""
        operators = [tables.operators[index] for index in ready]
        if len(batch) >= SAMPLED and len(ready) > 1 and self._sample is not None:
            sampled = self._sample(operators, batch)
            if sampled is not None:
                chosen, count = sampled
                batches.waiting.append(part(batch, slice(count, None)))
                return part(batch, slice(count)), ready[chosen]
        chosen = self._policy.choose(operators, batch)
        if chosen not in range(len(ready)):
            raise OptionError(f"the routing policy chose {chosen!r} of {len(ready)} operators")
        return batch, ready[chosen]

    def _visit(self, index: int, batch: Batch, had_choice: bool, tables: Tables, batches: Batches) -> None:
        """Let an operator narrow the batch."""
        operator = tables.operators[index]
        started, taken = perf_counter_ns(), len(batch)
        batch = operator.process(batch)
        staying, leaving = self._return(index, batch, tables, batches)
        spent = perf_counter_ns() - started
        operator.counters.record(taken, staying + leaving, spent)
        tickets.record(operator, taken, staying, spent, had_choice)

    def _return(self, index: int, batch: Batch, tables: Tables, batches: Batches) -> tuple[int, int]:
        """A batch comes back from an operator; how many of its tuples stay in the eddy, how many are delivered."""
        batch.visited(index)
        if len(batch.layout.guards):
            finishing = tables.finishing(index, batch.done)
            lineages.finish(batch.lineage, batch.layout.guards, finishing, batch.layout.live_words)
        return sort(batch, tables, batches)


def part(batch: Batch, tuples: slice) -> Batch:
    """Some tuples of a batch, without copying."""
    half = Batch(batch.record, batch.rows[tuples], batch.lineage[tuples], batch.layout, batch.failures, batch.done)
    half.wanted = batch.wanted
    return half


def sort(batch: Batch, tables: Tables, batches: Batches) -> tuple[int, int]:
    """Drop the dead, deliver the complete, let the rest wait; how many stay and how many are delivered."""
    incomplete = tables.incomplete(batch.done)
    fate = np.empty(len(batch), np.uint8)
    wanted = np.zeros(len(incomplete), np.uint64)
    staying, leaving = lineages.survey(batch.lineage, incomplete, fate, wanted), 0
    if staying < len(batch):
        leaves = fate == lineages.LEAVES
        leaving = int(np.count_nonzero(leaves))
        if leaving:
            whole = leaving == len(batch) and batch.lineage.base is None
            batches.delivered.append(batch if whole else batch.keep(leaves))
        if not staying:
            return 0, leaving
        batch = batch.keep(fate == lineages.STAYS)
    batch.wanted = wanted
    batches.waiting.append(batch)
    return staying, leaving


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
