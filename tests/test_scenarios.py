"""Small cases by name: time, queries that come and go, shared slots, lost results, statistics.

Golden files (`test_golden.py`) hold what is only query, rows and answer; here is what needs Python to say.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cacq
from cacq.testing import ManualClock
from tests.conftest import Feed

SCHEMA = {"a": "int64", "b": "int64", "ts": "timestamp"}


def rows(*values: int) -> list[dict[str, Any]]:
    """Rows with these a, b = -a, and times 1, 2, 3, ..."""
    return [{"a": value, "b": -value, "ts": ts} for ts, value in enumerate(values, 1)]


def shown(query: cacq.Query) -> list[Any]:
    """The first output column of what has not been polled yet."""
    return [row[0] for row in query.poll().rows()]


# ------------------------------------------------------------------------------------------------------ time


def test_late_rows_are_counted_and_still_reach_queries_without_a_window(engine: cacq.Engine) -> None:
    engine.create_stream("S", {"a": "int64", "ts": "timestamp"}, timestamp="ts", lateness=1.0)
    query = engine.register("SELECT a FROM S")
    assert engine.push("S", {"a": [1], "ts": [5_000_000]}).late == 0
    #                        W = 4 s: the row at 3.999999 s is late, the one at 4 s is not
    assert engine.push("S", {"a": [2, 3], "ts": [3_999_999, 4_000_000]}).late == 1
    assert shown(query) == [1, 2, 3]
    assert engine.stats()["sources"]["S"]["tuples"] == 3


def test_the_watermark_moves_once_a_record(flowing: cacq.Engine) -> None:
    assert flowing.push("S", {"a": [1, 2], "b": [0, 0], "ts": [100, 1]}).late == 0
    assert flowing.push("S", {"a": [3], "b": [0], "ts": [99]}).late == 1


def test_a_punctuation_raises_the_watermark_and_never_lowers_it(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a FROM S")
    flowing.advance("S", 50)
    assert query.clock == 50
    flowing.advance("S", 20)
    assert query.clock == 50
    assert flowing.push("S", {"a": [1, 2], "b": [0, 0], "ts": [49, 50]}).late == 1


def test_the_clock_of_a_query_is_its_streams_watermark(engine: cacq.Engine) -> None:
    engine.create_stream("S", SCHEMA, timestamp="ts", lateness=0.5)
    query = engine.register("SELECT a FROM S")
    engine.push("S", {"a": [1, 2], "b": [0, 0], "ts": [7_000_000, 3_000_000]})
    assert query.clock == 6_500_000


def test_a_stream_without_a_timestamp_is_stamped_once_a_push(engine: cacq.Engine, clock: ManualClock) -> None:
    engine.create_stream("S", {"a": "int64"})
    query = engine.register("SELECT a FROM S")
    clock.set(1_000)
    engine.push("S", {"a": [1, 2]})
    clock.advance(0.5)
    engine.push("S", {"a": [3]})
    assert query.poll().ts.tolist() == [1_000, 1_000, 501_000]


def test_stamps_never_decrease_when_the_clock_goes_back(engine: cacq.Engine, clock: ManualClock) -> None:
    engine.create_stream("S", {"a": "int64"})
    query = engine.register("SELECT a FROM S")
    for now in (1_000, 400, 1_500):
        clock.set(now)
        assert engine.push("S", {"a": [now]}).late == 0
    assert query.poll().ts.tolist() == [1_000, 1_000, 1_500]


def test_a_push_without_rows_leaves_no_stamp(engine: cacq.Engine, clock: ManualClock) -> None:
    engine.create_stream("S", {"a": "int64"})
    query = engine.register("SELECT a FROM S")
    clock.set(1_000)
    engine.push("S", {"a": []})
    clock.set(400)
    engine.push("S", {"a": [1]})
    assert query.poll().ts.tolist() == [400]


# ---------------------------------------------------------------------------------- queries that come and go


def test_a_query_sees_only_rows_between_registration_and_cancellation(flowing: cacq.Engine, feed: Feed) -> None:
    feed(flowing, "S", rows(1, 2))
    query = flowing.register("SELECT a FROM S WHERE a > 0")
    feed(flowing, "S", rows(3, 4))
    query.cancel()
    feed(flowing, "S", rows(5, 6))
    assert shown(query) == [3, 4]


def test_poll_after_cancel_gives_what_was_delivered_and_nothing_more(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a FROM S")
    flowing.push("S", rows(1, 2))
    assert shown(query) == [1, 2]
    flowing.push("S", rows(3))
    query.cancel()
    flowing.push("S", rows(4))
    assert shown(query) == [3]
    assert shown(query) == []
    assert query.results == 3


def test_cancelling_twice_does_no_harm(flowing: cacq.Engine) -> None:
    query, other = flowing.register("SELECT a FROM S"), flowing.register("SELECT a FROM S")
    query.cancel()
    query.cancel()
    flowing.push("S", rows(1))
    assert shown(other) == [1]


def test_identical_queries_share_a_slot_but_a_younger_name_sees_only_younger_rows(flowing: cacq.Engine) -> None:
    old = flowing.register("SELECT a FROM S WHERE a > 1 AND b < 0", name="old")
    flowing.push("S", rows(2))
    young = flowing.register("select S.a from S where S.a > 1 and S.b < 0", name="young")
    flowing.push("S", rows(3))
    assert flowing.explain(old)["slots"] == flowing.explain(young)["slots"]
    assert shown(old) == [2, 3]
    deltas = young.poll()
    assert (deltas.rows(), deltas.seq.tolist()) == ([(3,)], [0])


def test_a_shared_slot_goes_on_for_the_name_that_stays(flowing: cacq.Engine) -> None:
    first, second = flowing.register_many(["SELECT a FROM S WHERE a > 1", "SELECT a FROM S WHERE a > 1"])
    first.cancel()
    flowing.push("S", rows(2))
    assert (shown(first), shown(second)) == ([], [2])


@pytest.mark.parametrize(
    ("before", "after"), [("a > 1", "a < 1"), ("a > 1 OR b > 1", "a < 1 OR b = -7")], ids=["term", "clause"]
)
def test_a_reused_slot_starts_clean(flowing: cacq.Engine, before: str, after: str) -> None:
    first = flowing.register(f"SELECT a FROM S WHERE {before}")
    slots = flowing.explain(first)["slots"]
    flowing.push("S", rows(5, 0))
    first.cancel()
    second = flowing.register(f"SELECT a FROM S WHERE {after}")
    assert flowing.explain(second)["slots"] == slots
    flowing.push("S", rows(6, 0, -1))
    assert shown(first) == [5]
    assert shown(second) == [0, -1]


def test_a_slot_reused_between_polls_keeps_the_results_of_both_tenants_apart(flowing: cacq.Engine) -> None:
    tenants = []
    for value in range(20):
        query = flowing.register(f"SELECT a FROM S WHERE a = {value}")
        flowing.push("S", rows(*range(20)))
        query.cancel()
        tenants.append(query)
    assert [shown(query) for query in tenants] == [[value] for value in range(20)]


def test_an_identifier_is_never_reused(flowing: cacq.Engine) -> None:
    identifiers = []
    for _ in range(3):
        query = flowing.register("SELECT a FROM S", name="again")
        identifiers.append(query.id)
        query.cancel()
    assert len(set(identifiers)) == 3


def test_a_query_over_another_stream_sees_nothing(flowing: cacq.Engine) -> None:
    flowing.create_stream("T", SCHEMA, timestamp="ts")
    query = flowing.register("SELECT a FROM T")
    flowing.push("S", rows(1))
    assert len(query.poll()) == 0


def test_a_query_without_rows_polls_empty_arrays_with_its_columns(flowing: cacq.Engine) -> None:
    deltas = flowing.register("SELECT a, a / b AS ratio FROM S").poll()
    assert len(deltas) == 0
    assert deltas.rows() == []
    assert list(deltas.columns) == ["a", "ratio"]
    assert deltas.seq.dtype.kind == deltas.ts.dtype.kind == "i"


def test_an_empty_push_changes_nothing(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a FROM S")
    pushed = flowing.push("S", [])
    assert (pushed.rows, pushed.late) == (0, 0)
    assert len(query.poll()) == 0


# -------------------------------------------------------------------------------------------- what a poll gives


def test_deltas_are_arrays_masked_where_a_column_holds_nulls(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a, a / b AS ratio, 'x' AS tag, ts FROM S")
    flowing.push("S", {"a": [1, None], "b": [2, 0], "ts": [10, 20]})
    deltas = query.poll()
    assert deltas.op.tolist() == [1, 1]
    assert deltas.exp.tolist() == [cacq.NEVER, cacq.NEVER] == [2**63 - 1] * 2
    assert deltas.rows() == [(1, 0.5, "x", 10), (None, None, "x", 20)]
    assert np.ma.getmaskarray(deltas.columns["a"]).tolist() == [False, True]
    assert not np.ma.isMaskedArray(deltas.columns["tag"])
    assert deltas.columns["tag"].dtype == object
    assert deltas.columns["ts"].dtype == np.int64


def test_deltas_are_an_arrow_table_too(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a, b FROM S")
    flowing.push("S", {"a": [1, None], "b": [2, 0], "ts": [10, 20]})
    table = query.poll().to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column("a").to_pylist() == [1, None]
    assert table.num_rows == 2


def test_output_names_that_occur_twice_are_told_apart(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a, a, b FROM S")
    flowing.push("S", rows(1))
    deltas = query.poll()
    assert len(deltas.columns) == 3
    assert list(deltas.columns)[2] == "b"
    assert deltas.rows() == [(1, 1, -1)]


def test_a_handle_describes_its_query(flowing: cacq.Engine) -> None:
    sql = "SELECT a AS x, a / 2 AS half, a > 1 AS large FROM S"
    query = flowing.register(sql, name="hot")
    assert (query.name, query.sql, query.pattern, query.state, query.error) == ("hot", sql, "MON", "active", None)
    assert query.schema == {"x": "int64", "half": "float64", "large": "bool"}
    flowing.push("S", rows(1, 2))
    assert query.results == 2
    assert query.poll() is not None
    assert query.results == 2


def test_lost_results_are_told_once_with_their_number() -> None:
    engine = cacq.Engine(retain_bytes=100_000)
    engine.create_stream("S", SCHEMA, timestamp="ts")
    query, reader = engine.register("SELECT a FROM S"), engine.register("SELECT a, b FROM S")
    read = 0
    for record in range(200):
        engine.push("S", {"a": range_of(record), "b": range_of(record), "ts": range_of(record)})
        read += len(reader.poll())
    with pytest.raises(cacq.ResultsLost) as caught:
        query.poll()
    rest = query.poll()
    assert read == 200 * 100
    assert caught.value.count > 0
    assert len(rest) > 0
    assert caught.value.count + len(rest) == 200 * 100
    assert rest.seq.tolist() == rest.columns["a"].tolist() == list(range(caught.value.count, 20_000))
    assert query.results == 20_000
    engine.push("S", {"a": [7], "b": [7], "ts": [20_000]})
    assert query.poll().seq.tolist() == [20_000]


def range_of(record: int) -> list[int]:
    return list(range(record * 100, record * 100 + 100))


# ------------------------------------------------------------------------------------------------- value errors


def test_division_by_zero_and_overflow_are_counted_on_the_query(flowing: cacq.Engine) -> None:
    dividing = flowing.register("SELECT a FROM S WHERE 10 / a > 1")
    overflowing = flowing.register("SELECT a FROM S WHERE a * 4611686018427387904 > 0")
    fine = flowing.register("SELECT a FROM S WHERE a > 0")
    flowing.push("S", rows(0, 2, 5))
    assert (shown(dividing), shown(overflowing), shown(fine)) == ([2, 5], [], [2, 5])
    assert dividing.value_errors == 1
    assert overflowing.value_errors == 2
    assert fine.value_errors == 0


def test_a_null_is_no_value_error(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a FROM S WHERE 10 / a > 1")
    flowing.push("S", {"a": [None], "b": [0], "ts": [1]})
    assert (shown(query), query.value_errors) == ([], 0)


# ------------------------------------------------------------------------------------------ explain and stats


def test_terms_of_a_clause_that_is_already_true_are_skipped_and_counted() -> None:
    engine = cacq.Engine(policy="fixed")
    engine.create_stream("S", SCHEMA, timestamp="ts")
    query = engine.register("SELECT a FROM S WHERE (a > 0 OR b > 0) AND a < 100")
    engine.push("S", rows(*range(1, 51)))
    assert engine.stats()["terms_skipped"] == 50
    assert shown(query) == list(range(1, 51))


def test_conjunctions_skip_no_terms(flowing: cacq.Engine) -> None:
    flowing.register("SELECT a FROM S WHERE a > 0 AND b > 0")
    flowing.push("S", rows(1, 2, 3))
    assert flowing.stats()["terms_skipped"] == 0


def test_stats_list_every_operator_with_its_counters(flowing: cacq.Engine) -> None:
    flowing.register("SELECT a FROM S WHERE a > 0 AND b < -1")
    flowing.push("S", rows(1, 2, 3))
    stats = flowing.stats()
    assert stats["sources"]["S"]["tuples"] == 3
    fields = {"name", "kind", "source", "tuples_in", "tuples_out", "visits", "tickets", "seconds", "queue"}
    assert len(stats["operators"]) == 2
    assert all(fields <= set(operator) for operator in stats["operators"])
    json.dumps(stats)


def test_explain_of_text_registers_nothing(flowing: cacq.Engine) -> None:
    explained = flowing.explain("SELECT a FROM S WHERE a > 0 OR b > 0")
    assert explained["pattern"] == "MON"
    assert flowing.stats()["operators"] == []
    json.dumps(explained)


def test_explain_of_a_query_names_its_operators(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a FROM S WHERE a > 0 AND b > 0")
    text = json.dumps(flowing.explain(query))
    assert all(operator["name"] in text for operator in flowing.stats()["operators"])


def test_an_operator_goes_when_its_last_query_does(flowing: cacq.Engine) -> None:
    query = flowing.register("SELECT a FROM S WHERE a > 0 AND b > 0")
    stays = flowing.register("SELECT a FROM S WHERE a > 5")
    query.cancel()
    assert len(flowing.stats()["operators"]) == 1
    flowing.push("S", rows(4, 6))
    assert shown(stays) == [6]
