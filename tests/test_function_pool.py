"""Functions in a pool: queues that fill up, work that comes back, threads that end."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cacq
from cacq.data.batch import Batch
from cacq.eddy import pool
from cacq.eddy.pool import MORSEL, QUEUE
from cacq.filters.grouped import GroupedFilter

PATIENCE = 20.0
"""Seconds after which a wait has failed; nothing takes so long."""


class FunctionsFirst:
    """The operator with the function, whenever it is offered."""

    def choose(self, operators: Any, batch: Any) -> int:
        return max(range(len(operators)), key=lambda index: operators[index].calls_functions)


def engine_with(function: Callable[..., Any], workers: int = 2, **options: Any) -> cacq.Engine:
    engine = cacq.Engine(function_workers=workers, **({"policy": FunctionsFirst()} | options))
    engine.create_stream("S", {"a": "int64", "b": "int64"})
    engine.register_function("slow", function, ["int64"], "bool")
    return engine


def rows(count: int) -> dict[str, np.ndarray]:
    return {"a": np.arange(count), "b": np.arange(count) % 100}


def operators(engine: cacq.Engine) -> dict[str, dict[str, Any]]:
    return {operator["name"].split(": ")[-1]: operator for operator in engine.stats()["operators"]}


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("cacq-function")]


def test_once_the_queue_of_a_function_is_full_the_filter_sees_every_tuple_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """
    slow(a)  |m1 m2 m3 m4| full ........................ |survivors of b
    b > 89                |m5 m6 m7 ...            m20| ^ only now does slow return
    """
    count = 20 * MORSEL
    filter_has_seen_the_rest = threading.Event()
    seen_by_filter, called = [], []
    process = GroupedFilter.process

    def watched(self: GroupedFilter, batch: Batch) -> Batch:
        if not self.calls_functions:
            seen_by_filter.extend(batch.rows.tolist())
            if len(seen_by_filter) == count - QUEUE * MORSEL:
                filter_has_seen_the_rest.set()
        return process(self, batch)

    def slow(a: int) -> bool:
        if not filter_has_seen_the_rest.wait(PATIENCE):
            filter_has_seen_the_rest.set()  # one row is enough to wait for
            raise TimeoutError
        called.append(a)
        return a % 2 == 0

    monkeypatch.setattr(GroupedFilter, "process", watched)
    engine = engine_with(slow)
    query = engine.register("SELECT a FROM S WHERE slow(a) AND b > 89")
    engine.push("S", rows(count))
    assert query.error is None
    assert [row[0] for row in query.poll().rows()] == [a for a in range(count) if a % 2 == 0 and a % 100 > 89]
    seen_before_slow_returned = set(seen_by_filter[: count - QUEUE * MORSEL])
    assert len(seen_before_slow_returned) == count - QUEUE * MORSEL
    assert {a for a in called if a in seen_before_slow_returned and a % 100 <= 89} == set()
    listed = operators(engine)
    assert listed["slow(a)"]["queue"] == QUEUE * MORSEL
    assert listed["slow(a)"]["tuples_in"] == len(called)
    assert listed["b"]["queue"] == 0


def test_two_morsels_are_worked_on_at_a_time() -> None:
    meeting = threading.Barrier(2)

    def slow(a: int) -> bool:
        if a % MORSEL == 0:
            meeting.wait(PATIENCE)
        return True

    engine = engine_with(slow)
    query = engine.register("SELECT a FROM S WHERE slow(a)")
    engine.push("S", rows(2 * MORSEL))
    assert (query.state, len(query.poll())) == ("active", 2 * MORSEL)


QUERIES = [
    "SELECT a FROM S WHERE slow(a) AND b > 50",
    "SELECT a, b FROM S WHERE slow(a + b) OR a / (b - 7) > 3",
    "SELECT a FROM S WHERE (slow(a % 17) OR b < 3) AND (slow(b) OR a > 700)",
    "SELECT a FROM S WHERE slow(a - 1) AND a % (b % 5) = 1 AND slow(b / 3 + a)",
]


def picky(a: int) -> bool:
    if a == 977:
        raise ValueError("that one")
    return a % 3 != 0


def answers(workers: int, seed: int, policy: str) -> list[Any]:
    engine = cacq.Engine(policy=policy, seed=seed, function_workers=workers)
    engine.create_stream("S", {"a": "int64", "b": "int64"})
    engine.register_function("slow", picky, ["float64"], "bool")
    queries = engine.register_many(QUERIES)
    for count in (1, 700, 2_000):
        engine.push("S", rows(count))
    return [(query.state, str(query.error), query.poll().rows()) for query in queries]


@pytest.mark.parametrize("policy", ["tickets", "fixed", "random", "back_pressure"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_failures_and_answers_are_those_of_an_engine_without_a_pool(
    workers: int, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "EXPENSIVE", 0.0)
    monkeypatch.setattr(pool, "MORSEL", 64)
    expected = answers(0, 1, "fixed")
    found = answers(workers, workers, policy)
    assert found == expected
    assert expected[0][0] == "parked"


def test_errors_and_skipped_terms_are_counted_as_without_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "EXPENSIVE", 0.0)
    counted = []
    for workers in (0, 3):
        engine = engine_with(lambda a: a % 2 == 0, workers, policy="fixed")
        query = engine.register("SELECT a FROM S WHERE b > 200 OR slow(a % (b - b % 10))")
        engine.register_function("half", lambda a: a / 2, ["float64"], "float64")
        engine.register("SELECT a FROM S WHERE half(a) / (b % 3) > 5")
        engine.push("S", rows(3_000))
        tables = query._stream.tables
        counted.append((tables.errors.counts.tolist(), engine.stats()["terms_skipped"]))
    assert counted[0] == counted[1]
    assert sum(counted[0][0]) > 0


def test_a_function_that_proves_cheap_is_no_longer_sent_to_the_pool() -> None:
    callers = []
    engine = engine_with(lambda a: callers.append(threading.current_thread()) or True)
    engine.register("SELECT a FROM S WHERE slow(a)")
    for _ in range(20):
        engine.push("S", rows(300))
    assert callers[0] is not threading.main_thread()
    assert callers[-1] is threading.main_thread()


def test_an_engine_without_expensive_functions_starts_no_thread() -> None:
    before = threads()
    engine = engine_with(lambda a: True)
    engine.register("SELECT a FROM S WHERE b > 5")
    engine.push("S", rows(1_000))
    assert threads() == before
    plain = engine_with(lambda a: True, workers=0)
    plain.register("SELECT a FROM S WHERE slow(a)")
    plain.push("S", rows(1_000))
    assert threads() == before


def test_the_threads_end_with_their_engine() -> None:
    before = set(threads())
    engine = engine_with(lambda a: True, workers=3)
    engine.register("SELECT a FROM S WHERE slow(a)")
    engine.push("S", rows(10))
    mine = set(threads()) - before
    assert len(mine) == 3
    del engine
    gc.collect()
    for thread in mine:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_an_interrupt_ends_the_push_and_the_next_one_works() -> None:
    interrupting = [True]

    def slow(a: int) -> bool:
        if a == 700 and interrupting[0]:
            raise KeyboardInterrupt
        return True

    engine = engine_with(slow)
    query = engine.register("SELECT a FROM S WHERE slow(a)")
    with pytest.raises(KeyboardInterrupt):
        engine.push("S", rows(3_000))
    assert len(query.poll()) == 0
    assert query._stream.tables.operators[0].account.waiting == 0
    interrupting[0] = False
    engine.push("S", rows(3_000))
    assert len(query.poll()) == 3_000


def test_control_c_ends_a_push_that_waits_for_a_function() -> None:
    """The function sends the signal and then does not return; the push ends all the same."""
    go_on, once = threading.Event(), threading.Lock()

    def slow(a: int) -> bool:
        if once.acquire(blocking=False):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        if not go_on.wait(PATIENCE):
            go_on.set()  # one row is enough to wait for
        return True

    engine = engine_with(slow)
    query = engine.register("SELECT a FROM S WHERE slow(a)")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.push("S", rows(3_000))
    finally:
        signal.signal(signal.SIGINT, before)
    go_on.set()
    engine.push("S", rows(3_000))
    assert len(query.poll()) == 3_000


def test_what_was_on_its_way_when_a_push_ended_changes_nothing() -> None:
    """The policy raises while a worker holds a morsel; the worker finishes during the next push."""
    go_on = threading.Event()

    def slow(a: int) -> bool:
        return go_on.wait(PATIENCE)

    class Moody(FunctionsFirst):
        asked = 0

        def choose(self, operators: Any, batch: Any) -> int:
            self.asked += 1
            if self.asked == 3:
                go_on.set()
                raise RuntimeError("not now")
            return super().choose(operators, batch)

    engine = engine_with(slow, policy=Moody())
    query = engine.register("SELECT a FROM S WHERE slow(a)")
    with pytest.raises(RuntimeError):
        engine.push("S", rows(3_000))
    engine.push("S", rows(1_000))
    assert len(query.poll()) == 1_000
    assert operators(engine)["slow(a)"]["tuples_in"] == 1_000


def test_a_function_in_the_pool_cannot_call_its_engine_back() -> None:
    engine = engine_with(lambda a: engine.push("S", rows(1)) is None)
    query = engine.register("SELECT a FROM S WHERE slow(a)")
    engine.push("S", rows(1_000))
    assert "middle of a push" in str(query.error)
