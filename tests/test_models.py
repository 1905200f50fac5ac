"""State machines: the grouped filter, the slots and the result log against the simplest thing that could be right."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from cacq.data.batch import begin
from cacq.data.column import Column
from cacq.data.lineage import WORD, Layout, bit, put, slot_set
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.deliver.chunk import Chunk
from cacq.deliver.log import ResultLog, Tenancy
from cacq.eddy.slots import Slots
from cacq.filters.grouped import GroupedFilter
from cacq.filters.operator import ALONE, Target, ValueErrors
from cacq.query import ast
from cacq.query.value_sets import ValueSet

CALM = settings(max_examples=60, stateful_step_count=30, deadline=None, derandomize=True)

value_sets = st.builds(
    ValueSet, st.lists(st.integers(-4, 9), max_size=5, unique=True).map(lambda cuts: tuple(sorted(cuts))),
    st.booleans(), st.booleans(),
)  # fmt: skip


class GroupedFilterModel(RuleBasedStateMachine):
    """Terms come and go; every probe accepts exactly the terms whose set holds its value."""

    terms = Bundle("terms")

    def __init__(self) -> None:
        super().__init__()
        self.slots = Slots()
        self.filter = GroupedFilter("f", ast.Column("a", Type.INT64), {}, ValueErrors())
        self.model: dict[Target, ValueSet] = {}

    @rule(target=terms, values=value_sets, clauses=st.integers(0, 3))
    def add(self, values: ValueSet, clauses: int) -> Target:
        slot = self.slots.take(clauses)
        target = Target(slot, clauses - 1)
        self.filter.add(target, values)
        self.model[target] = values
        return target

    @rule(target_=consumes(terms))
    def remove(self, target_: Target) -> None:
        self.filter.remove(target_)
        self.slots.give_back(target_.slot)
        del self.model[target_]

    @rule(values=st.lists(st.none() | st.integers(-6, 11), min_size=1, max_size=20))
    def probe(self, values: list[int | None]) -> None:
        layout = self.slots.layout()
        self.filter.refresh(layout)
        self.filter._check(layout)
        column = Column(
            Type.INT64, np.array([value or 0 for value in values]), np.array([value is not None for value in values])
        )
        record = Record(Schema.of({"a": "int64"}), 1, np.zeros(len(values), np.int64), {"a": column})
        enabled = np.full(layout.live_words, ~np.uint64(0), np.uint64)
        batch = self.filter.process(begin(record, 0, len(values), enabled, 1, layout, []))
        for i, value in enumerate(values):
            for target, accepted in self.model.items():
                alone = target.clause == ALONE
                word = layout.word(target.slot) if alone else layout.clause_word(target.slot, target.clause)
                found = bool(batch.lineage[i, word] & bit(target.slot))
                assert found == (value in accepted), (value, accepted)

    @invariant()
    def slots_are_sound(self) -> None:
        self.slots._check()
        assert self.filter.predicates == len(self.model)


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
        bits = [(layout.clause_word(slot, k), slot % WORD) for slot, n in self.owned.items() for k in range(n)]
        bits += [(layout.word(slot), slot % WORD) for slot in self.owned]
        assert len(bits) == len(set(bits))
        slots = slot_set()
        for slot in self.owned:
            put(slots, slot)
        assert layout.slots_of(layout.live(slots)) == sorted(self.owned)


@dataclass
class Tenant:
    tenancy: Tenancy
    results: list[int] = field(default_factory=list)
    ended: bool = False


class ResultLogModel(RuleBasedStateMachine):
    """Tenants of a few slots come and go while chunks are appended and dropped: kept and dropped results add up."""

    tenants = Bundle("tenants")

    def __init__(self) -> None:
        super().__init__()
        self.log = ResultLog(4_000)
        self.source = self.log.source("S")
        self.lsn = 0
        self.free = list(range(5))
        self.everyone: list[Tenant] = []

    @rule(target=tenants)
    def register(self) -> Tenant:
        self.lsn += 1
        slot = self.free.pop(0) if self.free else 5 + len(self.everyone) % 120
        in_use = {t.tenancy.slot for t in self.everyone if not t.ended}
        while slot in in_use:
            slot = (slot + 1) % 128
        tenant = Tenant(self.source.open(slot, self.lsn))
        self.everyone.append(tenant)
        return tenant

    @rule(tenant=consumes(tenants))
    def cancel(self, tenant: Tenant) -> None:
        self.lsn += 1
        tenant.ended = True
        self.source.close(tenant.tenancy, self.lsn)
        self.free.append(tenant.tenancy.slot)

    @rule(rows=st.integers(1, 90), seed=st.integers(0, 2**32))
    def push(self, rows: int, seed: int) -> None:
        self.lsn += 1
        wanted = np.random.default_rng(seed).random((rows, 128)) < 0.3
        live = np.zeros((rows, 2), np.uint64)
        for tenant in self.everyone:
            slot = tenant.tenancy.slot
            if not tenant.ended:
                live[wanted[:, slot], slot // WORD] |= bit(slot)
                tenant.results += [self.lsn * 1000 + i for i in np.flatnonzero(wanted[:, slot])]
        self.log.append("S", Chunk(self.lsn, np.arange(rows) + self.lsn * 1000, {}, live, Layout((0, 1), (0, 0))))

    @invariant()
    def kept_are_the_last_and_dropped_the_rest(self) -> None:
        for tenant in self.everyone:
            slot, kept = tenant.tenancy.slot, []
            for chunk in self.source.read(tenant.tenancy, 0):
                positions = chunk.positions(slot)
                assert chunk.count(slot) == len(positions)
                kept += chunk.ts[positions].tolist()
            dropped = self.source.dropped(tenant.tenancy)
            assert kept == tenant.results[dropped:]
            assert dropped + len(kept) == len(tenant.results)


TestGroupedFilter = GroupedFilterModel.TestCase
TestGroupedFilter.settings = CALM
TestSlots = SlotsModel.TestCase
TestSlots.settings = CALM
TestResultLog = ResultLogModel.TestCase
TestResultLog.settings = CALM
