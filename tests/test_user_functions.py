"""User-defined functions: what they see, which of their results count, and which rows fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cacq.data.column import Column
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.errors import FunctionError
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.functions import UserFunction
from cacq.query import ast
from tests.values import DOMAINS, column_of, python_values, same

pytestmark = pytest.mark.filterwarnings("error")


def declared(
    function: Callable[..., Any], arguments: tuple[Type, ...], returns: Type, vectorized: bool = False
) -> UserFunction:
    return UserFunction(ast.Function("f", arguments, returns), function, vectorized)


def call(function: UserFunction, *columns: Column) -> tuple[list[Any], dict[int, FunctionError]]:
    """What an expression `f(parameters)` gives and which rows failed."""
    arguments = tuple(ast.Parameter(index, column.type) for index, column in enumerate(columns))
    node = ast.Call("f", arguments, function.signature.returns)
    frame = Frame(len(columns[0]), {}.__getitem__, columns, {"f": function})
    column = evaluate(node, frame)
    assert column.type is function.signature.returns
    assert frame.errors is None
    return python_values(column), frame.failures


@pytest.mark.parametrize("type", list(Type))
def test_a_scalar_function_sees_python_values_and_none(type: Type) -> None:
    seen: list[Any] = []
    values, failures = call(declared(lambda x: seen.append(x) or x, (type,), type), column_of(DOMAINS[type], type))
    assert all(map(same, seen, DOMAINS[type]))
    assert all(map(same, values, DOMAINS[type]))
    assert not failures


@pytest.mark.parametrize("type", list(Type))
def test_a_vectorized_function_sees_arrays_masked_where_null(type: Type) -> None:
    seen: list[Any] = []
    function = declared(lambda x: seen.append(x) or x, (type,), type, vectorized=True)
    values, failures = call(function, column_of(DOMAINS[type], type))
    assert all(map(same, values, DOMAINS[type]))
    assert isinstance(seen[0], np.ma.MaskedArray)
    assert not failures
    values, failures = call(function, column_of(DOMAINS[type][1:], type))
    assert all(map(same, values, DOMAINS[type][1:]))
    assert seen[1].__class__ is np.ndarray
    assert len(seen) == 2
    assert not failures


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_function_that_raises_fails_in_exactly_those_rows(vectorized: bool) -> None:
    def reciprocal(x: Any) -> Any:
        if (x == 0).any() if vectorized else x == 0:
            raise ValueError("no zero please")
        return 10 // x

    values, failures = call(
        declared(reciprocal, (Type.INT64,), Type.INT64, vectorized), column_of([1, 0, 5, 0], Type.INT64)
    )
    assert values == [10, None, 2, None]
    assert list(failures) == [1, 3]
    assert "'f'" in failures[1].message
    assert "ValueError: no zero please" in failures[1].message
    assert isinstance(failures[1].__cause__, ValueError)


ACCEPTED: dict[Type, list[Any]] = {
    Type.BOOL: [True, np.True_, False],
    Type.INT64: [0, INT64_MAX, INT64_MIN, np.int8(-3), np.uint64(5)],
    Type.TIMESTAMP: [0, INT64_MAX, np.int32(4)],
    Type.FLOAT64: [0.5, 3, np.float32(0.25), np.int64(4), math.nan, 2**64],
    Type.STRING: ["", "é", np.str_("b")],
}
REFUSED: dict[Type, list[Any]] = {
    Type.BOOL: [0, 1.0, "true", np.int64(1), [True]],
    Type.INT64: [True, 1.0, "1", 2**63, -(2**63) - 1, np.uint64(2**63), np.True_, object()],
    Type.TIMESTAMP: [1.5, False, "2026-01-01", 2**63],
    Type.FLOAT64: ["1", True, 10**400, 1j, np.False_],
    Type.STRING: [b"a", 1, None.__class__, "\ud800"],
}


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("type", list(Type))
def test_values_of_the_declared_type_and_none_are_accepted(type: Type, vectorized: bool) -> None:
    returned = [*ACCEPTED[type], None]

    def function(x: Any) -> Any:
        return objects([returned[int(k)] for k in x]) if vectorized else returned[x]

    positions = column_of(range(len(returned)), Type.INT64)
    values, failures = call(declared(function, (Type.INT64,), type, vectorized), positions)
    assert all((a is None and b is None) or a == b or b != b for a, b in zip(values, returned, strict=True))
    assert not failures


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("type", list(Type))
def test_a_value_of_another_type_fails_its_row_and_says_so(type: Type, vectorized: bool) -> None:
    returned = [*REFUSED[type], ACCEPTED[type][0]]

    def function(x: Any) -> Any:
        return objects([returned[int(k)] for k in x]) if vectorized else returned[x]

    positions = column_of(range(len(returned)), Type.INT64)
    values, failures = call(declared(function, (Type.INT64,), type, vectorized), positions)
    assert values == [None] * len(REFUSED[type]) + [ACCEPTED[type][0]]
    assert list(failures) == list(range(len(REFUSED[type])))
    for value, failure in zip(REFUSED[type], failures.values(), strict=True):
        assert all(part in failure.message for part in ("'f'", value.__class__.__name__, type.value))


def objects(values: list[Any]) -> Any:
    array = np.empty(len(values), object)
    for k, value in enumerate(values):
        array[k] = value
    return array


@pytest.mark.parametrize("wrong", [lambda x: x[:-1], lambda x: 1, lambda x: [1] * len(x), lambda x: x.reshape(-1, 1)])
def test_an_array_of_the_wrong_shape_fails_every_row(wrong: Callable[[Any], Any]) -> None:
    function = declared(wrong, (Type.INT64,), Type.INT64, vectorized=True)
    values, failures = call(function, column_of([1, 2], Type.INT64))
    assert values == [None, None]
    assert list(failures) == [0, 1]
    assert "as long as its arguments" in failures[0].message


def test_an_array_of_another_type_fails_every_row_but_integers_become_floats() -> None:
    column = column_of([1, 2], Type.INT64)
    for returns, dtype in ((Type.INT64, np.float64), (Type.INT64, np.bool_), (Type.BOOL, np.int64)):
        values, failures = call(declared(lambda x, d=dtype: x.astype(d), (Type.INT64,), returns, True), column)
        assert values == [None, None]
        assert len(failures) == 2
    values, failures = call(declared(lambda x: x, (Type.INT64,), Type.FLOAT64, vectorized=True), column)
    assert [type(value) for value in values] == [float, float]
    assert not failures


def test_unsigned_results_beyond_int64_fail_their_rows() -> None:
    function = declared(
        lambda x: x.astype(np.uint64) + np.uint64(2**63 - 1), (Type.INT64,), Type.INT64, vectorized=True
    )
    values, failures = call(function, column_of([0, 1], Type.INT64))
    assert values == [INT64_MAX, None]
    assert list(failures) == [1]


@pytest.mark.parametrize("vectorized", [False, True])
def test_integer_arguments_become_floats_where_floats_are_declared(vectorized: bool) -> None:
    seen: list[Any] = []
    call(declared(lambda x: seen.append(x) or x, (Type.FLOAT64,), Type.FLOAT64, vectorized), column_of([1], Type.INT64))
    assert isinstance(seen[0][0] if vectorized else seen[0], float)


def test_a_vectorized_function_cannot_write_into_the_rows() -> None:
    def spoil(x: Any) -> Any:
        x[0] = 99
        return x

    column = column_of([1, 2], Type.INT64)
    _, failures = call(declared(spoil, (Type.INT64,), Type.INT64, vectorized=True), column)
    assert list(failures) == [0, 1]
    assert column.values.tolist() == [1, 2]


def test_a_function_takes_several_arguments_and_constants() -> None:
    function = declared(lambda x, y, z: f"{x}{y}{z}", (Type.INT64, Type.STRING, Type.BOOL), Type.STRING)
    x = ast.Column("x", Type.INT64)
    node = ast.Call("f", (x, ast.Constant("-", Type.STRING), ast.Constant(None, Type.BOOL)), Type.STRING)
    frame = Frame(2, lambda _: column_of([1, None], Type.INT64), functions={"f": function})
    assert python_values(evaluate(node, frame)) == ["1-None", "None-None"]


def test_a_function_without_arguments_gives_a_value_a_row() -> None:
    frame = Frame(3, {}.__getitem__, functions={"f": declared(lambda: 7, (), Type.INT64)})
    assert python_values(evaluate(ast.Call("f", (), Type.INT64), frame)) == [7, 7, 7]


def test_the_first_failure_of_a_row_is_kept() -> None:
    function = declared(lambda x: x / 0, (Type.INT64,), Type.FLOAT64)
    frame = Frame(1, lambda _: column_of([1], Type.INT64), functions={"f": function})
    node = ast.Call("f", (ast.Column("x", Type.INT64),), Type.FLOAT64)
    evaluate(node, frame)
    first = frame.failures[0]
    evaluate(node, frame)
    assert frame.failures[0] is first


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_function_is_not_called_for_no_rows(vectorized: bool) -> None:
    def never(x: Any) -> Any:
        raise AssertionError(x)

    function = declared(never, (Type.STRING,), Type.STRING, vectorized)
    assert call(function, column_of([], Type.STRING)) == ([], {})
