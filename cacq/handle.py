"""A standing query as its user sees it: a cursor into the results that are stored once for all queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from cacq.data.types import Type
from cacq.deliver.deltas import Deltas
from cacq.deliver.log import Tenancy
from cacq.deliver.project import project
from cacq.errors import OptionError, ResultsLost
from cacq.query import ast
from cacq.query.normalize import Conjunction
from cacq.stream import Stream

if TYPE_CHECKING:
    from cacq.engine import Engine


class Query:
    """A registered query. Everything but `poll` and `cancel` only reads."""

    def __init__(
        self,
        engine: Engine,
        stream: Stream,
        identity: str,
        name: str,
        sql: str,
        select: ast.Select,
        disjuncts: tuple[Conjunction, ...],
    ) -> None:
        self.id = identity
        self.name = name
        self.sql = sql
        self.pattern = "MON"
        self.state = "active"
        self.error: Exception | None = None
        self._select = select
        self._disjuncts = disjuncts
        self._standing = stream.standing.hold(disjuncts, name)
        self._stream = stream
        self._tenancy: Tenancy | None = None
        self._engine = engine
        self._position = stream.log.end
        self._seq = 0
        self._projection_errors = 0
        self._earlier_errors = self._predicate_errors()
        self._final_errors: int | None = None

    def __repr__(self) -> str:
        return f"<Query {self.name!r} {self.state}: {self.sql}>"

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
        if self._tenancy is None:
            return 0
        slot, waiting = self._tenancy.slot, self._stream.log.read(self._tenancy, self._position)
        return self._seq + self._lost() + sum(chunk.count(slot) for chunk in waiting)

    @property
    def value_errors(self) -> int:
        """How often overflow or division by zero gave NULL: in predicates, and in the output of polled rows."""
        counted = self._predicate_errors() if self._final_errors is None else self._final_errors
        return counted - self._earlier_errors + self._projection_errors

    def poll(self) -> Deltas:
        """The results since the last poll, in order. Raises ResultsLost once if some were dropped in between."""
        if self._tenancy is None:
            return project(self._select, [], [], 0)[0]
        lost = self._lost()
        if lost:
            self._seq += lost
            raise ResultsLost(lost)
        slot, chunks = self._tenancy.slot, self._stream.log.read(self._tenancy, self._position)
        positions = [chunk.positions(slot) for chunk in chunks]
        deltas, errors = project(self._select, chunks, positions, self._seq)
        self._position = self._stream.log.end
        self._seq += len(deltas)
        self._projection_errors += errors
        return deltas

    def snapshot(self) -> NoReturn:
        """The answer at the query's clock; only queries that have a bounded answer keep one."""
        raise OptionError(
            "a query without a window has no snapshot: its answer only grows", "poll() gives its results as they come"
        )

    def cancel(self) -> None:
        """End the query: it takes no further rows. What it has delivered can still be polled."""
        self._engine.cancel(self)

    def _begin(self, lsn: int) -> None:
        """For the engine: the query is registered, results with an LSN after `lsn` are its own."""
        if self._standing.slots:
            self._tenancy = self._stream.log.open(self._standing.slots[0], lsn)

    def _end(self, state: str, lsn: int, error: Exception | None = None) -> None:
        """For the engine: the query has ended, results with an LSN from `lsn` on are not its own."""
        self.state = state
        self.error = error
        self._final_errors = self._predicate_errors()
        if self._tenancy is not None:
            self._stream.log.close(self._tenancy, lsn)

    def _lost(self) -> int:
        assert self._tenancy is not None
        return max(0, self._stream.log.dropped(self._tenancy) - self._seq)

    def _predicate_errors(self) -> int:
        counts: Any = self._stream.tables.errors.counts
        return int(sum(counts[slot] for slot in self._standing.slots))
