"""User-defined functions: called with columns, their results checked against the declared type, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cacq.data.column import Column
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.errors import FunctionError
from cacq.query import ast

Failures = dict[int, FunctionError]

_ACCEPTED: dict[Type, tuple[type, ...]] = {
    Type.BOOL: (bool, np.bool_),
    Type.INT64: (int, np.integer),
    Type.TIMESTAMP: (int, np.integer),
    Type.FLOAT64: (float, int, np.floating, np.integer),
    Type.STRING: (str,),
}
_EMPTY: dict[Type, Any] = {Type.BOOL: False, Type.INT64: 0, Type.TIMESTAMP: 0, Type.FLOAT64: 0.0, Type.STRING: ""}


@dataclass(frozen=True)
class UserFunction:
    """A registered function. A scalar one sees Python values a row, None for NULL; a vectorized one sees arrays."""

    signature: ast.Function
    function: Callable[..., Any]
    vectorized: bool

    def apply(self, arguments: Sequence[Column], length: int) -> tuple[Column, Failures]:
        """The function's value for each row, and why it has none in the rows in which it failed (NULL there)."""
        converted = [_declared(column, type) for column, type in zip(arguments, self.signature.arguments, strict=True)]
        if self.vectorized:
            return self._apply_to_arrays([_array(column) for column in converted], length)
        rows = zip(*(column.to_list() for column in converted), strict=True) if converted else ((),) * length
        results = _Results(self.signature.returns, length)
        for row, values in enumerate(rows):
            try:
                value = self.function(*values)
            except Exception as error:
                results.fail(row, self._raised(error))
            else:
                self._accept(results, row, value)
        return results.column(), results.failures

    def _apply_to_arrays(self, arrays: list[Any], length: int) -> tuple[Column, Failures]:
        """One call for all rows; where that goes wrong, one call for each, to tell the good rows from the bad."""
        results = _Results(self.signature.returns, length)
        if length == 0:
            return results.column(), results.failures
        try:
            whole = self.function(*arrays)
        except Exception:
            whole = None
        if isinstance(whole, np.ndarray) and whole.shape == (length,):
            column = self._checked(whole)
            if column is not None:
                return column, {}
        for row in range(length):
            try:
                single = self.function(*(array[row : row + 1] for array in arrays))
            except Exception as error:
                results.fail(row, self._raised(error))
                continue
            if isinstance(single, np.ndarray) and single.shape == (1,):
                self._accept(results, row, single[0])
            else:
                results.fail(row, self._mistyped(single, "is not an array as long as its arguments"))
        return results.column(), results.failures

    def _checked(self, whole: Any) -> Column | None:
        """The array that the function returned as a column, or None if some value in it has the wrong type."""
        if whole.dtype.kind not in "OUT":
            return _numeric_column(whole, self.signature.returns)
        results = _Results(self.signature.returns, len(whole))
        for row, value in enumerate(whole):
            self._accept(results, row, value)
        return None if results.failures else results.column()

    def _accept(self, results: _Results, row: int, value: Any) -> None:
        """Keep a row's value if it has the declared type."""
        declared = self.signature.returns
        if value is None or value is np.ma.masked:
            return
        is_bool = isinstance(value, bool | np.bool_)
        if not isinstance(value, _ACCEPTED[declared]) or is_bool != (declared is Type.BOOL):
            results.fail(row, self._mistyped(value, "has the wrong type"))
            return
        try:
            results.set(row, value)
        except (OverflowError, UnicodeEncodeError):
            results.fail(row, self._mistyped(value, "is out of range"))

    def _raised(self, error: Exception) -> FunctionError:
        try:
            text = str(error)
        except Exception:  # even the text of an exception is the user's code
            text = "its text cannot be shown"
        wrapped = FunctionError(f"function {self.signature.name!r} raised {type(error).__name__}: {text}")
        wrapped.__cause__ = error
        return wrapped

    def _mistyped(self, value: Any, complaint: str) -> FunctionError:
        declared = self.signature.returns.value
        return FunctionError(
            f"function {self.signature.name!r} returned a value of type {type(value).__name__} that {complaint}: "
            f"it is declared to return {declared}",
            f"return {declared}, or None for NULL; or register the function with another type",
        )


class _Results:
    """The values of a function, filled in row by row; a row that was never set is NULL."""

    def __init__(self, type: Type, length: int) -> None:
        self.type = type
        self.values: list[Any] = [_EMPTY[type]] * length
        self.valid = np.zeros(length, np.bool_)
        self.failures: Failures = {}

    def set(self, row: int, value: Any) -> None:
        """Take a value of the right class; OverflowError or UnicodeEncodeError if it cannot be stored."""
        if self.type is Type.FLOAT64:
            value = float(value)
        elif self.type is Type.STRING:
            value.encode()
        elif self.type is not Type.BOOL:
            value = int(value)
            if not INT64_MIN <= value <= INT64_MAX:
                raise OverflowError
        self.values[row] = value
        self.valid[row] = True

    def fail(self, row: int, error: FunctionError) -> None:
        self.failures[row] = error

    def column(self) -> Column:
        values = _stored(self.values, self.type)
        return Column(self.type, values, None if self.valid.all() else self.valid)


def _stored(values: Any, type: Type) -> Any:
    """Values as a Column keeps them."""
    return pa.array(values, pa.large_string()) if type is Type.STRING else np.array(values, type.dtype)


def _declared(column: Column, type: Type) -> Column:
    """The argument in its declared type: only int64 is converted, to float64."""
    if column.type is type or type is not Type.FLOAT64:
        return column
    return Column(type, column.values.astype(np.float64), column.valid)


def _array(column: Column) -> Any:
    """The column as a numpy array that the function cannot write into, masked where there are NULLs."""
    string = column.type is Type.STRING
    values = np.array(column.values.to_pylist(), object) if string else column.values.view()
    if column.valid is None or column.valid.all():
        values.flags.writeable = False
        return values
    # What stands under a NULL is arbitrary: a function that looks at it must not see the accident.
    return np.ma.array(np.where(column.valid, values, _EMPTY[column.type]), mask=~column.valid)


def _numeric_column(result: Any, type: Type) -> Column | None:
    """A numeric or bool array as a column, or None if it does not have the type."""
    kinds = {Type.BOOL: "b", Type.FLOAT64: "fiu", Type.STRING: ""}.get(type, "iu")
    if result.dtype.kind not in kinds:
        return None
    data, mask = np.ma.getdata(result), np.ma.getmaskarray(result)
    if "f" not in kinds and data.dtype == np.uint64 and (data > INT64_MAX).any():
        return None
    return Column(type, data.astype(type.dtype), ~mask if mask.any() else None)
