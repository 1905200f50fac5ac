"""Bound expressions over columns: three-valued logic, exact comparison, NULL where arithmetic has no answer.

Inside, a column of length 1 stands for the same value in every row; only `evaluate` spreads it out. Every operand is
evaluated in every row, also where AND or OR is decided without it: which rows count as errors or failures does not
depend on the order of the parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cacq.data.arrays import Bools
from cacq.data.column import Column
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.errors import FunctionError
from cacq.filters.functions import UserFunction
from cacq.filters.members import Members, members_of
from cacq.kernels import arithmetic
from cacq.kernels.compare import compare_floats, compare_integers_with_floats
from cacq.kernels.like import like
from cacq.kernels.texts import compare_texts, find_texts
from cacq.query import ast

_INTEGER_OPERATORS = {
    "+": arithmetic.ADD, "-": arithmetic.SUBTRACT, "*": arithmetic.MULTIPLY, "%": arithmetic.REMAINDER,
}  # fmt: skip
_FLOAT_OPERATORS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}
_COMPARISONS = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


@dataclass
class Frame:
    """The rows an expression is evaluated over, and what went wrong in them.

    `columns` gives a source's column restricted to these rows, `parameters` a column for each lifted constant.
    `errors` marks the rows in which overflow or division by zero gave NULL (None: no row); `failures` those in which
    a user function failed, where its value is NULL. Both grow with each evaluation.
    """

    length: int
    columns: Callable[[str], Column]
    parameters: Sequence[Column] = ()
    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    errors: Bools | None = None
    failures: dict[int, FunctionError] = field(default_factory=dict)


def evaluate(expression: ast.Expression, frame: Frame) -> Column:
    """The expression's value in each row of the frame."""
    return _spread(_value(expression, frame), frame.length)


def _value(expression: ast.Expression, frame: Frame) -> Column:
    """As `evaluate`, but of length 1 where the value is the same in every row."""
    return _EVALUATORS[type(expression)](expression, frame)


def _spread(column: Column, length: int) -> Column:
    """The column with a value for each row."""
    if len(column) == length:
        return column
    valid = None if column.valid is None else column.valid.repeat(length)
    values = pa.repeat(column.values[0], length) if column.type is Type.STRING else column.values.repeat(length)
    return Column(column.type, values, valid)


def _common_length(left: Column, right: Column) -> int:
    return len(right) if len(left) == 1 else len(left)


def _both_valid(left: Column, right: Column) -> Bools | None:
    """Where neither side is NULL."""
    if left.valid is None and right.valid is None:
        return None
    valid = np.ones(_common_length(left, right), np.bool_)
    for side in (left, right):
        if side.valid is not None:
            valid &= side.valid
    return valid


def _readonly(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as kernels take it: contiguous and read-only, so that each is compiled for one kind of array only."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _text(column: Column) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    offsets, data = column.text()
    return _readonly(offsets), _readonly(data)


def _floats(column: Column) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = column.values
    return values if column.type is Type.FLOAT64 else values.astype(np.float64)


def _checked(frame: Frame, type: Type, values: npt.NDArray[Any], valid: Bools | None, bad: Bools) -> Column:
    """The column of these values, NULL and an error of the frame where they are bad and no operand was NULL."""
    if valid is not None:
        bad = bad & valid
    if not bad.any():
        return Column(type, values, valid)
    if frame.errors is None:
        frame.errors = np.zeros(frame.length, np.bool_)
    frame.errors |= bad
    return Column(type, values, ~bad if valid is None else valid & ~bad)


def _column(expression: ast.Column, frame: Frame) -> Column:
    return frame.columns(expression.name)


def _parameter(expression: ast.Parameter, frame: Frame) -> Column:
    return frame.parameters[expression.index]


def _constant(expression: ast.Constant, frame: Frame) -> Column:
    value, type = expression.value, expression.type
    valid = np.zeros(1, np.bool_) if value is None else None
    if type is Type.STRING:
        return Column(type, pa.array(["" if value is None else value], pa.large_string()), valid)
    if _is_huge(expression):
        return _checked(frame, type, np.zeros(1, np.int64), None, np.ones(1, np.bool_))
    return Column(type, np.array([0 if value is None else value], type.dtype), valid)


def _arithmetic(expression: ast.Arithmetic, frame: Frame) -> Column:
    left, right = _value(expression.left, frame), _value(expression.right, frame)
    valid = _both_valid(left, right)
    operator = expression.operator
    if expression.type is not Type.FLOAT64:
        length = _common_length(left, right)
        out, bad = np.empty(length, np.int64), np.empty(length, np.bool_)
        code = _INTEGER_OPERATORS[operator]
        arithmetic.checked_integers(code, _readonly(left.values), _readonly(right.values), out, bad)
        return _checked(frame, expression.type, out, valid, bad)
    divisor = _floats(right)
    with np.errstate(all="ignore"):
        values = _FLOAT_OPERATORS[operator](_floats(left), divisor)
    if operator in "/%":
        return _checked(frame, expression.type, values, valid, np.broadcast_to(divisor == 0, len(values)))
    return Column(expression.type, values, valid)


def _unary(function: np.ufunc, expression: ast.Negate | ast.Absolute, frame: Frame) -> Column:
    """A change of sign, which only INT64_MIN does not survive."""
    operand = _value(expression.operand, frame)
    values = function(operand.values)
    if operand.type is Type.FLOAT64:
        return Column(expression.type, values, operand.valid)
    return _checked(frame, expression.type, values, operand.valid, operand.values == INT64_MIN)


def _concat(expression: ast.Concat, frame: Frame) -> Column:
    left, right = _value(expression.left, frame), _value(expression.right, frame)
    length = _common_length(left, right)
    strings = [_spread(side, length).values.cast(pa.large_string()) for side in (left, right)]
    joined = pc.binary_join_element_wise(*strings, pa.scalar("", pa.large_string()))
    return Column(Type.STRING, joined, _both_valid(left, right))


def _call(expression: ast.Call, frame: Frame) -> Column:
    arguments = [evaluate(argument, frame) for argument in expression.arguments]
    column, failures = frame.functions[expression.function].apply(arguments, frame.length)
    for row, failure in failures.items():
        frame.failures.setdefault(row, failure)
    return column


def _compare(expression: ast.Compare, frame: Frame) -> Column:
    operator, left_side, right_side = expression.operator, expression.left, expression.right
    if _is_huge(left_side):
        operator, left_side, right_side = ast.MIRRORED[operator], right_side, left_side
    if isinstance(right_side, ast.Constant) and _is_huge(right_side):
        return _compare_with_huge(operator, left_side, right_side, frame)
    left, right = _value(left_side, frame), _value(right_side, frame)
    if left.type is Type.FLOAT64 and right.type is not Type.FLOAT64:
        operator, left, right = ast.MIRRORED[operator], right, left
    valid = _both_valid(left, right)
    if right.type is not Type.FLOAT64 and right.type is not Type.STRING:
        return Column(Type.BOOL, _COMPARISONS[operator](left.values, right.values), valid)
    signs = np.empty(_common_length(left, right), np.int8)
    if right.type is Type.STRING:
        compare_texts(*_text(left), *_text(right), signs)
    elif left.type is Type.FLOAT64:
        compare_floats(_readonly(left.values), _readonly(right.values), signs)
    else:
        compare_integers_with_floats(_readonly(left.values), _readonly(right.values), signs)
    return Column(Type.BOOL, _COMPARISONS[operator](signs, 0), valid)


def _is_huge(expression: ast.Expression) -> bool:
    """Whether it is an integer that int64 cannot hold."""
    if type(expression) is not ast.Constant or type(expression.value) is not int or expression.type is Type.FLOAT64:
        return False
    return not INT64_MIN <= expression.value <= INT64_MAX


def _compare_with_huge(operator: str, left_side: ast.Expression, right_side: ast.Constant, frame: Frame) -> Column:
    """Comparison with an integer outside int64: every int64 lies on one side of it, floats are compared exactly."""
    bound = right_side.value
    assert isinstance(bound, int)
    if isinstance(left_side, ast.Constant) and isinstance(left_side.value, int):
        signs = np.array([(left_side.value > bound) - (left_side.value < bound)])
        return Column(Type.BOOL, _COMPARISONS[operator](signs, 0), None)
    left = _value(left_side, frame)
    if left.type is Type.FLOAT64:
        below = _largest_float_up_to(bound)
        signs = np.where(left.values <= below, -1, 1)
        if below == bound:
            signs[left.values == below] = 0
    else:
        signs = np.full(len(left), -1 if bound > 0 else 1)
    return Column(Type.BOOL, _COMPARISONS[operator](signs, 0), left.valid)


def _largest_float_up_to(bound: int) -> float:
    try:
        nearest = float(bound)
    except OverflowError:
        return sys.float_info.max if bound > 0 else -np.inf
    return nearest if nearest <= bound else float(np.nextafter(nearest, -np.inf))


def _in(expression: ast.In, frame: Frame) -> Column:
    if _is_huge(expression.operand):
        return _in_huge(expression)
    operand = _value(expression.operand, frame)
    # Kept on the node: it follows from the node's content alone, and sorting 100,000 values takes longer than a push.
    members: Members | None = vars(expression).get("_members")
    if members is None:
        members = vars(expression)["_members"] = members_of(expression.values, expression.operand.type)
    if len(members.values) == 0:
        found = np.zeros(len(operand), np.bool_)
    elif operand.type is Type.STRING:
        found = np.empty(len(operand), np.bool_)
        find_texts(*_text(operand), *_text(members.values), found)
    else:
        position = np.searchsorted(members.values, operand.values)
        found = members.values[np.minimum(position, len(members.values) - 1)] == operand.values
    if members.nan:
        found = found | np.isnan(operand.values)
    if not members.null:
        return Column(Type.BOOL, found, operand.valid)
    return Column(Type.BOOL, found, found if operand.valid is None else found & operand.valid)


def _in_huge(expression: ast.In) -> Column:
    assert isinstance(expression.operand, ast.Constant)
    values = {constant.value for constant in expression.values}
    found = np.array([expression.operand.value in values])
    return Column(Type.BOOL, found, found if None in values else None)


def _is_null(expression: ast.IsNull, frame: Frame) -> Column:
    operand = _value(expression.operand, frame)
    return Column(Type.BOOL, np.zeros(len(operand), np.bool_) if operand.valid is None else ~operand.valid)


def _like(expression: ast.Like, frame: Frame) -> Column:
    operand, pattern = _value(expression.operand, frame), _value(expression.pattern, frame)
    out = np.empty(_common_length(operand, pattern), np.bool_)
    escape = np.frombuffer(expression.escape.encode(), np.uint8)
    like(*_text(operand), *_text(pattern), escape, out)
    return Column(Type.BOOL, out, _both_valid(operand, pattern))


def _not(expression: ast.Not, frame: Frame) -> Column:
    operand = _value(expression.operand, frame)
    return Column(Type.BOOL, ~operand.values, operand.valid)


def _connect(connective: np.ufunc, expression: ast.And | ast.Or, frame: Frame) -> Column:
    """AND or OR, once with NULL taken for false and once for true: where both agree that is the value, else NULL."""
    certain: Bools | None = None
    possible: Bools | None = None
    for part in expression.parts:
        column = _value(part, frame)
        low = high = column.values
        if column.valid is not None:
            low, high = low & column.valid, high | ~column.valid
        if certain is None:
            certain, possible = low, high
        elif certain is possible and low is high:
            certain = possible = connective(certain, low)
        else:
            certain, possible = connective(certain, low), connective(possible, high)
    assert certain is not None
    return Column(Type.BOOL, certain, None if certain is possible else certain == possible)


_EVALUATORS: Mapping[type, Callable[[Any, Frame], Column]] = {
    ast.Column: _column,
    ast.Constant: _constant,
    ast.Parameter: _parameter,
    ast.Arithmetic: _arithmetic,
    ast.Negate: partial(_unary, np.negative),
    ast.Absolute: partial(_unary, np.absolute),
    ast.Concat: _concat,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.In: _in,
    ast.IsNull: _is_null,
    ast.Like: _like,
    ast.Not: _not,
    ast.And: partial(_connect, np.logical_and),
    ast.Or: partial(_connect, np.logical_or),
}
