"""A query's answer does not change when other queries are added and cancelled around it at random moments."""

from __future__ import annotations

from random import Random

import pytest

from tests.oracle.generate import Cancel, Case, Push, Register, Step, make_case
from tests.suites.driver import answers

WATCHED = 3


def alone(case: Case) -> Case:
    """The case with its first queries only, registered before the first row."""
    steps: list[Step] = [Register(tuple(range(WATCHED)), together=False)]
    steps += [step for step in case.steps if isinstance(step, Push)]
    return _with(case, steps)


def crowded(case: Case, random: Random) -> Case:
    """The same, with all other queries coming and going between the pushes, some of them again under a new handle."""
    waiting = list(range(WATCHED, len(case.queries)))
    present: list[int] = []
    pushes = [step for step in case.steps if isinstance(step, Push)]
    steps: list[Step] = []
    for number, push in enumerate(pushes):
        count = len(waiting) if number == len(pushes) - 1 else random.randint(0, len(waiting))
        coming, waiting = waiting[:count], waiting[count:]
        before = random.randint(0, len(coming))
        for group in (coming[:before], coming[before:]):
            steps += [Register(tuple(group), together=random.random() < 0.7)] if group else []
            if number == 0 and group is not coming[before:]:
                steps.append(Register(tuple(range(WATCHED)), together=False))
        present += coming
        steps.append(push)
        leaving = [query for query in present if random.random() < 0.4]
        steps += [Cancel(query) for query in leaving]
        present = [query for query in present if query not in leaving]
        if random.random() < 0.5:
            waiting += leaving
    return _with(case, steps)


def _with(case: Case, steps: list[Step]) -> Case:
    return Case(case.seed, case.stream, case.queries, case.texts, steps, case.policy, case.extreme)


@pytest.mark.parametrize("seed", range(400_000, 400_100))
def test_neighbours_that_come_and_go_change_no_byte(seed: int) -> None:
    random = Random(seed)
    neighbours = 1_000 if seed % 40 == 0 else random.randint(10, 100)
    case = make_case(seed, queries=WATCHED + neighbours, rows=random.randint(20, 90))
    watched = range(WATCHED)
    expected = answers(alone(case), watched, policy=case.policy)
    actual = answers(crowded(case, random), watched, policy=case.policy)
    assert actual == expected, f"seed {seed}: the first {WATCHED} queries see their {neighbours} neighbours"
