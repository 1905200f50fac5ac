"""A query's output columns over the rows that it wants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cacq.data.arrays import Ints
from cacq.data.column import Column
from cacq.deliver.deltas import Deltas
from cacq.deliver.gather import Room, gather, gather_array
from cacq.deliver.log import Span
from cacq.deliver.segment import Segment
from cacq.filters.evaluate import Frame, evaluate
from cacq.query import ast


def columns_of(expressions: Iterable[ast.Expression]) -> set[str]:
    """The columns that the expressions name."""
    names: set[str] = set()
    stack = list(expressions)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Column):
            names.add(node.name)
        elif not isinstance(node, ast.In):
            stack.extend(ast.children(node))
        else:
            stack.append(node.operand)
    return names


def project(select: ast.Select, spans: Sequence[Span], first_seq: int, room: Room) -> tuple[Deltas, int]:
    """The results in these spans as deltas; and in how many of them a value had no answer."""
    length = sum(span.results for span in spans)
    positions = room.positions(length)
    parts: list[tuple[Segment, Ints]] = []
    found = 0
    for span in spans:
        mine = positions[found : found + span.results]
        span.segment.fill(span.tenancy.slot, span.start, span.stop, mine)
        parts.append((span.segment, mine))
        found += span.results

    def column(name: str) -> Column:
        type = select.schema.columns[name]
        return gather([(segment.columns[name], rows) for segment, rows in parts], length, type)

    frame = Frame(length, column)
    columns = {output.name: evaluate(output.expression, frame) for output in select.outputs}
    ts = gather_array([(segment.ts, rows) for segment, rows in parts], np.empty(length, np.int64))
    errors = 0 if frame.errors is None else int(np.count_nonzero(frame.errors))
    return Deltas(first_seq, ts, columns), errors
