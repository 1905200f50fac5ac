"""The grouped filter: all predicates on one key, of all queries, in one search.

The key is an attribute or an expression without constants. Each predicate accepts a set of keys; `Checkpoints` holds
for every key the queries that accept it. A tuple costs one search and one AND of words, however many predicates there
are. Two more rows of bits stand beside the checkpoints: NULL, and FAILED for tuples on which a user function in the key
raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cacq.data.arrays import NO_NULLS, Bools, Int32s, Ints, Words
from cacq.data.batch import Batch, Failure
from cacq.data.bounds import BoundsBySlot
from cacq.data.column import Column
from cacq.data.lineage import WORD, Layout, bit
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.filters.bit_rows import BitRows
from cacq.filters.checkpoints import Checkpoints
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.functions import UserFunction
from cacq.filters.operator import ALONE, Operator, Target, ValueErrors
from cacq.filters.text_cuts import TextCuts
from cacq.kernels import intervals, lineages, pairs
from cacq.query import ast
from cacq.query.value_sets import Key, ValueSet, of_range

MANY = 64
"""From so many flips at once on, and an eighth of those there are, all rows are built anew rather than changed."""


class GroupedFilter(Operator):
    """Predicates `key in values` of many queries over one key.

    Plain ranges of numbers, the common case, are kept as two arrays by slot; every other set as it is.
    """

    kind = "grouped filter"

    def __init__(
        self,
        name: str,
        key: ast.Expression,
        functions: dict[str, UserFunction],
        errors: ValueErrors,
        bits: BitRows,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        super().__init__(name, errors, ast.calls_functions(key))
        self.key = key
        self._functions = functions
        self._bits = bits
        self._texts = TextCuts() if key.type is Type.STRING else None
        self._checkpoints = Checkpoints(bits) if checkpoints is None else checkpoints
        null_row, failed_row = bits.take(2).tolist()
        self._null_row: int = null_row
        self._failed_row: int = failed_row
        self._sets: dict[Target, ValueSet] = {}
        self._bounds = BoundsBySlot()
        self._ranges: Words = np.zeros(0, np.uint64)
        self._range_count = 0
        self._clause_terms = 0
        self._plain = isinstance(key, ast.Column)
        self._flips = 0
        self._layout = Layout(())

    @property
    def predicates(self) -> int:
        return len(self._sets) + self._range_count

    @property
    def empty(self) -> bool:
        return not self._sets and not self._range_count

    @property
    def direct(self) -> bool:
        """Whether `rows_of` says everything that `process` does: the key is a column, every cut has a row, and no term
        belongs to a clause."""
        return self._plain and not self._clause_terms and self._checkpoints.flat

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, without its rows of bits."""
        return super().nbytes + self._bounds.nbytes + self._checkpoints.nbytes

    def refresh(self, layout: Layout) -> None:
        """Columns are only ever added or taken away behind all others, so nothing but the masks has to follow."""
        self._layout = layout
        self.mask = _resized(self.mask, layout.width)
        self.clause_mask = _resized(self.clause_mask, layout.width)
        self._ranges = _resized(self._ranges, layout.live_words)
        self._bounds.resize(layout.live_words * WORD)

    def add(self, target: Target, values: ValueSet) -> None:
        """Install one term; the layout has its slot."""
        self._sets[target] = values
        self._count(target, values, 1)
        forgotten = self._texts is not None and len(self._texts) > 2 * self._flips + MANY
        if forgotten or len(values.cuts) > max(MANY, self._flips // 8):
            self._rebuild()
            return
        self._note(values.cuts)
        self._flip(target, values, self._checkpoints.flip)

    def add_ranges(self, slots: Ints, lows: Ints, highs: Ints) -> None:
        """Install a term `low <= key <= high` for each slot, standing alone; the layout has the slots."""
        self._bounds.put(slots, lows, highs)
        np.bitwise_or.at(self._ranges, slots // WORD, _bits_of(slots))
        np.bitwise_or.at(self.mask, self._layout.columns[slots // WORD], _bits_of(slots))
        self._range_count += len(slots)
        self._flips += int(np.count_nonzero(lows > INT64_MIN) + np.count_nonzero(highs < INT64_MAX))
        if 2 * len(slots) > max(MANY, self._flips // 8):
            self._rebuild()
            return
        for slot, low, high in zip(slots.tolist(), lows.tolist(), highs.tolist(), strict=True):
            self._flip(Target(slot, ALONE), of_range(low, high), self._checkpoints.flip)

    def remove(self, target: Target) -> None:
        """Take one term out."""
        values = self._sets.pop(target, None)
        if values is None:
            slot = target.slot
            values = self._range(slot)
            self._ranges[slot // WORD] &= ~bit(slot)
            self._range_count -= 1
        self._count(target, values, -1)
        self._flip(target, values, self._checkpoints.unflip)

    def retire(self) -> None:
        super().retire()
        self._checkpoints.give_back()
        self._bits.give_back(np.array([self._null_row, self._failed_row], np.int32))

    def rows_of(self, batch: Batch, out: Int32s) -> None:
        """The row of bits for each tuple, if `direct`."""
        assert isinstance(self.key, ast.Column)
        keys, valid = self._keys(batch.column(self.key.name))
        self._checkpoints.locate(keys, valid, self._null_row, out)

    def process(self, batch: Batch) -> Batch:
        layout = batch.layout
        if self._clause_terms:
            self.counters.spared += lineages.settled(batch.lineage, layout.clauses, layout.guards, self.clause_mask)
        if self.direct:
            rows = np.empty(len(batch), np.int32)
            self.rows_of(batch, rows)
            lineages.narrow(batch.lineage, rows, self._bits.matrix)
        elif isinstance(self.key, ast.Column):
            keys, blocks = self._blocks(batch.column(self.key.name))
            self._checkpoints.narrow(batch.lineage, keys, blocks)
        else:
            self._checkpoints.narrow(batch.lineage, *self._computed(batch))
        return batch

    def _computed(self, batch: Batch) -> tuple[Ints, Ints]:
        """Keys and blocks where the key is an expression: it is evaluated only for tuples that a query here wants."""
        keys = np.zeros(len(batch), np.int64)
        blocks = np.full(len(batch), ~self._null_row, np.int64)
        buffer = np.empty(len(batch), np.int64)
        wanting = buffer[: lineages.wanting(batch.lineage, self.mask, buffer)]
        if not len(wanting):
            return keys, blocks
        frame = Frame(len(wanting), lambda name: batch.column(name).take(wanting), functions=self._functions)
        keys[wanting], blocks[wanting] = self._blocks(evaluate(self.key, frame))
        if frame.errors is not None:
            counts = np.zeros(batch.layout.width * WORD, np.int64)
            pairs.tally(batch.lineage, wanting[frame.errors], self.mask, counts)
            self._errors.add(counts, batch.layout)
        for position, error in frame.failures.items():
            blocks[wanting[position]] = ~self._failed_row
            batch.failures.append(Failure(int(batch.rows[wanting[position]]), self.mask, error))
        return keys, blocks

    def _blocks(self, column: Column) -> tuple[Ints, Ints]:
        keys, valid = self._keys(column)
        blocks = self._checkpoints.blocks_of(keys)
        if len(valid):
            blocks[~valid] = ~self._null_row
        return keys, blocks

    def _keys(self, column: Column) -> tuple[Ints, Bools]:
        """Each value as the integer that checkpoints are made of; an empty second array means that none is NULL."""
        valid = NO_NULLS if column.valid is None else column.valid
        if self._texts is not None:
            return self._texts.ranks(column), valid
        values = column.values
        if column.type is Type.FLOAT64:
            values = np.empty(len(column), np.int64)
            intervals.keys_of_floats(column.values, column.values.view(np.int64), values)
        elif column.type is Type.BOOL:
            values = values.astype(np.int64)
        return values, valid

    def _count(self, target: Target, values: ValueSet, by: int) -> None:
        """A term came or went: the masks and the number of flips."""
        column, guard = self._layout.column(*target), self._layout.column(target.slot)
        self._flips += by * len(values.cuts)
        self._clause_terms += by * (target.clause != ALONE)
        for mask, at in ((self.mask, guard), *(((self.clause_mask, column),) if column != guard else ())):
            mask[at] = mask[at] | bit(target.slot) if by > 0 else mask[at] & ~bit(target.slot)

    def _flip(self, target: Target, values: ValueSet, flip: Callable[[int | None, int], None]) -> None:
        """Make, or take back, all that a term changes in the rows of bits."""
        code = self._code(target)
        if values.below == (target.clause != ALONE):
            flip(None, code)
        for cut in self._cuts_of(values):
            flip(cut, code)
        column, matrix = code // WORD, self._bits.matrix
        if values.null == (target.clause != ALONE):
            matrix[self._null_row, column] ^= bit(target.slot)
        if target.clause != ALONE:
            matrix[self._failed_row, column] ^= bit(target.slot)

    def _note(self, cuts: Iterable[Key]) -> None:
        """Have a number for every string among the cuts; a new one moves those behind it."""
        if self._texts is not None:
            for text in cuts:
                moved = self._texts.add(text)  # type: ignore[arg-type]
                if moved is not None:
                    self._checkpoints.shift(moved)

    def _cuts_of(self, values: ValueSet) -> list[int]:
        """The cuts of a set as integers."""
        if self._texts is None:
            return list(values.cuts)  # type: ignore[arg-type]
        return [self._texts.cut(text) for text in values.cuts]  # type: ignore[arg-type]

    def _range(self, slot: int) -> ValueSet:
        """The plain range of a slot."""
        lows, highs = self._bounds.get(np.array([slot]))
        return of_range(int(lows[0]), int(highs[0]))

    def _code(self, target: Target) -> int:
        return self._layout.column(*target) * WORD + target.slot % WORD

    def _rebuild(self) -> None:
        """All rows from the terms."""
        if self._texts is not None:
            self._texts = TextCuts(text for values in self._sets.values() for text in values.cuts)  # type: ignore[misc]
        matrix, width = self._bits.matrix, self._layout.width
        first = np.full(width, ~np.uint64(0), np.uint64)
        null = first.copy()
        cuts, codes = self._range_flips(first, null)
        failed = np.full(width, ~np.uint64(0), np.uint64)
        more_cuts: list[int] = []
        more_codes: list[int] = []
        for target, values in self._sets.items():
            column, mine, clause = self._layout.column(*target), bit(target.slot), target.clause != ALONE
            for row, changed in ((first, values.below == clause), (null, values.null == clause), (failed, clause)):
                row[column] ^= mine if changed else np.uint64(0)
            more_cuts += self._cuts_of(values)
            more_codes += [self._code(target)] * len(values.cuts)
        matrix[self._null_row, :width], matrix[self._failed_row, :width] = null, failed
        cuts = np.concatenate([cuts, np.array(more_cuts, np.int64)])
        codes = np.concatenate([codes, np.array(more_codes, np.int32)])
        self._checkpoints.rebuild(first, cuts, codes)

    def _range_flips(self, first: Words, null: Words) -> tuple[Ints, Int32s]:
        """The flips of all plain ranges; `first` gets the bits below every key, `null` those of NULL."""
        slots = np.flatnonzero(np.unpackbits(self._ranges.view(np.uint8), bitorder="little"))
        lows, highs = self._bounds.get(slots)
        codes = (self._layout.columns[slots // WORD] * WORD + slots % WORD).astype(np.int32)
        np.bitwise_and.at(null, codes // WORD, ~_bits_of(slots))
        some, below = lows <= highs, lows == INT64_MIN
        excluded = ~(some & below)
        np.bitwise_and.at(first, codes[excluded] // WORD, ~_bits_of(slots[excluded]))
        begins, ends = some & ~below, some & (highs < INT64_MAX)
        return np.concatenate([lows[begins], highs[ends] + 1]), np.concatenate([codes[begins], codes[ends]])

    def _check(self) -> None:
        """Every row of bits says what the terms say (used by tests)."""
        self._checkpoints._check()
        terms = dict(self._sets)
        for slot in np.flatnonzero(np.unpackbits(self._ranges.view(np.uint8), bitorder="little")).tolist():
            terms[Target(slot, ALONE)] = self._range(slot)
        assert len(terms) == self.predicates
        for target, values in terms.items():
            column, clause = self._layout.column(*target), target.clause != ALONE
            held = bool(self._bits.matrix[self._null_row, column] & bit(target.slot))
            assert held == (values.null != clause), (target, values)
            cuts = self._cuts_of(values)
            for cut in {min(max(cut + step, INT64_MIN), INT64_MAX) for cut in cuts for step in (-1, 0)}:
                inside = values.below ^ bool(sum(mine <= cut for mine in cuts) & 1)
                found = bool(self._checkpoints.bits_at(cut)[column] & bit(target.slot))
                assert found == (inside != clause), (target, values, cut)


def _bits_of(slots: Ints) -> Words:
    bits: Words = np.uint64(1) << (slots % WORD).astype(np.uint64)
    return bits


def _resized(array: Any, length: int) -> Any:
    """The array with that length, filled up with zeros."""
    if length == len(array):
        return array
    resized = np.zeros(length, array.dtype)
    resized[: min(length, len(array))] = array[:length]
    return resized
