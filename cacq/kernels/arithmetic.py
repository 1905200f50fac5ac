"""Integer arithmetic that says where it does not fit into 64 bits. No step here ever wraps around."""

from __future__ import annotations

from typing import Any

import numpy as np

from cacq.data.arrays import Bools, Ints
from cacq.kernels.compiled import kernel

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
UNSIGNED_ONE = np.uint64(1)
LARGEST_MAGNITUDE = np.uint64(INT64_MAX)

ADD, SUBTRACT, MULTIPLY, REMAINDER = 0, 1, 2, 3


@kernel
def checked_sum(left: Any, right: Any) -> tuple[Any, Any]:
    """`left + right`, and whether it overflows."""
    overflow = left > INT64_MAX - right if right > 0 else left < INT64_MIN - right
    return (0 if overflow else left + right), overflow


@kernel
def checked_difference(left: Any, right: Any) -> tuple[Any, Any]:
    """`left - right`, and whether it overflows."""
    overflow = left > INT64_MAX + right if right < 0 else left < INT64_MIN + right
    return (0 if overflow else left - right), overflow


@kernel
def magnitude(value: Any) -> Any:
    """The absolute value as uint64, which holds that of INT64_MIN too."""
    return np.uint64(value) if value >= 0 else np.uint64(-(value + 1)) + UNSIGNED_ONE


@kernel
def checked_product(left: Any, right: Any) -> tuple[Any, Any]:
    """`left * right`, and whether it overflows."""
    # The rounded product is within 2**12 of the exact one as long as that fits, so only large ones need a division.
    if abs(float(left) * float(right)) < 2.0**62:
        return left * right, False
    limit = LARGEST_MAGNITUDE + UNSIGNED_ONE if (left < 0) != (right < 0) else LARGEST_MAGNITUDE
    overflow = magnitude(left) > limit // magnitude(right)
    return (0 if overflow else left * right), overflow


@kernel
def truncated_remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend, as in C; the divisor is not 0."""
    if right == -1:
        return left - left  # INT64_MIN % -1 traps on some machines
    remainder = left % right
    return remainder - right if remainder != 0 and (left < 0) != (right < 0) else remainder


@kernel
def checked_integers(operator: int, left: Ints, right: Ints, out: Ints, bad: Bools) -> None:
    """`left operator right` for each row; `bad` where it overflows or divides by zero (`out` is 0 there).

    A side of length 1 stands for the same value in every row.
    """
    left_step = 0 if len(left) == 1 else 1
    right_step = 0 if len(right) == 1 else 1
    if operator == ADD:
        for i in range(len(out)):
            out[i], bad[i] = checked_sum(left[i * left_step], right[i * right_step])
    elif operator == SUBTRACT:
        for i in range(len(out)):
            out[i], bad[i] = checked_difference(left[i * left_step], right[i * right_step])
    elif operator == MULTIPLY:
        for i in range(len(out)):
            out[i], bad[i] = checked_product(left[i * left_step], right[i * right_step])
    else:
        for i in range(len(out)):
            divisor = right[i * right_step]
            bad[i] = divisor == 0
            out[i] = 0 if divisor == 0 else truncated_remainder(left[i * left_step], divisor)
