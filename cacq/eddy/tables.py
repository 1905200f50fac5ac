"""The tables of one source (CACQ figure 2): its operators, its slots, and what each slot needs to be complete.

`install` and `uninstall` are the only writers of operators. Bit i of a batch's `done` stands for operator i. A slot
is complete when `done` covers its completion mask; a clause is finished when `done` covers the operators that hold
its terms. Both are kept by mask, since very many queries share few masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from bitarray import bitarray

from cacq.data.arrays import Ints, Words
from cacq.data.batch import Batch
from cacq.data.lineage import WORD, Layout, drop, put, slot_set, words
from cacq.eddy.slots import Slots
from cacq.filters.functions import UserFunction
from cacq.filters.grouped import GroupedFilter
from cacq.filters.operator import ALONE, Operator, Target, ValueErrors
from cacq.filters.residual import ResidualFilter
from cacq.kernels import lineages
from cacq.query.ast import Expression
from cacq.query.normalize import Conjunction, Indexed, Term
from cacq.query.render import render

REMEMBERED = 1024


@dataclass(frozen=True)
class Installed:
    """What a slot holds: its clauses, the operators they need, and for each clause word the operators of its terms."""

    conjunction: Conjunction
    completion: int
    clauses: tuple[tuple[int, int], ...]


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
        self._functions = functions
        self._home: dict[Expression, int] = {}
        self._vacant: list[int] = []
        self._installed: dict[int, Installed] = {}
        self._disjuncts: dict[int, int] = {}
        self._enabled = slot_set()
        self._complete_at: dict[int, bitarray] = {}
        self._finished_at: dict[int, bitarray] = {}
        self._fold: tuple[Ints, Words, Ints, Words] | None = None
        self._stale: set[int] = set()
        self._changed = False
        self._incomplete: dict[int, Words] = {}
        self._finishing: dict[tuple[int, int], Words | None] = {}

    def install(self, conjunction: Conjunction, query_slot: int | None = None) -> int:
        """Give a conjunction a slot and put its terms into operators. With `query_slot` it is one more disjunct of
        the query in that slot."""
        slot = self.slots.take(sum(len(clause) > 1 for clause in conjunction))
        self.errors.make_room(len(self.slots))
        self.errors.counts[slot] = 0
        completion = 0
        clauses: list[tuple[int, int]] = []
        for clause in conjunction:
            word = ALONE if len(clause) == 1 else self.slots.clause(slot, len(clauses))
            operators = 0
            for term in clause:
                operators |= 1 << self._add(Target(slot, word), term)
            completion |= operators
            if word != ALONE:
                clauses.append((word, operators))
                put(self._finished_at.setdefault(operators, slot_set()), word * WORD + slot % WORD)
        put(self._complete_at.setdefault(completion, slot_set()), slot)
        put(self._enabled, slot)
        self._installed[slot] = Installed(conjunction, completion, tuple(clauses))
        if query_slot is not None:
            self._disjuncts[slot] = query_slot
        self._changed = True
        return slot

    def uninstall(self, slot: int) -> None:
        """Take the terms of a slot out of the operators, drop operators that are left empty, free the slot."""
        installed = self._installed.pop(slot)
        words_of_clauses = iter(installed.clauses)
        for clause in installed.conjunction:
            word = ALONE if len(clause) == 1 else next(words_of_clauses)[0]
            for term in clause:
                self._remove(Target(slot, word), term)
        for word, operators in installed.clauses:
            _take_out(self._finished_at, operators, word * WORD + slot % WORD)
        _take_out(self._complete_at, installed.completion, slot)
        drop(self._enabled, slot)
        self._disjuncts.pop(slot, None)
        self.slots.give_back(slot)
        self._changed = True

    def refresh(self) -> None:
        """Bring every array that the eddy and the kernels read in step with the tables; a no-op if nothing changed."""
        if not self._changed:
            return
        relaid = self.slots.layout() is not self.layout
        self.layout = self.slots.layout()
        self.enabled = words(self._enabled, self.layout.live_words)
        self.masks = np.zeros((len(self.operators) + len(self._vacant), self.layout.live_words), np.uint64)
        for index, operator in self.operators.items():
            if relaid or index in self._stale:
                operator.refresh(self.layout)
            self.masks[index] = operator.mask
        self._fold = _moves(self._disjuncts) if self._disjuncts else None
        self._stale.clear()
        self._incomplete.clear()
        self._finishing.clear()
        self._changed = False

    def ready(self, batch: Batch) -> list[int]:
        """The operators that the batch has not visited and that a query which still wants one of its tuples needs."""
        needed = np.flatnonzero((self.masks & batch.wanted).any(axis=1)).tolist()
        return [index for index in needed if not batch.done >> index & 1]

    def incomplete(self, done: int) -> Words:
        """The slots that need more operators than those of `done`."""
        found = self._incomplete.get(done)
        if found is None:
            _bound(self._incomplete)
            found = np.zeros(self.layout.live_words, np.uint64)
            for mask, slots in self._complete_at.items():
                if mask & ~done:
                    found |= words(slots, self.layout.live_words)
            self._incomplete[done] = found
        return found

    def finishing(self, before: int, after: int) -> Words | None:
        """The clause bits whose last term was seen when `done` went from `before` to `after`; None for none."""
        key = (before, after)
        if key not in self._finishing:
            _bound(self._finishing)
            found = np.zeros(len(self.layout.guards), np.uint64)
            for mask, clauses in self._finished_at.items():
                if not mask & ~after and mask & ~before:
                    found |= words(clauses, len(self.layout.guards))
            self._finishing[key] = found if found.any() else None
        return self._finishing[key]

    def fold(self, live: Words) -> None:
        """Move the bit of each disjunct to the slot of its query, in every row."""
        if self._fold is not None:
            lineages.fold(live, *self._fold)

    def disjuncts_of(self, slot: int) -> list[Conjunction]:
        """All conjunctions of the query in a slot."""
        others = [other for other, query_slot in self._disjuncts.items() if query_slot == slot]
        return [self._installed[each].conjunction for each in (slot, *others)]

    def operator_of(self, term: Term) -> Operator | None:
        """The operator that a term lives in, if there is one (for EXPLAIN)."""
        index = self._home.get(_key(term))
        return None if index is None else self.operators[index]

    def kind_of(self, term: Term) -> str:
        """The kind of operator that a term lives in (for EXPLAIN)."""
        return _kind(term).kind

    def _add(self, target: Target, term: Term) -> int:
        """Put a term into its operator, made if there is none; returns the operator's bit."""
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
        return index

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
        """Every slot's masks are where they belong and every operator is wanted (used by tests)."""
        for slot, installed in self._installed.items():
            assert self._complete_at[installed.completion][slot] and self._enabled[slot]
            for word, operators in installed.clauses:
                assert self._finished_at[operators][word * WORD + slot % WORD]
        assert self._enabled.count() == len(self._installed)
        assert sum(slots.count() for slots in self._complete_at.values()) == len(self._installed)
        assert sorted(self._home.values()) == sorted(self.operators)
        assert sorted([*self.operators, *self._vacant]) == list(range(len(self.operators) + len(self._vacant)))
        assert not any(operator.empty for operator in self.operators.values())
        self.slots._check()


def _key(term: Term) -> Expression:
    return term.key if isinstance(term, Indexed) else term.shape


def _kind(term: Term) -> type[GroupedFilter] | type[ResidualFilter]:
    return GroupedFilter if isinstance(term, Indexed) else ResidualFilter


def _moves(disjuncts: dict[int, int]) -> tuple[Ints, Words, Ints, Words]:
    """Where each disjunct's bit is, and where its query's bit is."""
    source, target = np.array(list(disjuncts)), np.array(list(disjuncts.values()))
    one = np.uint64(1)
    source_bits, target_bits = one << (source % WORD).astype(np.uint64), one << (target % WORD).astype(np.uint64)
    return source // WORD, source_bits, target // WORD, target_bits


def _bound(remembered: dict[Any, Any]) -> None:
    """Random routing through many operators meets very many values of `done`: forget them all now and then."""
    if len(remembered) >= REMEMBERED:
        remembered.clear()


def _take_out(sets: dict[int, bitarray], mask: int, slot: int) -> None:
    drop(sets[mask], slot)
    if not sets[mask].any():
        del sets[mask]
