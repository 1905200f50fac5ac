"""A query's answer does not change when other queries are added and cancelled around it at random moments."""

from __future__ import annotations

from random import Random

import pytest

from tests.oracle.generate import Cancel, Case, Push, Register, Step, make_case
from tests.restless import make_restless
from tests.suites.driver import LINEAGES, answers

WATCHED = 3


def alone(case: Case, first: int) -> Case:
    """The watched queries only, registered before the push with that number."""
    pushes: list[Step] = [step for step in case.steps if isinstance(step, Push)]
    return _with(case, [*pushes[:first], Register(tuple(range(WATCHED)), together=False), *pushes[first:]])


def crowded(case: Case, first: int, random: Random) -> Case:
    """The same, with all other queries coming and going between the pushes, some of them more than once; the watched
    queries come in the middle of them and take slots that others have left."""
    waiting, present = list(range(WATCHED, len(case.queries))), list[int]()
    steps: list[Step] = []
    for number, push in enumerate(step for step in case.steps if isinstance(step, Push)):
        leaving = [query for query in present if random.random() < 0.4]
        present = [query for query in present if query not in leaving]
        count = random.randint(len(waiting) // 3, len(waiting))
        coming, waiting = waiting[:count], waiting[count:] + leaving
        present += coming
        changes: list[Step] = [Cancel(query) for query in leaving]
        cut = random.randint(0, len(coming))
        changes += [Register((query,), together=False) for query in coming[:cut]]
        changes += [Register(tuple(coming[cut:]), together=True)] if coming[cut:] else []
        if number == first:
            changes.insert(random.randint(len(leaving), len(changes)), Register(tuple(range(WATCHED)), together=False))
        steps += [*changes, push]
    return _with(case, steps)


def _with(case: Case, steps: list[Step]) -> Case:
    return Case(case.seed, case.stream, case.queries, case.texts, steps, case.policy, case.extreme)


@pytest.mark.parametrize("seed", range(400_000, 400_100))
def test_neighbours_that_come_and_go_change_no_byte(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone with dense lineage, then among neighbours in the other forms; all change places as they come and go."""
    make_restless(monkeypatch)
    random, lineage = Random(seed), LINEAGES[seed % len(LINEAGES)]
    neighbours = 1_000 if seed % 40 == 0 else random.randint(10, 100)
    case = make_case(seed, queries=WATCHED + neighbours, rows=random.randint(20, 90))
    first = random.randint(0, 2)
    watched = range(WATCHED)
    expected = answers(alone(case, first), watched, policy=case.policy, lineage="dense")
    actual = answers(crowded(case, first, random), watched, policy=case.policy, lineage=lineage)
    assert actual == expected, f"seed {seed}, {lineage}: the first {WATCHED} queries see their {neighbours} neighbours"


@pytest.mark.parametrize("seed", range(450_000, 450_030))
def test_queries_registered_together_answer_as_those_registered_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some come and some go before every push; the queries that came together in one run come alone in the other."""
    make_restless(monkeypatch)
    random = Random(seed)
    case = make_case(seed, queries=WATCHED + 40, rows=60)
    steps = crowded(case, 0, random).steps
    one_by_one: list[Step] = []
    for step in steps:
        one_by_one += [Register((query,), False) for query in step.queries] if isinstance(step, Register) else [step]
    together = [Register(step.queries, together=True) if isinstance(step, Register) else step for step in steps]
    expected = answers(_with(case, one_by_one), policy=case.policy, lineage="dense")
    for lineage in LINEAGES:
        actual = answers(_with(case, together), policy=case.policy, lineage=lineage)
        assert actual == expected, f"seed {seed}: together with {lineage} lineage differs from one by one"
