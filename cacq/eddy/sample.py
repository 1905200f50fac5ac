"""A sample of a stream's recent rows, from which the share of rows that a range accepts is estimated."""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Bools, Floats, Ints
from cacq.data.record import Record
from cacq.filters.keys import KeyColumns

ROWS = 2048
"""Rows held; the oldest go first. The share of a 1 % range is then known within a fifth."""
LOOKS = 16
"""A full sample is as new as the last 16 looks; each takes at most a sixteenth of it."""
BELIEF = 64
"""How many rows the guess that stands in for data is worth."""
EQUAL, BETWEEN, OPEN = 0.005, 0.02, 0.3
"""Guessed shares: of an equality, of a range with two ends, of one with one end."""


class Sample:
    """The keys of recent rows, for every column that `keys` numbers."""

    def __init__(self, keys: KeyColumns) -> None:
        self._keys = keys
        self._values: Ints = np.zeros((0, ROWS), np.int64)
        self._valid: Bools = np.zeros((0, ROWS), np.bool_)
        self._held = 0
        self._next = 0
        self._waiting = 0
        self._sorted: dict[int, Ints] = {}

    def look(self, record: Record) -> None:
        """Take some rows of a record, if enough rows have passed since the last look."""
        self._waiting += len(record)
        if not len(record) or self._waiting <= self._held // LOOKS or not len(self._keys):
            return
        self._waiting = 0
        self._make_room()
        picked = np.unique(np.linspace(0, len(record) - 1, min(len(record), ROWS // LOOKS)).astype(np.int64))
        at = (self._next + np.arange(len(picked))) % ROWS
        for key in range(len(self._keys)):
            values, valid = self._keys.some(record, key, picked)
            self._values[key, at] = values
            self._valid[key, at] = valid if len(valid) else True
        self._next = int(at[-1] + 1) % ROWS
        self._held = min(ROWS, self._held + len(picked))
        self._sorted.clear()

    def shares(self, key: int, lows: Ints, highs: Ints) -> Floats:
        """The estimated share of rows with `low <= key <= high`: what the sample says, and a guess while it is
        small."""
        guess = np.where(lows == highs, EQUAL, BETWEEN)
        limits = np.iinfo(np.int64)
        guess[(lows == limits.min) | (highs == limits.max)] = OPEN
        values = self._column(key)
        inside = np.searchsorted(values, highs, "right") - np.searchsorted(values, lows, "left")
        shares: Floats = (np.maximum(inside, 0) + BELIEF * guess) / (self._held + BELIEF)
        return shares

    def _column(self, key: int) -> Ints:
        """The values held of a column, sorted, without NULLs."""
        found = self._sorted.get(key)
        if found is None:
            self._make_room()
            found = self._sorted[key] = np.sort(self._values[key, : self._held][self._valid[key, : self._held]])
        return found

    def _make_room(self) -> None:
        """A row for every column; what was not looked at in the past counts as NULL."""
        missing = len(self._keys) - len(self._values)
        if missing > 0:
            self._values = np.concatenate([self._values, np.zeros((missing, ROWS), np.int64)])
            self._valid = np.concatenate([self._valid, np.zeros((missing, ROWS), np.bool_)])
