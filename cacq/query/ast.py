"""Bound, typed expressions: frozen values that compare by content, so equal expressions can be shared.

Every expression knows its type. NULL is `Constant(None, type)`. A `Parameter` stands for a constant that was lifted
out, so that predicates of one shape can be evaluated together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from cacq.data.schema import Schema
from cacq.data.types import Type

Value = int | float | bool | str | None

MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparison that says the same with its sides exchanged."""
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The comparison that is true where this one is false."""


@dataclass(frozen=True)
class Column:
    """A column of the source."""

    name: str
    type: Type


@dataclass(frozen=True)
class Constant:
    """A literal. Timestamps are integers. An integer may lie outside int64: it only occurs in comparisons.

    -0.0 and 0.0 are different literals, though equal numbers: a user function may tell them apart. `origin` says where
    the value comes from, negative if a minus stands before it: where in the text the literal ends, or in a template
    (see parameters.py) which of the lifted literals it is, counted from 1. It is 0 for a computed value.
    """

    value: Value
    type: Type
    origin: int = field(default=0, compare=False, repr=False)
    negative_zero: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        negative = self.value == 0 and isinstance(self.value, float) and math.copysign(1, self.value) < 0
        object.__setattr__(self, "negative_zero", negative)


@dataclass(frozen=True)
class Parameter:
    """The i-th lifted constant of a shape."""

    index: int
    type: Type


@dataclass(frozen=True)
class Arithmetic:
    """`operator` is one of + - * / %. `/` is float division; integer overflow and division by zero give NULL."""

    operator: str
    left: Expression
    right: Expression
    type: Type


@dataclass(frozen=True)
class Negate:
    """Unary minus; NULL where the result does not fit."""

    operand: Expression
    type: Type


@dataclass(frozen=True)
class Absolute:
    """ABS; NULL where the result does not fit."""

    operand: Expression
    type: Type


@dataclass(frozen=True)
class Concat:
    """`left || right`; NULL if either is."""

    left: Expression
    right: Expression
    type: Type = field(default=Type.STRING, init=False)


@dataclass(frozen=True)
class Call:
    """A registered function applied to arguments of exactly its declared types."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type


@dataclass(frozen=True)
class Compare:
    """`operator` is one of = != < <= > >=. Both sides are comparable: numbers with numbers, else equal types.

    `origin` is where in the text a < <= > or >= ends that it stands for; else 0.
    """

    operator: str
    left: Expression
    right: Expression
    type: Type = field(default=Type.BOOL, init=False)
    origin: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class In:
    """`operand IN (values)`; the values are constants comparable with the operand, None among them for NULL."""

    operand: Expression
    values: tuple[Constant, ...]
    type: Type = field(default=Type.BOOL, init=False)


@dataclass(frozen=True)
class IsNull:
    """Whether the operand is NULL; never NULL itself."""

    operand: Expression
    type: Type = field(default=Type.BOOL, init=False)


@dataclass(frozen=True)
class Like:
    """`pattern` is a string Constant or Parameter in which `%` and `_` are wild; `escape` is one character or ''."""

    operand: Expression
    pattern: Expression
    escape: str = ""
    type: Type = field(default=Type.BOOL, init=False)


@dataclass(frozen=True)
class Not:
    """Negation in three-valued logic."""

    operand: Expression
    type: Type = field(default=Type.BOOL, init=False)


@dataclass(frozen=True)
class And:
    """All of two or more parts, in three-valued logic."""

    parts: tuple[Expression, ...]
    type: Type = field(default=Type.BOOL, init=False)


@dataclass(frozen=True)
class Or:
    """Any of two or more parts, in three-valued logic."""

    parts: tuple[Expression, ...]
    type: Type = field(default=Type.BOOL, init=False)


Expression = (
    Column | Constant | Parameter | Arithmetic | Negate | Absolute | Concat | Call
    | Compare | In | IsNull | Like | Not | And | Or
)  # fmt: skip


@dataclass(frozen=True)
class Output:
    """One output column: its unique name and what it shows."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Function:
    """The declared signature of a user-defined function."""

    name: str
    arguments: tuple[Type, ...]
    returns: Type


@dataclass(frozen=True)
class Select:
    """A bound query: one stream, its output columns, and its predicate (None where every row is wanted)."""

    source: str
    schema: Schema
    outputs: tuple[Output, ...]
    predicate: Expression | None


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of an expression."""
    match expression:
        case Column() | Constant() | Parameter():
            return ()
        case Arithmetic(left=left, right=right) | Concat(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Like(operand=operand, pattern=pattern):
            return (operand, pattern)
        case Negate(operand=operand) | Absolute(operand=operand) | IsNull(operand=operand) | Not(operand=operand):
            return (operand,)
        case In(operand=operand, values=values):
            return (operand, *values)
        case Call(arguments=arguments):
            return arguments
        case And(parts=parts) | Or(parts=parts):
            return parts


def calls_functions(expression: Expression) -> bool:
    """Whether a function of a user stands anywhere in the expression."""
    stack: list[Expression] = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Call):
            return True
        stack.extend((node.operand,) if isinstance(node, In) else children(node))
    return False
