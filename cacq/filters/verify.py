"""What anchored queries ask beyond ranges: clauses of terms, evaluated for the pairs of query and row that are left.

Terms of one shape, or on one key, stand in one group; the interpreter runs per group and batch, not per query or pair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain

import numpy as np
import pyarrow as pa

from cacq.data.arrays import NO_NULLS, Bools, Int32s, Ints
from cacq.data.column import Column
from cacq.data.record import Record
from cacq.data.types import Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.keys import keys_of
from cacq.filters.residual import constant_column
from cacq.kernels import interned
from cacq.query import ast
from cacq.query.normalize import Conjunction, Indexed, Residual, Term
from cacq.query.value_sets import ValueSet

PAIRS = 1 << 16
"""Pairs evaluated at a time; bounds memory."""


class _Group(ABC):
    """Terms that are evaluated together. A term is known by its number in the group."""

    @abstractmethod
    def add(self, term: Term) -> int:
        """Take a term in; its number."""

    @abstractmethod
    def truth(self, frame: Frame, members: Ints) -> Bools:
        """Whether term members[i] is true in row i of the frame."""


class _Sets(_Group):
    """Terms `key in values`."""

    def __init__(self, key: ast.Expression) -> None:
        self._key = key
        self._terms: list[ValueSet] = []
        self._sets: interned.Sets | None = None
        self._cuts = Column(key.type, np.empty(0, np.int64))

    def add(self, term: Term) -> int:
        assert isinstance(term, Indexed)
        self._terms.append(term.values)
        self._sets = None
        return len(self._terms) - 1

    def truth(self, frame: Frame, members: Ints) -> Bools:
        if self._sets is None:
            self._sets = self._lay_out()
        column = evaluate(self._key, frame)
        valid = NO_NULLS if column.valid is None else np.ascontiguousarray(column.valid)
        out = np.empty(len(members), np.bool_)
        if column.type is Type.STRING:
            interned.texts_in_sets(*column.text(), valid, members, self._sets, *self._cuts.text(), out)
        else:
            interned.in_sets(keys_of(column), valid, members, self._sets, self._cuts.values, out)
        return out

    def _lay_out(self) -> interned.Sets:
        terms = self._terms
        flat = chain.from_iterable(values.cuts for values in terms)
        if self._key.type is Type.STRING:
            self._cuts = Column(Type.STRING, pa.array(flat, pa.large_binary()))
        else:
            self._cuts = Column(Type.INT64, np.fromiter(flat, np.int64))
        first = np.cumsum([0, *(len(values.cuts) for values in terms)])
        below = np.array([values.below for values in terms], np.bool_)
        return interned.Sets(first, below, np.array([values.null for values in terms], np.bool_))


class _Shapes(_Group):
    """Predicates of one shape, each with its constants."""

    def __init__(self, shape: ast.Expression) -> None:
        self._shape = shape
        self._constants: list[tuple[ast.Constant, ...]] = []
        self._parameters: list[Column] | None = None

    def add(self, term: Term) -> int:
        assert isinstance(term, Residual)
        self._constants.append(term.constants)
        self._parameters = None
        return len(self._constants) - 1

    def truth(self, frame: Frame, members: Ints) -> Bools:
        if self._parameters is None:
            self._parameters = [constant_column(constants) for constants in zip(*self._constants, strict=True)]
        frame.parameters = [column.take(members) for column in self._parameters]
        column = evaluate(self._shape, frame)
        truth: Bools = column.values if column.valid is None else column.values & column.valid
        return truth


class Verifier:
    """The clauses of some places. `errors` counts for each place how often a value error gave NULL in a term."""

    def __init__(self) -> None:
        self.errors: Ints = np.zeros(0, np.int64)
        self._conjunctions: dict[int, Conjunction] = {}
        self._numbers: Int32s = np.zeros(0, np.int32)
        self._clear()

    def _clear(self) -> None:
        self._numbers[:] = -1
        self._group_of: dict[tuple[type, ast.Expression], int] = {}
        self._groups: list[_Group] = []
        self._terms: list[tuple[int, int, int]] = []
        self._ends: list[int] = [0]
        self._clauses: list[int] = []
        self._arrays: tuple[Ints, Ints, Ints] | None = None

    def __len__(self) -> int:
        return len(self._conjunctions)

    def make_room(self, places: int) -> None:
        """Have an entry for that many places."""
        more = places - len(self._numbers)
        self._numbers = np.concatenate([self._numbers, np.full(more, -1, np.int32)])
        self.errors = np.concatenate([self.errors, np.zeros(more, np.int64)])

    def add(self, place: int, conjunction: Conjunction) -> None:
        """Let a place, for which there is room, have these clauses."""
        self._conjunctions[place] = conjunction
        self._number(place, conjunction)

    def _number(self, place: int, conjunction: Conjunction) -> None:
        self._numbers[place] = len(self._clauses)
        for index, clause in enumerate(conjunction):
            for term in clause:
                shape = term.key if isinstance(term, Indexed) else term.shape
                group = self._group_of.setdefault((type(term), shape), len(self._groups))
                if group == len(self._groups):
                    self._groups.append(_Sets(shape) if isinstance(term, Indexed) else _Shapes(shape))
                self._terms.append((group, self._groups[group].add(term), index))
        self._ends.append(len(self._terms))
        self._clauses.append(len(conjunction))
        self._arrays = None

    @property
    def predicates(self) -> int:
        """How many terms there are."""
        return sum(len(clause) for conjunction in self._conjunctions.values() for clause in conjunction)

    def remove(self, place: int) -> int:
        """Forget the clauses of a place; how many terms it had. When most are forgotten their memory is given back."""
        forgotten = self._conjunctions.pop(place, None)
        if forgotten is None:
            return 0
        self._numbers[place] = -1
        self.errors[place] = 0
        if len(self._clauses) > 2 * len(self._conjunctions) + 16:
            self._clear()
            for other, conjunction in self._conjunctions.items():
                self._number(other, conjunction)
        return sum(map(len, forgotten))

    def keep(self, record: Record, places: Ints, rows: Ints) -> Bools:
        """Which pairs of place and row satisfy the clauses of the place; a term that is unknown counts as false."""
        keep = np.ones(len(places), np.bool_)
        numbers = np.full(len(places), -1, np.int32)
        known = places < len(self._numbers)
        numbers[known] = self._numbers[places[known]]
        asked = np.flatnonzero(numbers >= 0)
        for start in range(0, len(asked), PAIRS):
            chosen = asked[start : start + PAIRS]
            keep[chosen] = self._hold(record, places[chosen], rows[chosen], numbers[chosen])
        return keep

    def _hold(self, record: Record, places: Ints, rows: Ints, numbers: Int32s) -> Bools:
        if self._arrays is None:
            terms = np.array(self._terms, np.int64).reshape(-1, 3)
            self._arrays = terms, np.array(self._ends, np.int64), np.array(self._clauses, np.int64)
        terms, ends, clauses = self._arrays
        counts = ends[numbers + 1] - ends[numbers]
        pairs = np.repeat(np.arange(len(rows)), counts)
        behind = np.cumsum(counts)
        chosen = terms[np.arange(len(pairs)) - (behind - counts)[pairs] + ends[numbers][pairs]]
        needed = clauses[numbers]
        first_clause = np.cumsum(needed) - needed
        held = np.zeros(int(needed.sum()), np.bool_)
        order = np.argsort(chosen[:, 0], kind="stable")
        starts = np.flatnonzero(np.diff(chosen[order, 0], prepend=-1))
        for part in np.split(order, starts[1:]):
            here, members = pairs[part], np.ascontiguousarray(chosen[part, 1])
            frame = Frame(len(part), lambda name, at=rows[here]: record.column(name).take(at))  # type: ignore[misc]
            truth = self._groups[int(chosen[part[0], 0])].truth(frame, members)
            held[(first_clause[here] + chosen[part, 2])[truth]] = True
            if frame.errors is not None:
                np.add.at(self.errors, places[here[frame.errors]], 1)
        true_clauses = np.bincount(np.repeat(np.arange(len(rows)), needed)[held], minlength=len(rows))
        return np.asarray(true_clauses == needed)

    def _check(self, present: Bools) -> None:
        """Places with clauses are present, and their numbers lead to all of their terms."""
        numbered = np.flatnonzero(self._numbers >= 0).tolist()
        assert numbered == sorted(self._conjunctions)
        for place in numbered:
            assert present[place]
            number = self._numbers[place]
            conjunction = self._conjunctions[place]
            assert self._clauses[number] == len(conjunction)
            assert self._ends[number + 1] - self._ends[number] == sum(map(len, conjunction))
