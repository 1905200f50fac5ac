"""From (tuples x queries) to each query's tuples."""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.kernels.compiled import ONE, ZERO, kernel, popcount, trailing_zeros

HALF = np.uint64(0x00000000FFFFFFFF)


@kernel
def transpose(live: Words, out: Words) -> None:
    """out[q, b] holds bit q of the tuples 64 b to 64 b + 63; 64 x 64 bits at a time (Hacker's Delight 7-3)."""
    block = np.empty(64, np.uint64)
    tuples = live.shape[0]
    for b in range(out.shape[1]):
        for w in range(live.shape[1]):
            any_bit = ZERO
            for k in range(64):
                block[k] = live[b * 64 + k, w] if b * 64 + k < tuples else ZERO
                any_bit |= block[k]
            if any_bit == ZERO:
                continue
            width, mask = 32, HALF
            while width != 0:
                k = 0
                while k < 64:
                    swapped = ((block[k] >> np.uint64(width)) ^ block[k + width]) & mask
                    block[k] ^= swapped << np.uint64(width)
                    block[k + width] ^= swapped
                    k = (k + width + 1) & ~width
                width >>= 1
                mask ^= mask << np.uint64(width)
            for k in range(64):
                out[w * 64 + k, b] = block[k]


@kernel
def positions(bits: Words, out: Ints) -> int:
    """The positions of the set bits, ascending; returns how many."""
    found = 0
    for w in range(len(bits)):
        rest = bits[w]
        while rest != ZERO:
            out[found] = w * 64 + trailing_zeros(rest)
            found += 1
            rest &= rest - ONE
    return found


@kernel
def count(bits: Words) -> int:
    """How many bits are set."""
    total = 0
    for w in range(len(bits)):
        total += popcount(bits[w])
    return total


@kernel
def count_rows(bits: Words, out: Ints) -> None:
    """Add to each entry how many bits are set in that row."""
    for q in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            out[q] += popcount(bits[q, w])
