"""Random streams, queries and rows against both oracles, at several moments of each run.

40 chunks of 50 cases; the n-th case of a chunk has a fixed number of queries, from 1 to 200, so that each chunk can
assert its share of the 200,000 answers checked by the plain oracle and the 10,000 checked by DuckDB.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.oracle.duck import Duck
from tests.oracle.generate import make_case
from tests.restless import make_restless
from tests.suites.driver import LINEAGES, Run

CHUNKS, CASES = 40, 50
PLAIN_SHARE, DUCK_SHARE = 200_000 // CHUNKS, 10_000 // CHUNKS
ASKED_OF_DUCK = 4
"""Queries of a case that DuckDB answers too, at most."""


def size(number: int) -> tuple[int, int]:
    """Queries and rows of the n-th case of a chunk: 1 to 200 queries; few rows, but some cases with many."""
    queries = round(200 ** ((number / (CASES - 1)) ** 1.5))
    rows = 5 + 11 * number % 56
    return queries, 700 if number == 7 else 300 if number == 19 else rows


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_engine_answers_as_both_oracles_do(chunk: int, quacking: Duck, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the chunks as in service; in the others predicates change their form of lineage all the time."""
    if chunk % 2:
        make_restless(monkeypatch)
    checks: Counter[str] = Counter()
    for number in range(CASES):
        seed = chunk * CASES + number
        try:
            run = Run(make_case(seed, *size(number)), {"lineage": LINEAGES[seed % len(LINEAGES)]})
            run.walk()
            run.ask_duck(quacking, ASKED_OF_DUCK)
        except BaseException as error:
            error.add_note(f"reproduce with make_case({seed}, *size({number})), restless: {bool(chunk % 2)}")
            raise
        checks += run.checks
    assert checks["plain"] >= PLAIN_SHARE
    assert checks["duck"] >= DUCK_SHARE
