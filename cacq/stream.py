"""Everything the engine keeps for one stream, and the way of a pushed record through it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cacq.data.arrays import Ints
from cacq.data.column import Column, from_arrow
from cacq.data.intake import Columns, intake
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.data.watermark import ArrivalStamp, Watermark
from cacq.deliver.chunk import Chunk
from cacq.deliver.log import ResultLog
from cacq.deliver.settle import settle
from cacq.eddy.batches import Survivors
from cacq.eddy.eddy import Eddy
from cacq.eddy.standing import Standing, StandingPredicates
from cacq.eddy.tables import Tables
from cacq.errors import FunctionError
from cacq.filters.functions import UserFunction


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


class Stream:
    """One stream: its time, its tables, its standing predicates and its results."""

    def __init__(
        self,
        name: str,
        definition: Definition,
        clock: Callable[[], int],
        functions: dict[str, UserFunction],
        results: ResultLog,
    ) -> None:
        self.name = name
        self.definition = definition
        self.schema = definition.schema
        self.watermark = Watermark(definition.lateness)
        self.tables = Tables(name, functions)
        self.standing = StandingPredicates(self.tables)
        self.log = results.source(name)
        self.shown: Counter[str] = Counter()
        """How many queries show each column: only these are kept with the results."""
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

    def push(self, columns: Columns, ts: Ints, lsn: int, eddy: Eddy) -> tuple[Pushed, dict[Standing, FunctionError]]:
        """Route the rows and keep their results; also the predicates that have to stop because a function failed."""
        record = Record(self.schema, lsn, ts, columns)
        survivors = eddy.route(record, self.tables)
        stopped = settle(survivors, record, self.tables, self._functions) if survivors.failures else {}
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
        self._results.append(self.name, Chunk(record.lsn, ts, columns, survivors.live, self.tables.layout))
