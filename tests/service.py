"""Kernels at work: what is compiled while an engine serves queries of every kind, after `warm_up`."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

import cacq
import cacq.kernels
from cacq.eddy.routing import NAMES
from cacq.warm import LINEAGES

COLUMNS = {"k": "int64", "x": "int64", "y": "float64", "z": "string", "w": "bool", "m": "timestamp", "ts": "timestamp"}
WHERE = (
    *("", "k = 3", "k BETWEEN 2 AND 90", "k IN (1, 2, 3)", "x IS NULL", "x IS NOT NULL AND y > 3", "y = 2.5", "w"),
    *("NOT w", "z = 'b'", "z IN ('a', 'b', 'c')", "z >= 'b' AND z < 'c'", "z IS NULL", "z != ''", "m IS NULL"),
    *("m < TIMESTAMP '2020-01-01 00:00'", "k > 5 OR z = 'b' OR y < 1", "(k = 1 OR w) AND (z = 'a' OR x > 2)"),
    *("k + x = 3", "x * 2 - 1 > k", "abs(x) % 3 = 1", "y * 2 > 3", "y / x > 1", "x / y < 4", "z || 'q' = 'bq'"),
    *("k < x", "x < y", "y < x + y", "k + 0.5 < y OR x % 2 = y", "z LIKE 'a%'", "z LIKE '%b_'", "NOT z LIKE '%é%'"),
    *("z LIKE '50!%%' ESCAPE '!'", f"z || z LIKE '%{'ab' * 50}%'", "x * 9000000000000000000 > 1", "10 / x > k"),
    "(k = 1 AND x = 1 AND y > 0 AND w AND z > 'a') OR (k = 2 AND x = 2 AND y > 1 AND NOT w AND z > 'b')",
    " OR ".join(f"(k = {n} AND x > {n} AND y < {n} AND z = '{n}')" for n in range(5)),
)
SELECT = (
    "k, z",
    "*",
    "x + 1 AS a, y * x AS b, z || '!' AS c",
    "x < y AS d, z IN ('a', 'b') AS e, z < 'b' AS f, -x AS g",
)


def kernels() -> dict[str, Any]:
    """Every compiled function of every module of cacq.kernels, by its name."""
    found = {}
    for module in pkgutil.walk_packages(cacq.kernels.__path__, "cacq.kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if hasattr(value, "overloads") and value.__module__ == module.name:
                found[f"{module.name}.{name}"] = value
    return found


def unknown(known: dict[str, Any]) -> list[str]:
    """Kernels that have not run, not even as a part of another one."""
    used = [kernel for kernel in known.values() if kernel.overloads]
    for kernel in used:
        parts = [kernel.py_func.__globals__.get(name) for name in kernel.py_func.__code__.co_names]
        used += [part for part in parts if hasattr(part, "overloads") and all(part is not other for other in used)]
    return [name for name, kernel in known.items() if all(kernel is not other for other in used)]


def pushes(rows: int) -> Iterator[object]:
    """The same rows as each kind of data that a user may push."""
    rng = np.random.default_rng(rows)
    whole = {
        "k": rng.integers(0, 100, rows), "x": rng.integers(-3, 4, rows), "y": rng.random(rows) * 8,
        "z": rng.choice(["a", "b", "abc", "", "50%", "é"], rows), "w": rng.random(rows) < 0.5,
        "m": rng.integers(0, 1 << 50, rows), "ts": np.arange(rows),
    }  # fmt: skip
    lists = {name: values.tolist() for name, values in whole.items()}
    holes = {name: [None if n % 3 == 1 and name != "ts" else v for n, v in enumerate(c)] for name, c in lists.items()}
    yield whole
    yield {name: values[::-1] if name != "ts" else values for name, values in whole.items()}
    yield {name: np.ma.masked_array(v, np.arange(rows) % 2) if name in "kxy" else v for name, v in whole.items()}
    for columns in (lists, holes):
        yield columns
        yield [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for text in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
            table = pa.table({n: pa.array(v, pa.string() if n == "z" else None) for n, v in columns.items()})
            table = table.set_column(3, "z", table["z"].cast(text))
            received = wire(table)
            yield from (table, received, received.slice(1), wire(table.slice(rows // 2)), received.to_batches()[0])
            yield pa.concat_tables([received, received])
    texts = [[""] * rows, [None] * rows]
    for values, text in product(texts, (pa.string(), pa.large_string())):
        yield wire(pa.table({**lists, "z": pa.array(values, text)}))


def wire(table: pa.Table) -> pa.Table:
    """A table in memory that cannot be written."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return pa.ipc.open_stream(pa.py_buffer(sink.getvalue().to_pybytes())).read_all()


def serve(policy: str, lineage: str, retain_bytes: int, rows: int) -> None:
    """Queries come, see data of every kind, are read and go."""
    engine = cacq.Engine(policy, retain_bytes=retain_bytes, lineage=lineage)
    engine.create_stream("S", COLUMNS, timestamp="ts")
    engine.create_stream("T", {name: COLUMNS[name] for name in "kxyzwm"})
    engine.register_function("half", lambda value: None if value is None else value / 2, ["float64"], "float64")
    texts = [f"SELECT {SELECT[n % len(SELECT)]} FROM S" + (f" WHERE {w}" if w else "") for n, w in enumerate(WHERE)]
    queries = engine.register_many([*texts, "SELECT k FROM S WHERE half(y) > 1", "SELECT k FROM S WHERE half(y) < x"])
    queries.append(engine.register("SELECT z FROM T WHERE z > 'a' AND y < 4"))
    for number, data in enumerate(pushes(rows)):
        engine.push("S", data)
        if isinstance(data, pa.Table):
            engine.push("T", data.drop_columns(["ts"]))
        if number % 7 == 3:
            queries[number % len(queries)].cancel()
    for query in queries:
        try:
            assert query.results >= 0
            query.poll()
        except cacq.ResultsLost:
            query.poll()


def report() -> None:
    """Print as JSON which kernels `warm_up` leaves out, and for which types they are compiled in service."""
    cacq.warm_up()
    known = kernels()
    left_out = unknown(known)
    before = {name: set(kernel.signatures) for name, kernel in known.items()}
    for lineage in LINEAGES:
        for policy in NAMES:
            serve(policy, lineage, retain_bytes=1 << 30, rows=150)
        serve("tickets", lineage, retain_bytes=1 << 30, rows=4)
        serve("tickets", lineage, retain_bytes=50_000, rows=150)
    new = {name: [str(s) for s in kernel.signatures if s not in before[name]] for name, kernel in known.items()}
    new = {name: signatures for name, signatures in new.items() if signatures}
    print(json.dumps({"kernels": len(known), "unknown": left_out, "new": new}))
