"""The bit tables of all grouped filters of one source: one matrix, whose rows the filters take and give back.

All rows have the columns of the source's lineage. A bit that no term has set is 1, so that a query without a term in a
filter passes it. One matrix for all filters lets one kernel AND the rows of several filters.
"""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Int32s, Words

ONES = ~np.uint64(0)
SPARE_COLUMNS, SPARE_ROWS = 16, 4
"""A sixteenth more columns than asked for and four times the rows. Rows that were never taken are never touched, so the
system has given no memory for them; but making room for more means copying all, 100 ms at 100,000 queries."""


class BitRows:
    """Rows are handed out filled with ones. `matrix` has more rows and columns than are used."""

    def __init__(self) -> None:
        self.matrix: Words = np.empty((8, 1), np.uint64)
        self.width = 0
        self._used = 0
        self._free: list[int] = []

    @property
    def nbytes(self) -> int:
        """Bytes of the rows that have been in use."""
        return int(self._used * self.matrix.shape[1] * 8)

    def widen(self, width: int) -> None:
        """Have that many columns in use; new ones are all ones."""
        rows, room = self.matrix.shape
        if width > room or width * 2 < room:
            self._copy(rows, width + width // SPARE_COLUMNS + 1, min(self.width, width))
        elif width < self.width:
            self.matrix[: self._used, width : self.width] = ONES
        self.width = width

    def take(self, count: int) -> Int32s:
        """So many rows of ones."""
        rows, room = self.matrix.shape
        fresh = max(0, count - len(self._free))
        if self._used + fresh > rows:
            self._copy(SPARE_ROWS * (self._used + fresh), room, self.width)
        taken = [self._free.pop() for _ in range(count - fresh)]
        taken += range(self._used, self._used + fresh)
        self._used += fresh
        found = np.array(taken, np.int32)
        self.matrix[found] = ONES
        return found

    def give_back(self, rows: Int32s) -> None:
        """These rows are not needed any more."""
        self._free.extend(rows.tolist())

    def _copy(self, rows: int, columns: int, kept: int) -> None:
        """Have room for so many rows and columns; the first columns keep what they hold."""
        matrix = np.empty((rows, columns), np.uint64)
        matrix[: self._used, :kept] = self.matrix[: self._used, :kept]
        matrix[: self._used, kept:] = ONES
        self.matrix = matrix

    def _check(self) -> None:
        """No row is free twice (used by tests)."""
        assert len(set(self._free)) == len(self._free)
        assert all(0 <= row < self._used <= len(self.matrix) for row in self._free)
