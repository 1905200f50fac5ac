"""The grouped filter: all predicates on one key, of all queries, in one search.

The key is an attribute or an expression without constants. Its predicates' constants cut the domain into elementary
intervals; a table holds, for each interval, the queries that accept it. A tuple costs one binary search and one AND
of words, however many predicates there are. Below the intervals stand two more rows: NULL, and FAILED for tuples on
which a user function in the key raised.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from cacq.data.arrays import NO_NULLS, Int32s, Ints, Words
from cacq.data.batch import Batch, Failure
from cacq.data.column import Column
from cacq.data.lineage import WORD, Layout, bit
from cacq.data.types import Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.functions import UserFunction
from cacq.filters.operator import Operator, Target, ValueErrors
from cacq.kernels import bit_tables, intervals, lineages, pairs, texts
from cacq.query import ast
from cacq.query.value_sets import ValueSet


class GroupedFilter(Operator):
    """Predicates `key in values` of many queries over one key."""

    kind = "grouped filter"

    def __init__(self, name: str, key: ast.Expression, functions: dict[str, UserFunction], errors: ValueErrors) -> None:
        super().__init__(name, errors, ast.calls_functions(key))
        self.key = key
        self._functions = functions
        self._terms: dict[Target, ValueSet] = {}
        self._cuts: Any = np.empty(0, np.int64)
        self._table: Words = np.zeros((3, 0), np.uint64)

    @property
    def predicates(self) -> int:
        return len(self._terms)

    @property
    def empty(self) -> bool:
        return not self._terms

    def add(self, target: Target, values: ValueSet) -> None:
        """Install one term."""
        self._terms[target] = values

    def remove(self, target: Target) -> None:
        """Take one term out."""
        del self._terms[target]

    def refresh(self, layout: Layout) -> None:
        targets = list(self._terms)
        sets = list(self._terms.values())
        words, guards, bits = self._place(targets, layout)
        self._cuts, flip_rows, flip_terms = _cut(sets, self.key.type)
        last = _length(self._cuts) + 1
        table = np.zeros((last + 2, layout.width), np.uint64)
        alone = words == guards
        neutral = np.full(layout.live_words, ~np.uint64(0), np.uint64)
        np.bitwise_and.at(neutral, words[alone], ~bits[alone])
        table[0, : layout.live_words] = neutral
        below = np.flatnonzero([s.below for s in sets])
        bit_tables.flip(table, np.zeros(len(below), np.int64), words[below], bits[below])
        bit_tables.flip(table, flip_rows, words[flip_terms], bits[flip_terms])
        bit_tables.sweep(table, last)
        table[last, : layout.live_words] = neutral
        null = np.flatnonzero([s.null for s in sets])
        bit_tables.flip(table, np.full(len(null), last), words[null], bits[null])
        table[last + 1, : layout.live_words] = ~np.uint64(0)
        table[last + 1, layout.live_words :] = self.clause_mask
        self._table = table

    def process(self, batch: Batch) -> Batch:
        layout = batch.layout
        if isinstance(self.key, ast.Column):
            rows = self._search(batch.column(self.key.name))
        else:
            rows = self._computed(batch)
        if self.clause_mask.any():
            self.counters.spared += lineages.settled(batch.lineage, layout.guards, self.clause_mask, layout.live_words)
        lineages.narrow(batch.lineage, rows, self._table, layout.live_words)
        return batch

    def _computed(self, batch: Batch) -> Int32s:
        """Rows of the table where the key is an expression: it is evaluated only for tuples that a query here wants."""
        null = len(self._table) - 2
        out = np.full(len(batch), null, np.int32)
        buffer = np.empty(len(batch), np.int64)
        wanting = buffer[: lineages.wanting(batch.lineage, self.mask, buffer)]
        if not len(wanting):
            return out
        frame = Frame(len(wanting), lambda name: batch.column(name).take(wanting), functions=self._functions)
        out[wanting] = self._search(evaluate(self.key, frame))
        if frame.errors is not None:
            counts = np.zeros(batch.layout.live_words * WORD, np.int64)
            pairs.tally(batch.lineage, wanting[frame.errors], self.mask, counts)
            self._errors.add(counts, batch.layout)
        for position, error in frame.failures.items():
            out[wanting[position]] = null + 1
            batch.failures.append(Failure(int(batch.rows[wanting[position]]), self.mask, error))
        return out

    def _search(self, column: Column) -> Int32s:
        """The row of the table for each value."""
        out = np.empty(len(column), np.int32)
        valid = NO_NULLS if column.valid is None else column.valid
        if column.type is Type.STRING:
            offsets, data = column.text()
            cut_offsets, cut_data = self._cuts
            texts.intervals_of_texts(offsets, data, valid, cut_offsets, cut_data, out)
            return out
        values = column.values
        if column.type is Type.FLOAT64:
            values = np.empty(len(column), np.int64)
            intervals.keys_of_floats(column.values, column.values.view(np.int64), values)
        elif column.type is Type.BOOL:
            values = values.astype(np.int64)
        intervals.of_integers(values, valid, self._cuts, out)
        return out

    def _check(self, layout: Layout) -> None:
        """Every row of the table says what the terms say (used by tests)."""
        cuts = self._cuts if self.key.type is not Type.STRING else _texts(*self._cuts)
        places = self._place(list(self._terms), layout)
        for target, values, word in zip(self._terms, self._terms.values(), places.words, strict=True):
            column = self._table[:, word] & bit(target.slot)
            inside = [values.below, *(key in values for key in (c if isinstance(c, bytes) else int(c) for c in cuts))]
            assert [bool(x) for x in column] == [*inside, values.null, True], (target, values)


def _length(cuts: Any) -> int:
    return len(cuts[0]) - 1 if isinstance(cuts, tuple) else len(cuts)


def _cut(sets: list[ValueSet], type: Type) -> tuple[Any, Ints, Ints]:
    """All cuts, ascending; and for each flip of a term the row at which it flips and the term."""
    counts = np.array([len(s.cuts) for s in sets], np.int64)
    terms = np.repeat(np.arange(len(sets)), counts)
    flat = chain.from_iterable(s.cuts for s in sets)
    if type is not Type.STRING:
        keys = np.fromiter(flat, np.int64, int(counts.sum()))
        cuts, rows = np.unique(keys, return_inverse=True)
        return cuts, rows + 1, terms
    strings = list(flat)
    ordered: list[bytes] = sorted(set(strings))  # type: ignore[arg-type]
    row_of = {text: i + 1 for i, text in enumerate(ordered)}
    rows = np.fromiter((row_of[text] for text in strings), np.int64, len(strings))  # type: ignore[index]
    array = Column(Type.STRING, pa.array(ordered, pa.large_binary()))
    return array.text(), rows, terms


def _texts(offsets: Ints, data: Any) -> list[bytes]:
    return [bytes(data[offsets[i] : offsets[i + 1]]) for i in range(len(offsets) - 1)]
