"""From (tuples x queries) to (queries x tuples), and how many tuples each query has."""

from __future__ import annotations

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.kernels.compiled import ZERO, kernel, popcount

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
    theirs = live[at + first : at + last, line : line + words]
    if words == LINE:
        for k in range(last - first):
            for j in range(LINE):
                block[(first + k) * LINE + j] = theirs[k, j]
    else:
        for k in range(last - first):
            for j in range(words):
                block[(first + k) * LINE + j] = theirs[k, j]
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
def tally_pairs(pairs: Words, out: Ints) -> None:
    """Add to each place's entry how many pairs it has."""
    for k in range(len(pairs)):
        out[np.int64(pairs[k] >> SHIFT)] += 1
