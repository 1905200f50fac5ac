"""One pushed column, in whatever container it comes, as a column of its declared type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cacq.data.column import Column, from_arrow
from cacq.data.convert_arrow import from_arrow_data
from cacq.data.convert_numpy import from_numpy
from cacq.data.convert_python import from_list
from cacq.data.misfit import Misfit
from cacq.data.types import Type

_HINT = "give a list, a numpy array or an Arrow array for each column"


def convert(values: object, wanted: Type) -> pa.Array | Column:
    """The column, checked value by value, or a Misfit.

    It shares memory with `values` only where that is a pyarrow array. A pandas Series comes as pandas hands it to
    Arrow: its NaN is NULL.
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return from_arrow_data(values, wanted)
    if isinstance(values, np.ndarray):
        return from_numpy(values, wanted)
    if isinstance(values, list | tuple | range):
        return from_list(values, wanted)
    return detached(from_arrow_data(_exported(values), wanted), wanted)


def detached(column: pa.Array | Column, wanted: Type) -> pa.Array | Column:
    """The same column in memory of its own: pandas lends Arrow memory that it writes into later."""
    if isinstance(column, Column) or wanted in (Type.STRING, Type.BOOL):
        return column
    lent = from_arrow(column, wanted)
    return Column(wanted, lent.values.copy(), lent.valid)


def _exported(values: object) -> pa.Array | pa.ChunkedArray:
    """The Arrow form of a column of another library."""
    kind = type(values).__name__
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if any(hasattr(values, name) for name in ("__arrow_c_array__", "__arrow_array__", "to_numpy")):
            return pa.array(values)
    except Exception as error:  # whatever the other library raises
        raise Misfit(None, f"{kind} cannot be read as an Arrow array: {error}", _HINT) from error
    raise Misfit(None, f"{kind} is not a column of values", _HINT)
