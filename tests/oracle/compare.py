"""An engine's answer as the oracle would have written it, and as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.oracle.plain import Delta


def read(deltas: Any) -> list[Delta]:
    """The deltas of a poll as (seq, op, ts, exp, row)."""
    parts = (deltas.seq.tolist(), deltas.op.tolist(), deltas.ts.tolist(), deltas.exp.tolist(), deltas.rows())
    return list(zip(*parts, strict=True))


def same(actual: Sequence[Delta], expected: Sequence[Delta]) -> bool:
    """Whether both are the same to the last bit, all NaNs alike: -0.0 is not 0.0, True is not 1, 1 is not 1.0."""
    return repr(actual) == repr(expected)


def difference(actual: Sequence[Delta], expected: Sequence[Delta]) -> str:
    """Where the first difference is, in words."""
    for position, (one, other) in enumerate(zip(actual, expected, strict=False)):
        if repr(one) != repr(other):
            return f"delta {position} is {one!r}, expected {other!r}"
    if len(actual) < len(expected):
        return f"{len(expected) - len(actual)} deltas are missing, the first is {expected[len(actual)]!r}"
    return f"{len(actual) - len(expected)} deltas too many, the first is {actual[len(expected)]!r}"


def as_bytes(deltas: Any) -> dict[str, bytes]:
    """Every array of a poll as bytes. What stands under a NULL may be anything and is blanked; all NaNs are alike, for
    which sign `inf - inf` or `nan + nan` has is a matter of the processor and of how a loop was vectorised."""
    parts = {name: getattr(deltas, name).tobytes() for name in ("seq", "op", "ts", "exp")}
    for name, column in deltas.columns.items():
        parts[f"column {name}"] = _column_bytes(column)
    return parts


def _column_bytes(column: Any) -> bytes:
    if column.dtype == object:
        return repr(column.tolist()).encode()
    values = np.ma.getdata(column).copy()
    mask = np.ma.getmaskarray(column)
    values[mask] = 0
    if values.dtype == np.float64:
        values[np.isnan(values)] = np.nan
    return str(column.dtype).encode() + values.tobytes() + mask.tobytes()
