"""Constant folding: the parts of an expression that are the same for every row, computed once."""

from __future__ import annotations

from dataclasses import replace

from cacq.data.column import Column
from cacq.data.types import Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.query import ast
from cacq.query.rewrite import rebuild

_LEAVES = (ast.Column, ast.Constant, ast.Parameter)
_CONNECTIVES = (ast.And, ast.Or)


def fold(expression: ast.Expression) -> ast.Expression:
    """The expression with its constant parts replaced by their values; a constant stands right of its comparison.

    A part that overflows or divides by zero stays, so that its error is counted in each row. So does a call.
    """
    if isinstance(expression, _LEAVES):
        return expression
    if isinstance(expression, _CONNECTIVES):
        return _fold_parts(expression)
    expression = rebuild(expression, fold)
    if isinstance(expression, ast.Call):
        return expression
    if isinstance(expression, ast.In) and all(constant.value is None for constant in expression.values):
        return ast.Constant(None, Type.BOOL)
    operands = (expression.operand,) if isinstance(expression, ast.In) else ast.children(expression)
    constants = [operand for operand in operands if isinstance(operand, ast.Constant)]
    if any(constant.value is None for constant in constants) and not isinstance(expression, ast.IsNull):
        return ast.Constant(None, expression.type)
    if len(constants) == len(operands):
        return _computed(expression)
    if isinstance(expression, ast.Compare) and isinstance(expression.left, ast.Constant):
        return ast.Compare(ast.MIRRORED[expression.operator], expression.right, expression.left)
    return expression


def _computed(expression: ast.Expression) -> ast.Expression:
    """The value of an expression whose operands are constants, or the expression if it has an error."""
    frame = Frame(1, dict[str, Column]().__getitem__)
    column = evaluate(expression, frame)
    if frame.errors is not None:
        return expression
    if column.valid is not None and not column.valid[0]:
        return ast.Constant(None, expression.type)
    first = column.values[0]
    return ast.Constant(first.as_py() if expression.type is Type.STRING else first.item(), expression.type)


def _fold_parts(expression: ast.And | ast.Or) -> ast.Expression:
    """AND or OR without its neutral constants and all but one NULL; the constant that decides it where there is one."""
    decisive = isinstance(expression, ast.Or)
    parts: list[ast.Expression] = []
    null = False
    for part in map(fold, expression.parts):
        if not isinstance(part, ast.Constant):
            parts.append(part)
        elif part.value is None:
            parts.extend(() if null else (part,))
            null = True
        elif part.value is decisive:
            return part
    if len(parts) < 2:
        return parts[0] if parts else ast.Constant(not decisive, Type.BOOL)
    return replace(expression, parts=tuple(parts))
