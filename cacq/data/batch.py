"""What the eddy routes: tuples of one source with their lineage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cacq.data.arrays import Bools, Ints, Words
from cacq.data.column import Column
from cacq.data.lineage import Layout
from cacq.data.record import Record
from cacq.errors import FunctionError


@dataclass(frozen=True, eq=False)
class Failure:
    """A user function raised on a row of the record. Until delivery settles it, the predicate counts as true there."""

    row: int
    slots: Words
    error: FunctionError


class Batch:
    """Some rows of a record, ascending. All of them have visited the same operators: those marked in `done`.

    `lineage` has a row for each tuple and `layout.width` columns. `wanted` are the queries that are still live for some
    tuple and not complete, as bits of the live columns. `failures` is one list for all batches of a record.
    """

    def __init__(
        self, record: Record, rows: Ints, lineage: Words, layout: Layout, failures: list[Failure], done: Bools
    ) -> None:
        self.record = record
        self.rows = rows
        self.lineage = lineage
        self.layout = layout
        self.done = done
        self.wanted: Words = lineage[0] & layout.live_bits
        self.failures = failures

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def live(self) -> Words:
        """Which queries still want each tuple."""
        return self.layout.live(self.lineage)

    def column(self, name: str) -> Column:
        """A column of the source, restricted to these rows."""
        whole = self.record.column(name)
        first, last = int(self.rows[0]), int(self.rows[-1])
        if last - first + 1 == len(self.rows):
            return whole.slice(first, last + 1)
        return whole.take(self.rows)

    def visited(self, operator: int) -> None:
        """Mark an operator as done; batches that were split off keep their own marks."""
        self.done = self.done.copy()
        self.done[operator] = True

    def keep(self, chosen: Bools) -> Batch:
        """The chosen tuples as a batch of their own."""
        return Batch(self.record, self.rows[chosen], self.lineage[chosen], self.layout, self.failures, self.done)


def begin(
    record: Record, start: int, stop: int, enabled: Words, operators: int, layout: Layout, failures: list[Failure]
) -> Batch:
    """Rows `[start, stop)` of a record, wanted by every enabled query and seen by no operator: all clauses are open."""
    lineage = np.empty((stop - start, layout.width), np.uint64)
    lineage[:] = enabled | ~layout.live_bits
    return Batch(record, np.arange(start, stop), lineage, layout, failures, np.zeros(operators, np.bool_))
