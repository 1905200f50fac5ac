"""Residual predicates: what no grouped filter can index, evaluated only for tuples that some query still wants.

Predicates of one shape (equal but for their constants) live in one operator. It collects the pairs (tuple,
predicate) that are still needed, evaluates the shape once over all pairs, and carries the truth back: the
interpreter runs per shape and batch, not per query.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import pyarrow as pa

from cacq.data.arrays import Words
from cacq.data.batch import Batch, Failure
from cacq.data.column import Column
from cacq.data.lineage import WORD, Layout
from cacq.data.types import Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.functions import UserFunction
from cacq.filters.operator import Operator, Places, Target, ValueErrors, place
from cacq.kernels import pairs
from cacq.query import ast

PAIRS = 1 << 16
"""Pairs evaluated at a time; bounds memory to a few MiB for each node of the shape."""


class ResidualFilter(Operator):
    """Predicates of one shape, each with its constants and the queries that hold it."""

    kind = "residual filter"

    def __init__(
        self, name: str, shape: ast.Expression, functions: dict[str, UserFunction], errors: ValueErrors
    ) -> None:
        super().__init__(name, errors, ast.calls_functions(shape))
        self.shape = shape
        self._functions = functions
        self._targets: dict[tuple[ast.Constant, ...], list[Target]] = {}
        self._parameters: list[Column] = []
        self._first = np.zeros(1, np.int64)
        self._places = Places(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint64))
        self._count = 0

    @property
    def predicates(self) -> int:
        return self._count

    @property
    def empty(self) -> bool:
        return not self._targets

    def add(self, target: Target, constants: tuple[ast.Constant, ...]) -> None:
        """Install one term."""
        self._targets.setdefault(constants, []).append(target)
        self._count += 1

    def remove(self, target: Target, constants: tuple[ast.Constant, ...]) -> None:
        """Take one term out."""
        self._targets[constants].remove(target)
        self._count -= 1
        if not self._targets[constants]:
            del self._targets[constants]

    def refresh(self, layout: Layout) -> None:
        targets = list(chain.from_iterable(self._targets.values()))
        self._first = np.cumsum([0, *map(len, self._targets.values())])
        self._places = place(targets, layout)
        self._mark(self._places, layout)
        self._parameters = [constant_column(constants) for constants in zip(*self._targets, strict=True)]

    def process(self, batch: Batch) -> Batch:
        predicates = len(self._first) - 1
        step = max(1, PAIRS // max(1, predicates))
        for start in range(0, len(batch), step):
            self._apply(batch, start, min(start + step, len(batch)))
        return batch

    def _apply(self, batch: Batch, start: int, stop: int) -> None:
        """The same for the tuples `[start, stop)` of the batch."""
        lineage = batch.lineage[start:stop]
        room = (stop - start) * (len(self._first) - 1)
        rows, predicates, counts = np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(2, np.int64)
        words, guards, bits = self._places
        pairs.needed(lineage, self._first, words, guards, bits, rows, predicates, counts)
        self.counters.spared += int(counts[1])
        rows, predicates = rows[: counts[0]], predicates[: counts[0]]
        if not len(rows):
            return
        parameters = [column.take(predicates) for column in self._parameters]
        frame = Frame(len(rows), lambda name: batch.column(name).take(rows + start), parameters, self._functions)
        column = evaluate(self.shape, frame)
        truth = column.values if column.valid is None else column.values & column.valid
        if frame.errors is not None:
            wrong = frame.errors
            counts = np.zeros(batch.layout.width * WORD, np.int64)
            pairs.tally_terms(lineage, self._first, guards, bits, rows[wrong], predicates[wrong], counts)
            self._errors.add(counts, batch.layout)
        if frame.failures:
            truth = truth.copy()
        for k, error in frame.failures.items():
            truth[k] = True
            row = int(batch.rows[start + rows[k]])
            batch.failures.append(Failure(row, self._slots_of(int(predicates[k])), error))
        pairs.apply(lineage, self._first, words, guards, bits, rows, predicates, np.ascontiguousarray(truth))

    def _slots_of(self, predicate: int) -> Words:
        """The slots that hold a predicate, as bits of the live columns."""
        held = slice(self._first[predicate], self._first[predicate + 1])
        live = np.zeros(len(self.mask), np.uint64)
        np.bitwise_or.at(live, self._places.guards[held], self._places.bits[held])
        return live


def constant_column(constants: tuple[ast.Constant, ...]) -> Column:
    """The constants, all of one type, as a column."""
    type = constants[0].type
    values = [constant.value for constant in constants]
    if type is Type.STRING:
        return Column(type, pa.array(values, pa.large_string()))
    return Column(type, np.array(values, type.dtype))
