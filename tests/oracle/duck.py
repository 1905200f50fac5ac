"""The second oracle: DuckDB over the same rows. It shares with the plain one only the syntax tree."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from tests.oracle.language import Query, Stream, calls_function, compares_int_with_float
from tests.oracle.plain import NEVER, Delta, Row
from tests.oracle.spelling import to_duckdb

ARROW = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.int64(),
}


class Duck:
    """One connection that answers queries over the rows of one case at a time."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")

    def load(self, stream: Stream, rows: Sequence[Row], times: Sequence[int]) -> None:
        """Makes these rows, with their event times, the ones that are asked about."""
        columns = list(zip(*rows, strict=True)) or [()] * len(stream.columns)
        table = {c.name: pa.array(values, ARROW[c.type]) for c, values in zip(stream.columns, columns, strict=True)}
        self.times = times
        self.connection.execute("DROP TABLE IF EXISTS log")
        self.connection.register("given", pa.table(table | {"__row": pa.array(range(len(rows)), pa.int64())}))
        self.connection.execute("CREATE TABLE log AS SELECT * FROM given")
        self.connection.unregister("given")

    def answer(self, query: Query) -> list[tuple[int, int, Row]]:
        """(position, event time, output row) of every row of the log that the query selects, in order."""
        found = self.connection.execute(to_duckdb(query, "log", "__row")).fetchall()
        return [(position, self.times[position], tuple(shown)) for position, *shown in found]


def deltas(found: Sequence[tuple[int, int, Row]], start: int, stop: int) -> list[Delta]:
    """The deltas of a query that saw the positions `[start, stop)`."""
    seen = [(ts, row) for position, ts, row in found if start <= position < stop]
    return [(seq, 1, ts, NEVER, row) for seq, (ts, row) in enumerate(seen)]


def can_answer(query: Query, extreme: bool) -> bool:
    """Whether DuckDB means the same by the query: it compares int64 with float64 by way of double, and has no UDFs."""
    expressions = [output.expression for output in query.shown]
    if query.predicate is not None:
        expressions.append(query.predicate)
    inexact = extreme and any(map(compares_int_with_float, expressions))
    return not inexact and not any(map(calls_function, expressions))
