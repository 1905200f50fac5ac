"""User-defined functions in predicates: what they see, and what becomes of a query whose function fails."""

from __future__ import annotations

import cacq
from tests.conftest import Feed
from tests.test_scenarios import rows, shown


def fails_on_13(value: int) -> bool:
    if value == 13:
        raise ValueError("unlucky")
    return value > 0


def test_a_function_that_raises_parks_only_the_queries_that_use_it(flowing: cacq.Engine) -> None:
    flowing.register_function("lucky", fails_on_13, args=["int64"], returns="bool")
    broken = flowing.register("SELECT a FROM S WHERE lucky(a)")
    healthy = flowing.register("SELECT a FROM S WHERE a > 0")
    flowing.push("S", rows(1, 2))
    flowing.push("S", rows(3, 13, 4))
    flowing.push("S", rows(5))
    assert (broken.state, healthy.state) == ("parked", "active")
    assert "unlucky" in str(broken.error)
    assert healthy.error is None
    assert shown(broken) == [1, 2, 3]
    assert shown(healthy) == [1, 2, 3, 13, 4, 5]


def test_where_the_input_is_cut_does_not_change_what_a_parked_query_delivered(flowing: cacq.Engine, feed: Feed) -> None:
    flowing.register_function("lucky", fails_on_13, args=["int64"], returns="bool")
    query = flowing.register("SELECT a FROM S WHERE lucky(a) AND b < 0")
    feed(flowing, "S", rows(1, 2, 3, 13, 4, 5))
    assert (shown(query), query.state, query.results) == ([1, 2, 3], "parked", 3)


def test_a_function_does_not_park_a_query_over_a_row_that_needs_no_call(flowing: cacq.Engine, feed: Feed) -> None:
    flowing.register_function("lucky", fails_on_13, args=["int64"], returns="bool")
    rejected = flowing.register("SELECT a FROM S WHERE lucky(a) AND a < 10")
    accepted = flowing.register("SELECT a FROM S WHERE lucky(a) OR a > 10")
    feed(flowing, "S", rows(1, 13, 4))
    assert (rejected.state, accepted.state) == ("active", "active")
    assert (shown(rejected), shown(accepted)) == ([1, 4], [1, 13, 4])


def test_a_parked_query_can_be_cancelled_and_its_name_used_again(flowing: cacq.Engine) -> None:
    flowing.register_function("lucky", fails_on_13, args=["int64"], returns="bool")
    query = flowing.register("SELECT a FROM S WHERE lucky(a)", name="again")
    flowing.push("S", rows(13))
    query.cancel()
    again = flowing.register("SELECT a FROM S WHERE lucky(a)", name="again")
    flowing.push("S", rows(1))
    assert (again.state, shown(again), shown(query)) == ("active", [1], [])


def test_a_function_sees_none_for_null_and_may_return_it(flowing: cacq.Engine) -> None:
    flowing.register_function(
        "small", lambda value: None if value is None else value < 5, args=["int64"], returns="bool"
    )
    yes, no = flowing.register_many(["SELECT ts FROM S WHERE small(a)", "SELECT ts FROM S WHERE NOT small(a)"])
    flowing.push("S", {"a": [1, None, 9], "b": [0, 0, 0], "ts": [1, 2, 3]})
    assert (shown(yes), shown(no)) == ([1], [3])


def test_a_vectorized_function_gets_arrays(flowing: cacq.Engine) -> None:
    flowing.register_function(
        "apart", lambda a, b: abs(a - b) > 3, args=["int64", "int64"], returns="bool", vectorized=True
    )
    query = flowing.register("SELECT a FROM S WHERE apart(a, b) AND a > 0")
    flowing.push("S", rows(1, 2, 3))
    assert shown(query) == [2, 3]


def test_a_function_that_returns_another_type_parks_its_queries(flowing: cacq.Engine) -> None:
    flowing.register_function("odd", lambda value: "yes", args=["int64"], returns="bool")
    query = flowing.register("SELECT a FROM S WHERE odd(a)")
    flowing.push("S", rows(1))
    assert query.state == "parked"
    assert isinstance(query.error, cacq.FunctionError)
