"""How a figure is made: one core, contenders interleaved, five runs, and the checksum of what each put out."""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.workload import Ints

Params = dict[str, int | str]

RUNS = 5


class Contender(Protocol):
    """One way to do the work of a benchmark."""

    case: str

    def run(self) -> None:
        """Do the work; this is timed."""

    def settle(self) -> None:
        """Put things back so that the next run starts alike; not timed."""

    def checksum(self) -> str:
        """Do the work once more and digest its output; not timed."""


@dataclass(frozen=True)
class Row:
    """One figure. `value` is the median of `runs`; `checksum` digests the output that was timed."""

    bench: str
    case: str
    params: Params
    metric: str
    value: float
    unit: str
    runs: list[float]
    checksum: str
    commit: str


class Checksum:
    """A digest of (query, tuple) pairs that does not depend on the order they are added in; tuples are 0 to n - 1."""

    def __init__(self, tuples: int) -> None:
        self._mixed = _mix(np.arange(tuples, dtype=np.uint64))
        self._sum = 0
        self._count = 0

    def add(self, query: int, tuples: Ints) -> None:
        """These tuples are results of this query."""
        weight = int(_mix(np.array([query + (1 << 32)], np.uint64))[0])
        self._sum = (self._sum + weight * int(self._mixed[tuples].sum())) % (1 << 64)
        self._count += len(tuples)

    def __str__(self) -> str:
        return f"{self._sum:016x}-{self._count}"


def _mix(words: Any) -> Any:
    """SplitMix64: neighbouring integers become unrelated words."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def pin_to_one_core() -> None:
    """From here on this process runs on one core, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def interleaved(contenders: Sequence[Contender]) -> dict[str, list[float]]:
    """Seconds of every run of every contender. The first run of each warms up and does not count."""
    seconds: dict[str, list[float]] = {contender.case: [] for contender in contenders}
    for turn in range(RUNS + 1):
        for contender in contenders:
            gc.collect()
            start = time.perf_counter()
            contender.run()
            elapsed = time.perf_counter() - start
            contender.settle()
            if turn:
                seconds[contender.case].append(elapsed)
    return seconds


def agreed_checksum(contenders: Sequence[Contender]) -> str:
    """The checksum of all contenders; an error that names those who disagree with the first, the baseline."""
    sums = {contender.case: contender.checksum() for contender in contenders}
    expected = sums[contenders[0].case]
    wrong = [f"{case} has {found}" for case, found in sums.items() if found != expected]
    if wrong:
        raise SystemExit(f"outputs differ: {contenders[0].case} has {expected}, {', '.join(wrong)}")
    return expected


def row(
    bench: str, case: str, params: dict[str, int | str], metric: str, unit: str, runs: list[float], checksum: str
) -> Row:
    """The figure that these runs give."""
    return Row(bench, case, params, metric, statistics.median(runs), unit, runs, checksum, commit())


@cache
def commit() -> str:
    """The commit that is measured; `+changes` where the checkout differs from it."""
    head = _git("rev-parse", "--short=12", "HEAD")
    return "unknown" if not head else head + ("+changes" if _git("status", "--porcelain") else "")


def _git(*arguments: str) -> str:
    try:
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
