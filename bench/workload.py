"""What is measured on: the stream S(index, a..e) and two kinds of standing queries over it.

*Dense*, CACQ section 3.2.8: the fields are integers uniform in [0, 100). A query has a predicate on a field with
probability 1/2, its operator drawn from < > <= >=, its constant uniform in [0, 100). A query that drew no predicate at
all is drawn again. A tuple matches about a fifth of the queries.

*Sparse*: the fields are integers uniform in [0, 100,000). A query wants a range of 1 % of the domain on each of two
fields. A tuple matches one query in 10,000.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

FIELDS = ("a", "b", "c", "d", "e")
SCHEMA = dict.fromkeys(("index", *FIELDS), "int64")
OPERATORS = ("<", ">", "<=", ">=")
DOMAIN = 100
BATCH = 4096
SPARSE_DOMAIN, SPARSE_WIDTH = 100_000, 1_000

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Predicate:
    """`FIELDS[field] operator constant`."""

    field: int
    operator: str
    constant: int


Query = tuple[Predicate, ...]
"""The predicates that must all hold; at least one, at most one a field, in the order of the fields."""


@dataclass(frozen=True)
class Tuples:
    """The batches that are pushed. `batches[k][f]` are the values of field f in batch k; all are equally long."""

    batches: tuple[Ints, ...]
    seed: int

    @property
    def batch(self) -> int:
        """Tuples in a batch."""
        return int(self.batches[0].shape[1])

    @property
    def tuples(self) -> int:
        """Tuples in all batches."""
        return len(self.batches) * self.batch

    def index(self, batch: int) -> Ints:
        """The values of S.index in a batch: the position of each tuple in the stream."""
        return np.arange(batch * self.batch, (batch + 1) * self.batch)

    def rows(self, batch: int) -> dict[str, Ints]:
        """A batch as it is pushed."""
        return {"index": self.index(batch)} | dict(zip(FIELDS, self.batches[batch], strict=True))

    def head(self, batches: int) -> Self:
        """The same queries and only the first of the batches."""
        return replace(self, batches=self.batches[:batches])

    def limits(self, query: int) -> dict[int, tuple[int, int]]:
        """What a query accepts: by field, the lowest and the highest value, both inclusive."""
        raise NotImplementedError

    def wanted(self, query: int, columns: Ints) -> Ints:
        """Which tuples of `columns[field]` a query wants, one after another: what the fast ways are checked against."""
        mask = np.ones(columns.shape[1], np.bool_)
        for field, (low, high) in self.limits(query).items():
            mask &= (columns[field] >= low) & (columns[field] <= high)
        return np.flatnonzero(mask)


@dataclass(frozen=True)
class Workload(Tuples):
    """Dense queries."""

    queries: tuple[Query, ...]

    def limits(self, query: int) -> dict[int, tuple[int, int]]:
        found = {}
        for p in self.queries[query]:
            strict = p.operator in ("<", ">")
            upper = p.operator in ("<", "<=")
            found[p.field] = (0, p.constant - strict) if upper else (p.constant + strict, DOMAIN - 1)
        return found

    def texts(self) -> list[str]:
        """The queries as SQL."""
        return [sql(query) for query in self.queries]


@dataclass(frozen=True)
class SparseWorkload(Tuples):
    """Sparse queries. Query q wants `low[q, i] <= FIELDS[fields[q, i]] <= high[q, i]` for i = 0 and 1."""

    fields: Ints
    low: Ints

    @property
    def high(self) -> Ints:
        """The highest values that are accepted."""
        return self.low + (SPARSE_WIDTH - 1)

    def limits(self, query: int) -> dict[int, tuple[int, int]]:
        bounds = zip(self.fields[query].tolist(), self.low[query].tolist(), strict=True)
        return {field: (low, low + SPARSE_WIDTH - 1) for field, low in bounds}

    def texts(self) -> list[str]:
        """The queries as SQL."""
        bounds = zip(self.fields.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [
            f"SELECT index FROM S WHERE {FIELDS[f]} BETWEEN {low} AND {high} AND {FIELDS[g]} BETWEEN {low2} AND {high2}"
            for (f, g), (low, low2), (high, high2) in bounds
        ]


def selections(queries: int, batches: int, seed: int = 7, batch: int = BATCH) -> Workload:
    """Dense queries and tuples; the same arguments give the same workload."""
    rng = np.random.default_rng(seed)
    drawn = tuple(_query(rng) for _ in range(queries))
    data = tuple(rng.integers(0, DOMAIN, (len(FIELDS), batch)) for _ in range(batches))
    return Workload(data, seed, drawn)


def sparse_selections(queries: int, batches: int, seed: int = 7, batch: int = BATCH) -> SparseWorkload:
    """Sparse queries and tuples; the same arguments give the same workload."""
    rng = np.random.default_rng(seed)
    fields = np.argsort(rng.random((queries, len(FIELDS))), axis=1)[:, :2].copy()
    low = rng.integers(0, SPARSE_DOMAIN - SPARSE_WIDTH + 1, (queries, 2))
    data = tuple(rng.integers(0, SPARSE_DOMAIN, (len(FIELDS), batch)) for _ in range(batches))
    return SparseWorkload(data, seed, fields, low)


def _query(rng: np.random.Generator) -> Query:
    chosen = np.flatnonzero(rng.random(len(FIELDS)) < 0.5)
    if not len(chosen):
        return _query(rng)
    operators = rng.integers(0, len(OPERATORS), len(chosen))
    constants = rng.integers(0, DOMAIN, len(chosen))
    triples = zip(chosen, operators, constants, strict=True)
    return tuple(Predicate(int(f), OPERATORS[o], int(c)) for f, o, c in triples)


def sql(query: Query) -> str:
    """The query as text."""
    terms = (f"{FIELDS[p.field]} {p.operator} {p.constant}" for p in query)
    return f"SELECT index FROM S WHERE {' AND '.join(terms)}"
