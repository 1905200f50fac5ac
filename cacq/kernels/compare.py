"""Order of values: -1, 0 or 1 for each row. NaN equals NaN and is greater than every other number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cacq.data.arrays import Bools, Floats, Ints, Octets
from cacq.kernels.compiled import kernel

Signs = npt.NDArray[np.int8]

BEYOND_INT64 = 2.0**63


@kernel
def compare_floats(left: Floats, right: Floats, out: Signs) -> None:
    """How `left` compares with `right`. A side of length 1 stands for the same value in every row."""
    left_step = 0 if len(left) == 1 else 1
    right_step = 0 if len(right) == 1 else 1
    for i in range(len(out)):
        a, b = left[i * left_step], right[i * right_step]
        if a < b or (b != b and a == a):
            out[i] = -1
        else:
            out[i] = 1 if a > b or (a != a and b == b) else 0


@kernel
def compare_integer_with_float(whole: Any, number: Any) -> int:
    """How the exact values of an int64 and a float64 compare."""
    rounded = float(whole)
    if rounded < number or number != number:
        return -1
    if rounded > number:
        return 1
    # Rounding keeps the order, so only here, where `number` is the integer that `whole` was rounded to, can it deceive.
    if number >= BEYOND_INT64:
        return -1
    exact = np.int64(number)
    return 1 if whole > exact else (-1 if whole < exact else 0)


@kernel
def compare_integers_with_floats(left: Ints, right: Floats, out: Signs) -> None:
    """How int64 `left` compares with float64 `right`, exactly. A side of length 1 stands for every row."""
    left_step = 0 if len(left) == 1 else 1
    right_step = 0 if len(right) == 1 else 1
    for i in range(len(out)):
        out[i] = compare_integer_with_float(left[i * left_step], right[i * right_step])


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
