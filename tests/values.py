"""Values with every extreme, what expressions over them give by SEMANTICS 23, and random expressions.

The reference evaluates one row at a time in plain Python and shares no code with cacq/.
"""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cacq.data.column import Column
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.query import ast
from tests.test_kernels_values import is_like, order

DOMAINS: dict[Type, list[Any]] = {
    Type.INT64: [
        None, 0, 1, -1, 2, 7, -7, 3037000500, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62,
        INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1,
    ],
    Type.FLOAT64: [
        None, 0.0, -0.0, 1.0, -1.0, 0.5, 7.0, -7.5, math.nan, math.inf, -math.inf, 2.0**53, 2.0**53 + 2, 2.0**63,
        -(2.0**63), math.nextafter(2.0**63, 0), 1e308, -1e308, 5e-324, 2.0**64, 2.0**70,
    ],
    Type.BOOL: [None, False, True],
    Type.STRING: [None, "", "a", "ab", "b", "A", "a\x00", "a\nb", "é", "éa", "\uffff", "\U0001f600", "100%", "a_b"],
    Type.TIMESTAMP: [None, 0, 1, -1, 1_700_000_000_000_000, INT64_MAX, INT64_MIN],
}  # fmt: skip
LARGEST = int(1.7976931348623157e308)
HUGE = [
    2**63, 2**63 + 1, -(2**63) - 1, 2**64, -(2**64), 2**70, 2**70 + 1, -(2**70),
    LARGEST, LARGEST + 1, 10**400, -(10**400),
]  # fmt: skip
GARBAGE: dict[Type, list[Any]] = {
    Type.INT64: [INT64_MIN, 0, -1, 5],
    Type.FLOAT64: [math.nan, 0.0, math.inf, -1e308],
    Type.BOOL: [True, False],
    Type.STRING: ["garbage", "", "é%"],
    Type.TIMESTAMP: [INT64_MAX, 0],
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
NUMBERS = (Type.INT64, Type.FLOAT64)
COMPARABLE = [*itertools.product(NUMBERS, NUMBERS), *((type, type) for type in Type if type not in NUMBERS)]
ARITHMETIC = [
    *((left, sign, right, Type.FLOAT64 if sign == "/" or Type.FLOAT64 in (left, right) else Type.INT64)
      for left, right in itertools.product(NUMBERS, NUMBERS) for sign in "+-*/%"),
    (Type.TIMESTAMP, "+", Type.INT64, Type.TIMESTAMP),
    (Type.INT64, "+", Type.TIMESTAMP, Type.TIMESTAMP),
    (Type.TIMESTAMP, "-", Type.INT64, Type.TIMESTAMP),
    (Type.TIMESTAMP, "-", Type.TIMESTAMP, Type.INT64),
]  # fmt: skip

Row = dict[str, Any]


class Reference:
    """One row's value by SEMANTICS 23; `error` says whether a value was NULL for want of an answer."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.error = False

    def value(self, node: ast.Expression) -> Any:
        match node:
            case ast.Column(name=name):
                return self.row[name]
            case ast.Parameter(index=index):
                return self.row[f"parameter {index}"]
            case ast.Constant(value=value):
                return value
            case ast.IsNull(operand=operand):
                return self.value(operand) is None
            case ast.And(parts=parts) | ast.Or(parts=parts):
                return self.connected([self.value(part) for part in parts], isinstance(node, ast.Or))
            case ast.In(operand=operand, values=values):
                return self.among(self.value(operand), [constant.value for constant in values])
        operands = [self.value(child) for child in ast.children(node)]
        return None if None in operands else self.strict(node, operands)

    def connected(self, values: list[Any], decisive: bool) -> Any:
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    def among(self, value: Any, values: list[Any]) -> Any:
        if value is None:
            return None
        if any(other is not None and order(value, other) == 0 for other in values):
            return True
        return None if None in values else False

    def strict(self, node: ast.Expression, operands: list[Any]) -> Any:
        match node:
            case ast.Arithmetic():
                return self.checked(self.arithmetic(node, *operands), node.type)
            case ast.Negate():
                return self.checked(-operands[0], node.type)
            case ast.Absolute():
                return self.checked(abs(operands[0]), node.type)
            case ast.Concat():
                return operands[0] + operands[1]
            case ast.Compare(operator=symbol):
                return COMPARISONS[symbol](order(*operands), 0)
            case ast.Like(escape=escape):
                return is_like(*operands, escape)
            case ast.Not():
                return not operands[0]
        raise AssertionError(node)

    def arithmetic(self, node: ast.Arithmetic, left: Any, right: Any) -> Any:
        if node.type is Type.FLOAT64:
            left, right = float(left), float(right)
        match node.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
        if right == 0:
            return None
        if node.operator == "/":
            return left / right
        if isinstance(left, int):
            return abs(left) % abs(right) * (-1 if left < 0 else 1)
        return math.nan if math.isinf(left) or left != left or right != right else math.fmod(left, right)

    def checked(self, value: Any, type: Type) -> Any:
        if value is not None and (type is Type.FLOAT64 or INT64_MIN <= value <= INT64_MAX):
            return value
        self.error = True
        return None


def column_of(values: Sequence[Any], type: Type) -> Column:
    """A column of these values with garbage under its NULLs."""
    garbage = itertools.cycle(GARBAGE[type])
    filled = [next(garbage) if value is None else value for value in values]
    valid = np.array([value is not None for value in values], np.bool_) if None in values else None
    if type is Type.STRING:
        return Column(type, pa.array(filled, pa.large_string()), valid)
    return Column(type, np.array(filled, type.dtype), valid)


def python_values(column: Column) -> list[Any]:
    values = column.values.to_pylist() if column.type is Type.STRING else column.values.tolist()
    if column.valid is None:
        return values
    assert len(column.valid) == len(values)
    return [value if valid else None for value, valid in zip(values, column.valid.tolist(), strict=True)]


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same, down to the sign of a zero."""
    if isinstance(left, float) and isinstance(right, float):
        if left != left or right != right:
            return left != left and right != right
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return type(left) is type(right) and left == right


def frame_of(rows: list[Row], types: dict[str, Type]) -> Frame:
    columns = {name: column_of([row[name] for row in rows], type) for name, type in types.items()}
    parameters = [column for name, column in columns.items() if name.startswith("parameter ")]
    return Frame(len(rows), columns.__getitem__, parameters)


def agree(node: ast.Expression, rows: list[Row], types: dict[str, Type], note: str = "") -> None:
    """Assert that values, type and error rows are what the reference says."""
    frame = frame_of(rows, types)
    column = evaluate(node, frame)
    errors = np.zeros(len(rows), np.bool_) if frame.errors is None else frame.errors
    assert column.type is node.type
    assert column.type is Type.STRING or column.values.dtype == node.type.dtype
    assert len(column) == len(rows)
    for row, found, error in zip(rows, python_values(column), errors.tolist(), strict=True):
        reference = Reference(row)
        expected = reference.value(node)
        assert same(found, expected), f"{note} {node} in {row}: {found!r}, not {expected!r}"
        assert error == reference.error, f"{note} {node} in {row}: error {error}"


PATTERNS = [
    None,
    "",
    "%",
    "_",
    "a%",
    "%b",
    "a_b",
    "_a",
    "%é%",
    "__",
    "a\nb",
    "%!%",
    "!_",
    "a!_b",
    "\U0001f600",
    "!",
    "%%",
]

TYPES = {
    "i": Type.INT64, "j": Type.INT64, "f": Type.FLOAT64, "g": Type.FLOAT64, "b": Type.BOOL, "s": Type.STRING,
    "t": Type.TIMESTAMP, "parameter 0": Type.INT64, "parameter 1": Type.STRING,
}  # fmt: skip


def random_leaf(source: random.Random, type: Type) -> ast.Expression:
    if source.random() < 0.4:
        return ast.Constant(source.choice(DOMAINS[type]), type)
    name = source.choice([name for name, kind in TYPES.items() if kind is type])
    return ast.Parameter(int(name[-1]), type) if name.startswith("parameter") else ast.Column(name, type)


def random_expression(source: random.Random, type: Type, depth: int) -> ast.Expression:
    """Some expression of that type."""
    if depth == 0 or source.random() < 0.1:
        return random_leaf(source, type)

    def operand(kind: Type) -> Any:
        return random_expression(source, kind, depth - 1)

    if type is Type.STRING:
        return ast.Concat(operand(type), operand(type))
    if type is Type.BOOL:
        return random_predicate(source, operand)
    left, sign, right, _ = source.choice([rule for rule in ARITHMETIC if rule[3] is type])
    if type is not Type.TIMESTAMP and source.random() < 0.3:
        return source.choice([ast.Negate, ast.Absolute])(operand(type), type)
    return ast.Arithmetic(sign, operand(left), operand(right), type)


def random_predicate(source: random.Random, operand: Callable[[Type], Any]) -> ast.Expression:
    match source.randrange(7):
        case 0 | 1:
            left, right = source.choice(COMPARABLE)
            return ast.Compare(source.choice(list(COMPARISONS)), operand(left), operand(right))
        case 2:
            return ast.IsNull(operand(source.choice(list(Type))))
        case 3:
            return ast.Not(operand(Type.BOOL))
        case 4:
            kind = source.choice(list(Type))
            values = source.sample(DOMAINS[kind], source.randint(1, 3))
            return ast.In(operand(kind), tuple(ast.Constant(value, kind) for value in values))
        case 5:
            pattern: ast.Expression = ast.Constant(source.choice(PATTERNS), Type.STRING)
            return ast.Like(operand(Type.STRING), source.choice([pattern, ast.Parameter(1, Type.STRING)]), "!")
    connective = source.choice([ast.And, ast.Or])
    return connective(tuple(operand(Type.BOOL) for _ in range(source.randint(2, 4))))


def random_rows(source: random.Random, count: int) -> list[Row]:
    return [{name: source.choice(DOMAINS[type]) for name, type in TYPES.items()} for _ in range(count)]
