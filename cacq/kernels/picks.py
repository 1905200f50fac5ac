"""One query's rows, out of each of the forms in which lineage is held: three kernels for each, with the same arguments.

`held` is the lineage of some adjacent rows; they are counted from 0 here, and `base` is the first one's number outside.
`key` says which query, [start, stop) which of the rows. `count_...` says how many of them the query wants, `fill_...`
writes their numbers, `gather_...` their values; both ascending, and they return how many there were.

- turned: (queries x rows) bits, the key is the query's row of them
- scanned: (rows x queries) bits, the key is the query's bit
- paired: sorted pairs `place << 32 | row`, the key is the query's place

Indices are unsigned in the inner loop: numba's check for negative ones costs as much as the rest of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cacq.data.arrays import Ints, Words
from cacq.kernels.compiled import ONE, ZERO, kernel, popcount, trailing_zeros

ALL, HALF, SHIFT = ~ZERO, np.uint64(0x00000000FFFFFFFF), np.uint64(32)
Array = npt.NDArray[Any]


@kernel
def _between(word: np.uint64, at: int, start: int, stop: int) -> np.uint64:
    """The bits of a word, the first of which stands for row `at`, that stand for a row in [start, stop)."""
    if at < start:
        word &= ALL << np.uint64(start - at)
    if at + 64 > stop:
        word &= ALL >> np.uint64(at + 64 - stop)
    return word


@kernel
def count_turned(held: Words, key: int, start: int, stop: int) -> int:
    """How many."""
    bits, total = held[key], 0
    for w in range(start // 64, (stop + 63) // 64):
        total += popcount(_between(bits[w], w * 64, start, stop))
    return total


@kernel
def fill_turned(held: Words, key: int, start: int, stop: int, base: int, out: Ints) -> int:
    """Their numbers."""
    bits, found = held[key], 0
    for w in range(start // 64, (stop + 63) // 64):
        rest, at = _between(bits[w], w * 64, start, stop), base + w * 64
        while rest != ZERO:
            out[found] = at + trailing_zeros(rest)
            rest &= rest - ONE
            found += 1
    return found


@kernel
def gather_turned(held: Words, key: int, start: int, stop: int, base: int, values: Array, out: Array) -> int:
    """Their values."""
    bits, found = held[key], ZERO
    for w in range(start // 64, (stop + 63) // 64):
        rest, at = _between(bits[w], w * 64, start, stop), np.uint64(base + w * 64)
        while rest != ZERO:
            out[found] = values[at + np.uint64(trailing_zeros(rest))]
            rest &= rest - ONE
            found += ONE
    return int(found)


@kernel
def count_scanned(held: Words, key: int, start: int, stop: int) -> int:
    """How many."""
    total, word, bit = 0, key // 64, ONE << np.uint64(key % 64)
    for i in range(start, stop):
        if held[i, word] & bit != ZERO:
            total += 1
    return total


@kernel
def fill_scanned(held: Words, key: int, start: int, stop: int, base: int, out: Ints) -> int:
    """Their numbers."""
    found, word, bit = 0, key // 64, ONE << np.uint64(key % 64)
    for i in range(start, stop):
        if held[i, word] & bit != ZERO:
            out[found] = base + i
            found += 1
    return found


@kernel
def gather_scanned(held: Words, key: int, start: int, stop: int, base: int, values: Array, out: Array) -> int:
    """Their values."""
    found, word, bit = 0, key // 64, ONE << np.uint64(key % 64)
    for i in range(start, stop):
        if held[i, word] & bit != ZERO:
            out[found] = values[base + i]
            found += 1
    return found


@kernel
def _before(held: Words, bound: np.uint64) -> int:
    """How many of the sorted pairs are less than `bound`."""
    low, high = 0, len(held)
    while low < high:
        middle = (low + high) // 2
        if held[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def count_paired(held: Words, key: int, start: int, stop: int) -> int:
    """How many."""
    first = np.uint64(key) << SHIFT
    return _before(held, first + np.uint64(stop)) - _before(held, first + np.uint64(start))


@kernel
def fill_paired(held: Words, key: int, start: int, stop: int, base: int, out: Ints) -> int:
    """Their numbers."""
    first, found = np.uint64(key) << SHIFT, 0
    at, bound = _before(held, first + np.uint64(start)), first + np.uint64(stop)
    while at + found < len(held) and held[at + found] < bound:
        out[found] = base + np.int64(held[at + found] & HALF)
        found += 1
    return found


@kernel
def gather_paired(held: Words, key: int, start: int, stop: int, base: int, values: Array, out: Array) -> int:
    """Their values."""
    first, found = np.uint64(key) << SHIFT, 0
    at, bound = _before(held, first + np.uint64(start)), first + np.uint64(stop)
    while at + found < len(held) and held[at + found] < bound:
        out[found] = values[base + np.int64(held[at + found] & HALF)]
        found += 1
    return found
