"""The bits of all queries as a function of an ordered key: rows of bits at checkpoints, single flips in between.

Block 0 begins below every key, block b + 1 begins at `bounds[b]`. `rows[b]` is the row of the matrix that holds the
bits at the beginning of block b. A *flip* changes one bit from its cut on. The flips inside block b, those that lie
between checkpoints, stand in slab `slabs[b]` (-1: there are none), ascending by cut. A flip's code is 64 x column +
bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cacq.data.arrays import Bools, Int32s, Ints, Words
from cacq.kernels.compiled import ONE, kernel

SIGN = np.uint64(1 << 63)
"""With this bit changed, keys as unsigned numbers have the order of the keys, so no difference wraps around."""


@kernel
def build_directory(bounds: Ints, shift: int, out: Int32s) -> None:
    """`out[j]` is how many bounds lie below bucket j, which begins at `bounds[0] + (j << shift)`."""
    bucket = 0
    for b in range(len(bounds)):
        mine = np.int64(((np.uint64(bounds[b]) ^ SIGN) - (np.uint64(bounds[0]) ^ SIGN)) >> np.uint64(shift))
        while bucket <= mine:
            out[bucket] = b
            bucket += 1
    while bucket < len(out):
        out[bucket] = len(bounds)
        bucket += 1


@kernel
def block_of(key: Any, bounds: Ints, shift: int, directory: Int32s) -> Any:
    """How many bounds are at or below the key."""
    if len(bounds) == 0 or key < bounds[0]:
        return 0
    bucket = ((np.uint64(key) ^ SIGN) - (np.uint64(bounds[0]) ^ SIGN)) >> np.uint64(shift)
    if bucket >= np.uint64(len(directory) - 1):
        return len(bounds)
    low, high = np.int64(directory[np.int64(bucket)]), np.int64(directory[np.int64(bucket) + 1])
    while low < high:
        middle = (low + high) >> 1
        if bounds[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def locate(
    keys: Ints, valid: Bools, bounds: Ints, shift: int, directory: Int32s, rows: Int32s, null_row: int, out: Int32s
) -> None:
    """The row of bits of each key where no block holds flips. An empty `valid` means that no key is NULL."""
    if shift == 0 and len(bounds) > 0:
        # Every key has a bucket of its own, so the directory knows the block without a search.
        first, last = np.uint64(bounds[0]) ^ SIGN, np.uint64(len(directory) - 2)
        for i in range(len(keys)):
            bucket = min((np.uint64(max(keys[i], bounds[0])) ^ SIGN) - first, last)
            out[i] = rows[0] if keys[i] < bounds[0] else rows[directory[np.int64(bucket) + 1]]
    else:
        for i in range(len(keys)):
            out[i] = rows[block_of(keys[i], bounds, shift, directory)]
    for i in range(len(valid)):
        if not valid[i]:
            out[i] = null_row


@kernel
def narrow_between(
    lineage: Words, keys: Ints, blocks: Ints, rows: Int32s, slabs: Int32s, cuts: Ints, codes: Int32s, matrix: Words
) -> None:
    """AND the bits that hold at each key into the lineage; a block below 0 is row ~block, without flips."""
    width = lineage.shape[1]
    scratch = np.empty(width, np.uint64)
    for i in range(len(keys)):
        mine, block = lineage[i], blocks[i]
        row = matrix[rows[block] if block >= 0 else ~block]
        slab = slabs[block] if block >= 0 else -1
        if slab < 0:
            for w in range(width):
                mine[w] &= row[w]
            continue
        for w in range(width):
            scratch[w] = row[w]
        for k in range(cuts.shape[1]):
            if codes[slab, k] < 0 or cuts[slab, k] > keys[i]:
                break
            scratch[codes[slab, k] >> 6] ^= ONE << np.uint64(codes[slab, k] & 63)
        for w in range(width):
            mine[w] &= scratch[w]


@kernel
def toggle(matrix: Words, rows: Int32s, start: int, code: int) -> None:
    """Change one bit in the rows of all blocks from `start` on."""
    column, bit = code >> 6, ONE << np.uint64(code & 63)
    for b in range(start, len(rows)):
        matrix[rows[b], column] ^= bit


@kernel
def scatter(matrix: Words, rows: Int32s, blocks: Ints, codes: Int32s) -> None:
    """Change the bit `codes[i]` in the row of block `blocks[i]`; a `sweep` carries it on to the blocks behind."""
    for i in range(len(blocks)):
        matrix[rows[blocks[i]], codes[i] >> 6] ^= ONE << np.uint64(codes[i] & 63)


@kernel
def sweep(matrix: Words, rows: Int32s, width: int) -> None:
    """Each block's row becomes itself XOR the rows of all blocks before it."""
    for b in range(1, len(rows)):
        mine, before = matrix[rows[b]], matrix[rows[b - 1]]
        for w in range(width):
            mine[w] ^= before[w]


@kernel
def insert_flip(cuts: Ints, codes: Int32s, cut: int, code: int) -> Any:
    """Put a flip into its place in a slab; False if the slab is full. Unused places have code -1."""
    last = len(cuts) - 1
    if codes[last] >= 0:
        return False
    while last > 0 and (codes[last - 1] < 0 or cuts[last - 1] > cut):
        cuts[last], codes[last] = cuts[last - 1], codes[last - 1]
        last -= 1
    cuts[last], codes[last] = cut, code
    return True


@kernel
def remove_flip(cuts: Ints, codes: Int32s, cut: int, code: int) -> Any:
    """Take a flip out of a slab; False if it is not there."""
    at = 0
    while at < len(cuts) and (cuts[at] != cut or codes[at] != code):
        at += 1
    if at == len(cuts):
        return False
    while at + 1 < len(cuts) and codes[at + 1] >= 0:
        cuts[at], codes[at] = cuts[at + 1], codes[at + 1]
        at += 1
    codes[at] = -1
    return True
