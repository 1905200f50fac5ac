"""Rows of several segments put together, copied once.

Fresh memory is what a poll of many rows costs most: touching it takes 5 times as long as writing it. So what is not
handed out is written into room that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cacq.data.arrays import Bools, Ints
from cacq.data.column import Column, concatenate, empty
from cacq.data.types import Type

KEPT = 1 << 16
"""Positions for which there is room that is kept; polls of more results than that make their own."""


class Room:
    """Memory for the positions of a poll; the next poll overwrites them."""

    def __init__(self) -> None:
        self._kept: Ints = np.empty(0, np.int64)

    def positions(self, length: int) -> Ints:
        """Room for so many positions."""
        if length > KEPT:
            return np.empty(length, np.int64)
        if length > len(self._kept):
            self._kept = np.empty(min(KEPT, 2 * length), np.int64)
        return self._kept[:length]


def gather(parts: Sequence[tuple[Column, Ints]], length: int, type: Type) -> Column:
    """These rows of these columns, one after another; `length` rows in all."""
    if not parts:
        return empty(type)
    if type is Type.STRING:
        return concatenate([column.take(rows) for column, rows in parts])
    values = gather_array([(column.values, rows) for column, rows in parts], np.empty(length, type.dtype))
    if all(column.valid is None for column, _ in parts):
        return Column(type, values)
    valid: Bools = np.ones(length, np.bool_)
    start = 0
    for column, rows in parts:
        if column.valid is not None:
            valid[start : start + len(rows)] = column.valid[rows]
        start += len(rows)
    return Column(type, values, valid)


def gather_array(parts: Sequence[tuple[npt.NDArray[Any], Ints]], out: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Fill `out` with these rows of these arrays, one after another."""
    start = 0
    for values, rows in parts:
        # Positions are in bounds; "clip" is the mode that writes into `out` without a copy in between.
        values.take(rows, out=out[start : start + len(rows)], mode="clip")
        start += len(rows)
    return out
