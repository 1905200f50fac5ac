"""Expressions over columns against a row-wise evaluation in plain Python, on small domains that hold every extreme."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cacq.data.column import Column, from_arrow
from cacq.data.types import INT64_MAX, Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.query import ast
from tests.values import (
    ARITHMETIC,
    COMPARABLE,
    COMPARISONS,
    DOMAINS,
    HUGE,
    NUMBERS,
    PATTERNS,
    TYPES,
    Reference,
    agree,
    column_of,
    frame_of,
    python_values,
    random_expression,
    random_rows,
    same,
)

pytestmark = pytest.mark.filterwarnings("error")


def agree_on_all_pairs(make: Callable[[Any, Any], ast.Expression], left: Type, right: Type) -> None:
    """Assert it for every pair of the domains, as columns, and with each side in turn a constant or a parameter."""
    pairs = [{"x": x, "y": y, "parameter 0": y} for x, y in itertools.product(DOMAINS[left], DOMAINS[right])]
    types = {"x": left, "y": right, "parameter 0": right}
    x, y = ast.Column("x", left), ast.Column("y", right)
    agree(make(x, y), pairs, types)
    agree(make(x, ast.Parameter(0, right)), pairs, types)
    for value in DOMAINS[right]:
        agree(make(x, ast.Constant(value, right)), pairs[:: len(DOMAINS[right])], types)
    for value in DOMAINS[left]:
        agree(make(ast.Constant(value, left), y), pairs[: len(DOMAINS[right])], types)
        agree(make(ast.Constant(value, left), ast.Constant(DOMAINS[right][-1], right)), pairs[:2], types)


@pytest.mark.parametrize(("left", "sign", "right", "type"), ARITHMETIC)
def test_arithmetic_is_exact_or_null_and_an_error(left: Type, sign: str, right: Type, type: Type) -> None:
    agree_on_all_pairs(lambda x, y: ast.Arithmetic(sign, x, y, type), left, right)


@pytest.mark.parametrize("symbol", COMPARISONS)
@pytest.mark.parametrize(("left", "right"), COMPARABLE)
def test_values_compare_exactly(left: Type, right: Type, symbol: str) -> None:
    agree_on_all_pairs(lambda x, y: ast.Compare(symbol, x, y), left, right)


@pytest.mark.parametrize("symbol", COMPARISONS)
@pytest.mark.parametrize("type", NUMBERS)
def test_integers_beyond_int64_compare_exactly_from_either_side(type: Type, symbol: str) -> None:
    rows = [{"x": value} for value in [*DOMAINS[type], *([1.7976931348623157e308] if type is Type.FLOAT64 else [])]]
    x = ast.Column("x", type)
    for value in HUGE:
        huge = ast.Constant(value, Type.INT64)
        agree(ast.Compare(symbol, x, huge), rows, {"x": type})
        agree(ast.Compare(symbol, huge, x), rows, {"x": type})
        for other in [*HUGE, 5, None]:
            agree(ast.Compare(symbol, huge, ast.Constant(other, Type.INT64)), rows[:2], {"x": type})
            agree(ast.Compare(symbol, ast.Constant(other, Type.INT64), huge), rows[:2], {"x": type})


@pytest.mark.parametrize("kind", [ast.Negate, ast.Absolute])
@pytest.mark.parametrize("type", NUMBERS)
def test_a_change_of_sign_fails_only_for_the_smallest_integer(kind: Any, type: Type) -> None:
    agree(kind(ast.Column("x", type), type), [{"x": value} for value in DOMAINS[type]], {"x": type})


@pytest.mark.parametrize("connective", [ast.And, ast.Or])
def test_and_or_not_follow_three_valued_logic(connective: Any) -> None:
    names = ("x", "y", "z")
    rows = [dict(zip(names, values, strict=True)) for values in itertools.product((None, False, True), repeat=3)]
    types = dict.fromkeys(names, Type.BOOL)
    x, y, z = (ast.Column(name, Type.BOOL) for name in names)
    agree(connective((x, y, z)), rows, types)
    agree(ast.Not(connective((x, ast.Not(y)))), rows, types)
    agree(connective((ast.IsNull(x), ast.IsNull(y))), rows, types)
    for value in (None, False, True):
        agree(connective((x, ast.Constant(value, Type.BOOL))), rows, types)
        agree(connective((ast.Constant(value, Type.BOOL), x, y)), rows, types)


def test_without_nulls_connectives_have_no_validity_to_carry() -> None:
    frame = Frame(2, lambda _: column_of([True, False], Type.BOOL))
    x = ast.Column("x", Type.BOOL)
    assert evaluate(ast.And((x, x, ast.Not(x))), frame).valid is None


@pytest.mark.parametrize("type", list(Type))
def test_is_null_is_never_null(type: Type) -> None:
    rows = [{"x": value} for value in DOMAINS[type]]
    agree(ast.IsNull(ast.Column("x", type)), rows, {"x": type})
    agree(ast.IsNull(ast.Column("x", type)), rows[1:], {"x": type})


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("type", list(Type))
def test_in_finds_exactly_the_equal_values(type: Type, seed: int) -> None:
    source = random.Random(seed)
    members: list[tuple[Any, Type]] = [(value, type) for value in DOMAINS[type]]
    if type in NUMBERS:
        members = [(value, kind) for kind in NUMBERS for value in DOMAINS[kind]] + [(v, Type.INT64) for v in HUGE]
    chosen = source.sample(members, source.randint(1, min(len(members), 12)))
    if seed % 2:
        chosen = [member for member in chosen if member[0] is not None] or [(DOMAINS[type][1], type)]
    node = ast.In(ast.Column("x", type), tuple(ast.Constant(*member) for member in chosen))
    rows = [{"x": value} for value in DOMAINS[type]]
    agree(node, rows, {"x": type}, f"seed {seed}")
    agree(node, rows[::-1], {"x": type}, f"seed {seed}, evaluated again")
    for value in [*DOMAINS[type], *(HUGE if type is Type.INT64 else [])]:
        agree(ast.In(ast.Constant(value, type), node.values), rows[:3], {"x": type}, f"seed {seed}")


@pytest.mark.parametrize("type", [Type.INT64, Type.FLOAT64, Type.STRING])
def test_in_takes_a_hundred_thousand_values(type: Type) -> None:
    make = {Type.INT64: int, Type.FLOAT64: float, Type.STRING: str}[type]
    node = ast.In(ast.Column("x", type), tuple(ast.Constant(make(2 * k), type) for k in range(100_000)))
    column = column_of([make(k) for k in (0, 1, 77_777, 77_778, 199_998, 199_999, 200_000)], type)
    found = evaluate(node, Frame(7, lambda _: column))
    assert python_values(found) == [True, False, False, True, True, False, False]


def test_an_in_list_that_was_evaluated_still_equals_its_copy() -> None:
    first, second = (ast.In(ast.Column("x", Type.INT64), (ast.Constant(1, Type.INT64),)) for _ in range(2))
    evaluate(first, Frame(1, lambda _: column_of([1], Type.INT64)))
    assert (first, hash(first), repr(first)) == (second, hash(second), repr(second))


@pytest.mark.parametrize("escape", ["", "!", "é"])
def test_like_takes_constant_patterns_and_one_pattern_a_row(escape: str) -> None:
    texts = DOMAINS[Type.STRING]
    rows = [{"x": x, "parameter 0": pattern} for x, pattern in itertools.product(texts, PATTERNS)]
    types = {"x": Type.STRING, "parameter 0": Type.STRING}
    x = ast.Column("x", Type.STRING)
    agree(ast.Like(x, ast.Parameter(0, Type.STRING), escape), rows, types)
    for pattern in PATTERNS:
        agree(ast.Like(x, ast.Constant(pattern, Type.STRING), escape), rows[:: len(PATTERNS)], types)
    for text in texts:
        agree(ast.Like(ast.Constant(text, Type.STRING), ast.Parameter(0, Type.STRING), escape), rows[:17], types)


def test_concat_joins_and_gives_null_for_null() -> None:
    agree_on_all_pairs(ast.Concat, Type.STRING, Type.STRING)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_strings_may_be_slices_of_arrow_arrays_with_nulls_of_either_width(kind: pa.DataType) -> None:
    values = DOMAINS[Type.STRING]
    column = from_arrow(pa.array(["skipped", *values, "also"], kind)[1:-1], Type.STRING)
    x, constant = ast.Column("x", Type.STRING), ast.Constant("a", Type.STRING)
    pattern = ast.Constant("%a%", Type.STRING)
    nodes = [
        *(ast.Compare(symbol, x, side) for symbol in COMPARISONS for side in (constant, x)),
        ast.Like(x, pattern), ast.Concat(x, constant), ast.Concat(x, x), ast.In(x, (constant,)), ast.IsNull(x),
    ]  # fmt: skip
    for node in nodes:
        found = python_values(evaluate(node, Frame(len(values), lambda _: column)))
        assert found == [Reference({"x": value}).value(node) for value in values], node


def test_numbers_may_be_strided_or_read_only_arrays() -> None:
    backing = np.arange(20, dtype=np.int64)
    backing.flags.writeable = False
    strided, repeated = Column(Type.INT64, backing[::2]), Column(Type.INT64, np.broadcast_to(np.int64(3), 10))
    x, parameter = ast.Column("x", Type.INT64), ast.Parameter(0, Type.INT64)
    total = ast.Arithmetic("+", x, parameter, Type.INT64)
    assert python_values(evaluate(total, Frame(10, lambda _: strided, [repeated]))) == list(range(3, 23, 2))
    half = ast.Compare("<", x, ast.Constant(4.5, Type.FLOAT64))
    assert python_values(evaluate(half, Frame(10, lambda _: strided))) == [True] * 3 + [False] * 7


@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize("type", list(Type))
def test_a_constant_has_the_length_of_the_frame(type: Type, length: int) -> None:
    for value in DOMAINS[type]:
        column = evaluate(ast.Constant(value, type), Frame(length, {}.__getitem__))
        assert all(same(found, value) for found in python_values(column))
        assert len(column) == length


def test_every_kind_of_expression_works_over_no_rows() -> None:
    source = random.Random(0)
    for _ in range(200):
        node = random_expression(source, source.choice(list(Type)), 3)
        assert len(evaluate(node, frame_of([], TYPES))) == 0


def test_errors_gather_over_evaluations_of_one_frame() -> None:
    frame = Frame(3, lambda _: column_of([0, 1, INT64_MAX], Type.INT64))
    x = ast.Column("x", Type.INT64)
    evaluate(ast.Arithmetic("%", x, x, Type.INT64), frame)
    evaluate(ast.Arithmetic("+", x, x, Type.INT64), frame)
    assert frame.errors is not None
    assert frame.errors.tolist() == [True, False, True]


def test_a_null_operand_is_no_error() -> None:
    frame = Frame(2, lambda _: column_of([None, None], Type.INT64))
    zero = ast.Constant(0, Type.INT64)
    evaluate(ast.Arithmetic("%", ast.Column("x", Type.INT64), zero, Type.INT64), frame)
    assert frame.errors is None


@pytest.mark.parametrize("seed", range(300))
def test_nested_expressions_agree_with_the_reference(seed: int) -> None:
    source = random.Random(seed)
    node = random_expression(source, source.choice(list(Type)), 4)
    agree(node, random_rows(source, 12), TYPES, f"seed {seed}")
