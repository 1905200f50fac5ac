"""The results of one source, oldest first, and what became of those that had to go.

The log is a list of segments. A record makes a segment of its own; segments are merged with their neighbours until
they are large, so that a reader has few to look at and a small record costs little. A query's results are the rows of
its slot between its registration and its end.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from dataclasses import replace
from typing import NamedTuple

from cacq.data.types import NEVER
from cacq.deliver.chunk import Chunk
from cacq.deliver.pick import Pick
from cacq.deliver.segment import NO_SEGMENT, Capacity, Segment, merge, segment_of
from cacq.deliver.tenancy import UNKNOWN, Farewell, Sums, Tenancy

NEARLY = 8
"""When all but one in so many bytes are used, what will go next is counted ahead."""


class Span(NamedTuple):
    """Results of a tenancy in a segment: the rows that `picks` pick, `results` in all."""

    tenancy: Tenancy
    segment: Segment
    picks: list[Pick]
    results: int


class Held:
    """Bytes that all sources hold together."""

    def __init__(self) -> None:
        self.nbytes = 0


class SourceLog:
    """The segments of one source. Those before `_sealed` never change again; those after it may still be merged."""

    def __init__(self, capacity: Capacity, held: Held) -> None:
        self._capacity = capacity
        self._held = held
        self._segments: list[Segment] = []
        self._lasts = array("q")
        self._sealed = 0
        self._dropped = Sums()
        self._farewell = Farewell(NO_SEGMENT)
        self._beginning: deque[Tenancy] = deque()
        self._ending: deque[Tenancy] = deque()
        self.newest = -1
        """The LSN of the newest record there ever was."""

    @property
    def oldest(self) -> int:
        """The LSN of the oldest record that is held; NEVER if none is."""
        return self._segments[0].first_lsn if self._segments else NEVER

    def append(self, chunk: Chunk) -> None:
        """Keep the results of one more record. Takes time for the rows of the record; for each row of it, some time
        later, it may be copied a few times for each doubling of its segment."""
        segment = segment_of(chunk, self._capacity)
        self._segments.append(segment)
        self._lasts.append(chunk.lsn)
        self.newest = chunk.lsn
        self._held.nbytes += segment.nbytes
        if len(self._segments) - self._sealed > self._capacity.loose:
            self._merge_newest()

    def _merge_newest(self) -> None:
        """Merge the newest segments with those before them that are not much larger than all newer ones together: so
        those that may yet grow stay few, and a row is copied only when its segment grows by a good part."""
        first, rows = len(self._segments) - 1, len(self._segments[-1])
        while first > self._sealed and len(self._segments[first - 1]) < self._capacity.growth * rows:
            first -= 1
            rows += len(self._segments[first])
        groups: list[list[Segment]] = []
        size = held = 0
        for segment in self._segments[first:]:
            size, held = size + len(segment), held + segment.nbytes
            if not groups or size > self._capacity.rows or held > self._capacity.nbytes:
                groups.append([])
                size, held = len(segment), segment.nbytes
            groups[-1].append(segment)
        merged = [merge(group, self._capacity) if len(group) > 1 else group[0] for group in groups]
        self._held.nbytes += sum(s.nbytes for s in merged) - sum(s.nbytes for s in self._segments[first:])
        self._segments[first:] = merged
        self._lasts[first:] = array("q", [segment.last_lsn for segment in merged])
        if len(groups) > 1:
            self._sealed = len(self._segments) - 1

    def read(self, tenancy: Tenancy) -> list[Span]:
        """Where the results of a tenancy stand that it has not got yet; those that are dropped left out."""
        after = max(tenancy.since, tenancy.read)
        if after >= tenancy.until:
            return []  # it has ended and was read since
        first = bisect_right(self._lasts, after)
        if len(self._segments) - max(first, self._sealed) > self._capacity.scattered:
            self._merge_newest()
            first = bisect_right(self._lasts, after)
        spans = []
        for segment in self._segments[first:]:
            if segment.first_lsn >= tenancy.until:
                break
            start = 0 if segment.first_lsn > after else segment.row_of(after + 1)
            stop = len(segment) if segment.last_lsn < tenancy.until else segment.row_of(tenancy.until)
            picks = segment.picks(tenancy.slot, start, stop)
            results = sum([pick.size() for pick in picks])
            if results:
                spans.append(Span(tenancy, segment, picks, results))
        return spans

    def open(self, slot: int, lsn: int) -> Tenancy:
        """A query takes a slot: it gets the results with an LSN after `lsn`."""
        tenancy = Tenancy(slot, lsn)
        self._beginning.append(tenancy)
        self._pass_marks(self.oldest)
        return tenancy

    def close(self, tenancy: Tenancy, lsn: int) -> None:
        """The query leaves its slot: it does not get the results with an LSN from `lsn` on."""
        tenancy.until = lsn
        if tenancy.since < self.newest:
            self._ending.append(tenancy)
            self._pass_marks(self.oldest)
            return
        # It saw no record, so nothing of it can be dropped: queries that come and go between records leave no marks.
        tenancy.dropped_before = tenancy.dropped_at_end = 0
        while self._beginning and self._beginning[-1].dropped_at_end != UNKNOWN:
            self._beginning.pop()

    def drop_oldest(self) -> None:
        """Let the oldest segment go."""
        segment = self._segments.pop(0)
        del self._lasts[0]
        self._sealed = max(0, self._sealed - 1)
        self._held.nbytes -= segment.nbytes
        self._pass_marks(segment.last_lsn, segment)
        farewell = self._farewell if self._farewell.segment is segment else Farewell(segment)
        farewell.count()
        self._dropped.add(farewell)
        self._pass_marks(self.oldest)

    def prepare(self, nbytes: int) -> None:
        """Count about so many bytes of the oldest segment, which will have to go soon."""
        if self._farewell.segment is not self._segments[0]:
            self._farewell = Farewell(self._segments[0])
        self._farewell.count(nbytes)

    def _pass_marks(self, lsn: int, going: Segment | None = None) -> None:
        """Note the sums at every beginning and end of a tenancy before the record `lsn`. All records before it have
        been added up, but for those in `going`."""

        def dropped(slot: int, before: int) -> int:
            return self._dropped[slot] + (0 if going is None else going.count(slot, 0, going.row_of(before)))

        while self._beginning and self._beginning[0].since < lsn:
            tenancy = self._beginning.popleft()
            if tenancy.dropped_before == UNKNOWN:
                tenancy.dropped_before = dropped(tenancy.slot, tenancy.since + 1)
        while self._ending and self._ending[0].until <= lsn:
            tenancy = self._ending.popleft()
            tenancy.dropped_at_end = dropped(tenancy.slot, tenancy.until)

    def lost(self, tenancy: Tenancy) -> int:
        """How many results of a tenancy have been dropped that it has not got and was not told of."""
        if tenancy.dropped_before == UNKNOWN:
            return 0
        last = self._dropped[tenancy.slot] if tenancy.dropped_at_end == UNKNOWN else tenancy.dropped_at_end
        return max(0, last - tenancy.dropped_before - tenancy.taken)

    def _check(self) -> int:
        """Segments ascend, no mark is left that could have been passed; returns the bytes held (used by tests)."""
        assert list(self._lasts) == [segment.last_lsn for segment in self._segments]
        edges = [lsn for segment in self._segments for lsn in (segment.first_lsn, segment.last_lsn)]
        assert edges == sorted(edges) and (not edges or edges[-1] == self.newest)
        assert 0 <= self._sealed <= len(self._segments)
        assert all(tenancy.since >= self.oldest for tenancy in self._beginning)
        assert all(tenancy.until > self.oldest for tenancy in self._ending)
        for segment in self._segments:
            segment._check()
        return sum(segment.nbytes for segment in self._segments)


class ResultLog:
    """The results of all sources within one budget of bytes: the oldest results go first, a segment at a time."""

    def __init__(self, retain_bytes: int, capacity: Capacity | None = None) -> None:
        capacity = capacity or Capacity()
        self._retain_bytes = retain_bytes
        self._capacity = replace(capacity, nbytes=min(capacity.nbytes, retain_bytes // capacity.share))
        self._sources: dict[str, SourceLog] = {}
        self._held = Held()

    def source(self, name: str) -> SourceLog:
        """The log of one source."""
        return self._sources.setdefault(name, SourceLog(self._capacity, self._held))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._held.nbytes

    def append(self, source: str, chunk: Chunk) -> None:
        """Keep a chunk, and drop the oldest segments that are too much."""
        self.source(source).append(chunk)
        if self._held.nbytes > self._retain_bytes - self._retain_bytes // NEARLY:
            self._oldest().prepare(2 * (chunk.live.nbytes + chunk.pairs.nbytes))
        while self._held.nbytes > self._retain_bytes:
            self._oldest().drop_oldest()

    def _oldest(self) -> SourceLog:
        return min(self._sources.values(), key=lambda log: log.oldest)

    def _check(self) -> None:
        """The bytes add up and are within the budget (used by tests)."""
        assert self.nbytes == sum(log._check() for log in self._sources.values()) <= self._retain_bytes
