"""The anchored filter beside the bare kernels it is to stay near: python -m bench.anchored [rates|fit|pauses] ...

The queries are those of the prototype: two 1 % ranges on two of five columns. Both run in one process, alternating, and
time is the processor time of the thread, as a batch is longer than a slice of a busy machine's scheduler.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numba as nb
import numpy as np

from cacq.data.column import Column
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.filters.anchored import AnchoredFilter, Direction
from cacq.filters.keys import KeyColumns
from cacq.query import ast

FIELDS, DOMAIN, WIDTH = 5, 100_000, 1000
NAMES = [f"f{f}" for f in range(FIELDS)]
SCHEMA = Schema.of(dict.fromkeys(NAMES, "int64"))


@nb.njit(nogil=True)
def bare(by_field, order, starts, other, bounds, out_query, out_tuple):
    """The prototype's kernel: int32, pairs in no order. by_field[f, g] holds field g in the order of field f."""
    found, n = 0, order.shape[1]
    lo, hi, lo2, hi2 = bounds
    for f in range(order.shape[0]):
        keys, begin = by_field[f, f], 0
        for q in range(starts[f], starts[f + 1]):
            while begin < n and keys[begin] < lo[q]:
                begin += 1
            end, step = begin, 1
            while end + step < n and keys[end + step] <= hi[q]:
                step <<= 1
            stop = min(end + step, n)
            while end < stop:
                mid = (end + stop) >> 1
                if keys[mid] <= hi[q]:
                    end = mid + 1
                else:
                    stop = mid
            values, low, width = by_field[f, other[q]], lo2[q], np.uint32(hi2[q] - lo2[q])
            i = begin
            while i + 8 <= end:
                hits = 0
                for k in range(8):
                    hits += np.uint32(values[i + k] - low) <= width
                if hits:
                    for k in range(8):
                        if np.uint32(values[i + k] - low) <= width:
                            out_query[found], out_tuple[found] = q, order[f, i + k]
                            found += 1
                i += 8
            while i < end:
                if np.uint32(values[i] - low) <= width:
                    out_query[found], out_tuple[found] = q, order[f, i]
                    found += 1
                i += 1
    return found


class Queries:
    """Random queries, as both contenders take them."""

    def __init__(self, count: int, width: int = WIDTH) -> None:
        rng = np.random.default_rng(7)
        anchor = rng.integers(0, FIELDS, count)
        self.columns = np.stack([anchor, (anchor + rng.integers(1, FIELDS, count)) % FIELDS], 1)
        self.lows = rng.integers(0, DOMAIN - width, (count, 2))
        self.highs = self.lows + width - 1

    def add_to(self, anchored: AnchoredFilter, start: int, stop: int) -> None:
        chosen = slice(start, stop)
        terms = [np.ascontiguousarray(array[chosen]).reshape(-1) for array in (self.columns, self.lows, self.highs)]
        anchored.add(np.arange(start, stop), np.arange(0, 2 * (stop - start) + 1, 2), *terms)

    def anchored(self, direction: Direction = Direction.MEASURED) -> AnchoredFilter:
        keys = KeyColumns()
        for name in NAMES:
            keys.number(ast.Column(name, Type.INT64))
        anchored = AnchoredFilter("anchored", keys, direction=direction)
        self.add_to(anchored, 0, len(self.lows))
        return anchored

    def bare(self) -> Callable[[Record], int]:
        order = np.lexsort((self.lows[:, 0], self.columns[:, 0]))
        columns, lows, highs = (
            self.columns[order],
            self.lows[order].astype(np.int32),
            self.highs[order].astype(np.int32),
        )
        starts = np.searchsorted(columns[:, 0], np.arange(FIELDS + 1))
        other = columns[:, 1].astype(np.int32)
        bounds = tuple(np.ascontiguousarray(side[:, c]) for c in (0, 1) for side in (lows, highs))
        out = np.empty((2, len(self.lows) * 40 + 100_000), np.int32)

        def run(record: Record) -> int:
            x = np.stack([record.column(name).values for name in NAMES]).astype(np.int32)
            by_row = np.argsort(x, axis=1).astype(np.int32)
            by_field = np.stack([x[:, by_row[f]] for f in range(FIELDS)])
            return int(bare(by_field, by_row, starts, other, bounds, out[0], out[1]))

        return run


def records(rows: int, count: int) -> list[Record]:
    rng = np.random.default_rng(rows)
    columns = rng.integers(0, DOMAIN, (count, FIELDS, rows))
    made = ({name: Column(Type.INT64, data[f]) for f, name in enumerate(NAMES)} for data in columns)
    return [Record(SCHEMA, 1, np.zeros(rows, np.int64), held) for held in made]


def seconds(run: Callable[[Record], object], fed: list[Record]) -> float:
    """Processor time of a record, on average."""
    start = time.thread_time()
    for record in fed:
        run(record)
    return (time.thread_time() - start) / len(fed)


def rates(counts: list[int]) -> Iterator[str]:
    for count in counts or [1000, 10_000, 100_000]:
        queries = Queries(count)
        anchored, plain = queries.anchored(), queries.bare()
        yield f"{count} queries, {anchored.nbytes / count:.1f} bytes each"
        for rows in (4096, 16_384):
            fed = records(rows, 6)
            assert len(anchored.process(fed[0])) == plain(fed[0])
            best = [min(seconds(run, fed) for _ in range(5)) for run in (anchored.process, plain)]
            ours, theirs = (rows / spent / 1e6 for spent in best)
            yield f"  batches of {rows:5d}: {ours:6.2f} M tuples/s, prototype {theirs:6.2f}, ratio {ours / theirs:.2f}"
        for rows in (1, 16, 256):
            fed = records(rows, 200)
            best = min(seconds(anchored.process, fed) for _ in range(5))
            yield f"  batches of {rows:5d}: {best * 1e6:8.1f} us each"


def fit(counts: list[int]) -> Iterator[str]:
    """Both directions for many sizes, and what the rule in cacq/filters/anchored.py takes."""
    for width in (100, WIDTH, 10 * WIDTH):
        for count in counts or [1000, 10_000, 100_000]:
            queries = Queries(count, width)
            directions = {d: queries.anchored(d) for d in Direction}
            for rows in (1, 4, 16, 64, 256, 1024):
                fed = records(rows, max(3, 200 // rows))
                for anchored in directions.values():
                    seconds(anchored.process, fed[:2])
                spent = {d: min(seconds(a.process, fed) for _ in range(3)) for d, a in directions.items()}
                taken = Direction.QUERIES if directions[Direction.MEASURED]._by_queries(rows) else Direction.BATCH
                by_queries, by_batch = spent[Direction.QUERIES] * 1e6, spent[Direction.BATCH] * 1e6
                loss = spent[taken] / min(by_queries, by_batch) * 1e6
                yield (
                    f"width {width:5d}, {count:6d} queries, {rows:4d} rows: as index, queries {by_queries:9.1f} us, "
                    f"batch {by_batch:9.1f} us; taken {taken.value}, {loss:.2f} of the better"
                )


def pauses(counts: list[int]) -> Iterator[str]:
    """The longest single call while one query after another comes and goes between batches."""
    for count in counts or [100_000]:
        queries = Queries(count + 12_000)
        keys = KeyColumns()
        for name in NAMES:
            keys.number(ast.Column(name, Type.INT64))
        anchored = AnchoredFilter("anchored", keys)
        queries.add_to(anchored, 0, 10)
        start = time.thread_time()
        queries.add_to(anchored, 10, count)
        yield f"{count} queries at once: {(time.thread_time() - start) * 1e3:.1f} ms"
        spent: dict[str, list[float]] = {"add": [], "remove": [], "fold": []}
        for i in range(12_000):
            calls = {
                "add": partial(queries.add_to, anchored, count + i, count + i + 1),
                "remove": partial(anchored.remove, np.array([7 * i])),
            }
            for name, call in (calls | {"fold": anchored.fold_a_little} if i % 16 == 0 else calls).items():
                start = time.thread_time()
                call()
                spent[name].append(time.thread_time() - start)
        for name, times in spent.items():
            yield f"  {name}: longest {max(times) * 1e3:.2f} ms, mean {np.mean(times) * 1e6:.1f} us"


if __name__ == "__main__":
    name, *rest = sys.argv[1:] or ["rates"]
    for line in {"rates": rates, "fit": fit, "pauses": pauses}[name]([int(text) for text in rest]):
        print(line, flush=True)
