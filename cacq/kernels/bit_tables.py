"""Filling the table of a grouped filter: a row of bits for each elementary interval."""

from __future__ import annotations

from cacq.data.arrays import Ints, Words
from cacq.kernels.compiled import kernel


@kernel
def flip(table: Words, rows: Ints, words: Ints, bits: Words) -> None:
    """Toggle bit `bits[i]` of `table[rows[i], words[i]]` and of all rows below it in the sweep that follows."""
    for i in range(len(rows)):
        table[rows[i], words[i]] ^= bits[i]


@kernel
def sweep(table: Words, count: int) -> None:
    """Rows 0 to count - 1: each becomes itself XOR all rows before it, so a flip holds from its row on."""
    for row in range(1, count):
        for word in range(table.shape[1]):
            table[row, word] ^= table[row - 1, word]
