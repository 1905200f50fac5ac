"""Order of values: -1, 0 or 1 for each row. NaN equals NaN and is greater than every other number."""

from __future__ import annotations

from typing import Any

import numpy as np

from cacq.data.arrays import Floats, Ints, Signs
from cacq.kernels.compiled import kernel

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
