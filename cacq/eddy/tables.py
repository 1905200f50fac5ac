"""The tables of one source (CACQ figure 2): its operators, its slots, and which operators each slot needs.

`install` and `uninstall` are the only writers of operators. Entry i of a batch's `done` stands for operator i. The
paper's completionMask of a query is its column in `masks`, which is kept by operator: row i has the slots with a term
in operator i. So a slot is complete when no operator that is not done has its bit, and a clause is finished when none
has its clause bit: both are one OR of rows, however many queries there are.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from cacq.data.arrays import Bools, Ints, Words
from cacq.data.batch import Batch
from cacq.data.lineage import Layout, bit, drop, put, slot_set
from cacq.eddy.slots import Slots
from cacq.filters.functions import UserFunction
from cacq.filters.grouped import GroupedFilter
from cacq.filters.operator import ALONE, Operator, Target, ValueErrors
from cacq.filters.residual import ResidualFilter
from cacq.kernels import lineages
from cacq.query.ast import Expression
from cacq.query.normalize import Conjunction, Indexed, Term
from cacq.query.render import render


class Tables:
    """Operators and queries of one source."""

    def __init__(self, source: str, functions: dict[str, UserFunction]) -> None:
        self.source = source
        self.slots = Slots()
        self.errors = ValueErrors()
        self.operators: dict[int, Operator] = {}
        self.layout: Layout = self.slots.layout()
        self.enabled: Words = np.zeros(0, np.uint64)
        self.masks: Words = np.zeros((0, 0), np.uint64)
        self.clause_masks: Words = np.zeros((0, 0), np.uint64)
        self._functions = functions
        self._home: dict[Expression, int] = {}
        self._vacant: list[int] = []
        self._installed: dict[int, Conjunction] = {}
        self._disjuncts: dict[int, int] = {}
        self._enabled = slot_set()
        self._fold: tuple[Ints, Words, Ints, Words] | None = None
        self._stale: set[int] = set()
        self._changed = False

    def install(self, conjunction: Conjunction, query_slot: int | None = None) -> int:
        """Give a conjunction a slot and put its terms into operators. With `query_slot` it is one more disjunct of
        the query in that slot."""
        slot = self.slots.take(sum(len(clause) > 1 for clause in conjunction))
        self.errors.make_room(len(self.slots))
        self.errors.counts[slot] = 0
        for target, term in _targets(slot, conjunction):
            self._add(target, term)
        put(self._enabled, slot)
        self._installed[slot] = conjunction
        if query_slot is not None:
            self._disjuncts[slot] = query_slot
        self._changed = True
        return slot

    def uninstall(self, slot: int) -> None:
        """Take the terms of a slot out of the operators, drop operators that are left empty, free the slot."""
        for target, term in _targets(slot, self._installed.pop(slot)):
            self._remove(target, term)
        drop(self._enabled, slot)
        self._disjuncts.pop(slot, None)
        self.slots.give_back(slot)
        self._changed = True

    def refresh(self) -> None:
        """Bring every array that the eddy and the kernels read in step with the tables; a no-op if nothing changed."""
        if not self._changed:
            return
        layout = self.slots.layout()
        relaid = layout is not self.layout
        self.layout = layout
        self.enabled = layout.live(self._enabled)
        operators = len(self.operators) + len(self._vacant)
        self.masks = np.zeros((operators, layout.live_words), np.uint64)
        self.clause_masks = np.zeros((operators, len(layout.guards)), np.uint64)
        for index, operator in self.operators.items():
            if relaid or index in self._stale:
                operator.refresh(layout)
            self.masks[index] = operator.mask
            self.clause_masks[index] = operator.clause_mask
        self._fold = _moves(self._disjuncts, layout) if self._disjuncts else None
        self._stale.clear()
        self._changed = False

    def ready(self, batch: Batch) -> list[int]:
        """The operators that the batch has not visited and that a query which still wants one of its tuples needs."""
        return np.flatnonzero((self.masks & batch.wanted).any(axis=1) & ~batch.done).tolist()

    def incomplete(self, done: Bools) -> Words:
        """The slots that need more operators than those that are done."""
        needed: Words = np.bitwise_or.reduce(self.masks[~done], axis=0)
        return needed

    def finishing(self, index: int, done: Bools) -> Words:
        """The clause bits that have a term in this operator and none in an operator that is not done."""
        unfinished: Words = np.bitwise_or.reduce(self.clause_masks[~done], axis=0)
        finished: Words = self.clause_masks[index] & ~unfinished
        return finished

    def fold(self, live: Words) -> None:
        """Move the bit of each disjunct to the slot of its query, in every row."""
        if self._fold is not None:
            lineages.fold(live, *self._fold)

    def disjuncts_of(self, slot: int) -> list[Conjunction]:
        """All conjunctions of the query in a slot."""
        others = [other for other, query_slot in self._disjuncts.items() if query_slot == slot]
        return [self._installed[each] for each in (slot, *others)]

    def operator_of(self, term: Term) -> Operator | None:
        """The operator that a term lives in, if there is one (for EXPLAIN)."""
        index = self._home.get(_key(term))
        return None if index is None else self.operators[index]

    def kind_of(self, term: Term) -> str:
        """The kind of operator that a term lives in (for EXPLAIN)."""
        return _kind(term).kind

    def _add(self, target: Target, term: Term) -> None:
        """Put a term into its operator, made if there is none."""
        index = self._home.get(_key(term))
        if index is None:
            index = heappop(self._vacant) if self._vacant else len(self.operators)
            self._home[_key(term)] = index
            name = f"{self.source}: {render(_key(term))}"
            self.operators[index] = _kind(term)(name, _key(term), self._functions, self.errors)
        operator = self.operators[index]
        if isinstance(operator, GroupedFilter) and isinstance(term, Indexed):
            operator.add(target, term.values)
        elif isinstance(operator, ResidualFilter) and not isinstance(term, Indexed):
            operator.add(target, term.constants)
        self._stale.add(index)

    def _remove(self, target: Target, term: Term) -> None:
        index = self._home[_key(term)]
        operator = self.operators[index]
        if isinstance(operator, GroupedFilter):
            operator.remove(target)
        elif isinstance(operator, ResidualFilter) and not isinstance(term, Indexed):
            operator.remove(target, term.constants)
        self._stale.add(index)
        if operator.empty:
            del self.operators[index]
            del self._home[_key(term)]
            self._stale.discard(index)
            heappush(self._vacant, index)

    def _check(self) -> None:
        """Slots, operators and their bits agree (used by tests)."""
        assert self._enabled.count() == len(self._installed)
        assert all(self._enabled[slot] for slot in self._installed)
        assert sorted(self._home.values()) == sorted(self.operators)
        assert sorted([*self.operators, *self._vacant]) == list(range(len(self.operators) + len(self._vacant)))
        assert not any(operator.empty for operator in self.operators.values())
        self.slots._check()


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
    """Where each disjunct's bit is, and where its query's bit is."""
    places = [
        (np.array([layout.word(slot) for slot in slots]), np.array([bit(slot) for slot in slots]))
        for slots in (disjuncts, disjuncts.values())
    ]
    return *places[0], *places[1]
