"""One query's rows out of one piece of lineage, whatever form it is held in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy.typing as npt

from cacq.data.arrays import Ints, Words
from cacq.kernels import picks


class Form(NamedTuple):
    """The kernels that read one form of lineage."""

    size: Callable[[Words, int, int, int], int]
    fill: Callable[[Words, int, int, int, int, Ints], int]
    gather: Callable[[Words, int, int, int, int, npt.NDArray[Any], npt.NDArray[Any]], int]


TURNED = Form(picks.count_turned, picks.fill_turned, picks.gather_turned)
SCANNED = Form(picks.count_scanned, picks.fill_scanned, picks.gather_scanned)
PAIRED = Form(picks.count_paired, picks.fill_paired, picks.gather_paired)


class Pick(NamedTuple):
    """Rows `start` to `stop` of lineage whose row 0 is row `base` of its segment, as far as the query `key` wants
    them."""

    form: Form
    held: Words
    key: int
    start: int
    stop: int
    base: int

    def size(self) -> int:
        """How many rows these are."""
        return self.form.size(self.held, self.key, self.start, self.stop)

    def detached(self) -> Pick:
        """The same rows; what it keeps alive is its own. For turned lineage only."""
        return Pick(TURNED, self.held[self.key : self.key + 1].copy(), 0, self.start, self.stop, self.base)

    def fill(self, out: Ints) -> int:
        """Write the rows' positions in the segment, ascending; how many."""
        return self.form.fill(self.held, self.key, self.start, self.stop, self.base, out)

    def gather(self, values: npt.NDArray[Any], out: npt.NDArray[Any]) -> int:
        """Write the rows' values; how many. `values` has an entry for each row of the segment."""
        return self.form.gather(self.held, self.key, self.start, self.stop, self.base, values, out)
