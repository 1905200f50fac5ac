"""Everything the engine keeps for one stream, and the way of a pushed record through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cacq.data.arrays import Ints
from cacq.data.column import Column, from_arrow
from cacq.data.intake import Columns, intake
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.data.watermark import ArrivalStamp, Watermark
from cacq.deliver.chunk import Chunk
from cacq.deliver.log import ResultLog
from cacq.deliver.project import columns_of
from cacq.deliver.settle import settle
from cacq.eddy.eddy import Eddy
from cacq.eddy.standing import Standing, StandingPredicates
from cacq.eddy.survivors import Survivors
from cacq.eddy.tables import Tables
from cacq.errors import FunctionError
from cacq.filters.functions import UserFunction
from cacq.plan import Plan
from cacq.query import ast


class Pushed(NamedTuple):
    """What became of a push: rows accepted, how many of them were late, and its place in the log."""

    rows: int
    late: int
    lsn: int


@dataclass(frozen=True)
class Definition:
    """What `create_stream` was given; a second call with the same definition changes nothing."""

    schema: Schema
    lateness: int
    flow: str


def _nobody(query: Any) -> None:
    raise AssertionError("a stream without an engine has no queries")


class Stream:
    """One stream: its time, its tables, its standing predicates and its results."""

    def __init__(
        self,
        name: str,
        definition: Definition,
        clock: Callable[[], int],
        functions: dict[str, UserFunction],
        results: ResultLog,
        lineage: str,
    ) -> None:
        self.name = name
        self.definition = definition
        self.schema = definition.schema
        self.watermark = Watermark(definition.lateness)
        self.tables = Tables(name, functions)
        self.standing = StandingPredicates(self.tables, lineage)
        self.log = results.source(name)
        self.shown: Counter[str] = Counter()
        """How many queries show each column: only these are kept with the results."""
        self.cancel: Callable[[Any], None] = _nobody
        """How a query of this stream is cancelled: the engine says."""
        self.tuples = 0
        self.late = 0
        self._stamp = ArrivalStamp(clock)
        self._functions = functions
        self._results = results

    def check(self, data: object) -> tuple[Columns, Ints]:
        """The columns and event times of pushed data, or a DataError; nothing has happened yet."""
        rows, columns = intake(data, self.schema)
        if self.schema.timestamp is None:
            return columns, self._stamp.stamp(rows)
        held = columns[self.schema.timestamp]
        column = held if isinstance(held, Column) else from_arrow(held, Type.TIMESTAMP)
        return columns, column.values

    def hold(self, plans: Sequence[Plan]) -> list[Standing]:
        """The predicates of these plans; new ones wait for `standing.install`. Nothing of this can fail."""
        found: dict[int, Standing] = {}
        by_template: dict[int, list[int]] = {}
        for number, plan in enumerate(plans):
            by_template.setdefault(id(plan.template), []).append(number)
        for numbers in by_template.values():
            template = plans[numbers[0]].template
            if template.ranged is None:
                found |= {number: self.standing.hold(plans[number].disjuncts) for number in numbers}
                continue
            bounds = template.bounds([plans[number].values for number in numbers])
            found |= zip(numbers, self.standing.hold_ranges(template.ranged, *bounds), strict=True)
        return [found[number] for number in range(len(plans))]

    def show(self, select: ast.Select, by: int) -> None:
        """So many more queries show these outputs, or fewer."""
        for name in columns_of(output.expression for output in select.outputs):
            self.shown[name] += by

    def predicate_errors(self, slots: Sequence[int]) -> int:
        """How often a value had no answer in the predicate in these slots."""
        counts, anchored = self.tables.errors.counts, self.tables.anchored
        return sum(int(counts[slot]) if slot >= 0 else anchored.errors_of(~slot) for slot in slots)

    def push(self, columns: Columns, ts: Ints, lsn: int, eddy: Eddy) -> tuple[Pushed, dict[Standing, FunctionError]]:
        """Route the rows and keep their results; also the predicates that have to stop because a function failed."""
        record = Record(self.schema, lsn, ts, columns)
        self.standing.look(record)
        survivors = eddy.route(record, self.tables)
        stopped: dict[int, FunctionError] = {}
        if survivors.failures:
            stopped = settle(survivors, record, self.tables, self.standing, self._functions)
        self._keep(survivors, record)
        late = self.watermark.late(ts)
        self.watermark.accept(ts)
        self.tuples += len(ts)
        self.late += late
        return Pushed(len(ts), late, lsn), {self.standing.in_slot(slot): error for slot, error in stopped.items()}

    def _keep(self, survivors: Survivors, record: Record) -> None:
        rows = survivors.rows
        if not len(rows):
            return
        whole = len(rows) == len(record)
        columns = {
            name: record.column(name).detached() if whole else record.column(name).take(rows)
            for name, queries in self.shown.items()
            if queries
        }
        ts = record.ts.copy() if whole else record.ts[rows]
        chunk = Chunk(record.lsn, ts, columns, survivors.live, self.tables.layout, survivors.pairs)
        self._results.append(self.name, chunk)
