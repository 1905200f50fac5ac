"""Inclusive bounds of ranges, kept in half the space while all of them are small."""

from __future__ import annotations

from typing import Any

import numpy as np

from cacq.data.arrays import Bools, Ints

WIDE, NARROW = np.iinfo(np.int64), np.iinfo(np.int32)


def fits(bounds: Ints) -> Bools:
    """Which bounds can be narrowed: they lie well inside of int32, or they are open ends."""
    found: Bools = (bounds > NARROW.min) & (bounds < NARROW.max) | (bounds == WIDE.min) | (bounds == WIDE.max)
    return found


def narrowed(bounds: Ints) -> Any:
    """Bounds that fit as int32. An open end is the least or the greatest number of either kind."""
    return np.clip(bounds, NARROW.min, NARROW.max).astype(np.int32)


def widened(bounds: Any) -> Ints:
    """The same as int64 again; int64 stays as it is."""
    wide: Ints = bounds.astype(np.int64, copy=False)
    if wide is not bounds:
        wide[bounds == NARROW.min] = WIDE.min
        wide[bounds == NARROW.max] = WIDE.max
    return wide


class BoundsBySlot:
    """A low and a high for each slot."""

    def __init__(self) -> None:
        self._bounds: Any = np.zeros((0, 2), np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self._bounds.nbytes)

    def resize(self, slots: int) -> None:
        """Have an entry for so many slots."""
        held = len(self._bounds)
        if slots > held:
            more = np.zeros((slots - held, 2), self._bounds.dtype)
            self._bounds = np.concatenate([self._bounds, more])
        elif slots < held:
            self._bounds = self._bounds[:slots].copy()

    def put(self, slots: Ints, lows: Ints, highs: Ints) -> None:
        """Set the bounds of these slots."""
        bounds = np.column_stack([lows, highs])
        if self._bounds.dtype == np.int32:
            if fits(bounds).all():
                bounds = narrowed(bounds)
            else:
                self._bounds = widened(self._bounds)
        self._bounds[slots] = bounds

    def get(self, slots: Ints) -> tuple[Ints, Ints]:
        """The lows and the highs of these slots."""
        bounds = widened(self._bounds[slots])
        return bounds[:, 0], bounds[:, 1]
