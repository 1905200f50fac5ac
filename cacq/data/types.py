"""The five types of a value, and how each is stored."""

from __future__ import annotations

from enum import Enum

import numpy as np
import pyarrow as pa

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
NEVER = INT64_MAX
"""The death time of a row that does not die; `exp` is null on the wire."""


class Type(Enum):
    """A column's type. Timestamps are integers: microseconds since 1970 UTC."""

    INT64 = "int64"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"
    TIMESTAMP = "timestamp"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The numpy type its values have in a Column; strings stay Arrow and have none of their own."""
        return _DTYPES[self]

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type it has in what cacq gives out."""
        return _ARROW[self]

    @property
    def numeric(self) -> bool:
        """Whether it takes part in arithmetic with the other numeric type."""
        return self in (Type.INT64, Type.FLOAT64)


_DTYPES = {
    Type.INT64: np.dtype(np.int64),
    Type.FLOAT64: np.dtype(np.float64),
    Type.BOOL: np.dtype(np.bool_),
    Type.STRING: np.dtype(object),
    Type.TIMESTAMP: np.dtype(np.int64),
}
_ARROW = {
    Type.INT64: pa.int64(),
    Type.FLOAT64: pa.float64(),
    Type.BOOL: pa.bool_(),
    Type.STRING: pa.large_string(),
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}
