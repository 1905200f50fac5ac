"""Floats as the integers that grouped and anchored filters compare."""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Floats, Ints
from cacq.kernels.compiled import kernel

SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
NAN_KEY = np.int64(0x7FF8000000000000)


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
