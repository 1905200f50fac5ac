"""The tables of one source (CACQ figure 2): its operators, its slots, and which operators each slot needs.

`install` and `uninstall` are the only writers of operators. Entry i of a batch's `done` stands for operator i. The
paper's completionMask of a query is its column in `masks`, which is kept by operator: row i has the slots with a term
in operator i and the clauses that it has a term of. So a slot is complete when no operator that is not done has its
bit, and a clause is finished when none has its clause bit: both are one OR of rows, however many queries there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cacq.data.arrays import Bools, Ints, Words
from cacq.data.batch import Batch
from cacq.data.lineage import WORD, Layout, bit, drop, put, slot_set
from cacq.eddy.slots import Slots
from cacq.filters.anchored import AnchoredFilter
from cacq.filters.bit_rows import BitRows
from cacq.filters.functions import UserFunction
from cacq.filters.grouped import GroupedFilter
from cacq.filters.keys import KeyColumns
from cacq.filters.operator import ALONE, Operator, Target, ValueErrors
from cacq.filters.residual import ResidualFilter
from cacq.kernels import lineages
from cacq.query.ast import Expression
from cacq.query.normalize import Conjunction, Indexed, Term
from cacq.query.render import render

Keys = tuple[Expression, ...]
"""What a conjunction of plain ranges is about: one key a range."""


MEMORY = 256
"""Answers about operators that are done which are remembered until queries come or go."""


class Ranges(NamedTuple):
    """Conjunctions `lows[i, k] <= keys[k] <= highs[i, k]`."""

    keys: Keys
    lows: Ints
    highs: Ints


class Tables:
    """Operators and queries of one source. What came or went is seen by batches that begin after `refresh`."""

    def __init__(self, source: str, functions: dict[str, UserFunction]) -> None:
        self.source = source
        self.slots = Slots()
        self.errors = ValueErrors()
        self.bits = BitRows()
        self.operators: dict[int, Operator] = {}
        self.keys = KeyColumns()
        self.anchored = AnchoredFilter(f"{source}: anchors", self.keys)
        self.owners: list[object] = []
        """Whoever had a slot filled, for each slot."""
        self.layout: Layout = self.slots.layout()
        self.enabled: Words = np.zeros(0, np.uint64)
        self.masks: Words = np.zeros((0, 0), np.uint64)
        self._functions = functions
        self._home: dict[Expression, int] = {}
        self._vacant: list[int] = []
        self._disjuncts: dict[int, int] = {}
        self._free_places: list[int] = []
        self._places = 0
        self._enabled = slot_set()
        self._fold: tuple[Ints, Words, Ints, Words] | None = None
        self._pending: dict[tuple[bytes, tuple[int, ...]], Words] = {}
        self._incomplete: dict[bytes, Words] = {}
        self._stale: set[int] = set()
        self._changed = False

    def install_disjuncts(self, disjuncts: Sequence[Conjunction]) -> tuple[int, ...]:
        """Give each conjunction a slot and put its terms into operators; the first slot is that of the query."""
        slots: list[int] = []
        for conjunction in disjuncts:
            slot = self.slots.take(sum(len(clause) > 1 for clause in conjunction))
            self._occupy(np.array([slot]))
            for target, term in _targets(slot, conjunction):
                self._add(target, term)
            slots.append(slot)
            if slot != slots[0]:
                self._disjuncts[slot] = slots[0]
        return tuple(slots)

    def install_ranges(self, groups: Sequence[Ranges]) -> list[Ints]:
        """Give every conjunction of these groups a slot; each operator is changed once."""
        found = [np.array([self.slots.take(0) for _ in range(len(group.lows))], np.int64) for group in groups]
        by_key: dict[Expression, list[tuple[Ints, Ints, Ints]]] = {}
        for group, slots in zip(groups, found, strict=True):
            for k, key in enumerate(group.keys):
                by_key.setdefault(key, []).append((slots, group.lows[:, k], group.highs[:, k]))
        for slots in found:
            self._occupy(slots)
        for key, parts in by_key.items():
            operator = self.operators[self._index(key, GroupedFilter)]
            assert isinstance(operator, GroupedFilter)
            operator.add_ranges(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        return found

    def uninstall(self, slot: int, installed: Conjunction | Keys) -> None:
        """Take the terms of a slot, which are these, out of the operators, drop operators that are left empty, free the
        slot."""
        self.owners[slot] = None
        if installed and not isinstance(installed[0], tuple):
            for key in installed:
                self._remove(Target(slot, ALONE), key)
        else:
            for target, term in _targets(slot, installed):  # type: ignore[arg-type]
                self._remove(target, _key(term), term)
        drop(self._enabled, slot)
        self._disjuncts.pop(slot, None)
        self.slots.give_back(slot)
        self._changed = True

    def install_sparse(self, keys: Ints, lows: Ints, highs: Ints, rest: Mapping[int, Conjunction]) -> Ints:
        """Give predicates, each a row of ranges with its anchor first, a place each in the anchored filter; `rest[i]`
        are the further clauses of the i-th."""
        places = np.array([self._take_place() for _ in range(len(keys))], np.int64)
        first = np.arange(len(keys) + 1) * keys.shape[1]
        clauses = {int(places[i]): conjunction for i, conjunction in rest.items()}
        self.anchored.add(places, first, keys.reshape(-1), lows.reshape(-1), highs.reshape(-1), clauses)
        return places

    def uninstall_sparse(self, places: Ints) -> None:
        """Take predicates out of the anchored filter and free their places."""
        self.anchored.remove(places)
        for place in places.tolist():
            heappush(self._free_places, place)

    def shrink(self) -> None:
        """Give up the words of slots at the end that have no query."""
        self._relay()
        del self.owners[len(self.slots) :]

    def refresh(self) -> None:
        """Bring every array that the eddy and the kernels read in step with the tables; a no-op if nothing changed."""
        if not self._changed:
            return
        self._relay()
        layout = self.layout
        self.enabled = layout.spread(self._enabled)
        self.masks = np.zeros((len(self.operators) + len(self._vacant), layout.width), np.uint64)
        for index, operator in self.operators.items():
            if index in self._stale:
                operator.refresh(layout)
            self.masks[index] = operator.mask | operator.clause_mask
        self._fold = _moves(self._disjuncts, layout) if self._disjuncts else None
        self._pending.clear()
        self._incomplete.clear()
        self._stale.clear()
        self._changed = False

    def ready(self, batch: Batch) -> list[int]:
        """The operators that the batch has not visited and that a query which still wants one of its tuples needs."""
        found: list[int] = np.flatnonzero((self.masks & batch.wanted).any(axis=1) & ~batch.done).tolist()
        return found

    def incomplete(self, done: Bools) -> Words:
        """The slots that need more operators than those that are done."""
        key = done.tobytes()
        needed = self._incomplete.get(key)
        if needed is None:
            if len(self._incomplete) > MEMORY:
                self._incomplete.clear()
            needed = np.bitwise_or.reduce(self.masks[~done], axis=0) & self.layout.live_bits
            self._incomplete[key] = needed
        return needed

    def finishing(self, index: int, done: Bools) -> Words:
        """The clauses that have a term in this operator and none in an operator that is not done."""
        unfinished: Words = np.bitwise_or.reduce(self.masks[~done], axis=0) | self.layout.live_bits
        finished: Words = self.masks[index] & ~unfinished
        return finished

    def pending(self, order: tuple[int, ...], done: Bools) -> Words:
        """What `incomplete` says after each operator of an order, a row for each, those of `done` being done before."""
        key = (done.tobytes(), order)
        known = self._pending.get(key)
        if known is None:
            if len(self._pending) > MEMORY:
                self._pending.clear()
            done, known = done.copy(), np.empty((len(order), self.layout.width), np.uint64)
            for k, index in enumerate(order):
                done[index] = True
                known[k] = self.incomplete(done)
            self._pending[key] = known
        return known

    def fold(self, live: Words) -> None:
        """Move the bit of each disjunct to the slot of its query, in every row of live columns."""
        if self._fold is not None:
            lineages.fold(live, *self._fold)

    def operator_of(self, term: Term) -> Operator | None:
        """The operator that a term lives in, if there is one (for EXPLAIN)."""
        index = self._home.get(_key(term))
        return None if index is None else self.operators[index]

    @property
    def places_taken(self) -> int:
        """How many predicates are in the anchored filter."""
        return self._places - len(self._free_places)

    @property
    def nbytes(self) -> int:
        """Bytes of the operators of dense lineage."""
        return self.bits.nbytes + sum(operator.nbytes for operator in self.operators.values())

    def operators_in_use(self) -> list[Operator | AnchoredFilter]:
        """All operators, for statistics."""
        return [*self.operators.values(), *([] if self.anchored.empty else [self.anchored])]

    def kind_of(self, term: Term) -> str:
        """The kind of operator that a term lives in (for EXPLAIN)."""
        return _kind(term).kind

    def _take_place(self) -> int:
        if self._free_places:
            return heappop(self._free_places)
        self._places += 1
        return self._places - 1

    def _occupy(self, slots: Ints) -> None:
        """The slots are taken: have a place for them in the lineage, and enable them."""
        self._relay()
        self.errors.make_room(len(self.slots))
        self.errors.counts[slots] = 0
        self.owners += [None] * (len(self.slots) - len(self.owners))
        for slot in slots.tolist():
            put(self._enabled, slot)
        self._changed = True

    def _relay(self) -> None:
        """Follow the slots where words of them came or went."""
        layout = self.slots.layout()
        if layout is not self.layout:
            self.layout = layout
            self.bits.widen(layout.width)
            for operator in self.operators.values():
                operator.refresh(layout)

    def _index(self, key: Expression, kind: type[GroupedFilter] | type[ResidualFilter]) -> int:
        """The number of the operator for a key, made if there is none."""
        index = self._home.get(key)
        if index is None:
            index = heappop(self._vacant) if self._vacant else len(self.operators)
            self._home[key] = index
            name = f"{self.source}: {render(key)}"
            if kind is GroupedFilter:
                operator: Operator = GroupedFilter(name, key, self._functions, self.errors, self.bits)
            else:
                operator = ResidualFilter(name, key, self._functions, self.errors)
            operator.refresh(self.layout)
            self.operators[index] = operator
        return index

    def _add(self, target: Target, term: Term) -> None:
        """Put a term into its operator."""
        index = self._index(_key(term), _kind(term))
        operator = self.operators[index]
        if isinstance(operator, GroupedFilter) and isinstance(term, Indexed):
            operator.add(target, term.values)
        elif isinstance(operator, ResidualFilter) and not isinstance(term, Indexed):
            operator.add(target, term.constants)
            self._stale.add(index)

    def _remove(self, target: Target, key: Expression, term: Term | None = None) -> None:
        index = self._home[key]
        operator = self.operators[index]
        if isinstance(operator, GroupedFilter):
            operator.remove(target)
        elif isinstance(operator, ResidualFilter) and term is not None and not isinstance(term, Indexed):
            operator.remove(target, term.constants)
            self._stale.add(index)
        if operator.empty:
            operator.retire()
            del self.operators[index]
            del self._home[key]
            self._stale.discard(index)
            heappush(self._vacant, index)

    def _check(self) -> None:
        """Slots, operators and their bits agree (used by tests)."""
        installed = [slot for slot, owner in enumerate(self.owners) if owner is not None]
        assert self._enabled.count() == len(installed) == self.slots.taken
        assert all(self._enabled[slot] for slot in installed)
        assert sorted(self._home.values()) == sorted(self.operators)
        assert sorted([*self.operators, *self._vacant]) == list(range(len(self.operators) + len(self._vacant)))
        assert not any(operator.empty for operator in self.operators.values())
        self.slots._check()
        self.bits._check()


def _key(term: Term) -> Expression:
    return term.key if isinstance(term, Indexed) else term.shape


def _kind(term: Term) -> type[GroupedFilter] | type[ResidualFilter]:
    return GroupedFilter if isinstance(term, Indexed) else ResidualFilter


def _targets(slot: int, conjunction: Conjunction) -> list[tuple[Target, Term]]:
    """Every term of a conjunction with where its truth goes; clauses of more than one term are counted from 0."""
    targets: list[tuple[Target, Term]] = []
    clauses = 0
    for clause in conjunction:
        target = Target(slot, ALONE if len(clause) == 1 else clauses)
        clauses += len(clause) > 1
        targets += [(target, term) for term in clause]
    return targets


def _moves(disjuncts: dict[int, int], layout: Layout) -> tuple[Ints, Words, Ints, Words]:
    """Where each disjunct's bit is among the live columns, and where its query's bit is."""
    places = [
        (np.array([slot // WORD for slot in slots]), np.array([bit(slot) for slot in slots]))
        for slots in (disjuncts, disjuncts.values())
    ]
    return *places[0], *places[1]
