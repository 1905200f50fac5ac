"""Tickets and policies: what an account learns from a visit, who is chosen, how much explores."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import cacq
from cacq.data.batch import Batch
from cacq.data.lineage import Layout
from cacq.eddy import eddy, tickets
from cacq.eddy.routing import LARGE, SLICE, SLICED_BATCHES, SMALL_BATCHES, BackPressure, Lottery
from cacq.filters.operator import Operator, ValueErrors

FAST = 20_000
"""Nanoseconds of a visit that costs next to nothing."""


class Sieve(Operator):
    """An operator that only has an account."""

    kind = "sieve"
    empty = False
    predicates = 1

    def refresh(self, layout: Layout) -> None:
        raise NotImplementedError

    def process(self, batch: Batch) -> Batch:
        raise NotImplementedError


def sieve(predicates: int = 1) -> Sieve:
    made = Sieve("", ValueErrors(), False)
    made.predicates = predicates
    return made


def visit(operator: Operator, taken: int, returned: int, nanoseconds: int = FAST, had_choice: bool = True) -> None:
    operator.counters.record(taken, returned, nanoseconds)
    tickets.record(operator, taken, returned, nanoseconds, had_choice)


def known(predicates: int, passing: float, nanoseconds: int = FAST) -> Sieve:
    """A sieve that has been visited until its account says this."""
    made = sieve(predicates)
    for _ in range(20):
        visit(made, 1_000, round(1_000 * passing), nanoseconds)
    return made


class Tuples:
    """As much of a batch as a policy looks at."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count


def choices(policy: Any, operators: list[Sieve], size: int, times: int = 3_200) -> Counter[int]:
    return Counter(policy.choose(operators, Tuples(size)) for _ in range(times))


def test_tickets_are_predicates_times_what_did_not_come_back() -> None:
    assert known(5, 0.1).account.tickets == pytest.approx(5 * 0.9 * tickets.MEMORY, rel=0.01)
    assert known(2, 0.5).account.tickets == pytest.approx(2 * 0.5 * tickets.MEMORY, rel=0.01)
    assert known(7, 1.0).account.tickets == pytest.approx(1.0, abs=1e-3)


def test_a_balance_never_falls_below_one() -> None:
    operator = known(1, 1.0)
    visit(operator, 100_000, 100_000)
    assert operator.account.tickets == 1.0


def test_a_balance_forgets() -> None:
    operator = known(3, 0.0)
    visit(operator, 10 * tickets.MEMORY, 10 * tickets.MEMORY)
    assert operator.account.tickets < 0.1 * 3 * tickets.MEMORY


@pytest.mark.parametrize("size", [1, 10, 100, 1_000])
def test_how_the_tuples_are_cut_into_batches_hardly_matters(size: int) -> None:
    operator = known(1, 0.0)
    for _ in range(2_000 // size):
        visit(operator, size, size)
    whole = known(1, 0.0)
    visit(whole, 2_000, 2_000)
    assert operator.account.consumed == pytest.approx(whole.account.consumed, abs=0.21)


def test_a_visit_without_a_choice_teaches_nothing_about_tickets() -> None:
    operator = known(1, 0.5)
    before = operator.account.tickets
    visit(operator, 10_000, 0, had_choice=False)
    assert operator.account.tickets == before


def test_one_slow_visit_or_two_are_no_cost_but_three_are() -> None:
    operator = known(1, 0.5)
    before = operator.account.cost
    for _ in range(2):
        visit(operator, 1_000, 500, 1_000 * FAST)
        assert operator.account.cost == before
    visit(operator, 1_000, 500, 1_000 * FAST)
    assert operator.account.cost > 100 * before


def test_a_first_visit_that_compiles_is_forgotten() -> None:
    operator = sieve()
    visit(operator, 1_000, 500, 10**10)
    for _ in range(3):
        visit(operator, 1_000, 500)
    assert operator.account.cost == tickets.LEAST_COST


def test_costs_of_small_and_large_batches_compare() -> None:
    """A cheap filter: 20 us a visit and 20 ns a tuple."""
    costs = []
    for size in (1, 30, 1_000, 16_000):
        operator = sieve()
        for _ in range(10):
            visit(operator, size, size, 20_000 + 20 * size)
        costs.append(operator.account.cost)
    assert max(costs) <= 1.5 * min(costs)


def test_the_lottery_prefers_what_drops_more_for_less() -> None:
    drops, cheap, dear = known(4, 0.1), known(4, 0.5), known(4, 0.0, 100 * FAST)
    drawn = choices(Lottery(1), [cheap, dear, drops], 100)
    assert drawn.most_common(1)[0][0] == 2
    assert drawn[2] > 0.95 * 3_200
    assert drawn[0] > 0


def test_of_small_batches_one_in_32_explores() -> None:
    equal_cost = [known(5, 0.1), known(1, 0.9), known(1, 0.9)]
    drawn = choices(Lottery(3), equal_cost, LARGE - 1)
    assert drawn[1] + drawn[2] == pytest.approx(3_200 / SMALL_BATCHES, rel=0.2)
    assert drawn[1] == pytest.approx(drawn[2], rel=0.5)


def test_of_large_batches_one_in_8_gives_a_slice() -> None:
    policy, operators = Lottery(3), [known(5, 0.1), known(1, 0.9)]
    batch: Any = Tuples(4_096)
    samples = [policy.sample(operators, batch) for _ in range(8_000)]
    assert set(samples) == {None, (1, 4_096 // SLICE)}
    assert 8_000 - samples.count(None) == pytest.approx(8_000 / SLICED_BATCHES, rel=0.1)
    assert choices(policy, operators, 4_096) == {0: 3_200}


def test_what_explores_does_not_depend_on_how_many_visits_a_tuple_has() -> None:
    """Every batch makes four choices; each of the four explores as often as the others."""
    policy, operators = Lottery(3), [known(5, 0.1), known(1, 0.9)]
    batch: Any = Tuples(LARGE - 1)
    explored = Counter(number % 4 for number in range(12_800) if policy.choose(operators, batch) == 1)
    assert min(explored[position] for position in range(4)) > 0.5 * 100


def test_exploring_an_expensive_operator_costs_no_more_than_its_share() -> None:
    policy, operators = Lottery(3), [known(5, 0.1), known(1, 0.9, 200 * FAST)]
    batch: Any = Tuples(4_096)
    samples = [policy.sample(operators, batch) for _ in range(8_000)]
    assert 0 < sum(sample is not None for sample in samples) < 50


def test_a_slice_tries_an_operator_that_is_not_known() -> None:
    batch: Any = Tuples(500)
    assert Lottery(3).sample([known(1, 0.5), sieve()], batch) == (1, tickets.LEARNED)


def test_back_pressure_goes_where_the_tuples_are_done_first() -> None:
    quick, slow = known(1, 0.9), known(1, 0.0, 10 * FAST)
    assert choices(BackPressure(), [slow, quick], 100) == {1: 3_200}
    quick.account.waiting = 100_000
    assert choices(BackPressure(), [slow, quick], 100) == {0: 3_200}


COLUMNS = ("index", "a", "b", "c", "d", "e")


def engine_that_knows_no_cost(monkeypatch: pytest.MonkeyPatch, terms: list[str], **options: Any) -> cacq.Engine:
    """The n-th query has the first n terms. The clock stands still, so all filters cost the same."""
    monkeypatch.setattr(eddy, "perf_counter_ns", lambda: 0)
    engine = cacq.Engine(**options)
    engine.create_stream("S", dict.fromkeys(COLUMNS, "int64"))
    engine.register_many(f"SELECT index FROM S WHERE {' AND '.join(terms[:count])}" for count in range(1, 6))
    return engine


def entered(engine: cacq.Engine) -> dict[str, int]:
    return {operator["name"][-1]: operator["tuples_in"] for operator in engine.stats()["operators"]}


@pytest.mark.parametrize("size", [200, 1_000, 4_096, 50_000])
@pytest.mark.parametrize("seed", range(3))
def test_table_3_a_tuple_enters_at_most_1_2_filters(seed: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """CACQ figure 9, what tickets take to learn included; the tuples are ours."""
    terms = ["a > 90", "b > 70", "c > 50", "d > 30", "e > 10"]
    engine = engine_that_knows_no_cost(monkeypatch, terms, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(200_000 // size):
        engine.push("S", dict(zip(COLUMNS, rng.integers(0, 100, (6, size)), strict=True)))
    assert sum(entered(engine).values()) / (200_000 // size * size) <= 1.2


@pytest.mark.parametrize("seed", range(5))
def test_when_selectivities_flip_the_order_follows_within_20_batches(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_that_knows_no_cost(monkeypatch, ["a + b + c + d + e > 0 AND a > 90 AND e > 10"] * 5, seed=seed)
    rng = np.random.default_rng(seed)
    counts = [dict.fromkeys("ae", 0)]
    for number in range(60):
        data = dict(zip(COLUMNS, rng.integers(0, 100, (6, 1_024)), strict=True))
        if number >= 30:
            data["a"], data["e"] = data["a"] + 80, data["e"] - 80
        engine.push("S", data)
        counts.append(entered(engine))
    steps = [(after["a"] - before["a"], after["e"] - before["e"]) for before, after in pairwise(counts)]
    assert sum(a > e for a, e in steps[5:30]) >= 23
    assert sum(a < e for a, e in steps[50:]) >= 9
