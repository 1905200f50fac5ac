"""Conjunctions of comparisons with constants, and for many such constants at once the ranges of keys they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cacq.data.arrays import Ints
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.query import ast, value_sets
from cacq.query.lift import Literal
from cacq.query.normalize import Conjunction, Indexed, conjoin, conjuncts, indexable
from cacq.query.parameters import value_at

_EXACT = 2**53
"""Up to here every integer is a float64 and every float64 has the integers next to it."""
_FEW = 8
"""So many rows are quicker one by one than with numpy."""


class RangeTerm(NamedTuple):
    """`key operator constant`: the lifted literal at `place` (negated where that is negative), or `value` if that is 0.

    The operator `IS NOT NULL` has no constant.
    """

    key: ast.Expression
    operator: str
    place: int
    value: ast.Value = None

    def constant(self, values: Sequence[Literal]) -> ast.Value:
        """The constant of the text that has these literals."""
        return value_at(self.place, values) if self.place else self.value


def terms_of(predicate: ast.Expression | None) -> tuple[RangeTerm, ...] | None:
    """The terms of a folded predicate that is a conjunction of comparisons of keys with constants, else None."""
    found: list[RangeTerm] = []
    for expression, negated in conjuncts(predicate):
        term = _term(expression, negated)
        if term is None:
            return None
        found.append(term)
    return tuple(found)


def _term(expression: ast.Expression, negated: bool) -> RangeTerm | None:
    match expression:
        case ast.Compare(operator, left, ast.Constant(value, _, place)) if indexable(left) and value is not None:
            return RangeTerm(left, ast.NEGATED[operator] if negated else operator, place, None if place else value)
        case ast.IsNull(operand) if indexable(operand):
            return RangeTerm(operand, "IS NOT NULL", 0) if negated else None
        case ast.And() | ast.Or():
            return None
        case _ if indexable(expression):
            return RangeTerm(expression, "=", 0, not negated)
    return None


def has_ranges(terms: Sequence[RangeTerm]) -> bool:
    """Whether each term is one range of keys that are numbers, whatever its constant is."""
    return all(term.operator != "!=" and term.key.type is not Type.STRING for term in terms)


def disjuncts_of(terms: Sequence[RangeTerm], values: Sequence[Literal]) -> tuple[Conjunction, ...]:
    """What normalize() gives for the conjunction of the terms with these literals."""
    found = []
    for term in terms:
        if term.operator == "IS NOT NULL":
            accepted = value_sets.NOT_NULL
        else:
            accepted = value_sets.of_comparison(term.operator, term.constant(values), term.key.type)
        found.append(Indexed(term.key, accepted))
    return conjoin(found)


def bounds_of(
    terms: Sequence[RangeTerm], columns: Sequence[int], width: int, values: Sequence[Sequence[Literal]]
) -> tuple[Ints, Ints]:
    """For each row of literals and each column the least and the greatest key that its terms accept, both inclusive.

    INT64_MIN and INT64_MAX where they accept every key on that side; least > greatest where they accept none. The key
    of each term belongs to the column given for it, of `width` columns.
    """
    if len(values) <= _FEW:
        return _bounds_one_by_one(terms, columns, width, values)
    low = np.full((len(values), width), INT64_MIN, np.int64)
    high = np.full((len(values), width), INT64_MAX, np.int64)
    for term, column in zip(terms, columns, strict=True):
        least, greatest = _edges_of_many(term, values)
        np.maximum(low[:, column], least, out=low[:, column])
        np.minimum(high[:, column], greatest, out=high[:, column])
    return low, high


def _bounds_one_by_one(
    terms: Sequence[RangeTerm], columns: Sequence[int], width: int, values: Sequence[Sequence[Literal]]
) -> tuple[Ints, Ints]:
    lows, highs = [], []
    for literals in values:
        low, high = [INT64_MIN] * width, [INT64_MAX] * width
        for term, column in zip(terms, columns, strict=True):
            least, greatest = _edges(term.operator, term.constant(literals), term.key.type)
            low[column] = max(low[column], least)
            high[column] = min(high[column], greatest)
        lows.append(low)
        highs.append(high)
    both = np.array((lows, highs), np.int64).reshape(2, len(values), width)
    return both[0], both[1]


def _edges(operator: str, value: ast.Value, key_type: Type) -> tuple[int, int]:
    """The least and the greatest key of `key operator value`; INT64_MAX and INT64_MIN where there is none."""
    if operator == "IS NOT NULL":
        return INT64_MIN, INT64_MAX
    first, after = value_sets.bounds(value, key_type)
    assert isinstance(first, int) and isinstance(after, int), "strings have no ranges of integers"
    least, greatest = INT64_MIN, INT64_MAX
    if operator == "=":
        least, greatest = first, after - 1
    elif operator == "<":
        greatest = first - 1
    elif operator == "<=":
        greatest = after - 1
    elif operator == ">":
        least = after
    else:
        least = first
    if least > INT64_MAX or greatest < INT64_MIN:
        return INT64_MAX, INT64_MIN
    return max(least, INT64_MIN), min(greatest, INT64_MAX)


def _edges_of_many(term: RangeTerm, values: Sequence[Sequence[Literal]]) -> tuple[Any, Any]:
    """`_edges` for every row of literals: arrays, or one number for all."""
    if not term.place:
        return _edges(term.operator, term.value, term.key.type)
    rank = abs(term.place) - 1
    written = np.array([literals[rank] for literals in values])
    constants = -written if term.place < 0 else written
    if term.key.type is Type.FLOAT64:
        if constants.dtype == np.float64 or _are_exact(constants):
            keys = _float_keys(constants.astype(np.float64))
            return _beside(term.operator, keys, keys)
    elif constants.dtype == np.int64:
        return _beside(term.operator, constants, constants)
    elif _are_exact(constants):
        floors, ceilings = np.floor(constants).astype(np.int64), np.ceil(constants).astype(np.int64)
        return _beside(term.operator, floors, ceilings)
    edges = [_edges(term.operator, constant, term.key.type) for constant in constants.tolist()]
    both = np.array(edges, np.int64)
    return both[:, 0], both[:, 1]


def _are_exact(constants: npt.NDArray[Any]) -> bool:
    return bool(np.all((constants >= -_EXACT) & (constants <= _EXACT)))


def _beside(operator: str, floors: Ints, ceilings: Ints) -> tuple[Any, Any]:
    """The edges for constants between two neighbouring keys, or equal to one; every one is above INT64_MIN."""
    if operator == "=":
        return ceilings, floors
    if operator == "<":
        return INT64_MIN, ceilings - 1
    if operator == "<=":
        return INT64_MIN, floors
    if operator == ">=":
        return ceilings, INT64_MAX
    last = floors == INT64_MAX
    return np.where(last, INT64_MAX, floors + 1), np.where(last, INT64_MIN, INT64_MAX)


def _float_keys(numbers: npt.NDArray[np.float64]) -> Ints:
    """`value_sets.float_key` of many numbers, none of them NaN; adding 0.0 makes -0.0 positive."""
    bits = (numbers + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, bits ^ INT64_MAX)
