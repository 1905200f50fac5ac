"""A bound expression as SQL text: the same text for the same expression, and no other text for it.

What bind() makes is bound again to the same expression when its text is read, except that NULL does not show its type.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

from cacq.data.types import Type
from cacq.query import ast
from cacq.query.words import KEYWORDS, UNSUPPORTED_WORDS

_OR, _AND, _NOT, _IS, _COMPARE, _RANGE, _CONCAT, _SUM, _PRODUCT, _UNARY, _ATOM = range(11)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EPOCH = datetime(1970, 1, 1)


def render(expression: ast.Expression) -> str:
    """The canonical text of the expression, with parentheses where precedence asks for them."""
    return _render(expression)[0]


def _render(expression: ast.Expression) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    match expression:
        case ast.Column(name=name):
            return _name(name), _ATOM
        case ast.Constant():
            return _constant(expression)
        case ast.Parameter(index=index):
            return f"?{index + 1}", _ATOM
        case ast.Arithmetic(operator=operator, left=left, right=right):
            level = _SUM if operator in "+-" else _PRODUCT
            return f"{_within(left, level)} {operator} {_within(right, level + 1)}", level
        case ast.Concat(left=left, right=right):
            return f"{_within(left, _CONCAT)} || {_within(right, _SUM)}", _CONCAT
        case ast.Negate(operand=operand):
            return f"-({render(operand)})", _UNARY
        case ast.Absolute(operand=operand):
            return f"ABS({render(operand)})", _ATOM
        case ast.Call(function=function, arguments=arguments):
            return f"{_name(function)}({', '.join(map(render, arguments))})", _ATOM
        case ast.Compare(operator=operator, left=left, right=right):
            return f"{_within(left, _RANGE)} {operator} {_within(right, _RANGE)}", _COMPARE
        case ast.In() | ast.Like() | ast.IsNull():
            return _test(expression, "")
        case ast.Not(operand=ast.In() | ast.Like() | ast.IsNull() as test):
            return _test(test, "NOT ")
        case ast.Not(operand=operand):
            return f"NOT {_within(operand, _IS)}", _NOT
        case ast.And(parts=parts):
            return " AND ".join(_within(part, _NOT) for part in parts), _AND
        case ast.Or(parts=parts):
            return " OR ".join(_within(part, _AND) for part in parts), _OR


def _within(expression: ast.Expression, least: int) -> str:
    """The text as an operand that must bind at least as tightly as `least`."""
    text, level = _render(expression)
    return text if level >= least else f"({text})"


def _test(expression: ast.In | ast.Like | ast.IsNull, negation: str) -> tuple[str, int]:
    match expression:
        case ast.IsNull(operand=operand):
            return f"{_within(operand, _CONCAT)} IS {negation}NULL", _IS
        case ast.In(operand=operand, values=values):
            return f"{_within(operand, _CONCAT)} {negation}IN ({', '.join(map(render, values))})", _RANGE
        case ast.Like(operand=operand, pattern=pattern, escape=escape):
            suffix = f" ESCAPE {_string(escape)}" if escape else ""
            return f"{_within(operand, _CONCAT)} {negation}LIKE {_within(pattern, _ATOM)}{suffix}", _RANGE


def _constant(constant: ast.Constant) -> tuple[str, int]:
    value = constant.value
    if value is None:
        return "NULL", _ATOM
    if isinstance(value, str):
        return _string(value), _ATOM
    if constant.type is Type.TIMESTAMP:
        return _timestamp(int(value)), _ATOM
    if isinstance(value, bool):
        return str(value).upper(), _ATOM
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[repr(value)], _ATOM
    return repr(value), _UNARY if repr(value).startswith("-") else _ATOM


def _timestamp(microseconds: int) -> str:
    """A literal where the calendar reaches so far, else the number of microseconds."""
    try:
        return f"TIMESTAMP '{(_EPOCH + timedelta(microseconds=microseconds)).isoformat(' ')}'"
    except OverflowError:
        return f"TIMESTAMP({microseconds})"


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    reserved = name.upper() in KEYWORDS or name.upper() in UNSUPPORTED_WORDS
    if _PLAIN.fullmatch(name) and not reserved:
        return name
    return '"' + name.replace('"', '""') + '"'
