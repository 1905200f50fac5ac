"""The selection workload of the CACQ paper, section 3.2.8: S(index, a..e) and randomly generated queries over it.

The fields a to e are integers uniform in [0, 100). A query has a predicate on a field with probability 1/2, its
operator drawn from < > <= >=, its constant uniform in [0, 100). A query that drew no predicate at all is drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FIELDS = ("a", "b", "c", "d", "e")
OPERATORS = ("<", ">", "<=", ">=")
DOMAIN = 100
BATCH = 4096

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
class Workload:
    """Queries and the batches that are pushed at them. `batches[k][f]` are the values of field f in batch k."""

    queries: tuple[Query, ...]
    batches: tuple[Ints, ...]
    seed: int

    @property
    def tuples(self) -> int:
        return len(self.batches) * BATCH

    def index(self, batch: int) -> Ints:
        """The values of S.index in a batch: the position of each tuple in the stream."""
        return np.arange(batch * BATCH, (batch + 1) * BATCH)


def selections(queries: int, batches: int, seed: int = 7) -> Workload:
    """The workload of section 3.2.8; the same arguments give the same workload."""
    rng = np.random.default_rng(seed)
    drawn = tuple(_query(rng) for _ in range(queries))
    data = tuple(rng.integers(0, DOMAIN, (len(FIELDS), BATCH)) for _ in range(batches))
    return Workload(drawn, data, seed)


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
