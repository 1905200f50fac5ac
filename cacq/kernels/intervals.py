"""Values to elementary intervals: how many cuts lie at or below each value. NULL gets one more interval, the last."""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Bools, Floats, Int32s, Ints, Octets
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
    """Floats as integers in their total order: NaN largest, -0.0 equal to 0.0. `bits` are the same bytes as `values`."""
    for i in range(len(values)):
        if values[i] != values[i]:
            out[i] = NAN_KEY
        elif values[i] == 0.0:
            out[i] = 0
        else:
            out[i] = bits[i] if bits[i] >= 0 else bits[i] ^ SIGN


@kernel
def compare_text(left: Octets, left_start: int, left_end: int, right: Octets, right_start: int, right_end: int) -> int:
    """-1, 0 or 1: UTF-8 bytes in order, which is the order of code points."""
    shared = min(left_end - left_start, right_end - right_start)
    for k in range(shared):
        a, b = left[left_start + k], right[right_start + k]
        if a != b:
            return -1 if a < b else 1
    difference = (left_end - left_start) - (right_end - right_start)
    return 0 if difference == 0 else (-1 if difference < 0 else 1)


@kernel
def of_text(offsets: Ints, data: Octets, valid: Bools, cut_offsets: Ints, cut_data: Octets, out: Int32s) -> None:
    """The same for strings; value i is data[offsets[i]:offsets[i + 1]], and so with the cuts."""
    checked = len(valid) > 0
    count = len(cut_offsets) - 1
    for i in range(len(offsets) - 1):
        if checked and not valid[i]:
            out[i] = count + 1
            continue
        low, high = 0, count
        while low < high:
            middle = (low + high) >> 1
            order = compare_text(
                cut_data, cut_offsets[middle], cut_offsets[middle + 1], data, offsets[i], offsets[i + 1]
            )
            if order <= 0:
                low = middle + 1
            else:
                high = middle
        out[i] = low
