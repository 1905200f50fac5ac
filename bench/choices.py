"""`choices`: designs that were taken against those that were not, at the size of their kernels.

*clauses*: n queries `(a OR b)`; the clause words stand behind the live word of their query (taken), or clauses have
slots of their own and are gathered bit by bit. *residuals*: n predicates `a < b + constant`; one shape over all pairs
of tuple and predicate (taken), or one operator a predicate. `tuples` of 1 shows the cost of a lone tuple.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from bench.baselines.rejected import gather_clauses, one_operator_a_predicate
from bench.measure import Contender, Params, Row, agreed_checksum, interleaved, row
from cacq.data.arrays import Words
from cacq.data.batch import begin
from cacq.data.column import Column
from cacq.data.lineage import Layout
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.filters.operator import ALONE, Target, ValueErrors
from cacq.filters.residual import ResidualFilter
from cacq.kernels import lineages
from cacq.query import ast
from cacq.query.normalize import Residual, normalize

NAME = "choices"
QUICK, FULL = (1_000,), (1_000, 10_000)
SEED = 7


class Clauses:
    """Lineage of n queries with a clause each, half of the clauses open."""

    case = "clauses: guarded words"

    def __init__(self, queries: int, tuples: int) -> None:
        self.words = (queries + 63) // 64
        self.layout = Layout([1] * self.words)
        rng = np.random.default_rng(SEED)
        self.lineage: Words = rng.integers(0, 1 << 63, (tuples, self.layout.width), dtype=np.uint64)
        self.scratch = self.lineage.copy()

    def run(self) -> None:
        self.scratch[:] = self.lineage
        lineages.finish(self.scratch, self.layout.clauses, self.layout.guards, ~self.layout.live_bits)

    def settle(self) -> None:
        pass

    def checksum(self) -> str:
        self.run()
        return _digest(self.layout.live(self.scratch))


class GatheredClauses(Clauses):
    """The same clauses, each looked up on its own."""

    case = "clauses: gathered bits"

    def run(self) -> None:
        self.scratch[:] = self.lineage
        slots = np.arange(self.words * 64)
        bits = np.uint64(1) << (slots % 64).astype(np.uint64)
        guards = self.layout.columns[slots // 64]
        gather_clauses(self.scratch, guards + 1, bits, guards, bits)


class Residuals:
    """n predicates `a < b + constant` over a batch, as one operator."""

    case = "residuals: one shape"

    def __init__(self, queries: int, tuples: int) -> None:
        rng = np.random.default_rng(SEED)
        self.constants = rng.integers(-100, 100, queries).tolist()
        self.left, self.right = rng.integers(0, 100, tuples), rng.integers(0, 100, tuples)
        self.layout = Layout([0] * ((queries + 63) // 64))
        self.live = np.zeros((tuples, self.layout.live_words), np.uint64)
        self.enabled = np.zeros(self.layout.live_words, np.uint64)
        for slot in range(queries):
            self.enabled[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
        schema = Schema.of({"a": "int64", "b": "int64"})
        columns = {"a": Column(Type.INT64, self.left), "b": Column(Type.INT64, self.right)}
        self.record = Record(schema, 1, np.zeros(tuples, np.int64), columns)
        self.filter = self._filter()

    def _filter(self) -> ResidualFilter:
        terms = [_term(constant) for constant in self.constants]
        operator = ResidualFilter("", terms[0].shape, {}, ValueErrors())
        for slot, term in enumerate(terms):
            operator.add(Target(slot, ALONE), term.constants)
        operator.refresh(self.layout)
        return operator

    def run(self) -> None:
        batch = begin(self.record, 0, len(self.record), self.enabled, 1, self.layout, [])
        self.live = self.filter.process(batch).lineage

    def settle(self) -> None:
        pass

    def checksum(self) -> str:
        self.run()
        return _digest(self.live)


class SeparateResiduals(Residuals):
    """The same predicates, one after another in numpy."""

    case = "residuals: one operator a predicate"

    def run(self) -> None:
        self.live = np.zeros_like(self.live)
        one_operator_a_predicate(self.left, self.right, self.constants, self.live)


def measure(quick: bool) -> Iterator[Row]:
    """The throughput of each design and the ratio between the one taken and the one not."""
    for queries in QUICK if quick else FULL:
        for tuples in (4_096, 1):
            params: Params = {"queries": queries, "tuples": tuples, "seed": SEED}
            for taken, rejected in ((Clauses, GatheredClauses), (Residuals, SeparateResiduals)):
                rivals: list[Contender] = [rejected(queries, tuples), taken(queries, tuples)]
                checksum = agreed_checksum(rivals)
                seconds = interleaved(rivals)
                for case, times in seconds.items():
                    rates = [tuples / elapsed for elapsed in times]
                    name = f"{case}, batches of {tuples:,}"
                    yield row(NAME, name, params, "throughput", "tuples/s", rates, checksum)
                pairs = zip(seconds[rejected.case], seconds[taken.case], strict=True)
                name = f"{taken.case} / {rejected.case}, batches of {tuples:,}"
                yield row(NAME, name, params, "ratio", "x", [b / a for b, a in pairs], checksum)


def target(figure: Row) -> float | None:
    """No figure was asked for; docs/decisions.md says what follows from each ratio."""
    return None


def _term(constant: int) -> Residual:
    plus = ast.Arithmetic("+", ast.Column("b", Type.INT64), ast.Constant(constant, Type.INT64), Type.INT64)
    ((clause,),) = normalize(ast.Compare("<", ast.Column("a", Type.INT64), plus))
    assert isinstance(clause[0], Residual)
    return clause[0]


def _digest(words: Words) -> str:
    return hashlib.blake2b(np.ascontiguousarray(words).tobytes(), digest_size=8).hexdigest()
