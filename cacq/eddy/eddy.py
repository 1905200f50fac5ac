"""The eddy: takes the rows of a record, routes them through the operators of their source, and gives out the rows
that some query wants, each with the queries that want it.

The eddy holds batches that wait and takes the deepest first. A policy chooses the next operator; the operator narrows
the lineage. Then tuples that no query wants are gone, tuples whose queries are all complete are delivered, the rest
waits again. A policy that can `sample` may send a slice of a large batch ahead, to learn what an operator is worth.
"""

from __future__ import annotations

from time import perf_counter_ns

from cacq.data.batch import Batch, Failure, begin
from cacq.data.record import Record
from cacq.eddy import tickets
from cacq.eddy.batches import Batches, Survivors, collect, part, sort
from cacq.eddy.routing import SAMPLED, Policy
from cacq.eddy.tables import Tables
from cacq.errors import OptionError
from cacq.kernels import lineages

TILE_BYTES = 1 << 20
"""Lineage that is worked on at a time, so that it stays in the cache."""
MAX_TILE = 1 << 14


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
        return collect(batches.delivered, failures, tables)

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
