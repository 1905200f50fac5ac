"""A numpy array as a column. Always copied: the caller may write into the array afterwards."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cacq.data.column import Column
from cacq.data.convert_python import from_list
from cacq.data.misfit import Misfit, wrong_type, wrong_value
from cacq.data.moment import from_datetime64, in_microseconds
from cacq.data.types import INT64_MAX, Type

_TAKEN = {Type.INT64: "iu", Type.FLOAT64: "fiu", Type.BOOL: "b", Type.STRING: "", Type.TIMESTAMP: "iuM"}
"""The kinds of dtype that a type takes, besides objects and strings, which are looked at value by value."""


def from_numpy(array: npt.NDArray[Any], wanted: Type) -> pa.Array | Column:
    """The values as a column of that type; NULL where a masked array masks, a list of objects has None, or at NaT."""
    plain = np.asarray(np.ma.getdata(array))
    if plain.ndim != 1:
        raise Misfit(None, f"the array has {plain.ndim} dimensions", "give one array of one dimension for each column")
    if not len(plain):  # without values its dtype says nothing: np.array([]) is one of floats
        return from_list([], wanted)
    kind = plain.dtype.kind
    if kind not in _TAKEN[wanted] + "OUT" or (plain.dtype.itemsize > 8 and kind == "f"):
        raise wrong_type(0, wanted, f"numpy {plain.dtype}")
    masked = np.ma.getmaskarray(array) if np.ma.is_masked(array) else None
    if kind in "OUT":
        objects = plain.astype(object)
        if masked is not None:
            objects[masked] = None
        return from_list(objects.tolist(), wanted)
    valid = None if masked is None else ~masked
    if kind == "M":
        return from_datetime64(plain, valid)
    if kind == "u" and wanted is not Type.FLOAT64:
        wrong = plain > INT64_MAX if valid is None else (plain > INT64_MAX) & valid
        if wrong.any():
            row = int(wrong.argmax())
            raise wrong_value(row, wanted, f"{plain.dtype} {plain[row]} is out of the range of int64")
    values: npt.NDArray[Any] = np.array(plain, wanted.dtype, order="C")
    if wanted is Type.TIMESTAMP:
        in_microseconds(values if valid is None else np.where(valid, values, 0), Fraction(1))
    return Column(wanted, values, valid)
