"""The oracle's random queries, spelt in many ways, bind to what the oracle meant; rendering and reading is a circle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.query import ast
from cacq.query.bind import bind
from cacq.query.render import render
from cacq.query.rewrite import rebuild
from tests.oracle import language
from tests.oracle.functions import FUNCTIONS
from tests.oracle.generate import make_case

SIGNATURES = {
    function.name: ast.Function(function.name, tuple(map(Type, function.arguments)), Type(function.returns))
    for function in FUNCTIONS.values()
}
FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
SEEDS = range(60)


def queries_of(seed: int) -> tuple[list[tuple[language.Query, str]], dict[str, Schema]]:
    """The queries of a random case with their texts. User functions in the select list are not available."""
    case = make_case(seed, rows=2)
    pairs = zip(case.queries, case.texts, strict=True)
    queries = [(q, text) for q, text in pairs if not any(language.calls_function(o.expression) for o in q.shown)]
    return queries, {case.stream.name: Schema.of(case.stream.schema, case.stream.timestamp)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_query_binds_to_what_it_means(seed: int) -> None:
    queries, schemas = queries_of(seed)
    for query, text in queries:
        bound = bind(text, schemas, SIGNATURES)
        assert bound.source == query.stream.name, text
        assert [plain(o.expression) for o in bound.outputs] == [plain(meant(o.expression)) for o in query.shown], text
        expected = None if query.predicate is None else plain(meant(query.predicate))
        assert (None if bound.predicate is None else plain(bound.predicate)) == expected, text
        for output, name in zip(bound.outputs, query.names, strict=True):
            assert name in (output.name, None), text


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rendered_expression_reads_as_the_same_expression(seed: int) -> None:
    queries, schemas = queries_of(seed)
    for query, text in queries:
        predicate = bind(text, schemas, SIGNATURES).predicate
        if predicate is not None:
            again = bind(f"SELECT * FROM {query.stream.name} WHERE {render(predicate)}", schemas, SIGNATURES).predicate
            assert again is not None
            assert plain(again) == plain(predicate), render(predicate)
            assert render(again) == render(predicate)


def plain(expression: ast.Expression) -> ast.Expression:
    """The expression with all NULLs of one type, since the text of a NULL does not show its type."""
    if isinstance(expression, ast.Constant):
        return ast.Constant(None, Type.BOOL) if expression.value is None else expression
    if isinstance(expression, ast.In):
        values = [replace(value, type=Type.BOOL) if value.value is None else value for value in expression.values]
        expression = replace(expression, values=tuple(values))
    return rebuild(expression, plain)


def meant(expression: language.Expression) -> ast.Expression:
    """The oracle's expression in the engine's nodes."""
    match expression:
        case language.Column(name=name, type=type):
            return ast.Column(name, Type(type))
        case language.Literal(value=value, type=type) | language.Interval(value=value, type=type):
            return ast.Constant(value, Type(type))
        case language.Arithmetic(operator=operator, left=left, right=right, type=type):
            return ast.Arithmetic(operator, meant(left), meant(right), Type(type))
        case language.Negate(operand=language.Literal(value=int() | float() as value, type=type)) if value >= 0:
            return ast.Constant(-value, Type(type))
        case language.Negate(operand=operand, type=type):
            return ast.Negate(meant(operand), Type(type))
        case language.Absolute(operand=operand, type=type):
            return ast.Absolute(meant(operand), Type(type))
        case language.Concat(left=left, right=right):
            return ast.Concat(meant(left), meant(right))
        case language.Call(function=function, arguments=arguments, type=type):
            return ast.Call(function, tuple(map(meant, arguments)), Type(type))
        case language.Compare(operator=operator, left=left, right=right):
            return compared(operator, meant(left), meant(right))
        case language.Not(operand=operand):
            return ast.Not(meant(operand))
        case language.And(parts=parts) | language.Or(parts=parts):
            return flat(ast.And if isinstance(expression, language.And) else ast.Or, [meant(part) for part in parts])
    test = postfix(expression)
    return ast.Not(test) if expression.negated else test


def postfix(expression: language.Expression) -> ast.Expression:
    match expression:
        case language.Between(operand=operand, low=low, high=high):
            return ast.And((compared(">=", meant(operand), meant(low)), compared("<=", meant(operand), meant(high))))
        case language.In(operand=operand, items=items):
            return ast.In(meant(operand), tuple(ast.Constant(item.value, Type(item.type)) for item in items))
        case language.Like(operand=operand, pattern=pattern, escape=escape):
            return ast.Like(meant(operand), ast.Constant(pattern, Type.STRING), escape)
        case language.IsNull(operand=operand):
            return ast.IsNull(meant(operand))
    raise TypeError(expression)


def flat(kind: type[ast.And] | type[ast.Or], parts: list[ast.Expression]) -> ast.Expression:
    flattened: list[ast.Expression] = []
    for part in parts:
        flattened += part.parts if isinstance(part, kind) else (part,)
    return kind(tuple(flattened))


def compared(operator: str, left: ast.Expression, right: ast.Expression) -> ast.Expression:
    if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
        return ast.Compare(FLIPPED[operator], right, left)
    return ast.Compare(operator, left, right)
