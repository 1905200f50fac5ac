"""How far one query has got in the results of its source, in whatever slots they stand."""

from __future__ import annotations

from collections.abc import Sequence

from cacq.deliver.log import SourceLog, Span
from cacq.deliver.tenancy import Tenancy
from cacq.errors import ResultsLost


class Cursor:
    """The results of one query that it has not got yet. They stand in a slot from its registration to its end; if its
    predicate moved they stand in one slot after another. A query that no row can satisfy has none."""

    __slots__ = ("_earlier", "_log", "_seq", "_tenancy")

    def __init__(self, log: SourceLog) -> None:
        self._log = log
        self._tenancy: Tenancy | None = None
        self._earlier: tuple[Tenancy, ...] = ()
        """Tenancies that have ended with a move, oldest first, as long as something in them may be unread."""
        self._seq = 0
        """The number of the next result."""

    def _open(self, slot: int, lsn: int) -> None:
        """Results with an LSN after `lsn` stand in this slot."""
        self._tenancy = self._log.open(slot, lsn)

    def _change(self, slot: int, lsn: int) -> None:
        """Results with an LSN from `lsn` on stand in another slot."""
        self._close(lsn)
        self._earlier = self._tenancies()
        self._tenancy = self._log.open(slot, lsn - 1)

    def _close(self, lsn: int) -> None:
        """Results with an LSN from `lsn` on are not its own."""
        if self._tenancy is not None:
            self._log.close(self._tenancy, lsn)

    def _waiting(self) -> list[Span]:
        """Where the results stand that it has not got and that are still held, in order."""
        return [span for tenancy in self._tenancies() for span in self._log.read(tenancy)]

    def _advance(self, spans: Sequence[Span]) -> None:
        """It has got these spans, which are all that there were."""
        for span in spans:
            span.tenancy.taken += span.results
            self._seq += span.results
        self._earlier = ()
        if self._tenancy is not None:
            self._tenancy.read = self._log.newest

    def _lost(self) -> int:
        """How many results have been dropped that it has not got and was not told of."""
        return sum(map(self._log.lost, self._tenancies()))

    def _refuse_gap(self) -> None:
        """Raise ResultsLost if results have been dropped, once: then it has been told of them."""
        lost = self._lost()
        if lost:
            for tenancy in self._tenancies():
                tenancy.taken += self._log.lost(tenancy)
            self._seq += lost
            raise ResultsLost(lost)

    def _tenancies(self) -> tuple[Tenancy, ...]:
        return self._earlier if self._tenancy is None else (*self._earlier, self._tenancy)
