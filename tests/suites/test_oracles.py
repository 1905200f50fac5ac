"""The oracles before the engine: they agree with each other, and a broken one is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.oracle import duck, plain
from tests.oracle.compare import difference, same
from tests.oracle.generate import START, make_case


def disagreements(oracle: duck.Duck, seeds: range) -> tuple[int, list[str]]:
    """How many answers were compared, and which of them differ between the two oracles."""
    compared, told = 0, []
    for seed in seeds:
        case = make_case(seed, queries=12, rows=25)
        model = plain.Model(lambda: START)
        model.create_stream(case.stream)
        handles = [model.register(query) for query in case.queries]
        model.push(case.stream.name, case.rows)
        flowing = model.streams[case.stream.name]
        oracle.load(case.stream, flowing.rows, flowing.times)
        for handle, query, text in zip(handles, case.queries, case.texts, strict=True):
            if duck.can_answer(query, case.extreme):
                compared += 1
                one, other = model.answer(handle), duck.deltas(oracle.answer(query), 0, len(case.rows))
                if not same(one, other):
                    told.append(f"seed {seed}: {text}\n{difference(one, other)}")
    return compared, told


def test_both_oracles_give_the_same_answers(quacking: duck.Duck) -> None:
    compared, told = disagreements(quacking, range(900_000, 900_100))
    assert compared > 800
    assert not told, told[0]


def raw_less(left: Any, right: Any) -> bool:
    return left < right


def nulls_are_false(parts: list[plain.Evaluate]) -> plain.Evaluate:
    return lambda row: any(part(row) is True for part in parts)


def floored(left: int, right: int) -> int | None:
    return None if right == 0 else left % right


MUTANTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "NaN is not the largest": ("_less", raw_less),
    "OR takes NULL for false": ("_any", nulls_are_false),
    "overflow wraps around": ("_fits", lambda value, type: value),
    "remainder is floored": ("_integer_remainder", floored),
    "LIKE takes _ literally": ("_regular", lambda pattern, escape: plain.re.escape(pattern).replace("%", ".*")),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_oracle_is_found_out(mutant: str, monkeypatch: pytest.MonkeyPatch, quacking: duck.Duck) -> None:
    name, broken = MUTANTS[mutant]
    monkeypatch.setattr(plain, name, broken)
    if name == "_less":
        monkeypatch.setitem(plain.COMPARE, "<", broken)
    assert disagreements(quacking, range(900_000, 900_100))[1]
