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
from numba.core import cgutils
from numba.extending import intrinsic

from cacq.data.arrays import Bools, Floats, Ints, Words
from cacq.kernels.anchors import (
    CANDIDATES,
    CLASS_BITS,
    EXTRA,
    FOUND,
    GENERATION,
    GENERATION_BITS,
    HIGH,
    LOW,
    OTHER_HIGH,
    OTHER_LOW,
    PLACE,
    ROW_BITS,
    STAMP,
    Generations,
    Level,
)
from cacq.kernels.compiled import INTERPRETED, kernel, trailing_zeros

Shorts = npt.NDArray[np.uint16]

LANES = 32
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

    order: the rows that are not NULL, by value; ordered: their values; position: where each row stands in the order;
    directory: where the rows of each bucket begin; scales: least value and buckets per unit; lengths: rows not NULL,
    and whether the column is one of floats; gathered: room for positions in the order of another column.
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
        """Bit k: whether `low <= positions[start + k] <= low + width`, for 32 positions."""
        return sum(int(low <= int(positions[start + k]) <= low + width) << k for k in range(LANES))

    def float_of_key(key: Any) -> float:
        """The float whose key this is."""
        return float(np.int64(key if key >= 0 else key ^ SIGN).view(np.float64))

else:

    @intrinsic
    def matches(typing_context: Any, positions: Any, start: Any, low: Any, width: Any) -> Any:
        """Bit k: whether `low <= positions[start + k] <= low + width`, for 32 positions."""

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

    @intrinsic
    def _float_of_bits(typing_context: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], cgutils.ir.DoubleType())

        return types.float64(types.int64), generate

    @kernel
    def float_of_key(key: int) -> float:
        """The float whose key this is."""
        return float(_float_of_bits(key if key >= 0 else key ^ SIGN))


@kernel
def _number(key: int, floats: bool) -> float:
    """A key as a float: what it stands for, or the nearest float; keys beyond those of floats are infinite."""
    if not floats:
        return float(key)
    if key >= INFINITY_KEY:
        return np.inf
    if key <= -INFINITY_KEY - 1:
        return -np.inf
    return float_of_key(key)


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
def _sort_bucket(ordered: Ints, order: Shorts) -> None:
    """Sort a few values, and their rows with them."""
    for i in range(1, len(ordered)):
        value, row = ordered[i], order[i]
        j = i
        while j > 0 and ordered[j - 1] > value:
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
    floats, buckets = index.lengths[key, 1] > 0, len(directory) - 2
    rows, count = values.shape[1], 0
    kept, bucket_of = np.empty(rows, np.int64), np.empty(rows, np.int32)
    for row in range(rows):
        if len(nulls) == 0 or not nulls[key, row]:
            kept[count] = values[key, row]
            count += 1
    index.lengths[key, 0] = count
    directory[:] = 0
    if count == 0:
        index.scales[key, 0], index.scales[key, 1] = 0.0, 1.0
        index.position[key, :] = NULL_POSITION
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
            index.position[key, row] = NULL_POSITION
    for b in range(buckets):
        start, stop = directory[b], directory[b + 1]
        if stop > start + 16:
            _sort_large_bucket(ordered[start:stop], order[start:stop])
        elif stop > start + 1:
            _sort_bucket(ordered[start:stop], order[start:stop])
    for i in range(count):
        index.position[key, order[i]] = i


@kernel
def _at_least(index: Index, key: int, bound: int) -> int:
    """The first position of a column whose value is at least the bound."""
    buckets = index.directory.shape[1] - 2
    bucket = _bucket(bound, index.lengths[key, 1] > 0, index.scales[key, 0], index.scales[key, 1], buckets)
    start, stop = np.int64(index.directory[key, bucket]), np.int64(index.directory[key, bucket + 1])
    while start < stop:
        middle = (start + stop) >> 1
        if index.ordered[key, middle] < bound:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _above(index: Index, key: int, bound: int) -> int:
    """The first position of a column whose value is greater than the bound."""
    buckets = index.directory.shape[1] - 2
    bucket = _bucket(bound, index.lengths[key, 1] > 0, index.scales[key, 0], index.scales[key, 1], buckets)
    start, stop = np.int64(index.directory[key, bucket]), np.int64(index.directory[key, bucket + 1])
    while start < stop:
        middle = (start + stop) >> 1
        if index.ordered[key, middle] <= bound:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _gather(index: Index, key: int, check: int) -> None:
    """The positions of column `check` in the order of column `key`; behind them NULLs, for the last lanes."""
    count = index.lengths[key, 0]
    for i in range(count):
        index.gathered[check, i] = index.position[check, index.order[key, i]]
    for i in range(count, count + LANES):
        index.gathered[check, i] = NULL_POSITION


@kernel
def _extras_hold(level: Level, entry: int, values: Ints, nulls: Bools, row: int) -> bool:
    """Whether the row is in every further range of an entry."""
    extra = level.marks[entry, EXTRA]
    if extra >= 0:
        while level.extras[extra, 0] >= 0:
            key = level.extras[extra, 0]
            if not level.extras[extra, 1] <= values[key, row] <= level.extras[extra, 2]:
                return False
            if len(nulls) > 0 and nulls[key, row]:
                return False
            extra += 1
    return True


@kernel
def _scan(index: Index, key: int, check: int, span: tuple[int, int], low: int, width: int, out: Shorts) -> int:
    """The rows of a slice of one column whose position in another is in a range; how many."""
    begin, end = span
    found, stride = 0, index.gathered.shape[1]
    flat = index.gathered.reshape(-1)
    for start in range(begin, end, LANES):
        hits = np.uint64(matches(flat, check * stride + start, low, width))
        if end - start < LANES:
            hits &= (np.uint64(1) << np.uint64(end - start)) - np.uint64(1)
        while hits != 0:
            out[found] = index.order[key, start + trailing_zeros(hits)]
            found += 1
            hits &= hits - np.uint64(1)
    return found


@kernel
def _look_up(index: Index, key: int, check: int, span: tuple[int, int], low: int, width: int, out: Shorts) -> int:
    """As `_scan`, where the positions have not been gathered."""
    found = 0
    for i in range(span[0], span[1]):
        row = index.order[key, i]
        if low <= index.position[check, row] <= low + width:
            out[found] = row
            found += 1
    return found


@kernel
def _rows_of(level: Level, entry: int, key: int, index: Index, seen: Ints, counts: Ints, out: Shorts) -> int:
    """The rows that are in the anchor and the other range of an entry; how many."""
    bounds = level.bounds
    begin, end = _at_least(index, key, bounds[entry, LOW]), _above(index, key, bounds[entry, HIGH])
    if begin >= end:
        return 0
    counts[CANDIDATES] += end - begin
    check = np.int64(level.marks[entry, STAMP]) >> GENERATION_BITS
    if check < 0:
        for i in range(begin, end):
            out[i - begin] = index.order[key, i]
        return end - begin
    low = _at_least(index, check, bounds[entry, OTHER_LOW])
    width = _above(index, check, bounds[entry, OTHER_HIGH]) - 1 - low
    if width < 0:
        return 0
    seen[check] += 1
    if seen[check] < GATHER_AFTER:
        return _look_up(index, key, check, (begin, end), low, width, out)
    if seen[check] == GATHER_AFTER:
        _gather(index, key, check)
    return _scan(index, key, check, (begin, end), low, width, out)


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
    rows, seen = np.empty(values.shape[1] + 1, np.uint16), np.zeros(len(values), np.int64)
    found, previous = counts[FOUND], -1
    for s in range(len(level.segments)):
        key = level.segments[s, 0] >> CLASS_BITS
        if key != previous:
            seen[:] = 0
            previous = key
        for entry in range(level.segments[s, 1], level.segments[s, 2]):
            hits = _rows_of(level, entry, key, index, seen, counts, rows)
            if hits == 0:
                continue
            place = level.marks[entry, PLACE]
            if np.int64(level.marks[entry, STAMP]) & GENERATION != np.int64(generations[place]):
                continue
            base = np.uint64(place) << ROW_BITS
            plain = level.marks[entry, EXTRA] < 0
            for h in range(hits):
                if plain or _extras_hold(level, entry, values, nulls, rows[h]):
                    if found < len(out):
                        out[found] = base | np.uint64(first_row + np.int64(rows[h]))
                    found += 1
    counts[FOUND] = found
