"""`python -m bench.cold KIND QUERIES STEPS`: one process of the benchmark `register`; prints JSON.

With STEPS of 0 the queries are registered in bulk, cold, and a first row is pushed. Otherwise the engine's code is
warmed with a few queries first, so that the growth of the resident set is that of the queries; then STEPS times a query
is added, a batch pushed and an old query cancelled.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import Any

import cacq
from bench.measure import Checksum, pin_to_one_core, resident_bytes
from bench.workload import SCHEMA, Ints, SparseWorkload, Workload, selections, sparse_selections

BATCH = 256
RETAIN = 256 << 20
"""Nobody polls the standing queries: their results are dropped as the flow goes on."""
FEW = 1_000
ONE_ROW = {name: [0] for name in SCHEMA}


def generate(kind: str, queries: int, batches: int, seed: int = 7) -> Workload | SparseWorkload:
    """Queries and batches of 256 tuples; no batches are one row."""
    make = selections if kind == "dense" else sparse_selections
    return make(queries, batches or 1, seed, BATCH if batches else 1)


def plant(workload: Workload | SparseWorkload, query: int, batch: Ints) -> None:
    """Make the first tuple of a batch one that a query wants, where the query can be satisfied at all."""
    for field, (low, high) in workload.limits(query).items():
        if low <= high:
            batch[field, 0] = (low + high) // 2


def standing(texts: list[str]) -> tuple[cacq.Engine, list[cacq.Query]]:
    """An engine with these queries."""
    engine = cacq.Engine(retain_bytes=RETAIN)
    engine.create_stream("S", SCHEMA)
    return engine, engine.register_many(texts)


def bulk(kind: str, queries: int) -> dict[str, Any]:
    """Seconds until all queries stand and a first row has been pushed; who wanted it is checked."""
    workload = generate(kind, queries, 0)
    plant(workload, queries // 2, workload.batches[0])
    texts, data = workload.texts(), workload.rows(0)
    gc.collect()
    start = time.perf_counter()
    engine, handles = standing(texts)
    engine.push("S", data)
    seconds = time.perf_counter() - start
    expected, total = Checksum(1), Checksum(1)
    for q, handle in enumerate(handles):
        expected.add(q, workload.wanted(q, workload.batches[0]))
        total.add(q, handle.poll().columns["index"])
    return {"seconds": seconds, "checksum": agreed(total, expected)}


def flow(kind: str, queries: int, steps: int) -> dict[str, Any]:
    """Nanoseconds of each push, register and cancel, and the bytes that the standing queries added."""
    few = generate(kind, FEW, 1, seed=1)
    warm, warmed = standing(few.texts())
    warm.push("S", few.rows(0))
    warm.push("S", ONE_ROW)
    warmed[0].poll()
    workload, added = generate(kind, queries, steps), generate(kind, steps, 1, seed=8)
    new = added.texts()
    for step in range(steps):
        plant(added, step, workload.batches[step])
    gc.collect()
    before = resident_bytes()
    engine, handles = standing(workload.texts())
    engine.push("S", ONE_ROW)
    gc.collect()
    grown = resident_bytes() - before
    times: dict[str, list[int]] = {"register": [], "push": [], "cancel": []}
    expected, total = Checksum(workload.tuples), Checksum(workload.tuples)
    for step, text in enumerate(new):
        newest, times_of_step = one_step(engine, text, handles[step], workload.rows(step))
        for action, nanos in times_of_step.items():
            times[action].append(nanos)
        total.add(step, newest.poll().columns["index"])
        expected.add(step, step * BATCH + added.wanted(step, workload.batches[step]))
        handles[step] = newest
    return times | {"bytes": grown, "checksum": agreed(total, expected)}


def one_step(
    engine: cacq.Engine, text: str, old: cacq.Query, data: dict[str, Ints]
) -> tuple[cacq.Query, dict[str, int]]:
    """Add a query, push a batch, cancel an old query; nanoseconds of each."""
    clock = time.perf_counter_ns
    start = clock()
    newest = engine.register(text)
    registered = clock()
    engine.push("S", data)
    pushed = clock()
    engine.cancel(old)
    cancelled = clock()
    return newest, {"register": registered - start, "push": pushed - registered, "cancel": cancelled - pushed}


def agreed(total: Checksum, expected: Checksum) -> str:
    """The checksum, which is the expected one."""
    if str(total) != str(expected):
        raise SystemExit(f"outputs differ: polled {total}, expected {expected}")
    return str(total)


def main() -> None:
    """Measure what the arguments say and print it."""
    kind, queries, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    pin_to_one_core()
    found = flow(kind, queries, steps) if steps else bulk(kind, queries)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
