"""A bound expression as text; test_sql and test_sql_meaning check that the text reads as the same expression."""

from __future__ import annotations

import pytest

from cacq.query.ast import (
    And,
    Arithmetic,
    Call,
    Column,
    Compare,
    Expression,
    In,
    IsNull,
    Like,
    Negate,
    Not,
    Or,
    Parameter,
)
from cacq.query.render import render
from tests.test_sql import BOOL, INT, NEW_YEAR, STRING, a, at, b, f, i, ok, s, t, x


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Compare(">", a, Parameter(0, INT)), "a > ?1"),
        (Like(s, Parameter(1, STRING)), "s LIKE ?2"),
        (Arithmetic("-", a, Arithmetic("-", b, i(-1), INT), INT), "a - (b - -1)"),
        (Not(And((ok, Or((ok, ok))))), "NOT (ok AND (ok OR ok))"),
        (And((ok, And((ok, ok)))), "ok AND (ok AND ok)"),
        (Not(IsNull(a)), "a IS NOT NULL"),
        (Not(In(a, (i(1), i(2)))), "a NOT IN (1, 2)"),
        (Negate(i(1), INT), "-(1)"),
        (Column("from", INT), '"from"'),
        (Column('a"b', INT), '"a""b"'),
        (t("it's"), "'it''s'"),
        (at(NEW_YEAR + 5), "TIMESTAMP '2026-01-01 00:00:00.000005'"),
        (at(2**62), "TIMESTAMP(4611686018427387904)"),
        (f(float("nan")), "NaN"),
        (f(float("-inf")), "-Infinity"),
        (f(1e300), "1e+300"),
        (Call("is_hot", (x,), BOOL), "is_hot(x)"),
    ],
)
def test_an_expression_has_one_canonical_text(expression: Expression, text: str) -> None:
    assert render(expression) == text
