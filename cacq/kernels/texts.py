"""Strings in UTF-8: string i is data[offsets[i]:offsets[i + 1]]. Bytes in order is code points in order.

All kernels that compare strings live here: numba's cache on disk notices a change of this file only.
"""

from __future__ import annotations

from cacq.data.arrays import Bools, Int32s, Ints, Octets, Signs
from cacq.kernels.compiled import kernel


@kernel
def compare_bytes(
    left: Octets, left_start: int, left_stop: int, right: Octets, right_start: int, right_stop: int
) -> int:
    """How two runs of bytes compare; for UTF-8 that is the order of code points."""
    for k in range(min(left_stop - left_start, right_stop - right_start)):
        a, b = left[left_start + k], right[right_start + k]
        if a != b:
            return -1 if a < b else 1
    left_length, right_length = left_stop - left_start, right_stop - right_start
    return 1 if left_length > right_length else (-1 if left_length < right_length else 0)


@kernel
def compare_texts(left_offsets: Ints, left: Octets, right_offsets: Ints, right: Octets, out: Signs) -> None:
    """How strings compare by code point. A side that holds one string stands for every row."""
    left_step = 0 if len(left_offsets) == 2 else 1
    right_step = 0 if len(right_offsets) == 2 else 1
    for i in range(len(out)):
        a, b = i * left_step, i * right_step
        out[i] = compare_bytes(
            left, left_offsets[a], left_offsets[a + 1], right, right_offsets[b], right_offsets[b + 1]
        )


@kernel
def find_texts(offsets: Ints, texts: Octets, member_offsets: Ints, members: Octets, out: Bools) -> None:
    """Whether each string is among the members, which are sorted by code point."""
    for i in range(len(out)):
        low, high = 0, len(member_offsets) - 1
        found = False
        while low < high and not found:
            middle = (low + high) // 2
            order = compare_bytes(
                texts, offsets[i], offsets[i + 1], members, member_offsets[middle], member_offsets[middle + 1]
            )
            found = order == 0
            if order < 0:
                high = middle
            else:
                low = middle + 1
        out[i] = found


@kernel
def intervals_of_texts(
    offsets: Ints, data: Octets, valid: Bools, cut_offsets: Ints, cut_data: Octets, out: Int32s
) -> None:
    """How many cuts lie at or below each string; for NULL one more than there are cuts. `valid` is empty if none is."""
    checked = len(valid) > 0
    count = len(cut_offsets) - 1
    for i in range(len(offsets) - 1):
        if checked and not valid[i]:
            out[i] = count + 1
            continue
        low, high = 0, count
        while low < high:
            middle = (low + high) >> 1
            order = compare_bytes(
                cut_data, cut_offsets[middle], cut_offsets[middle + 1], data, offsets[i], offsets[i + 1]
            )
            if order <= 0:
                low = middle + 1
            else:
                high = middle
        out[i] = low
