"""What a user would try who has a good engine for tables at hand: DuckDB and Polars, each held to one thread.

Each batch is given to the peer as it comes (Arrow or numpy columns, nothing copied where the peer can avoid it) and the
answer is taken as numpy columns. The forms are the best that were found, by a run or two of each with 10,000 sparse
queries and a batch of 4,096:

- DuckDB, the queries a table of bounds: one join for each field that a query can hang on, the other range as a filter,
  130,000 tuples/s. A join for each of the 20 pairs of fields: 22,000. One join with ten bounds a query: 5,000.
- Polars, query by query: all lazy frames in one collect_all without optimizations, 5,700 tuples/s. With them 2,000, a
  collect for each query 2,100, eager filters 2,900, one select with an expression for each query 5,900 (the same, but
  the answer is a row of 10,000 lists).
- Polars, the queries a frame of bounds: join_where for each pair of fields, 106,000.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from bench.workload import FIELDS, Ints, SparseWorkload

os.environ["POLARS_MAX_THREADS"] = "1"

import duckdb
import polars as pl  # it reads the variable above when it is imported


class DuckdbJoin:
    """The queries as a table of bounds for each field they hang on, joined with each batch."""

    def __init__(self, workload: SparseWorkload) -> None:
        self.workload = workload
        self.connection = duckdb.connect(config={"threads": 1})
        for field in range(len(FIELDS)):
            mine = np.flatnonzero(workload.fields[:, 0] == field)
            bounds = _bounds(workload, mine) | {"other": workload.fields[mine, 1]}
            self.connection.register("bounds", pa.table(bounds))
            self.connection.execute(f"CREATE TABLE anchored_{field} AS SELECT * FROM bounds")
        self.sql = " UNION ALL ".join(self._join(field) for field in range(len(FIELDS)))

    def _join(self, field: int) -> str:
        others = " ".join(f"WHEN {other} THEN {name}" for other, name in enumerate(FIELDS) if other != field)
        return (
            f"SELECT query, index FROM s JOIN anchored_{field} ON {FIELDS[field]} BETWEEN low AND high "
            f"WHERE CASE other {others} END BETWEEN low2 AND high2"
        )

    def rows(self) -> Iterator[tuple[Ints, Ints]]:
        """For each batch: (query, position in the stream) of all results."""
        for k in range(len(self.workload.batches)):
            self.connection.register("s", pa.table(self.workload.rows(k)))
            found = self.connection.execute(self.sql).fetchnumpy()
            yield np.asarray(found["query"]), np.asarray(found["index"])


class PolarsQueries:
    """A lazy frame for each query, all collected together."""

    def __init__(self, workload: SparseWorkload) -> None:
        self.workload = workload
        bounds = zip(workload.fields.tolist(), workload.low.tolist(), workload.high.tolist(), strict=True)
        self.predicates = [
            pl.col(FIELDS[f]).is_between(low, high) & pl.col(FIELDS[g]).is_between(low2, high2)
            for (f, g), (low, low2), (high, high2) in bounds
        ]

    def rows(self) -> Iterator[tuple[int, Ints]]:
        """For each batch and each query: (query, the positions in the stream of the tuples it wants)."""
        plain = pl.QueryOptFlags.none()
        for k in range(len(self.workload.batches)):
            lazy = pl.DataFrame(self.workload.rows(k)).lazy()
            frames = [lazy.filter(predicate).select("index") for predicate in self.predicates]
            for q, frame in enumerate(pl.collect_all(frames, optimizations=plain)):
                yield q, frame["index"].to_numpy()


class PolarsJoin:
    """The queries as a frame of bounds for each pair of fields, joined with each batch."""

    def __init__(self, workload: SparseWorkload) -> None:
        self.workload = workload
        self.standing = []
        for f, field in enumerate(FIELDS):
            for g, other in enumerate(FIELDS):
                mine = np.flatnonzero((workload.fields[:, 0] == f) & (workload.fields[:, 1] == g))
                if len(mine):
                    self.standing.append((pl.col(field), pl.col(other), pl.LazyFrame(_bounds(workload, mine))))

    def rows(self) -> Iterator[tuple[Ints, Ints]]:
        """For each batch: (query, position in the stream) of all results, a pair of fields after another."""
        low, high, low2, high2 = (pl.col(name) for name in ("low", "high", "low2", "high2"))
        for k in range(len(self.workload.batches)):
            lazy = pl.DataFrame(self.workload.rows(k)).lazy()
            joins = [
                lazy.join_where(bounds, field >= low, field <= high, other >= low2, other <= high2)
                for field, other, bounds in self.standing
            ]
            for frame in pl.collect_all([join.select("query", "index") for join in joins]):
                yield frame["query"].to_numpy(), frame["index"].to_numpy()


def _bounds(workload: SparseWorkload, queries: Ints) -> dict[str, Ints]:
    low, high = workload.low[queries], workload.high[queries]
    names = ("query", "low", "high", "low2", "high2")
    columns = (queries, low[:, 0], high[:, 0], low[:, 1], high[:, 1])
    return {name: np.ascontiguousarray(column) for name, column in zip(names, columns, strict=True)}
