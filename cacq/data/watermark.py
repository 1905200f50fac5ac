"""A stream's notion of time (SEMANTICS 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cacq.data.arrays import Ints


class Watermark:
    """Nothing older than `value` is expected; None before the first row or punctuation. It never goes back."""

    def __init__(self, lateness: int) -> None:
        self._lateness = lateness
        self.value: int | None = None

    def late(self, ts: Ints) -> int:
        """How many of these rows are late, as the watermark stands now."""
        return 0 if self.value is None else int(np.count_nonzero(ts < self.value))

    def accept(self, ts: Ints) -> None:
        """A record with these event times has come in."""
        if len(ts):
            self.raise_to(int(ts.max()) - self._lateness)

    def raise_to(self, ts: int) -> None:
        """Nothing older than `ts` will come."""
        self.value = ts if self.value is None else max(self.value, ts)


class ArrivalStamp:
    """Event time for streams without a timestamp column: when a record came, never decreasing."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._last: int | None = None

    def stamp(self, rows: int) -> Ints:
        """The same time for every row of one record; the clock is read once. A record without rows leaves no trace."""
        now = int(self._clock())
        if self._last is not None:
            now = max(self._last, now)
        if rows:
            self._last = now
        return np.full(rows, now, np.int64)
