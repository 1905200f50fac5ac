"""The one way a kernel is compiled: no threads, no fast-math (a replay gives the same bits), cached on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from types import FunctionType
from typing import Any, TypeVar, cast

import numba as nb
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.event import Listener, install_listener
from numba.extending import intrinsic

from cacq.kernels.cache import KernelCache

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""True where the kernels run as plain Python, as the tests do once for each scenario."""


KERNELS: list[Any] = []
"""Every kernel, in the order in which they were defined; plain functions where they are interpreted."""


def kernel(function: Kernel) -> Kernel:
    """Compile a function over arrays, when it first meets their types; it releases the GIL while it runs."""
    compiled: Any = nb.njit(nogil=True)(function)
    if not INTERPRETED:
        with suppress(OSError):  # no source file, no cache
            compiled._cache = KernelCache(cast(FunctionType, function), also=__file__)
    KERNELS.append(compiled)
    return cast(Kernel, compiled)


class Compilations(Listener):
    """Reports each kernel that is about to be compiled: how many are ready, how many there are, its name."""

    def __init__(self, report: Callable[[int, int, str], object]) -> None:
        self._report = report

    def on_start(self, event: Any) -> None:
        """A function is compiled, ours or another's."""
        dispatcher = event.data["dispatcher"]
        if any(dispatcher is kernel for kernel in KERNELS):
            ready = sum(bool(kernel.overloads) for kernel in KERNELS)
            self._report(ready, len(KERNELS), dispatcher.__name__)

    def on_end(self, event: Any) -> None:
        """The next one reports how many are ready."""


def reporting(report: Callable[[int, int, str], object]) -> AbstractContextManager[None]:
    """While it is open, `report` hears of each kernel that is compiled and not found on disk."""
    return cast(AbstractContextManager[None], install_listener("numba:compile", Compilations(report)))


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
