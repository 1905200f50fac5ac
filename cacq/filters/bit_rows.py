"""The bit tables of all grouped filters of one source: one matrix, whose rows the filters take and give back.

All rows have the columns of the source's lineage. A bit that no term has set is 1, so that a query without a term in a
filter passes it. One matrix for all filters lets one kernel AND the rows of several filters.
"""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Int32s, Words

ONES = ~np.uint64(0)
SPARE_COLUMNS, SPARE_ROWS = 8, 4
"""An eighth more columns and a fourth more rows than asked for, so that copies are rare and little is held for
nothing."""


class BitRows:
    """Rows are handed out filled with ones. `matrix` may have more rows and columns than are used."""

    def __init__(self) -> None:
        self.matrix: Words = np.full((8, 1), ONES, np.uint64)
        self.width = 0
        self._free = list(range(len(self.matrix)))[::-1]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.matrix.nbytes)

    def widen(self, width: int) -> None:
        """Have that many columns in use; new ones are all ones."""
        rows, room = self.matrix.shape
        if width > room or width * 2 < room:
            matrix = np.full((rows, width + width // SPARE_COLUMNS + 1), ONES, np.uint64)
            kept = min(self.width, width)
            matrix[:, :kept] = self.matrix[:, :kept]
            self.matrix = matrix
        elif width < self.width:
            self.matrix[:, width : self.width] = ONES
        self.width = width

    def take(self, count: int) -> Int32s:
        """So many rows of ones."""
        missing = count - len(self._free)
        if missing > 0:
            rows, room = self.matrix.shape
            more = missing + rows // SPARE_ROWS
            self.matrix = np.concatenate([self.matrix, np.full((more, room), ONES, np.uint64)])
            self._free = [*range(rows + more - 1, rows - 1, -1), *self._free]
        taken = np.array([self._free.pop() for _ in range(count)], np.int32)
        self.matrix[taken] = ONES
        return taken

    def give_back(self, rows: Int32s) -> None:
        """These rows are not needed any more."""
        self._free.extend(rows.tolist())

    def _check(self) -> None:
        """No row is free twice (used by tests)."""
        assert len(set(self._free)) == len(self._free)
        assert all(0 <= row < len(self.matrix) for row in self._free)
