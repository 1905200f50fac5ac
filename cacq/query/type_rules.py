"""Which types an operator takes and gives (SEMANTICS 23 to 25)."""

from __future__ import annotations

from cacq.data.types import Type
from cacq.query.ast import MIRRORED, Compare, Constant, Expression


def arithmetic_type(operator: str, left: Type, right: Type) -> Type | None:
    """The type of `left operator right`, or None where there is none."""
    if left.numeric and right.numeric:
        return Type.FLOAT64 if operator == "/" or Type.FLOAT64 in (left, right) else Type.INT64
    match operator, left, right:
        case "-", Type.TIMESTAMP, Type.TIMESTAMP:
            return Type.INT64
        case (("+" | "-"), Type.TIMESTAMP, Type.INT64):
            return Type.TIMESTAMP
        case "+", Type.INT64, Type.TIMESTAMP:
            return Type.TIMESTAMP
    return None


def comparable(left: Type, right: Type) -> bool:
    """Numbers compare with numbers, everything else with its own type."""
    return left is right or (left.numeric and right.numeric)


def fits(given: Type, declared: Type) -> bool:
    """Whether a function that declares the one type takes the other: integers widen to floats."""
    return given is declared or (given is Type.INT64 and declared is Type.FLOAT64)


def is_null(expression: Expression) -> bool:
    """Whether the expression is the literal NULL, whose type is still open."""
    return isinstance(expression, Constant) and expression.value is None


def retyped(expression: Expression, type: Type) -> Expression:
    """The literal NULL with the type of its partner; every other expression as it is."""
    return Constant(None, type) if is_null(expression) else expression


def comparison(operator: str, left: Expression, right: Expression, origin: int = 0) -> Compare:
    """The comparison, turned round where only its left side is constant."""
    if isinstance(left, Constant) and not isinstance(right, Constant):
        return Compare(MIRRORED[operator], right, left, origin)
    return Compare(operator, left, right, origin)
