"""Shapes that differ only in the direction of their comparisons: `a < ? AND b >= ?` tells what `a > ? AND b < ?` is.

Observation: `<`, `<=`, `>` and `>=` are one thing to lexer, parser and binder, but for the operator that ends up in the
comparison. With k comparisons there are 4**k shapes, and one of them has to be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cacq.query import ast
from cacq.query.lift import MARK
from cacq.query.normalize import conjuncts

_OPERATOR = re.compile(r"(<>|<=|>=|<|>)")
DIRECTED = frozenset(("<", "<=", ">", ">="))


def skeleton(shape: str) -> tuple[str, list[str]] | None:
    """The shape with one mark for each directed comparison, and these in order; None if it holds quotes or comments.

    Where one of two shapes with equal skeletons is a query, the other one's operators are lexemes too: in a query no
    symbol that could be the beginning or the end of a longer one stands beside a comparison.
    """
    if '"' in shape or "--" in shape or "/*" in shape:
        return None
    pieces = _OPERATOR.split(shape)
    operators: list[str] = []
    for index in range(1, len(pieces), 2):
        if pieces[index] in DIRECTED:
            operators.append(pieces[index])
            pieces[index] = MARK + "<"
    return "".join(pieces), operators


def ranks(predicate: ast.Expression | None, count: int) -> list[int] | None:
    """For each conjunct of a folded predicate which of the `count` directed comparisons of its text it is, from 1.

    0 where it is none of them. None if one of the comparisons is no conjunct with a constant, and so shows elsewhere:
    `a < b` is a key as a whole.
    """
    origins = [_origin(node) for node, _ in conjuncts(predicate)]
    written = sorted(origin for origin in origins if origin)
    if len(written) != count or len(set(written)) != count:
        return None
    return [written.index(origin) + 1 if origin else 0 for origin in origins]


def _origin(node: ast.Expression) -> int:
    return node.origin if isinstance(node, ast.Compare) and isinstance(node.right, ast.Constant) else 0


def turned(operator: str, before: str, after: str) -> str:
    """What becomes of the operator of a comparison, when in the text one directed comparison replaces another.

    The binder may have mirrored it, NOT may have negated it.
    """
    if operator == before:
        return after
    if operator == ast.MIRRORED[before]:
        return ast.MIRRORED[after]
    if operator == ast.NEGATED[before]:
        return ast.NEGATED[after]
    return ast.MIRRORED[ast.NEGATED[after]]


def turned_all(
    operators: Sequence[str], ranks: Sequence[int], before: Sequence[str], after: Sequence[str]
) -> list[str]:
    """`turned` for the operators of all conjuncts."""
    return [
        turned(operator, before[rank - 1], after[rank - 1]) if rank else operator
        for operator, rank in zip(operators, ranks, strict=True)
    ]
