"""The benchmarks measure the same work on both sides: every contender finds what a plain look at every tuple finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.baselines.numpy_masks import NumpyMasks
from bench.baselines.numpy_ranges import NumpyRanges
from bench.baselines.peers import DuckdbJoin, PolarsJoin, PolarsQueries
from bench.baselines.sparse_kernel import SparseKernel
from bench.measure import Checksum, Goal, Row, row
from bench.report import plain_panels, table
from bench.sparse import Push, SortedRanges, Standing
from bench.workload import SparseWorkload, selections, sparse_selections

QUERIES, BATCHES = 400, 3


@pytest.fixture(scope="module")
def workload() -> SparseWorkload:
    return sparse_selections(QUERIES, BATCHES, batch=2_048)


@pytest.fixture(scope="module")
def wanted(workload: SparseWorkload) -> set[tuple[int, int]]:
    columns = np.concatenate(workload.batches, axis=1)
    found = {(q, int(i)) for q in range(QUERIES) for i in workload.wanted(q, columns)}
    assert len(found) > 100, "the workload shows too little"
    return found


@pytest.mark.parametrize("kind", [SparseKernel, NumpyRanges, SortedRanges, DuckdbJoin, PolarsJoin, PolarsQueries])
def test_a_sparse_contender_finds_what_each_query_wants(
    kind: Callable[[SparseWorkload], Any], workload: SparseWorkload, wanted: set[tuple[int, int]]
) -> None:
    found: list[tuple[int, int]] = []
    for queries, rows in kind(workload).rows():
        found += zip(np.broadcast_to(queries, rows.shape).tolist(), rows.tolist(), strict=True)
    assert len(found) == len(wanted)
    assert set(found) == wanted


def test_the_engine_has_the_checksum_of_what_each_query_wants(
    workload: SparseWorkload, wanted: set[tuple[int, int]]
) -> None:
    expected = Checksum(workload.tuples)
    for query, tuple_ in wanted:
        expected.add(query, np.array([tuple_]))
    assert Push("engine", Standing(workload), workload).checksum() == str(expected)


def test_dense_limits_say_the_same_as_the_masks() -> None:
    dense = selections(200, 1)
    ((_, masks),) = NumpyMasks(dense).masks()
    for query, mask in enumerate(masks):
        assert np.array_equal(np.flatnonzero(mask), dense.wanted(query, dense.batches[0]))


def test_a_checksum_forgets_the_order_and_nothing_else() -> None:
    one, other, wrong = Checksum(10), Checksum(10), Checksum(10)
    one.add(3, np.array([1, 2]))
    one.add(4, np.array([1]))
    other.add_pairs(np.array([4, 3, 3]), np.array([1, 2, 1]))
    wrong.add_pairs(np.array([3, 4, 3]), np.array([1, 2, 1]))
    assert str(one) == str(other) != str(wrong)


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        (None, ""),
        (2.0, ">= 2: reached"),
        (2.5, ">= 2.5: NOT REACHED"),
        (("<=", 2.0), "<= 2: reached"),
        (("<=", 1.5), "<= 1.5: NOT REACHED"),
    ],
)
def test_a_goal_is_a_least_or_a_greatest_value(goal: Goal, verdict: str) -> None:
    line = table([_figure("ratio", [1.0, 2.0, 4.0])], lambda _figure: goal).splitlines()[-1]
    assert line.split("|")[-2].strip() == verdict


def test_a_line_over_time_is_drawn_and_not_listed() -> None:
    figures = [_figure("filters", [1.2]), _figure("course", [3.0, 2.0, 1.0])]
    assert len(table(figures, lambda _figure: None).splitlines()) == 3
    assert [panel.x for panel in plain_panels(figures)] == ["", "time"]


def _figure(metric: str, runs: list[float]) -> Row:
    return row("bench", "case", {"tuples": 1}, metric, "x", runs, "0")
