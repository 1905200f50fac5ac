"""From (tuples x queries) to each query's tuples, and sorted pairs of a query's place and a tuple."""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.kernels.compiled import ONE, ZERO, kernel, popcount, trailing_zeros

HALF = np.uint64(0x00000000FFFFFFFF)
SHIFT = np.uint64(32)
LINE = 8
"""Words in a line of the cache: so many are read together, and turned together. With 10,000 queries 160 ns for 64 x 64
bits, against 430 ns one word at a time."""


@kernel
def _load(live: Words, at: int, line: int, block: Words) -> int:
    """A line of the words of 64 tuples into `block`, from tuple `at` on, zeros where there is none; how many words."""
    words: int = min(LINE, live.shape[1] - line)
    first, last = max(0, -at), min(64, live.shape[0] - at)
    if words < LINE or last - first < 64:
        block[:] = ZERO
    if words == LINE:
        for k in range(first, last):
            for j in range(LINE):
                block[k * LINE + j] = live[at + k, line + j]
    else:
        for k in range(first, last):
            for j in range(words):
                block[k * LINE + j] = live[at + k, line + j]
    return words


@kernel
def _swap(block: Words, width: int, mask: np.uint64) -> None:
    """Exchange the halves of each 2 width x 2 width square of bits that lie off its diagonal."""
    span, shift = width * LINE, np.uint64(width)
    for group in range(0, 64 * LINE, 2 * span):
        low, high = block[group : group + span], block[group + span : group + 2 * span]
        for k in range(span):
            swapped = ((low[k] >> shift) ^ high[k]) & mask
            low[k] ^= swapped << shift
            high[k] ^= swapped


@kernel
def _turn(block: Words) -> None:
    """Transpose 64 x 64 bits (Hacker's Delight 7-3), a line of such squares at once so that it goes in vectors."""
    _swap(block, 32, np.uint64(0x00000000FFFFFFFF))
    _swap(block, 16, np.uint64(0x0000FFFF0000FFFF))
    _swap(block, 8, np.uint64(0x00FF00FF00FF00FF))
    _swap(block, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
    _swap(block, 2, np.uint64(0x3333333333333333))
    _swap(block, 1, np.uint64(0x5555555555555555))


@kernel
def transpose(live: Words, first: int, out: Words) -> None:
    """out[q, b] gets bit q of the tuples 64 b to 64 b + 63, where the tuples of `live` are `first` and those after it.

    `out` holds zeros, and the tuples before `first` if they have been turned already.
    """
    block = np.empty(64 * LINE, np.uint64)
    last = (first + live.shape[0] - 1) // 64
    for line in range(0, live.shape[1], LINE):
        for b in range(first // 64, last + 1):
            words = _load(live, b * 64 - first, line, block)
            _turn(block)
            if b * 64 >= first:
                for j in range(words):
                    for k in range(64):
                        out[(line + j) * 64 + k, b] = block[k * LINE + j]
            else:
                for j in range(words):
                    for k in range(64):
                        out[(line + j) * 64 + k, b] |= block[k * LINE + j]


@kernel
def count_columns(live: Words, out: Ints) -> None:
    """Add to out[q] how many tuples have bit q."""
    block = np.empty(64 * LINE, np.uint64)
    for line in range(0, live.shape[1], LINE):
        for at in range(0, live.shape[0], 64):
            words = _load(live, at, line, block)
            _turn(block)
            for j in range(words):
                for k in range(64):
                    out[(line + j) * 64 + k] += popcount(block[k * LINE + j])


@kernel
def count_rows(bits: Words, out: Ints) -> None:
    """Add to each entry how many bits are set in that row."""
    for q in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            out[q] += popcount(bits[q, w])


@kernel
def _between(word: np.uint64, at: int, start: int, stop: int) -> np.uint64:
    """The bits of a word, the first of which stands at position `at`, that stand in [start, stop)."""
    if at < start:
        word &= ~ZERO << np.uint64(start - at)
    if at + 64 > stop:
        word &= ~ZERO >> np.uint64(at + 64 - stop)
    return word


@kernel
def positions(bits: Words, start: int, stop: int, base: int, out: Ints) -> int:
    """The positions in [start, stop) of the set bits, ascending, each plus `base`; returns how many."""
    found = 0
    if start < stop:
        for w in range(start // 64, (stop + 63) // 64):
            rest = _between(bits[w], w * 64, start, stop)
            while rest != ZERO:
                out[found] = base + w * 64 + trailing_zeros(rest)
                found += 1
                rest &= rest - ONE
    return found


@kernel
def count(bits: Words, start: int, stop: int) -> int:
    """How many bits are set in [start, stop)."""
    total = 0
    if start < stop:
        for w in range(start // 64, (stop + 63) // 64):
            total += popcount(_between(bits[w], w * 64, start, stop))
    return total


@kernel
def scan(live: Words, slot: int, start: int, stop: int, base: int, out: Ints) -> int:
    """The tuples in [start, stop) that have bit `slot`, ascending, each plus `base`; returns how many."""
    found, word, bit = 0, slot // 64, ONE << np.uint64(slot % 64)
    for i in range(start, stop):
        if live[i, word] & bit != ZERO:
            out[found] = base + i
            found += 1
    return found


@kernel
def count_scan(live: Words, slot: int, start: int, stop: int) -> int:
    """How many tuples in [start, stop) have bit `slot`."""
    found, word, bit = 0, slot // 64, ONE << np.uint64(slot % 64)
    for i in range(start, stop):
        if live[i, word] & bit != ZERO:
            found += 1
    return found


@kernel
def _before(pairs: Words, bound: np.uint64) -> int:
    """How many of the sorted pairs are less than `bound`."""
    low, high = 0, len(pairs)
    while low < high:
        middle = (low + high) // 2
        if pairs[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def count_pairs(pairs: Words, place: int, start: int, stop: int) -> int:
    """How many tuples in [start, stop) stand beside `place` in the sorted pairs `place << 32 | tuple`."""
    key = np.uint64(place) << SHIFT
    return _before(pairs, key + np.uint64(stop)) - _before(pairs, key + np.uint64(start))


@kernel
def find_pairs(pairs: Words, place: int, start: int, stop: int, base: int, out: Ints) -> int:
    """The tuples in [start, stop) that stand beside `place`, ascending, each plus `base`; returns how many."""
    key = np.uint64(place) << SHIFT
    first = _before(pairs, key + np.uint64(start))
    found = 0
    while first + found < len(pairs) and pairs[first + found] < key + np.uint64(stop):
        out[found] = base + np.int64(pairs[first + found] & HALF)
        found += 1
    return found


@kernel
def tally_pairs(pairs: Words, out: Ints) -> None:
    """Add to each place's entry how many pairs it has."""
    for k in range(len(pairs)):
        out[np.int64(pairs[k] >> SHIFT)] += 1
