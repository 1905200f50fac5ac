"""The oracle's own picture of a query over one stream; `spelling` writes it as text.

Types are the five names of the public interface. NULL is `Literal(None, type)`; timestamps are integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}


@dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True)
class Literal:
    value: Any
    type: str


@dataclass(frozen=True)
class Interval:
    """`INTERVAL 'count' unit`: a number of microseconds."""

    count: int
    unit: str
    type: str = "int64"

    @property
    def value(self) -> int:
        return self.count * UNITS[self.unit]


@dataclass(frozen=True)
class Arithmetic:
    operator: str
    left: Expression
    right: Expression
    type: str


@dataclass(frozen=True)
class Negate:
    operand: Expression
    type: str


@dataclass(frozen=True)
class Absolute:
    operand: Expression
    type: str


@dataclass(frozen=True)
class Concat:
    left: Expression
    right: Expression
    type: str = "string"


@dataclass(frozen=True)
class Call:
    """A user-defined function of `tests.oracle.functions`."""

    function: str
    arguments: tuple[Expression, ...]
    type: str


@dataclass(frozen=True)
class Compare:
    operator: str
    left: Expression
    right: Expression
    type: str = "bool"


@dataclass(frozen=True)
class Between:
    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False
    type: str = "bool"


@dataclass(frozen=True)
class In:
    operand: Expression
    items: tuple[Literal, ...]
    negated: bool = False
    type: str = "bool"


@dataclass(frozen=True)
class Like:
    operand: Expression
    pattern: str
    escape: str = ""
    negated: bool = False
    type: str = "bool"


@dataclass(frozen=True)
class IsNull:
    operand: Expression
    negated: bool = False
    type: str = "bool"


@dataclass(frozen=True)
class Not:
    operand: Expression
    type: str = "bool"


@dataclass(frozen=True)
class And:
    parts: tuple[Expression, ...]
    type: str = "bool"


@dataclass(frozen=True)
class Or:
    parts: tuple[Expression, ...]
    type: str = "bool"


Expression = (
    Column | Literal | Interval | Arithmetic | Negate | Absolute | Concat | Call
    | Compare | Between | In | Like | IsNull | Not | And | Or
)  # fmt: skip


@dataclass(frozen=True)
class Output:
    """One output column; without an alias it is named by its column or by its text."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True)
class Stream:
    """A stream's name and columns; `timestamp` names its event time, None stamps rows on arrival."""

    name: str
    columns: tuple[Column, ...]
    timestamp: str | None = None
    lateness: float = 0.0

    @property
    def schema(self) -> dict[str, str]:
        return {column.name: column.type for column in self.columns}


@dataclass(frozen=True)
class Query:
    """`SELECT outputs FROM stream [alias] [WHERE predicate]`; `outputs` None is `*`, `predicate` None is no WHERE."""

    stream: Stream
    outputs: tuple[Output, ...] | None
    predicate: Expression | None
    alias: str | None = None

    @property
    def shown(self) -> tuple[Output, ...]:
        """The outputs with `*` expanded."""
        return tuple(Output(column) for column in self.stream.columns) if self.outputs is None else self.outputs

    @property
    def names(self) -> list[str | None]:
        """The names of the output columns; None where the name is a matter of spelling."""
        names = [o.alias or (o.expression.name if isinstance(o.expression, Column) else None) for o in self.shown]
        return [name if names.count(name) == 1 else None for name in names]


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of an expression."""
    match expression:
        case Column() | Literal() | Interval():
            return ()
        case Arithmetic(left=left, right=right) | Concat(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Between(operand=operand, low=low, high=high):
            return (operand, low, high)
        case In(operand=operand, items=items):
            return (operand, *items)
        case Call(arguments=parts) | And(parts=parts) | Or(parts=parts):
            return parts
        case _:
            return (expression.operand,)


def calls_function(expression: Expression) -> bool:
    """Whether a user-defined function is called somewhere."""
    return isinstance(expression, Call) or any(map(calls_function, children(expression)))


def compares_int_with_float(expression: Expression) -> bool:
    """Whether it compares an int64 with a float64 somewhere, which DuckDB does inexactly beyond 2**53."""
    operands = children(expression)
    if isinstance(expression, Compare | Between | In) and {"int64", "float64"} <= {e.type for e in operands}:
        return True
    return any(compares_int_with_float(operand) for operand in operands)


def iso(microseconds: int) -> datetime:
    """The instant as a datetime in UTC."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def quoted(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"
