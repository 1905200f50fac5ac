"""Terms as text, for EXPLAIN."""

from __future__ import annotations

import math
import struct
from itertools import islice

from cacq.data.types import INT64_MAX, Type
from cacq.query.normalize import Indexed, Term
from cacq.query.render import render
from cacq.query.value_sets import Key, ValueSet

SHOWN = 4
"""Ranges of a set that are spelled out."""


def show_term(term: Term) -> str:
    """What the term asks: `a in [91, ..)`, or the predicate with its constants."""
    if isinstance(term, Indexed):
        return f"{render(term.key)} in {show_values(term.values, term.key.type)}"
    constants = ", ".join(render(constant) for constant in term.constants[:SHOWN])
    return f"{render(term.shape)} with {constants}{', ..' if len(term.constants) > SHOWN else ''}"


def show_values(values: ValueSet, type: Type) -> str:
    """The half-open ranges of a set."""
    edges: list[Key | None] = [None, *values.cuts] if values.below else list(values.cuts)
    if len(edges) % 2:
        edges.append(None)
    ranges = list(zip(edges[::2], edges[1::2], strict=True))
    parts = [_range(first, after, type) for first, after in islice(ranges, SHOWN)]
    if len(ranges) > SHOWN:
        parts.append(f".. {len(ranges)} ranges in all")
    if values.null:
        parts.append("NULL")
    return " or ".join(parts) if parts else "nothing"


def _range(first: Key | None, after: Key | None, type: Type) -> str:
    low = "(.." if first is None else f"[{_edge(first, type)}"
    return f"{low}, {'..' if after is None else _edge(after, type)})"


def _edge(key: Key, type: Type) -> str:
    if isinstance(key, bytes):
        return repr(key.decode(errors="backslashreplace"))
    if type is not Type.FLOAT64:
        return str(key)
    value: float = struct.unpack("<d", struct.pack("<q", key if key >= 0 else key ^ INT64_MAX))[0]
    return "after NaN" if math.isnan(value) else repr(value)
