"""Makes every kernel ready: compiled for all types of array that it meets in service, or found on disk.

A private engine runs a canned workload. Numba compiles a kernel again for each new combination of types, and an array
that is read-only (Arrow's memory) is of another type than one that is not (a copy); so every predicate sees whole
batches and parts of batches, from each kind of input, with and without NULLs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from cacq.data.lineage import WORD
from cacq.engine import Engine
from cacq.errors import ResultsLost
from cacq.filters.bit_rows import BitRows
from cacq.filters.checkpoints import Checkpoints
from cacq.kernels.compiled import INTERPRETED, reporting

Progress = Callable[[int, int, str], object]

LINEAGES = ("dense", "sparse")
"""Every form of lineage that an engine can be told to use."""
SIZES = (3, 200)
"""Rows of a push: results of up to 64 rows are read in another way than more."""
MANY_ROWS, RETAINED = 1000, 100_000
"""Rows of a push whose results are turned when they are read, and bytes that hold about three of them."""
CROWD, CUTS = 40, 200
"""Predicates on one key that are more than a filter takes in one by one, and cuts that are more than it has rows
for."""
SCHEMA = {
    "n": "int64", "i": "int64", "j": "int64", "f": "float64", "g": "float64", "s": "string", "r": "string",
    "b": "bool", "t": "timestamp", "u": "timestamp", "ts": "timestamp",
}  # fmt: skip

PREDICATES = (
    *("i > 1", "i IN (0, 3)", "i IS NULL", "f < 2.5", "s = 'x1' OR s > 'x2'", "s IS NULL", "b", "t = u"),
    "t >= TIMESTAMP '1970-01-01 00:00:00.000002'",
    *("i + j > 1", "i - j < 2", "i * j >= 0", "i % j = 0", "i / j > 0", "f + g > 1", "f % g < 1", "s || r = 'x1y1'"),
    *("i < j + 1", "i < f", "f < g + 1", "s < r || 'x'", "i % j < f + 1"),  # residuals: no index helps
    *("s LIKE 'x%'", "s LIKE '_1'", "s LIKE 'x!%%' ESCAPE '!'", "s || r LIKE '%1_1'", f"s LIKE '{'x' * 70}%'"),
    *("i > 1 OR f < 2 OR s = 'x1'", "(i = 1 OR s LIKE '%1') AND (f > 0 OR i < j)"),  # clauses, and then disjuncts
    "(i = 1 AND j = 1 AND f > 0 AND g > 0 AND s > 'x') OR (i = 2 AND j = 2 AND f > 1 AND g > 1 AND r > 'y')",
)
EVERYTHING = "i, f, s, b, t, i + j AS k, f * g AS h, s || r AS q, i < f AS l, f < g AS m, s < r AS o, s IN ('x1') AS v"


def warm_up(progress: Progress | None = None) -> None:
    """Compile every kernel that is not on disk yet, so that no push does.

    `progress(ready, kernels, name)` is called when a kernel is about to be compiled: how many of how many are ready,
    and the name of this one. It is not called where everything is found on disk.
    """
    if INTERPRETED:
        return
    with reporting(progress or _nothing):
        given = [form for rows in SIZES for form in forms(rows)]
        for lineage in LINEAGES:
            run_queries(Engine(policy="fixed", clock=lambda: 0, lineage=lineage), given)
            for retain_bytes in (0, RETAINED):
                engine = Engine(policy="fixed", clock=lambda: 0, lineage=lineage, retain_bytes=retain_bytes)
                drop_results(engine)
        change_checkpoints()


def run_queries(engine: Engine, given: Sequence[object]) -> None:
    """Every predicate over every form of input, once on whole batches and once behind another filter."""
    for stream, condition in (("whole", ""), ("parts", "n = 0 AND ")):
        engine.create_stream(stream, SCHEMA, timestamp="ts")
        queries = engine.register_many(f"SELECT i FROM {stream} WHERE {condition}({each})" for each in PREDICATES)
        queries += engine.register_many(f"SELECT s, i FROM {stream} WHERE i < {k}" for k in range(CROWD))
        queries += engine.register_many(
            [f"SELECT s FROM {stream} WHERE s = 'x1'", f"SELECT {EVERYTHING} FROM {stream}"]
        )
        for data in given:
            engine.push(stream, data)
            queries[-1].poll()
        for query in queries:
            _ = query.results
            query.poll()
            query.cancel()
        engine.push(stream, given[0])


def change_checkpoints() -> None:
    """A filter that has more cuts than rows for them; no engine has so many queries in a workload of this size."""
    bits = BitRows()
    bits.widen(1)
    checkpoints = Checkpoints(bits, budget=0)
    for change in (checkpoints.flip, checkpoints.unflip):
        for cut in range(CUTS):
            change(cut, cut % WORD)
        checkpoints.bits_at(1)


def drop_results(engine: Engine) -> None:
    """Results that go before they are read, and after, are counted."""
    engine.create_stream("dropped", SCHEMA, timestamp="ts")
    queries = engine.register_many(["SELECT i FROM dropped", "SELECT i FROM dropped WHERE i > 1"])
    for rows in (*SIZES, *(MANY_ROWS,) * 4):
        engine.push("dropped", next(forms(rows)))
        for query in queries:
            with suppress(ResultsLost):
                query.poll()


def forms(rows: int) -> Iterator[object]:
    """The same rows in each form that is held in another way inside, without and with NULLs."""
    whole: dict[str, Any] = {name: _values(type, rows, name) for name, type in SCHEMA.items()}
    holes = {
        name: values if name in ("n", "ts") else [None if k % 4 == 1 else value for k, value in enumerate(values)]
        for name, values in whole.items()
    }
    blank = {name: [""] * rows if SCHEMA[name] == "string" else values for name, values in whole.items()}
    yield {name: np.array(values) for name, values in whole.items()}
    if rows == SIZES[0]:
        yield from (whole, holes)
    for text in (pa.string(), pa.large_string()):
        for columns in (whole, holes, blank):
            texts = {name: text if type == "string" else None for name, type in SCHEMA.items()}
            table = pa.table({name: pa.array(values, texts[name]) for name, values in columns.items()})
            yield _received(table)
    yield pa.concat_tables([table, table])


def _received(table: pa.Table) -> pa.Table:
    """The table as it comes over the wire: in memory that cannot be written."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(pa.py_buffer(sink.getvalue().to_pybytes())).read_all()


def _values(type: str, rows: int, name: str) -> list[Any]:
    """Small values that every predicate accepts in some rows; `n` picks every other row."""
    if name == "n":
        return [k % 2 for k in range(rows)]
    shift = name in "jgru"
    numbers = [(k * (3 if shift else 1)) % 4 for k in range(rows)]
    match type:
        case "string":
            return [("y" if shift else "x") + str(number) for number in numbers]
        case "float64":
            return [number + 0.5 * shift for number in numbers]
        case "bool":
            return [number > 1 for number in numbers]
    return numbers


def _nothing(ready: int, kernels: int, name: str) -> None:
    """The progress that nobody asked for."""
