"""Rebuilding expressions: the one place that knows how to put new operands into each kind of node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cacq.query import ast


def rebuild(node: ast.Expression, change: Callable[[ast.Expression], ast.Expression]) -> ast.Expression:
    """The node with every direct operand replaced by what `change` makes of it; leaves stay as they are.

    The constants of an IN list are no operands in this sense: there may be 100,000 of them. A comparison whose operands
    stay is itself given back.
    """
    match node:
        case ast.Compare():
            left, right = change(node.left), change(node.right)
            if left is node.left and right is node.right:
                return node
            return replace(node, left=left, right=right)
        case ast.Arithmetic() | ast.Concat():
            return replace(node, left=change(node.left), right=change(node.right))
        case ast.Negate() | ast.Absolute() | ast.IsNull() | ast.Not() | ast.In():
            return replace(node, operand=change(node.operand))
        case ast.Like():
            return replace(node, operand=change(node.operand), pattern=change(node.pattern))
        case ast.Call():
            return replace(node, arguments=tuple(change(argument) for argument in node.arguments))
        case ast.And() | ast.Or():
            return replace(node, parts=tuple(change(part) for part in node.parts))
        case _:
            return node
