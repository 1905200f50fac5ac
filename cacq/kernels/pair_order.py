"""Pairs of a query's place and a row, in order.

numpy sorts 41,000 pairs in 1.6 ms on a machine where it does not use vector instructions for that, this in 0.3 ms.
"""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Words
from cacq.kernels.compiled import kernel

ROW_BITS = np.uint64(32)
RADIX_BITS = 11
RADIX = 1 << RADIX_BITS


@kernel
def sort_pairs(pairs: Words, rows: int, places: int, other: Words) -> bool:
    """Sort pairs `place << 32 | row` by their bits that may be set, 11 at a time; whether they are now in `other`."""
    row_bits, place_bits = 1, 1
    while rows >> row_bits:
        row_bits += 1
    while places >> place_bits:
        place_bits += 1
    starts, source, target = np.empty(RADIX + 1, np.int64), pairs, other
    swapped, mask = False, np.uint64(RADIX - 1)
    width, low_mask = np.uint64(row_bits), (np.uint64(1) << np.uint64(row_bits)) - np.uint64(1)
    for start in range(0, row_bits + place_bits, RADIX_BITS):
        shift = np.uint64(start)
        starts[:] = 0
        for i in range(len(source)):
            packed = (source[i] >> ROW_BITS) << width | (source[i] & low_mask)
            starts[((packed >> shift) & mask) + np.uint64(1)] += 1
        for b in range(RADIX):
            starts[b + 1] += starts[b]
        for i in range(len(source)):
            packed = (source[i] >> ROW_BITS) << width | (source[i] & low_mask)
            digit = (packed >> shift) & mask
            target[starts[digit]] = source[i]
            starts[digit] += 1
        source, target = target, source
        swapped = not swapped
    return swapped
