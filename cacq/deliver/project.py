"""A query's output columns over the rows that it wants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cacq.data.arrays import Ints
from cacq.data.column import Column, concatenate, empty
from cacq.data.types import NEVER
from cacq.deliver.chunk import Chunk
from cacq.deliver.deltas import Deltas
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


def project(
    select: ast.Select, chunks: Sequence[Chunk], positions: Sequence[Ints], first_seq: int
) -> tuple[Deltas, int]:
    """The rows at these positions of these chunks as deltas; and in how many of them a value had no answer."""
    parts = [(chunk, rows) for chunk, rows in zip(chunks, positions, strict=True) if len(rows)]
    length = sum(len(rows) for _, rows in parts)

    def column(name: str) -> Column:
        if not parts:
            return empty(select.schema.columns[name])
        return concatenate([chunk.columns[name].take(rows) for chunk, rows in parts])

    frame = Frame(length, column)
    columns = {output.name: evaluate(output.expression, frame) for output in select.outputs}
    ts = np.concatenate([chunk.ts[rows] for chunk, rows in parts]) if parts else np.empty(0, np.int64)
    seq = np.arange(first_seq, first_seq + length)
    deltas = Deltas(seq, np.ones(length, np.int64), ts, np.full(length, NEVER), columns)
    return deltas, 0 if frame.errors is None else int(np.count_nonzero(frame.errors))
