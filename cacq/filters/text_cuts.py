"""Strings as integers: the rank of a string among the cuts of a grouped filter."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from cacq.data.arrays import NO_NULLS, Ints
from cacq.data.column import Column
from cacq.data.types import Type
from cacq.kernels import texts


class TextCuts:
    """Sorted strings. The cut of the i-th is i + 1; a string's rank is how many of them are at or below it, so it is at
    or behind a cut exactly if its rank is."""

    def __init__(self, known: Iterable[bytes] = ()) -> None:
        self._texts = sorted(set(known))
        self._packed: Column | None = None

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, text: bytes) -> int | None:
        """Know a string. If it is new, the cut from which on all cuts became one greater."""
        at = bisect_left(self._texts, text)
        if at < len(self._texts) and self._texts[at] == text:
            return None
        self._texts.insert(at, text)
        self._packed = None
        return at + 1

    def cut(self, text: bytes) -> int:
        """The cut of a string that is known."""
        return bisect_left(self._texts, text) + 1

    def ranks(self, column: Column) -> Ints:
        """The rank of each string; any number where it is NULL."""
        if self._packed is None:
            self._packed = Column(Type.STRING, pa.array(self._texts, pa.large_binary()))
        out = np.empty(len(column), np.int32)
        texts.intervals_of_texts(*column.text(), NO_NULLS, *self._packed.text(), out)
        return out.astype(np.int64)
