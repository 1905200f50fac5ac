"""Folding: constants are computed once, and nothing else changes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cacq.data.types import INT64_MAX, Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.fold import fold
from cacq.query import ast
from cacq.query.bind_expressions import MAX_DEPTH
from tests.values import TYPES, Row, column_of, frame_of, python_values, random_expression, random_rows, same

pytestmark = pytest.mark.filterwarnings("error")


def values_over(node: ast.Expression, rows: list[Row]) -> list[Any]:
    return python_values(evaluate(node, frame_of(rows, TYPES)))


@pytest.mark.parametrize("seed", range(300))
def test_folding_changes_no_value(seed: int) -> None:
    source = random.Random(seed)
    node = random_expression(source, source.choice(list(Type)), 4)
    rows = random_rows(source, 12)
    folded = fold(node)
    assert folded.type is node.type
    for before, after in zip(values_over(node, rows), values_over(folded, rows), strict=True):
        assert same(before, after), f"seed {seed}: {node} folded to {folded}"
    assert repr(fold(folded)) == repr(folded), f"seed {seed}: folding twice folds more"


X = ast.Column("x", Type.INT64)
P, Q = ast.Column("p", Type.BOOL), ast.Column("q", Type.BOOL)
TRUE, FALSE, NULL = (ast.Constant(value, Type.BOOL) for value in (True, False, None))


def number(value: int | None) -> ast.Constant:
    return ast.Constant(value, Type.INT64)


ONE_BY_ZERO = ast.Arithmetic("/", number(1), number(0), Type.FLOAT64)
FOLDS: list[tuple[ast.Expression, ast.Expression]] = [
    (ast.Arithmetic("+", number(2), number(3), Type.INT64), number(5)),
    (ast.Compare("<", X, ast.Arithmetic("*", number(2), number(3), Type.INT64)), ast.Compare("<", X, number(6))),
    (ast.Compare("<", number(1), number(2)), TRUE),
    (ast.Compare("=", X, number(None)), NULL),
    (ast.Compare("<", number(None), X), NULL),
    (ast.In(X, (number(None), number(None))), NULL),
    (ast.In(number(None), (number(1),)), NULL),
    (ast.In(number(1), (number(1), number(None))), TRUE),
    (ast.In(number(2), (number(1), number(None))), NULL),
    (ast.IsNull(number(None)), TRUE),
    (ast.And((P, TRUE, Q)), ast.And((P, Q))),
    (ast.And((P, TRUE)), P),
    (ast.And((P, FALSE, Q)), FALSE),
    (ast.And((P, NULL, NULL)), ast.And((P, NULL))),
    (ast.And((NULL, FALSE)), FALSE),
    (ast.And((TRUE, TRUE)), TRUE),
    (ast.Or((P, FALSE)), P),
    (ast.Or((P, TRUE)), TRUE),
    (ast.Or((NULL, P)), ast.Or((NULL, P))),
    (ast.Or((FALSE, FALSE)), FALSE),
    (ast.Not(NULL), NULL),
    (ast.Not(ast.Or((P, TRUE))), FALSE),
    (ast.Compare("=", X, number(2**70)), ast.Compare("=", X, number(2**70))),
    (ast.Compare("<", number(2**70), number(2**70 + 1)), TRUE),
    (ast.In(X, (number(2**70),)), ast.In(X, (number(2**70),))),
    (ast.In(number(2**70), (number(2**70),)), TRUE),
    (ast.Concat(ast.Constant("é", Type.STRING), ast.Constant("b", Type.STRING)), ast.Constant("éb", Type.STRING)),
    (ast.Arithmetic("+", ast.Constant(5, Type.TIMESTAMP), number(1), Type.TIMESTAMP), ast.Constant(6, Type.TIMESTAMP)),
    (ast.Call("f", (ast.Negate(number(1), Type.INT64),), Type.INT64), ast.Call("f", (number(-1),), Type.INT64)),
    (ast.Compare("=", X, ONE_BY_ZERO), ast.Compare("=", X, ONE_BY_ZERO)),
]


@pytest.mark.parametrize(("before", "after"), FOLDS)
def test_constant_parts_fold_to_their_values(before: ast.Expression, after: ast.Expression) -> None:
    folded = fold(before)
    assert folded == after
    if isinstance(folded, ast.Constant):
        assert type(folded.value) is type(after.value)  # type: ignore[union-attr]


@pytest.mark.parametrize("node", [X, P, ast.And((P, Q)), ast.In(X, (number(1),)), ast.Call("f", (X,), Type.INT64)])
def test_what_has_no_constant_parts_folds_to_itself(node: ast.Expression) -> None:
    assert fold(node) == node


def test_folding_and_evaluating_do_not_recurse_over_many_parts() -> None:
    parts = tuple(ast.Compare("=", X, number(k)) for k in range(20_000))
    node = ast.Or((*parts, ast.Compare("=", number(1), number(2))))
    folded = fold(node)
    assert isinstance(folded, ast.Or)
    assert len(folded.parts) == 20_000
    column = column_of([19_999, 20_000], Type.INT64)
    assert python_values(evaluate(folded, Frame(2, lambda _: column))) == [True, False]


def test_a_list_of_a_hundred_thousand_values_is_left_alone() -> None:
    node = ast.In(X, tuple(map(number, range(100_000))))
    assert fold(node) == node
    assert "_members" not in vars(node)


def test_expressions_as_deep_as_the_language_allows_fold_and_evaluate() -> None:
    node: ast.Expression = X
    for _ in range(MAX_DEPTH):
        node = ast.Arithmetic("+", node, ast.Negate(number(-1), Type.INT64), Type.INT64)
    column = column_of([1, INT64_MAX], Type.INT64)
    assert python_values(evaluate(fold(node), Frame(2, lambda _: column))) == [1 + MAX_DEPTH, None]
