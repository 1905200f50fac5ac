"""The one way a kernel is compiled: no threads, no fast-math (a replay gives the same bits), cached on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba as nb
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""True where the kernels run as plain Python, as the tests do once for each scenario."""


def kernel(function: Kernel) -> Kernel:
    """Compile a function over arrays; it releases the GIL while it runs."""
    return cast(Kernel, nb.njit(nogil=True, cache=True)(function))


if INTERPRETED:

    def trailing_zeros(word: Any) -> int:
        """Index of the lowest set bit; undefined for 0."""
        return (int(word) & -int(word)).bit_length() - 1

    def popcount(word: Any) -> int:
        """How many bits are set."""
        return int(word).bit_count()

else:

    @intrinsic
    def trailing_zeros(typing_context: Any, word: Any) -> Any:
        """Index of the lowest set bit; undefined for 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), generate

    @intrinsic
    def popcount(typing_context: Any, word: Any) -> Any:
        """How many bits are set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate


ZERO, ONE = np.uint64(0), np.uint64(1)
