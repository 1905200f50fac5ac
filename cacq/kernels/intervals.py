"""Values to elementary intervals: how many cuts lie at or below each value. NULL gets one more interval, the last."""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Bools, Floats, Int32s, Ints
from cacq.kernels.compiled import kernel

SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
NAN_KEY = np.int64(0x7FF8000000000000)


@kernel
def of_integers(values: Ints, valid: Bools, cuts: Ints, out: Int32s) -> None:
    """An empty `valid` means that no value is NULL."""
    checked = len(valid) > 0
    for i in range(len(values)):
        value = values[i]
        low, high = 0, len(cuts)
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] <= value:
                low = middle + 1
            else:
                high = middle
        out[i] = len(cuts) + 1 if checked and not valid[i] else low


@kernel
def keys_of_floats(values: Floats, bits: Ints, out: Ints) -> None:
    """Floats as integers in their total order: NaN largest, -0.0 equal to 0.0. `bits` are the bytes of `values`."""
    for i in range(len(values)):
        if values[i] != values[i]:
            out[i] = NAN_KEY
        elif values[i] == 0.0:
            out[i] = 0
        else:
            out[i] = bits[i] if bits[i] >= 0 else bits[i] ^ SIGN
