"""Where the input is cut into records is no part of an answer (SEMANTICS 21): the same bytes for every cut."""

from __future__ import annotations

from random import Random

import pytest

from tests.oracle.generate import Cancel, Case, Push, Register, make_case
from tests.restless import make_restless
from tests.suites.driver import LINEAGES, answers

WHOLE = "all at once"
CUTS = ("one row at a time", "random cuts", "other random cuts")


def recut(case: Case, cut: str) -> Case:
    """The same rows between the same changes of the query set, in other records; time stands still."""
    random = Random(f"{case.seed} {cut}")
    steps: list[Register | Cancel | Push] = []
    for step in case.steps:
        if isinstance(step, Register | Cancel):
            steps.append(step)
        elif isinstance(step, Push):
            if steps and isinstance(steps[-1], Push):
                steps[-1] = Push(steps[-1].rows + step.rows, step.form)
            else:
                steps.append(step)
    cut_steps = [piece for step in steps for piece in (pieces(step, cut, random) if isinstance(step, Push) else [step])]
    return Case(case.seed, case.stream, case.queries, case.texts, cut_steps, case.policy, case.extreme)


def pieces(step: Push, cut: str, random: Random) -> list[Push]:
    if cut == WHOLE:
        return [step]
    if cut == "one row at a time":
        ends = list(range(1, len(step.rows)))
    else:
        ends = sorted(random.randint(0, len(step.rows)) for _ in range(random.randint(1, 6)))
    bounds = zip([0, *ends], [*ends, len(step.rows)], strict=True)
    return [Push(step.rows[first:last], random.getrandbits(32)) for first, last in bounds]


@pytest.mark.parametrize("seed", range(300_000, 300_100))
def test_where_the_input_is_cut_changes_no_byte(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the form of lineage: the input as a whole meets dense lineage, each cut another form."""
    make_restless(monkeypatch)
    case = make_case(seed, queries=1 + seed * 7 % 40, rows=5 + seed * 13 % 80)
    expected = answers(recut(case, WHOLE), policy=case.policy, lineage="dense")
    for number, cut in enumerate(CUTS):
        lineage = LINEAGES[(seed + number) % len(LINEAGES)]
        actual = answers(recut(case, cut), policy=case.policy, lineage=lineage)
        assert actual == expected, f"seed {seed}: {cut} with {lineage} lineage differs from {WHOLE}"
