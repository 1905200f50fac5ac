"""The bounds of a conjunction of ranges as bytes: what a standing predicate is known by, and all that is kept of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cacq.data.arrays import Ints
from cacq.data.bounds import fits, narrowed, widened


def pack(lows: Ints, highs: Ints) -> list[bytes]:
    """A text of bytes for each row: its lows, then its highs, in 4 bytes each if all of them fit, else in 8. Rows are
    equal exactly if their bytes are. An open end is the least or the greatest number of either kind."""
    bounds = np.concatenate([lows, highs], axis=1)
    narrow: list[bool] = np.all(fits(bounds), axis=1).tolist()
    wide, short = bounds.tobytes(), narrowed(bounds).tobytes()
    size = bounds.shape[1]
    return [
        short[4 * size * i : 4 * size * (i + 1)] if small else wide[8 * size * i : 8 * size * (i + 1)]
        for i, small in enumerate(narrow)
    ]


def unpack(packed: Sequence[bytes], keys: int) -> tuple[Ints, Ints]:
    """The lows and the highs of rows over so many keys, all of which have as many bytes as the first."""
    type = np.int64 if len(packed[0]) == 16 * keys else np.int32
    bounds = widened(np.frombuffer(b"".join(packed), type)).reshape(len(packed), 2, keys)
    return bounds[:, 0], bounds[:, 1]
