"""A state machine for the result log: each query has a list of what it should get, and capacities are tiny."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from cacq.data.column import Column
from cacq.data.lineage import WORD, Layout, bit
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.deliver.chunk import Chunk
from cacq.deliver.cursor import Cursor
from cacq.deliver.deltas import Deltas
from cacq.deliver.log import ResultLog
from cacq.deliver.project import project
from cacq.deliver.segment import Capacity
from cacq.errors import ResultsLost
from cacq.query import ast

SCHEMA = Schema.of({"v": "int64", "s": "string", "f": "float64", "b": "bool"})
SELECT = ast.Select(
    "S", SCHEMA, tuple(ast.Output(name, ast.Column(name, type)) for name, type in SCHEMA.columns.items()), None
)
DENSE, SPARSE = 200, 9
ROWS = 1000


def value_of(name: str, ts: int) -> object:
    """What stands in a column of the row with this event time, which is different for every row."""
    return {"v": None if ts % 7 == 0 else -ts, "s": f"x{ts}", "f": ts / 2, "b": ts % 3 == 0}[name]


def columns_of(ts: list[int], names: list[str], user_owned: bool) -> dict[str, Column]:
    columns = {}
    for name in names:
        values = [value_of(name, t) for t in ts]
        valid = np.array([value is not None for value in values])
        if name == "s":
            held = pa.array(values)
        else:
            held = np.array([value or 0 for value in values], SCHEMA.columns[name].dtype)
            if user_owned:
                held = np.repeat(held, 2)[::2]
                held.flags.writeable = False
        columns[name] = Column(SCHEMA.columns[name], held, None if valid.all() else valid)
    return columns


@dataclass(eq=False)
class Reader:
    """A query as the model sees it: the event times of its results, and how many of them it has got or knows lost."""

    cursor: Cursor
    source: str
    slot: int
    results: list[int] = field(default_factory=list)
    seen: int = 0
    ended: bool = False


wishes = st.integers(-SPARSE, -1) | st.integers(0, DENSE - 1) | st.sampled_from([-1, 0, 70])


class ResultLogModel(RuleBasedStateMachine):
    """Queries come, move and go while results are kept, merged, polled and dropped: everything adds up."""

    readers = Bundle("readers")

    def __init__(self) -> None:
        super().__init__()
        self.lsn = 0
        self.everyone: list[Reader] = []
        self.polled: list[tuple[Deltas, int, list[int]]] = []
        self.widths = {"S": 0, "T": 0}

    @initialize(
        retain=st.sampled_from([0, 12_000, 20_000, 20_000, 60_000, 1 << 30]),
        capacity=st.builds(
            Capacity,
            rows=st.sampled_from([1, 40, 1 << 17, 1 << 17]),
            nbytes=st.sampled_from([9_000, 1 << 26]),
            share=st.sampled_from([1, 2, 2, 16]),
            loose=st.sampled_from([0, 1, 3, 64]),
            growth=st.sampled_from([2, 4, 100]),
            scattered=st.sampled_from([0, 1, 4]),
            scanned=st.sampled_from([0, 3, 64, 512]),
        ),
    )
    def begin(self, retain: int, capacity: Capacity) -> None:
        self.log = ResultLog(retain, capacity)

    def standing(self, source: str) -> list[Reader]:
        return [reader for reader in self.everyone if reader.source == source and not reader.ended]

    def free_slot(self, source: str, wish: int) -> int:
        """A slot that no standing query has, near the wish; sparse ones are negative."""
        taken = {reader.slot for reader in self.standing(source)}
        while wish in taken:
            wish = (wish + SPARSE + 1) % (DENSE + SPARSE) - SPARSE
        if wish >= 0:
            self.widths[source] = max(self.widths[source], wish // WORD + 1)
        return wish

    @rule(target=readers, source=st.sampled_from("ST"), wish=wishes)
    def register(self, source: str, wish: int) -> Reader:
        self.lsn += 1
        reader = Reader(Cursor(self.log.source(source)), source, self.free_slot(source, wish))
        reader.cursor._open(reader.slot, self.lsn)
        self.everyone.append(reader)
        return reader

    @rule(target=readers, twin=readers)
    def register_an_identical_query(self, twin: Reader) -> Reader:
        if twin.ended:
            return self.register(twin.source, twin.slot)
        self.lsn += 1
        reader = Reader(Cursor(self.log.source(twin.source)), twin.source, twin.slot)
        reader.cursor._open(reader.slot, self.lsn)
        self.everyone.append(reader)
        return reader

    @rule(reader=readers, wish=wishes, records=st.integers(0, 1))
    def move(self, reader: Reader, wish: int, records: int) -> None:
        if reader.ended:
            return
        self.lsn += records
        reader.slot = self.free_slot(reader.source, wish)
        reader.cursor._change(reader.slot, self.lsn + 1)

    @rule(reader=consumes(readers))
    def cancel(self, reader: Reader) -> None:
        self.lsn += 1
        reader.ended = True
        reader.cursor._close(self.lsn)

    @rule(reader=readers)
    def register_and_cancel(self, reader: Reader) -> None:
        self.register(reader.source, reader.slot)
        self.cancel(self.everyone[-1])

    @rule(
        source=st.sampled_from("ST"),
        rows=st.sampled_from([1, 1, 1, 2, 5, 63, 64, 65, 90, 130, 300]),
        share=st.sampled_from([0.0, 0.02, 0.3, 0.95]),
        names=st.sampled_from(["vsfb", "vsfb", "vs", ""]),
        user_owned=st.booleans(),
        seed=st.integers(0, 2**32),
    )
    def push(self, source: str, rows: int, share: float, names: str, user_owned: bool, seed: int) -> None:
        self.lsn += 1
        wanted = np.random.default_rng(seed).random((DENSE + SPARSE, rows)) < share
        ts = [self.lsn * ROWS + i for i in range(rows)]
        live = np.zeros((rows, self.widths[source]), np.uint64)
        pairs: set[int] = set()
        readers = self.standing(source)
        for slot in {reader.slot for reader in readers}:
            if slot >= 0:
                live[wanted[slot], slot // WORD] |= bit(slot)
            else:
                pairs |= {~slot << 32 | int(i) for i in np.flatnonzero(wanted[slot])}
        for reader in readers:
            reader.results += [ts[i] for i in np.flatnonzero(wanted[reader.slot])]
        shown = list("vsfb") if readers else list(names)
        layout = Layout([0] * self.widths[source])
        columns = columns_of(ts, shown, user_owned)
        sparse = np.array(sorted(pairs), np.uint64)
        self.log.append(source, Chunk(self.lsn, np.array(ts), columns, live, layout, sparse))

    @rule(source=st.sampled_from("ST"), records=st.integers(2, 12), seed=st.integers(0, 2**32))
    def push_small_records(self, source: str, records: int, seed: int) -> None:
        for record in range(records):
            self.push(source, 1 + seed % 3, 0.5, "vsfb", False, seed + record)

    @rule(source=st.sampled_from("ST"), slots=st.lists(wishes, min_size=1, max_size=4), seed=st.integers(0, 2**32))
    def live_through_small_records(self, source: str, slots: list[int], seed: int) -> None:
        """Queries that come, move and go between records that will lie in one segment."""
        for slot in slots:
            self.register(source, slot)
            reader = self.everyone[-1]
            self.push_small_records(source, 2, seed)
            if seed % 2:
                self.move(reader, -1 - seed % SPARSE, seed % 3 % 2)
                self.push_small_records(source, 2, seed)
            self.cancel(reader)
            self.push_small_records(source, 2, seed)

    @rule(reader=readers)
    def count(self, reader: Reader) -> None:
        cursor = reader.cursor
        waiting = sum(span.results for span in cursor._waiting())
        assert cursor._seq == reader.seen
        assert reader.seen + cursor._lost() + waiting == len(reader.results)

    @rule(reader=readers)
    def poll(self, reader: Reader) -> None:
        cursor = reader.cursor
        try:
            cursor._refuse_gap()
        except ResultsLost as gap:
            assert gap.count > 0
            reader.seen += gap.count
            cursor._refuse_gap()
        spans = cursor._waiting()
        deltas, _ = project(SELECT, spans, cursor._seq)
        cursor._advance(spans)
        expected = reader.results[reader.seen :]
        assert len(deltas) == len(expected)
        assert deltas.rows() == [tuple(value_of(name, ts) for name in "vsfb") for ts in expected]
        self.polled.append((deltas, reader.seen, expected))
        reader.seen = len(reader.results)
        assert not cursor._waiting() and not cursor._lost() and not cursor._earlier

    @rule()
    def poll_all(self) -> None:
        for reader in self.everyone:
            self.poll(reader)

    @invariant()
    def the_log_is_sound(self) -> None:
        if hasattr(self, "log"):
            self.log._check()

    def teardown(self) -> None:
        for reader in self.everyone:
            self.poll(reader)
        for deltas, first, ts in self.polled:
            assert deltas.ts.tolist() == ts
            assert deltas.seq.tolist() == list(range(first, first + len(ts)))


TestResultLog = ResultLogModel.TestCase
TestResultLog.settings = settings(max_examples=150, stateful_step_count=40, deadline=None, derandomize=True)


def small_chunk(lsn: int, wanted: bool = True) -> Chunk:
    column = Column(Type.INT64, np.array([lsn]))
    return Chunk(lsn, np.array([lsn]), {"v": column}, np.array([[int(wanted)]], np.uint64), Layout([0]))


def test_many_small_records_lie_in_few_segments_and_take_little_memory() -> None:
    log = ResultLog(1 << 30)
    source = log.source("S")
    reader = Cursor(source)
    reader._open(0, 0)
    for lsn in range(1, 10_001):
        log.append("S", small_chunk(lsn))
    source._check()
    assert len(source._segments) < 100
    assert log.nbytes < 10_000 * 60
    spans = reader._waiting()
    assert sum(span.results for span in spans) == 10_000
    assert len(spans) <= 15


def test_a_reader_that_keeps_up_looks_at_the_last_record_only() -> None:
    log = ResultLog(1 << 30)
    reader = Cursor(log.source("S"))
    reader._open(0, 0)
    for lsn in range(1, 3_000):
        log.append("S", small_chunk(lsn))
        spans = reader._waiting()
        assert [span.results for span in spans] == [1]
        assert spans[0].picks[0].stop - spans[0].picks[0].start == 1
        reader._advance(spans)


def test_queries_that_come_and_go_leave_nothing_behind() -> None:
    log = ResultLog(1 << 30)
    source = log.source("S")
    log.append("S", small_chunk(1))
    for lsn in range(2, 1000, 2):
        reader = Cursor(source)
        reader._open(lsn % 7, lsn)
        reader._close(lsn + 1)
    assert not source._beginning and not source._ending


@pytest.mark.parametrize("share", [0.001, 0.5])
def test_deltas_that_are_kept_do_not_keep_the_log_alive(share: float) -> None:
    rows = 50_000
    log = ResultLog(1 << 30)
    reader = Cursor(log.source("S"))
    reader._open(0, 0)
    wanted = np.arange(rows) % round(1 / share) == 0
    live = np.zeros((rows, 3), np.uint64)
    live[:, 0] = wanted
    ts = np.arange(rows)
    log.append("S", Chunk(1, ts, columns_of(list(range(rows)), list("vsfb"), False), live, Layout([0, 0, 0])))
    spans = reader._waiting()
    deltas, _ = project(SELECT, spans, 0)
    held = deltas._ts.__closure__
    assert held is not None
    arrays = [cell.cell_contents for cell in held]
    if share < 0.25:
        assert all(isinstance(a, np.ndarray) and a.nbytes == len(deltas) * 8 for a in arrays)
    else:
        lazy = next(a for a in arrays if isinstance(a, list))
        kept = sum(values.nbytes + sum(pick.held.nbytes for pick in picks) for picks, values in lazy)
        assert kept <= 5 * 8 * len(deltas)
        assert all(pick.held.base is None for picks, _ in lazy for pick in picks)
    assert deltas.ts.tolist() == np.flatnonzero(wanted).tolist()
