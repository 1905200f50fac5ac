"""State machines: the grouped filter and the slots against the simplest thing that could be right."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from cacq.data.batch import begin
from cacq.data.column import Column
from cacq.data.lineage import WORD, Layout, bit, put, slot_set
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.eddy.slots import Slots
from cacq.filters.bit_rows import BitRows
from cacq.filters.checkpoints import Checkpoints
from cacq.filters.grouped import GroupedFilter
from cacq.filters.operator import ALONE, Target, ValueErrors
from cacq.query import ast
from cacq.query.value_sets import ValueSet, of_range

CALM = settings(max_examples=60, stateful_step_count=30, deadline=None, derandomize=True)

value_sets = st.builds(
    ValueSet, st.lists(st.integers(-4, 9), max_size=5, unique=True).map(lambda cuts: tuple(sorted(cuts))),
    st.booleans(), st.booleans(),
)  # fmt: skip


class GroupedFilterModel(RuleBasedStateMachine):
    """Terms come and go; every probe accepts exactly the terms whose set holds its value. Rows and slabs are so few
    that blocks are split and merged all the time."""

    terms = Bundle("terms")

    def __init__(self) -> None:
        super().__init__()
        self.slots = Slots()
        self.bits = BitRows()
        self.filter: GroupedFilter | None = None
        self.model: dict[Target, ValueSet] = {}

    @initialize(most_rows=st.sampled_from([1, 3, 1000]), slab=st.sampled_from([4, 8]))
    def begin(self, most_rows: int, slab: int) -> None:
        checkpoints = Checkpoints(self.bits, slab=slab)
        checkpoints._most_rows = lambda: most_rows  # type: ignore[method-assign]
        key = ast.Column("a", Type.INT64)
        self.filter = GroupedFilter("f", key, {}, ValueErrors(), self.bits, checkpoints)

    def lay(self) -> Layout:
        layout = self.slots.layout()
        self.bits.widen(layout.width)
        assert self.filter is not None
        self.filter.refresh(layout)
        return layout

    @rule(target=terms, values=value_sets, clauses=st.integers(0, 3))
    def add(self, values: ValueSet, clauses: int) -> Target:
        slot = self.slots.take(clauses)
        self.lay()
        target = Target(slot, clauses - 1)
        self.filter.add(target, values)
        self.model[target] = values
        return target

    @rule(target=terms, low=st.just(INT64_MIN) | st.integers(-4, 9), high=st.integers(-5, 9) | st.just(INT64_MAX))
    def add_range(self, low: int, high: int) -> Target:
        slot = self.slots.take(0)
        self.lay()
        self.filter.add_ranges(np.array([slot]), np.array([low]), np.array([high]))
        target = Target(slot, ALONE)
        self.model[target] = of_range(low, high)
        return target

    @rule(target_=consumes(terms))
    def remove(self, target_: Target) -> None:
        self.filter.remove(target_)
        self.slots.give_back(target_.slot)
        del self.model[target_]

    @rule()
    def rebuild(self) -> None:
        self.lay()
        self.filter._rebuild()

    @rule(values=st.lists(st.none() | st.integers(-6, 11), min_size=1, max_size=20))
    def probe(self, values: list[int | None]) -> None:
        layout = self.lay()
        self.filter._check()
        column = Column(
            Type.INT64, np.array([value or 0 for value in values]), np.array([value is not None for value in values])
        )
        record = Record(Schema.of({"a": "int64"}), 1, np.zeros(len(values), np.int64), {"a": column})
        if not layout.live_words:
            return
        batch = self.filter.process(begin(record, 0, len(values), layout.live_bits, 1, layout, []))
        for i, value in enumerate(values):
            for target, accepted in self.model.items():
                found = bool(batch.lineage[i, layout.column(*target)] & bit(target.slot))
                assert found == ((value in accepted) == (target.clause == ALONE)), (value, accepted)

    @invariant()
    def slots_are_sound(self) -> None:
        self.slots._check()
        self.bits._check()
        assert self.filter is None or self.filter.predicates == len(self.model)


class SlotsModel(RuleBasedStateMachine):
    """No slot has two owners, and each has room for its clauses."""

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.slots = Slots()
        self.owned: dict[int, int] = {}

    @rule(target=held, clauses=st.integers(0, 16))
    def take(self, clauses: int) -> int:
        slot = self.slots.take(clauses)
        assert slot not in self.owned
        self.owned[slot] = clauses
        return slot

    @rule(slot=consumes(held))
    def give_back(self, slot: int) -> None:
        self.slots.give_back(slot)
        del self.owned[slot]

    @invariant()
    def every_clause_has_a_bit_of_its_own(self) -> None:
        self.slots._check()
        layout = self.slots.layout()
        bits = [(layout.column(slot, k), slot % WORD) for slot, n in self.owned.items() for k in range(-1, n)]
        assert len(bits) == len(set(bits))
        slots = slot_set()
        for slot in self.owned:
            put(slots, slot)
        spread = layout.spread(slots)
        assert not (spread & ~layout.live_bits).any()
        assert layout.slots_of(spread[layout.columns]) == sorted(self.owned)


TestGroupedFilter = GroupedFilterModel.TestCase
TestGroupedFilter.settings = CALM
TestSlots = SlotsModel.TestCase
TestSlots.settings = CALM
