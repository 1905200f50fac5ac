"""Whatever is handed to the engine, a wrong argument gets an error of cacq's own and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import cacq

SCHEMA = {"a": "int64"}
CALLS: dict[str, Callable[[cacq.Engine], Any]] = {
    "a query that is no text": lambda e: e.register(None),
    "a query in bytes": lambda e: e.register(b"SELECT a FROM S"),
    "many queries as one text": lambda e: e.register_many("SELECT a FROM S"),
    "many queries that are none": lambda e: e.register_many(None),
    "one number among many queries": lambda e: e.register_many(["SELECT a FROM S", 5]),
    "a wrong query among many": lambda e: e.register_many(["SELECT a FROM S", "SELECT z FROM S"]),
    "an empty name": lambda e: e.register("SELECT a FROM S", name=""),
    "a name in use": lambda e: e.register("SELECT a FROM S", name="taken"),
    "the id of another query as a name": lambda e: e.register("SELECT a FROM S", name="id-1"),
    "materialize without a window": lambda e: e.register("SELECT a FROM S", materialize=True),
    "a stream without a name": lambda e: e.create_stream("", SCHEMA),
    "a stream without columns": lambda e: e.create_stream("T", {}),
    "a schema in a list": lambda e: e.create_stream("T", [("a", "int64")]),
    "an unknown type": lambda e: e.create_stream("T", {"a": "int32"}),
    "half a character in a column": lambda e: e.create_stream("T", {"\ud800": "int64"}),
    "a timestamp that is no column": lambda e: e.create_stream("T", SCHEMA, timestamp="ts"),
    "a timestamp that is a list": lambda e: e.create_stream("T", SCHEMA, timestamp=[]),
    "negative lateness": lambda e: e.create_stream("T", SCHEMA, lateness=-1),
    "endless lateness": lambda e: e.create_stream("T", SCHEMA, lateness=float("inf")),
    "a flow without a name": lambda e: e.create_stream("T", SCHEMA, flow=None),
    "a stream with another definition": lambda e: e.create_stream("S", {"a": "float64"}),
    "a push to no stream": lambda e: e.push("T", {"a": [1]}),
    "a push to a list": lambda e: e.push([], {"a": [1]}),
    "an advance to no time": lambda e: e.advance("S", "tomorrow"),
    "an explanation of nothing": lambda e: e.explain(None),
    "cancelling a name": lambda e: e.cancel("taken"),
    "a function without a name": lambda e: e.register_function("", abs, ["int64"], "int64"),
    "a function of the language": lambda e: e.register_function("count", abs, ["int64"], "int64"),
    "a function that cannot be called": lambda e: e.register_function("f", 5, ["int64"], "int64"),
    "arguments that are no list": lambda e: e.register_function("f", abs, "int64", "int64"),
    "a function of unknown type": lambda e: e.register_function("f", abs, ["int64"], "integer"),
    "vectorized by a word": lambda e: e.register_function("f", abs, ["int64"], "int64", vectorized="yes"),
    "an unknown policy": lambda e: cacq.Engine(policy="best"),
    "workers that are no number": lambda e: cacq.Engine(function_workers="two"),
    "fewer workers than none": lambda e: cacq.Engine(function_workers=-1),
    "a policy that cannot choose": lambda e: cacq.Engine(policy=5),
    "a seed that is a list": lambda e: cacq.Engine(seed=[]),
    "a negative budget": lambda e: cacq.Engine(retain_bytes=-1),
    "a memory limit, which comes later": lambda e: cacq.Engine(memory_bytes=1 << 30),
    "a lineage that does not exist": lambda e: cacq.Engine(lineage="thin"),
    "a clock that is a number": lambda e: cacq.Engine(clock=5),
    "the snapshot of an unbounded query": lambda e: e.register("SELECT a FROM S").snapshot(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_wrong_argument_gets_a_clear_error(call: Callable[[cacq.Engine], Any]) -> None:
    engine = cacq.Engine()
    engine.create_stream("S", SCHEMA)
    query = engine.register("SELECT a FROM S", name="taken")
    with pytest.raises(cacq.CacqError) as caught:
        call(engine)
    assert caught.value.message
    engine.push("S", {"a": [1]})
    assert query.poll().rows() == [(1,)]


@pytest.mark.parametrize("now", [None, "x", float("nan"), 2**70, True])
def test_a_broken_clock_refuses_the_push_and_the_next_one_works(now: object) -> None:
    times = [now, 5]
    engine = cacq.Engine(clock=lambda: times.pop(0))  # type: ignore[arg-type, return-value]
    engine.create_stream("S", SCHEMA)
    query = engine.register("SELECT a FROM S")
    with pytest.raises(cacq.OptionError):
        engine.push("S", {"a": [1]})
    engine.push("S", {"a": [2]})
    assert query.poll().ts.tolist() == [5]


@pytest.mark.parametrize("choice", [5, -1, None, "x"])
def test_a_policy_that_chooses_nothing_refuses_the_push(choice: object) -> None:
    class Odd:
        def choose(self, operators: object, batch: object) -> object:
            return choice

    engine = cacq.Engine(policy=Odd())  # type: ignore[arg-type]
    engine.create_stream("S", SCHEMA)
    query = engine.register("SELECT a FROM S WHERE a > 0")
    with pytest.raises(cacq.OptionError):
        engine.push("S", {"a": [1]})
    assert (query.results, engine.stats()["sources"]["S"]["tuples"]) == (0, 0)


def test_a_user_function_cannot_call_its_engine_back() -> None:
    engine = cacq.Engine()
    engine.create_stream("S", SCHEMA)
    engine.register_function("again", lambda a: engine.push("S", {"a": [a]}) is None, ["int64"], "bool")
    query = engine.register("SELECT a FROM S WHERE again(a)")
    engine.push("S", {"a": [1]})
    assert query.state == "parked"
    assert "middle of a push" in str(query.error)


def test_results_do_not_keep_the_memory_around_a_slice() -> None:
    engine = cacq.Engine()
    engine.create_stream("S", SCHEMA)
    query = engine.register("SELECT a FROM S")
    table = pa.table({"a": pa.array(range(500_000), pa.int64())})
    before = pa.total_allocated_bytes()
    engine.push("S", table.slice(10, 1))
    del table
    assert pa.total_allocated_bytes() < before - 3_000_000
    assert query.poll().rows() == [(10,)]
