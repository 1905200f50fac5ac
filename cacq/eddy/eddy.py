"""The eddy: takes the rows of a record, routes them through the operators of their source, and gives out the rows
that some query wants, each with the queries that want it.

The eddy holds batches that wait and takes the deepest first. A policy chooses the next operator; the operator narrows
the lineage. Then tuples that no query wants are gone, tuples whose queries are all complete are delivered, the rest
waits again. A policy that can `sample` may send a slice of a large batch ahead, to learn what an operator is worth.
Operators that say all they have to say by a row of bits for each tuple are visited several at a time, in one kernel.
"""

from __future__ import annotations

from time import perf_counter_ns

from cacq.data.arrays import NO_PAIRS, Words
from cacq.data.batch import Batch, Failure, begin
from cacq.data.record import Record
from cacq.eddy import tickets
from cacq.eddy.passage import Passage
from cacq.eddy.routing import SAMPLED, Policy
from cacq.eddy.sorting import Batches, part, sort
from cacq.eddy.survivors import Survivors, collect, with_pairs
from cacq.eddy.tables import Tables
from cacq.errors import OptionError
from cacq.filters.grouped import GroupedFilter
from cacq.kernels import lineages

TILE_BYTES = 1 << 20
"""Lineage that is worked on at a time, so that it stays in the cache."""
MAX_TILE = 1 << 14


class Eddy:
    """Routes the records of all sources of a flow."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._sample = getattr(policy, "sample", None)
        self._passage = Passage()

    def route(self, record: Record, tables: Tables) -> Survivors:
        """Every row of the record through every operator of its source that a query which still wants it needs."""
        tables.refresh()
        failures: list[Failure] = []
        batches = Batches()
        if tables.slots.taken:
            tile = max(1, min(MAX_TILE, TILE_BYTES // (8 * tables.layout.width)))
            for start in range(0, len(record), tile):
                stop = min(start + tile, len(record))
                batch = begin(record, start, stop, tables.enabled, len(tables.masks), tables.layout, failures)
                batch.wanted = tables.enabled & tables.incomplete(batch.done)
                if batch.wanted.any():
                    batches.waiting.append(batch)
                    self._drain(tables, batches)
                else:
                    batches.delivered.append(batch)
        return with_pairs(collect(batches.delivered, failures, tables), self._match(record, tables), len(record))

    def _match(self, record: Record, tables: Tables) -> Words:
        """The visit of the whole record to the anchored filter, whose queries have no other operators."""
        anchored = tables.anchored
        if anchored.empty:
            return NO_PAIRS
        started = perf_counter_ns()
        pairs = anchored.process(record)
        anchored.fold_a_little()
        anchored.counters.record(len(record), len(pairs), perf_counter_ns() - started)
        return pairs

    def _drain(self, tables: Tables, batches: Batches) -> None:
        """Route the batches that wait until none does."""
        while batches.waiting:
            batch = batches.waiting.pop()
            ready = tables.ready(batch)
            batch, index = self._choose(batch, ready, tables, batches)
            order = self._order(batch, index, ready, tables)
            if len(order) > 1:
                self._passage.visit(order, batch, len(order) < len(ready), tables, batches)
            else:
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

    def _order(self, batch: Batch, index: int, ready: list[int], tables: Tables) -> list[int]:
        """The operators from `index` on, in the order of the policy, that can be visited in one go."""
        order, rest = [index], [other for other in ready if other != index]
        while rest and _direct(tables, order[-1]):
            chosen = rest.pop(self._policy.choose([tables.operators[other] for other in rest], batch))
            if not _direct(tables, chosen):
                break
            order.append(chosen)
        return order

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
        layout = batch.layout
        if len(layout.clauses):
            finishing = tables.finishing(index, batch.done)
            lineages.finish(batch.lineage, layout.clauses, layout.guards, finishing)
        return sort(batch, tables, batches)


def _direct(tables: Tables, index: int) -> bool:
    operator = tables.operators[index]
    return isinstance(operator, GroupedFilter) and operator.direct
