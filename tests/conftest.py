"""Fixtures that several modules share: engines over every policy, ways to feed them, DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from tests.oracle.duck import Duck

if TYPE_CHECKING:
    import cacq
    from cacq.testing import ManualClock

Feed = Callable[["cacq.Engine", str, Sequence[Mapping[str, Any]]], None]


@pytest.fixture
def clock() -> ManualClock:
    """A clock in the test's hands."""
    from cacq.testing import ManualClock

    return ManualClock()


ENGINES: dict[str, dict[str, Any]] = {
    "tickets": {"policy": "tickets"},
    "random": {"policy": "random"},
    "fixed": {"policy": "fixed"},
    "back_pressure": {"policy": "back_pressure"},
    "pool": {"policy": "back_pressure", "function_workers": 2},
}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, clock: ManualClock) -> cacq.Engine:
    """An empty engine, once for each routing policy and once with a pool for functions."""
    import cacq

    return cacq.Engine(clock=clock, **ENGINES[request.param])


@pytest.fixture
def flowing(engine: cacq.Engine) -> cacq.Engine:
    """An engine with one stream S(a, b, ts)."""
    engine.create_stream("S", {"a": "int64", "b": "int64", "ts": "timestamp"}, timestamp="ts")
    return engine


@pytest.fixture(params=["whole", "one by one", "in threes"])
def feed(request: pytest.FixtureRequest) -> Feed:
    """Pushes a list of dicts as one record, row by row, or three rows at a time: for answers that may not care."""

    def push(engine: cacq.Engine, stream: str, rows: Sequence[Mapping[str, Any]]) -> None:
        size = {"whole": max(len(rows), 1), "one by one": 1, "in threes": 3}[request.param]
        for first in range(0, len(rows), size):
            engine.push(stream, list(rows[first : first + size]))

    return push


@pytest.fixture(scope="session")
def quacking() -> Duck:
    """One DuckDB connection for a whole worker."""
    return Duck()
