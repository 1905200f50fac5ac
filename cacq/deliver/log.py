"""The results of one source, oldest first, and what became of those that had to go.

A query's results are the rows of its slot in the chunks between its registration and its end. When memory runs out
the oldest chunk goes; what it held is added up by slot, so that a query learns how many of its results are gone from
two numbers: the sum when its life began to be dropped, and the sum now (or when its life ended). A slot may have
had other tenants before and after: `Tenancy` keeps the two sums apart.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from cacq.data.arrays import Ints
from cacq.data.types import NEVER
from cacq.deliver.chunk import Chunk


class Tenancy:
    """One query's time in a slot: it gets the rows with `since < lsn < until`."""

    def __init__(self, slot: int, since: int, position: int) -> None:
        self.slot = slot
        self.since = since
        self.until = NEVER
        self.dropped_before: int | None = None
        self.dropped_at_end: int | None = None
        self.first_position = position


class SourceLog:
    """The chunks of one source, from `_head` on. Positions count all chunks there ever were; `_first` is the oldest's.

    A list and not a deque: a poll reads from the middle.
    """

    def __init__(self) -> None:
        self._chunks: list[Chunk | None] = []
        self._head = 0
        self._first = 0
        self._dropped: Ints = np.zeros(0, np.int64)
        self._marks: deque[tuple[int, Tenancy, bool]] = deque()

    @property
    def end(self) -> int:
        """The position after the newest chunk."""
        return self._first + len(self._chunks) - self._head

    def append(self, chunk: Chunk) -> None:
        """Keep the results of one more record."""
        if chunk.slots > len(self._dropped):
            self._dropped = np.concatenate([self._dropped, np.zeros(chunk.slots - len(self._dropped), np.int64)])
        self._chunks.append(chunk)

    def open(self, slot: int, lsn: int) -> Tenancy:
        """A query takes a slot."""
        tenancy = Tenancy(slot, lsn, self.end)
        self._mark(lsn, tenancy, False)
        return tenancy

    def close(self, tenancy: Tenancy, lsn: int) -> None:
        """The query leaves its slot."""
        tenancy.until = lsn
        if tenancy.first_position < self.end:
            self._mark(lsn, tenancy, True)
            return
        # It saw no record, so nothing of it can be dropped: queries that come and go between records leave no marks.
        tenancy.dropped_before = tenancy.dropped_at_end = 0
        while self._marks and self._marks[-1][1].dropped_at_end is not None:
            self._marks.pop()

    def _mark(self, lsn: int, tenancy: Tenancy, ends: bool) -> None:
        self._marks.append((lsn, tenancy, ends))
        oldest = self._chunks[self._head] if self._head < len(self._chunks) else None
        self._pass_marks(NEVER if oldest is None else oldest.lsn)

    def drop_oldest(self) -> Chunk:
        """Let the oldest chunk go."""
        chunk = self._chunks[self._head]
        assert chunk is not None
        self._chunks[self._head] = None
        self._head += 1
        self._first += 1
        if self._head * 2 > len(self._chunks):
            del self._chunks[: self._head]
            self._head = 0
        self._pass_marks(chunk.lsn)
        chunk.add_counts(self._dropped)
        return chunk

    def _pass_marks(self, lsn: int) -> None:
        """Note the sums at every beginning and end of a tenancy before `lsn`, the oldest chunk that is not added up."""
        while self._marks and self._marks[0][0] < lsn:
            _, tenancy, ends = self._marks.popleft()
            if tenancy.dropped_at_end is not None:
                continue
            if ends:
                tenancy.dropped_at_end = self._sum(tenancy.slot)
            else:
                tenancy.dropped_before = self._sum(tenancy.slot)

    def dropped(self, tenancy: Tenancy) -> int:
        """How many results of a tenancy have been dropped."""
        if tenancy.dropped_before is None:
            return 0
        last = self._sum(tenancy.slot) if tenancy.dropped_at_end is None else tenancy.dropped_at_end
        return last - tenancy.dropped_before

    def _sum(self, slot: int) -> int:
        return int(self._dropped[slot]) if slot < len(self._dropped) else 0

    def read(self, tenancy: Tenancy, position: int) -> list[Chunk]:
        """The chunks from a position on that belong to a tenancy's time."""
        waiting = self._chunks[self._head + max(0, position - self._first) :]
        return [chunk for chunk in waiting if chunk is not None and tenancy.since < chunk.lsn < tenancy.until]


class ResultLog:
    """The results of all sources within one budget of bytes: the oldest record's results go first."""

    def __init__(self, retain_bytes: int) -> None:
        self._retain_bytes = retain_bytes
        self._sources: dict[str, SourceLog] = {}
        self._order: deque[SourceLog] = deque()
        self._bytes = 0

    def source(self, name: str) -> SourceLog:
        """The log of one source."""
        return self._sources.setdefault(name, SourceLog())

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._bytes

    def append(self, source: str, chunk: Chunk) -> None:
        """Keep a chunk, and drop the oldest ones that are too much."""
        log = self.source(source)
        log.append(chunk)
        self._order.append(log)
        self._bytes += chunk.nbytes
        while self._order and self.nbytes > self._retain_bytes:
            self._bytes -= self._order.popleft().drop_oldest().nbytes
