"""For tests of programs that use cacq: a clock that is set by hand, and short ways to feed and collect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cacq.engine import Engine
from cacq.handle import Query


class ManualClock:
    """A clock for `Engine(clock=...)` that only moves when told to."""

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def set(self, microseconds: int) -> None:
        """Show this time from now on."""
        self.now = microseconds

    def advance(self, seconds: float) -> None:
        """Move on."""
        self.now += round(seconds * 1_000_000)


def feed(engine: Engine, stream: str, rows: Iterable[Mapping[str, Any]], batch: int = 0) -> None:
    """Push rows in batches of that many; 0 is all at once."""
    pending = list(rows)
    step = batch or max(1, len(pending))
    for start in range(0, len(pending), step):
        engine.push(stream, pending[start : start + step])


def collect(query: Query) -> list[tuple[int, tuple[Any, ...]]]:
    """What a poll gives, as (sign, row)."""
    deltas = query.poll()
    return list(zip(deltas.op.tolist(), deltas.rows(), strict=True))
