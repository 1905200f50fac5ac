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
Goal = float | tuple[str, float] | None
"""What a figure should reach: at least a number, `("<=", number)` for at most it, or None where nothing was asked."""

RUNS = 5
PAGE = os.sysconf("SC_PAGE_SIZE")


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
    """One figure. `value` is the median of `runs` (for a percentile or a maximum: over all of them together);
    `checksum` digests the output that was timed."""

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

    def add_pairs(self, queries: Ints, tuples: Ints) -> None:
        """Each of these tuples is a result of the query at the same place."""
        weights = _mix(np.asarray(queries).astype(np.uint64) + np.uint64(1 << 32))
        self._sum = (self._sum + int((weights * self._mixed[tuples]).sum(dtype=np.uint64))) % (1 << 64)
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
    bench: str,
    case: str,
    params: Params,
    metric: str,
    unit: str,
    runs: list[float],
    checksum: str,
    value: float | None = None,
) -> Row:
    """The figure that these runs give: their median, or the value that is said to be it."""
    value = statistics.median(runs) if value is None else value
    return Row(bench, case, params, metric, float(value), unit, [float(run) for run in runs], checksum, commit())


def throughput(bench: str, case: str, params: Params, seconds: Sequence[float], checksum: str) -> Row:
    """Tuples a second; `params` says how many tuples a run had."""
    rates = [int(params["tuples"]) / elapsed for elapsed in seconds]
    return row(bench, case, params, "throughput", "tuples/s", rates, checksum)


def ratio(mine: Row, theirs: Row) -> Row:
    """How many times faster one figure is than the other, run by run."""
    pairs = [a / b for a, b in zip(mine.runs, theirs.runs, strict=True)]
    return row(mine.bench, f"{mine.case} / {theirs.case}", mine.params, "ratio", "x", pairs, mine.checksum)


def resident_bytes() -> int:
    """What this process has in memory now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * PAGE


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
