"""A query's output columns over the rows that it wants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cacq.data.column import Column
from cacq.deliver.deltas import Deltas
from cacq.deliver.gather import gather, gather_later
from cacq.deliver.log import Span
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


def project(select: ast.Select, spans: Sequence[Span], first_seq: int) -> tuple[Deltas, int]:
    """The results in these spans as deltas; and in how many of them a value had no answer."""
    length = sum([span.results for span in spans])

    def column(name: str) -> Column:
        return gather([(span.picks, span.segment.columns[name]) for span in spans], length, select.schema.columns[name])

    frame = Frame(length, column)
    columns = {output.name: evaluate(output.expression, frame) for output in select.outputs}
    ts = gather_later([(span.picks, span.segment.ts) for span in spans], length)
    errors = 0 if frame.errors is None else int(np.count_nonzero(frame.errors))
    return Deltas(first_seq, length, ts, columns), errors
