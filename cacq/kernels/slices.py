"""The batch as index: each column of a batch in order, and for each query the slice of rows that its anchor holds.

A column is sorted once for all queries. A bound is turned into a position in the order by a directory of equal buckets
and, inside of a bucket, a binary search. Positions are also what the other range of a query is compared in: they have
16 bits whatever the type of the column, so one instruction compares 32 rows, and exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cacq.data.arrays import Bools, Floats, Int32s, Ints, Words
from cacq.kernels.anchors import (
    CANDIDATES,
    CLASS_BITS,
    EXTRA,
    FOUND,
    GENERATION,
    GENERATION_BITS,
    HOME,
    PLACE,
    ROW_BITS,
    STAMP,
    Generations,
    Level,
)
from cacq.kernels.compiled import INTERPRETED, ONE, ZERO, kernel, trailing_zeros

Shorts = npt.NDArray[np.uint16]

LANES = 32
ENTRIES = 256
GATHER_AFTER = 16
"""Queries on a pair of columns before the second column is copied into the order of the first: below, looking its
positions up one by one costs less."""
NULL_POSITION = 0xFFFF
MOST_ROWS = 16_384
SAMPLE = 64
SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
INFINITY_KEY = np.int64(0x7FF0000000000000)
LARGEST = 8e307
"""Half of the largest float: the difference of two numbers within is a float."""


class Index(NamedTuple):
    """A batch in the order of each of its columns. Row `key` of each array is about that column.

    order: the rows that are not NULL, by value; ordered: their values, and room for one more; position: where each row
    stands in the order; directory: where the rows of each bucket begin; scales: least value, buckets per unit, and 1 if
    the column is one of floats; lengths: rows that are not NULL; gathered: room for positions in another order.
    """

    order: Shorts
    ordered: Ints
    position: Shorts
    directory: Shorts
    scales: Floats
    lengths: Ints
    gathered: Shorts


if INTERPRETED:

    def matches(positions: Shorts, start: int, low: int, width: int) -> Any:
        """Bit k: whether `low <= positions[start + k] <= low + width`, for 32 positions of the flat array."""
        flat = positions.reshape(-1)
        return sum(int(low <= int(flat[start + k]) <= low + width) << k for k in range(LANES))

else:

    @intrinsic
    def matches(typing_context: Any, positions: Any, start: Any, low: Any, width: Any) -> Any:
        """Bit k: whether `low <= positions[start + k] <= low + width`, for 32 positions of the flat array."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            short, word = ir.IntType(16), ir.IntType(64)
            vector = ir.VectorType(short, LANES)
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer())
            loaded = builder.load(place)
            loaded.align = 2

            def spread(value: Any) -> Any:
                lone = builder.insert_element(
                    ir.Constant(vector, ir.Undefined), builder.trunc(value, short), ir.Constant(ir.IntType(32), 0)
                )
                lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
                return builder.shuffle_vector(lone, ir.Constant(vector, ir.Undefined), lanes)

            inside = builder.icmp_unsigned("<=", builder.sub(loaded, spread(arguments[2])), spread(arguments[3]))
            return builder.zext(builder.bitcast(inside, ir.IntType(LANES)), word)

        return types.uint64(positions, types.int64, types.int64, types.int64), generate


@kernel
def _number(key: int, floats: bool) -> float:
    """A key as a float: what it stands for, or the nearest float; keys beyond those of floats are infinite."""
    if not floats:
        return float(key)
    if key >= INFINITY_KEY:
        return np.inf
    if key <= -INFINITY_KEY - 1:
        return -np.inf
    return float(np.int64(key if key >= 0 else key ^ SIGN).view(np.float64))


@kernel
def _bucket(key: int, floats: bool, least: float, scale: float, buckets: int) -> int:
    """The bucket of a key. Every step rounds monotonely, so a larger key never has a lesser bucket."""
    bucket = (_number(key, floats) - float(least)) * float(scale)
    if bucket >= buckets:
        return buckets - 1
    return int(bucket) if bucket > 0 else 0


@kernel
def _scale(values: Ints, count: int, floats: bool, buckets: int, out: Floats) -> None:
    """Choose the range that the buckets cover: all values, but for a few that lie far out."""
    least, most = np.inf, -np.inf
    for i in range(count):
        number = _number(values[i], floats)
        least, most = min(least, number), max(most, number)
    sample = np.empty(min(SAMPLE, count), np.float64)
    for i in range(len(sample)):
        sample[i] = _number(values[i * count // len(sample)], floats)
    sample.sort()
    low, high = float(sample[len(sample) // 16]), float(sample[len(sample) - 1 - len(sample) // 16])
    least, most = max(least, -LARGEST), min(most, LARGEST)
    span = min(high, LARGEST) - max(low, -LARGEST)
    if 0 < span < (most - least) / 8:
        least, most = max(least, low - span / 2), min(most, high + span / 2)
    out[0], out[1] = least, 1.0
    if 0 < most - least < np.inf:
        out[1] = min(buckets / (most - least), LARGEST)


@kernel
def _sort_bucket(ordered: Ints, order: Shorts, start: int, stop: int) -> None:
    """Sort a few values, and their rows with them."""
    for i in range(start + 1, stop):
        value, row = ordered[i], order[i]
        j = i
        while j > start and ordered[j - 1] > value:
            ordered[j], order[j] = ordered[j - 1], order[j - 1]
            j -= 1
        ordered[j], order[j] = value, row


@kernel
def _sort_large_bucket(ordered: Ints, order: Shorts) -> None:
    """The same for many values; values that are in order already, as equal ones are, cost one look each."""
    for i in range(1, len(ordered)):
        if ordered[i - 1] > ordered[i]:
            by_value = np.argsort(ordered)
            ordered[:] = ordered[by_value]
            order[:] = order[by_value]
            return


@kernel
def index_column(values: Ints, nulls: Bools, key: int, index: Index) -> None:
    """Fill in the rows `key` of the index, from `values[key]`. `nulls` has no rows where no value is NULL."""
    order, ordered, directory = index.order[key], index.ordered[key], index.directory[key]
    position, floats, buckets = index.position[key], index.scales[key, 2] > 0, len(directory) - 2
    rows, count = values.shape[1], 0
    kept, bucket_of = np.empty(rows, np.int64), np.empty(rows, np.int32)
    for row in range(rows):
        if len(nulls) == 0 or not nulls[key, row]:
            kept[count] = values[key, row]
            count += 1
    index.lengths[key] = count
    directory[:] = 0
    if count == 0:
        index.scales[key, 0], index.scales[key, 1] = 0.0, 1.0
        position[:] = NULL_POSITION
        return
    _scale(kept, count, floats, buckets, index.scales[key])
    least, scale = index.scales[key, 0], index.scales[key, 1]
    for i in range(count):
        bucket_of[i] = _bucket(kept[i], floats, least, scale, buckets)
        directory[bucket_of[i] + 2] += 1
    for b in range(2, buckets + 2):
        directory[b] += directory[b - 1]
    i = 0
    for row in range(rows):
        if len(nulls) == 0 or not nulls[key, row]:
            place = directory[bucket_of[i] + 1]
            ordered[place], order[place] = kept[i], row
            directory[bucket_of[i] + 1] = place + 1
            i += 1
        else:
            position[row] = NULL_POSITION
    for b in range(buckets):
        start, stop = int(np.int64(directory[b])), int(np.int64(directory[b + 1]))
        if stop > start + 16:
            _sort_large_bucket(ordered[start:stop], order[start:stop])
        elif stop > start + 1:
            _sort_bucket(ordered, order, start, stop)
    for i in range(count):
        position[order[i]] = i


@kernel
def locate(level: Level, start: int, stop: int, index: Index, out: Ints) -> None:
    """Where the ranges of the entries `[start, stop)` begin and end in the order of their columns: the anchor in
    out[:, 0] to out[:, 1], the other range, if there is one, in out[:, 2] to out[:, 3]; half-open.

    Written without calls: one that the compiler does not inline costs more than the search.
    """
    bounds, marks, _, _, _ = level
    _, ordered, _, directory, scales, _, _ = index
    buckets = directory.shape[1] - 2
    for entry in range(start, stop):
        for side in range(4):
            if side < 2:
                key = np.int64(marks[entry, HOME]) >> CLASS_BITS
            else:
                key = np.int64(marks[entry, STAMP]) >> GENERATION_BITS
            if key < 0:
                continue
            bound, last = bounds[entry, side], side & 1
            bucket = _bucket(bound, scales[key, 2] > 0, scales[key, 0], scales[key, 1], buckets)
            low, high = np.int64(directory[key, bucket]), np.int64(directory[key, bucket + 1])
            while low + 1 < high:
                middle = (low + high) >> 1
                value = ordered[key, middle]
                if value < bound or (last and value == bound):
                    low = middle + 1
                else:
                    high = middle
            # Most buckets hold one value or none: arithmetic instead of a branch that is predicted badly.
            value = ordered[key, low]
            out[entry - start, side] = low + (high - low) * (
                np.int64(value < bound) | (np.int64(value == bound) & last)
            )


@kernel
def _gather(order: Shorts, position: Shorts, key: int, check: int, count: int, out: Shorts) -> None:
    """The positions of column `check` in the order of column `key`; behind them NULLs, for the last lanes."""
    for i in range(count):
        out[check, i] = position[check, order[key, i]]
    for i in range(count, count + LANES):
        out[check, i] = NULL_POSITION


@kernel
def _collect(
    level: Level, start: int, stop: int, index: Index, spans: Ints, seen: Ints, hits: Shorts, ends: Ints
) -> int:
    """The rows in the anchor and the other range of the entries `[start, stop)`, as far as there is room for them.

    Those of entry i are the `hits` from the end of the entry before to `ends[i - start]`; the first entry that may
    have no room is returned, or `stop`.
    """
    _, marks, _, _, _ = level
    order, _, position, _, _, lengths, gathered = index
    key, stride, found = int(marks[start, HOME]) >> CLASS_BITS, gathered.shape[1], 0
    for entry in range(start, stop):
        begin, end, low = spans[entry - start, 0], spans[entry - start, 1], spans[entry - start, 2]
        width = spans[entry - start, 3] - 1 - low
        check = int(marks[entry, STAMP]) >> GENERATION_BITS
        if found + end - begin > len(hits):
            return entry
        if check < 0:
            for i in range(begin, end):
                hits[found] = order[key, i]
                found += 1
        elif begin < end and width >= 0:
            seen[check] += 1
            if seen[check] == GATHER_AFTER:
                _gather(order, position, key, check, lengths[key], gathered)
            if seen[check] < GATHER_AFTER:
                for i in range(begin, end):
                    if low <= position[check, order[key, i]] <= low + width:
                        hits[found] = order[key, i]
                        found += 1
            else:
                for i in range(begin, end, LANES):
                    inside = np.uint64(matches(gathered, check * stride + i, low, width))
                    if end - i < LANES:
                        inside &= (ONE << np.uint64(end - i)) - ONE
                    while inside != ZERO:
                        hits[found] = order[key, i + trailing_zeros(inside)]
                        found += 1
                        inside &= inside - ONE
        ends[entry - start] = found
    return stop


@kernel
def _extras_hold(extras: Ints, extra: int, values: Ints, nulls: Bools, row: int) -> bool:
    """Whether the row is in every further range of an entry."""
    while extra >= 0 and extras[extra, 0] >= 0:
        key = extras[extra, 0]
        if not extras[extra, 1] <= values[key, row] <= extras[extra, 2]:
            return False
        if len(nulls) > 0 and nulls[key, row]:
            return False
        extra += 1
    return True


@kernel
def _emit(
    marks: Int32s, generations: Generations, first_row: int, hits: Shorts, ends: Ints, out: Words, found: int
) -> int:
    """Put the hits of live entries into `out`; how many are found now."""
    hit = 0
    for i in range(len(marks)):
        if hit == ends[i]:
            continue
        place = marks[i, PLACE]
        if marks[i, STAMP] & GENERATION != np.int64(generations[place]):
            hit = ends[i]
        while hit < ends[i]:
            if found < len(out):
                out[found] = np.uint64(place) << ROW_BITS | np.uint64(first_row + np.int64(hits[hit]))
            found += 1
            hit += 1
    return found


@kernel
def _keep(level: Level, start: int, stop: int, values: Ints, nulls: Bools, hits: Shorts, ends: Ints) -> None:
    """Drop the hits of the entries `[start, stop)` that are not in all of their further ranges."""
    _, marks, extras, _, _ = level
    hit, kept = 0, 0
    for entry in range(start, stop):
        extra = int(marks[entry, EXTRA])
        while hit < ends[entry - start]:
            if _extras_hold(extras, extra, values, nulls, int(np.int64(hits[hit]))):
                hits[kept] = hits[hit]
                kept += 1
            hit += 1
        ends[entry - start] = kept


@kernel
def slices(
    level: Level,
    generations: Generations,
    values: Ints,
    nulls: Bools,
    index: Index,
    first_row: int,
    out: Words,
    counts: Ints,
) -> None:
    """As `anchors.stab`, with the batch as index: each entry scans the rows that its anchor holds."""
    segments, marks = level.segments, level.marks
    spans, ends = np.zeros((ENTRIES, 4), np.int64), np.empty(ENTRIES, np.int64)
    hits, seen = np.empty(values.shape[1] + ENTRIES, np.uint16), np.zeros(len(values), np.int64)
    for s in range(len(segments)):
        if s == 0 or segments[s, 0] >> CLASS_BITS != segments[s - 1, 0] >> CLASS_BITS:
            seen[:] = 0
        start, stop = segments[s, 1], segments[s, 2]
        while start < stop:
            last = min(start + ENTRIES, stop)
            locate(level, start, last, index, spans)
            last = _collect(level, start, last, index, spans, seen, hits, ends)
            if len(level.extras):
                _keep(level, start, last, values, nulls, hits, ends)
            for i in range(last - start):
                counts[CANDIDATES] += max(spans[i, 1] - spans[i, 0], 0)
            counts[FOUND] = _emit(marks[start:last], generations, first_row, hits, ends, out, counts[FOUND])
            start = last
