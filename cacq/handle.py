"""A standing query as its user sees it: a cursor into the results that are stored once for all queries."""

from __future__ import annotations

from typing import NoReturn

from cacq.data.types import Type
from cacq.deliver.cursor import Cursor
from cacq.deliver.deltas import Deltas
from cacq.deliver.project import project
from cacq.eddy.standing import Standing
from cacq.errors import OptionError
from cacq.plan import Plan
from cacq.stream import Stream

OVERHEAD = 600
"""Bytes of the objects around a query of two or three ranges: handle, tenancy, predicate, text, entries in dicts
(measured with tracemalloc over 50,000 queries of the selections workload)."""


class Query(Cursor):
    """A registered query. Everything but `poll` and `cancel` only reads."""

    __slots__ = ("_ended", "_errors", "_name", "_number", "_select", "_standing", "_stream", "sql")
    pattern = "MON"

    def __init__(self, stream: Stream, number: int, name: str | None, plan: Plan, standing: Standing) -> None:
        super().__init__(stream.log)
        self.sql = plan.sql
        self._ended: bool | Exception = False
        self._number = number
        self._name = name
        self._select = plan.select
        self._standing = standing
        self._stream = stream
        self._errors = -stream.predicate_errors(standing.slots) if standing.held else 0
        standing.join(self)

    @property
    def id(self) -> str:
        """What it is called in the result log; never given to another query."""
        return f"id-{self._number}"

    @property
    def name(self) -> str:
        """The name it was registered with, else its id."""
        return self.id if self._name is None else self._name

    def __repr__(self) -> str:
        return f"<Query {self.name!r} {self.state}: {self.sql}>"

    @property
    def state(self) -> str:
        """active, cancelled, or parked because of its `error`."""
        return "parked" if self.error else ("cancelled" if self._ended else "active")

    @property
    def error(self) -> Exception | None:
        """Why it is parked."""
        return None if isinstance(self._ended, bool) else self._ended

    @property
    def nbytes(self) -> int:
        """Bytes that the query takes besides operators and results: its text, its name, and OVERHEAD."""
        return OVERHEAD + len(self.sql) + len(self._name or "")

    @property
    def schema(self) -> dict[str, str]:
        """Output columns and their types."""
        return {output.name: Type(output.expression.type).value for output in self._select.outputs}

    @property
    def clock(self) -> int | None:
        """The time up to which the stream is complete, in microseconds; None before its first row."""
        return self._stream.watermark.value

    @property
    def results(self) -> int:
        """How many results there have been so far, polled or not."""
        return self._seq + self._lost() + sum(span.results for span in self._waiting())

    @property
    def value_errors(self) -> int:
        """How often overflow or division by zero gave NULL: in predicates, and in the output of polled rows."""
        return self._errors + (self._stream.predicate_errors(self._standing.slots) if not self._ended else 0)

    def poll(self) -> Deltas:
        """The results since the last poll, in order. Raises ResultsLost once if some were dropped in between."""
        self._refuse_gap()
        spans = self._waiting()
        deltas, errors = project(self._select, spans, self._seq)
        self._advance(spans)
        self._errors += errors
        return deltas

    def snapshot(self) -> NoReturn:
        """The answer at the query's clock; only queries that have a bounded answer keep one."""
        raise OptionError(
            "a query without a window has no snapshot: its answer only grows", "poll() gives its results as they come"
        )

    def cancel(self) -> None:
        """End the query: it takes no further rows. What it has delivered can still be polled."""
        self._stream.cancel(self)

    def _begin(self, lsn: int) -> None:
        """For the engine: the query is registered, results with an LSN after `lsn` are its own."""
        if self._standing.slots:
            self._open(self._standing.slots[0], lsn)

    def _pack(self) -> None:
        """For its predicate, which is about to move: note what is counted where it stands now."""
        self._errors += self._stream.predicate_errors(self._standing.slots)

    def _move(self, lsn: int) -> None:
        """For its predicate, which has moved: results with an LSN from `lsn` on stand in its new slots."""
        self._change(self._standing.slots[0], lsn)
        self._errors -= self._stream.predicate_errors(self._standing.slots)

    def _end(self, lsn: int, error: Exception | None = None) -> None:
        """For the engine: the query has ended, results with an LSN from `lsn` on are not its own."""
        self._ended = error or True
        self._close(lsn)
