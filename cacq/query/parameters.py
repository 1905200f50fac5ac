"""Bound expressions whose lifted literals can be exchanged: each such constant knows which literal it is.

Binding looks at the kind of a literal and, where it may fail, at its value; what it makes of the literal is a constant
of that value, with or without a minus. So another text of the same shape is bound to the same expression with other
constants. What is not so is kept out: see `placed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from cacq.data.types import Type
from cacq.query import ast
from cacq.query.lift import Literal
from cacq.query.rewrite import rebuild


def placed(expression: ast.Expression) -> Iterator[ast.Constant]:
    """The constants that stand for a literal of the text whatever its value is, as often as they occur.

    Not the pattern of a LIKE with ESCAPE: it is refused where it ends with its escape character.
    """
    pending = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Constant):
            if node.origin:
                yield node
        elif isinstance(node, ast.Like) and node.escape:
            pending.append(node.operand)
        else:
            pending += ast.children(node)


def numbered(expression: ast.Expression, numbers: Mapping[int, int]) -> ast.Expression:
    """The expression with other origins: `numbers` says for an end in the text which lifted literal it is, from 1.

    Constants of other origin become plain ones.
    """

    def change(constant: ast.Constant) -> ast.Constant:
        number = numbers.get(abs(constant.origin), 0)
        return ast.Constant(constant.value, constant.type, -number if constant.origin < 0 else number)

    return _exchanged(expression, change)


def substituted(expression: ast.Expression, values: Sequence[Literal]) -> ast.Expression:
    """The numbered expression with the values of another text in it."""

    def change(constant: ast.Constant) -> ast.Constant:
        return ast.Constant(value_at(constant.origin, values), constant.type) if constant.origin else constant

    return _exchanged(expression, change)


def _exchanged(expression: ast.Expression, change: Callable[[ast.Constant], ast.Constant]) -> ast.Expression:
    def visit(node: ast.Expression) -> ast.Expression:
        if isinstance(node, ast.Constant):
            return change(node)
        if isinstance(node, ast.In):
            return replace(node, operand=visit(node.operand), values=tuple(change(value) for value in node.values))
        return rebuild(node, visit)

    return visit(expression)


def value_at(place: int, values: Sequence[Literal]) -> ast.Value:
    """The value of a constant whose origin is this place."""
    if place > 0:
        return values[place - 1]
    value = values[-place - 1]
    assert not isinstance(value, str), "no minus stands before a string"
    return -value


def exchangeable(literal: Literal, constant: ast.Constant) -> bool:
    """Whether the constant is what such a literal always becomes: a string that is an interval is not."""
    if isinstance(literal, str):
        return constant.type in (Type.STRING, Type.TIMESTAMP)
    return constant.type is (Type.FLOAT64 if isinstance(literal, float) else Type.INT64)
