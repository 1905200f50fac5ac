"""Sets of keys against the plain meaning of comparisons, over the values where number types meet."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.query.value_sets import (
    ValueSet,
    complement,
    intersection,
    key_of,
    of_comparison,
    of_members,
    of_prefix,
    union,
)  # fmt: skip

INTEGERS = [INT64_MIN, INT64_MIN + 1, -5, -1, 0, 1, 2**53 - 1, 2**53, 2**53 + 1, INT64_MAX - 1, INT64_MAX]
FLOATS = [
    -math.inf, -1e308, -(2.0**63), -1.5, -0.0, 0.0, 5e-324, 0.5, 1.0, 2.0**53, 2.0**53 + 2, 2.0**63, 1e308, math.inf,
    math.nan,
]  # fmt: skip
HUGE = [10**400, -(10**400), 2**64, -(2**64), 2**63]
STRINGS = ["", "a", "a\0", "ab", "b", "é", "\U0010ffff", "日本"]
MEANING = {
    "<": lambda order: order < 0, "<=": lambda order: order <= 0, ">": lambda order: order > 0,
    ">=": lambda order: order >= 0, "=": lambda order: order == 0, "!=": lambda order: order != 0,
}  # fmt: skip


def order(left: Any, right: Any) -> int:
    left_nan, right_nan = left != left, right != right
    if left_nan or right_nan:
        return int(left_nan) - int(right_nan)
    return int(left > right) - int(left < right)


@pytest.mark.parametrize("operator", MEANING)
@pytest.mark.parametrize(("type", "domain"), [(Type.INT64, INTEGERS), (Type.FLOAT64, FLOATS)])
def test_a_number_is_in_the_set_exactly_if_the_comparison_is_true(type: Type, domain: list, operator: str) -> None:
    for constant in [*INTEGERS, *FLOATS, *HUGE]:
        accepted = of_comparison(operator, constant, type)
        assert list(accepted.cuts) == sorted(set(accepted.cuts))
        for value in domain:
            expected = MEANING[operator](order(value, constant))
            assert (key_of(value, type) in accepted) == expected, (value, operator, constant)
        assert None not in accepted


@pytest.mark.parametrize("operator", MEANING)
def test_strings_compare_by_code_point(operator: str) -> None:
    for constant in STRINGS:
        accepted = of_comparison(operator, constant, Type.STRING)
        for value in STRINGS:
            assert (key_of(value, Type.STRING) in accepted) == MEANING[operator](order(value, constant))


def test_a_prefix_accepts_what_begins_with_it() -> None:
    for prefix in STRINGS:
        for value in STRINGS:
            assert (key_of(value, Type.STRING) in of_prefix(prefix)) == value.startswith(prefix)


@pytest.mark.parametrize("type", [Type.INT64, Type.FLOAT64])
def test_members_are_the_union_of_equalities(type: Type) -> None:
    values = [3, 1.5, 2.0, 3, 2**53 + 1, math.nan, 4, 10**400, -0.0]
    members = of_members(values, type)
    for value in [*INTEGERS, 2, 3, 4, 5] if type is Type.INT64 else [*FLOATS, 2.0, 3.0, 1.5]:
        assert (key_of(value, type) in members) == any(order(value, member) == 0 for member in values), value


@pytest.mark.parametrize("seed", range(20))
def test_union_intersection_and_complement_are_those_of_sets(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        sets = [
            ValueSet(tuple(sorted(rng.sample(range(12), rng.randint(0, 5)))), rng.random() < 0.5, rng.random() < 0.5)
            for _ in range(rng.randint(1, 4))
        ]
        both, either, outside = intersection(sets), union(sets), complement(sets[0])
        for key in range(-1, 14):
            assert (key in both) == all(key in each for each in sets)
            assert (key in either) == any(key in each for each in sets)
            assert (key in outside) == (key not in sets[0])
        assert (None in both) == all(None in each for each in sets)
        assert (None in either) == any(None in each for each in sets)
        assert None not in outside
