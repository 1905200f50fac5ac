"""Each kernel of the anchored filter against a plain-Python twin."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from itertools import takewhile

import numpy as np
import pyarrow as pa
import pytest

from cacq.data.arrays import NO_NULLS
from cacq.data.column import Column
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.filters.anchored import NO_NULL_ROWS, _empty_index
from cacq.filters.levels import Merge, empty_level, level_of
from cacq.kernels import anchors, interned, pair_order, slices
from cacq.kernels.anchors import Terms
from cacq.query.value_sets import ValueSet, float_key

SEEDS = range(15)
EDGES = (INT64_MIN, INT64_MIN + 1, -(2**53) - 1, -1, 0, 1, 2**53 + 1, INT64_MAX - 1, INT64_MAX)
FLOATS = (-math.inf, -1.7e308, -1.5, -5e-324, 0.0, 5e-324, 1.0, 1.5, 1.7e308, math.inf, math.nan)


def random_terms(rng: random.Random, places: int, keys: int) -> Terms:
    counts = [rng.choice([1, 2, 2, 4]) for _ in range(places)]
    ends = [sorted(rng.choice([*EDGES, *range(20)]) for _ in range(2)) for _ in range(sum(counts))]
    first = np.cumsum([0, *counts])
    columns = np.array([rng.randrange(keys) for _ in ends], np.int64)
    lows, highs = (np.array([pair[side] for pair in ends], np.int64) for side in (0, 1))
    return Terms(first, columns, lows, highs)


def entries_of(level: anchors.Level) -> list[tuple[int, ...]]:
    """Home, bounds and place of each entry, then its generation and ranges beside the anchor."""
    found = []
    for bounds, (place, stamp, extra, home) in zip(level.bounds.tolist(), level.marks.tolist(), strict=True):
        check, generation = stamp >> 16, stamp & 0xFFFF
        ranges = [check, *bounds[2:]] if check >= 0 else []
        further = level.extras[extra:].tolist() if extra >= 0 else []
        for row in takewhile(lambda row: row[0] >= 0, further):
            ranges += row
        found.append((home, bounds[0], bounds[1], place, generation, *ranges))
    return found


@pytest.mark.parametrize("low", EDGES)
def test_the_class_of_a_width_is_the_least_power_of_four_above_it(low: int) -> None:
    for high in EDGES:
        if low <= high:
            width = anchors.width_class(low, high)
            assert high - low < 4**width and (width == 0 or high - low >= 4 ** (width - 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_merge_keeps_the_living_in_order_however_it_is_sliced(seed: int) -> None:
    rng = random.Random(seed)
    sizes = (rng.randint(0, 150), rng.randint(0, 40))
    generations = np.zeros(sum(sizes), np.uint16)
    places = [np.arange(sizes[0]), np.arange(sizes[0], sum(sizes))]
    left, right = (level_of(p, random_terms(rng, len(p), 3), generations, 3) for p in places)
    assert len(entries_of(left)) == sizes[0]
    dead = np.array([rng.random() < 0.3 for _ in range(sum(sizes))], np.bool_)
    generations[dead] += 1
    alive = [entry for entry in entries_of(left) + entries_of(right) if not dead[entry[3]]]
    merging = Merge(left, right, 3)
    while not merging.step(generations, rng.randint(1, 60)):
        pass
    merged = merging.result
    assert sorted(entries_of(merged)) == sorted(alive)
    assert [entry[:3] for entry in entries_of(merged)] == sorted(entry[:3] for entry in alive)
    assert merging.dropped == int(dead.sum())
    assert [b - a for _, a, b in merged.segments.tolist()] == [
        sum(entry[0] == home for entry in alive) for home in sorted({entry[0] for entry in alive})
    ]
    assert len(empty_level().marks) == 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("floats", [False, True])
def test_ranges_are_located_as_bisect_does(seed: int, floats: bool) -> None:
    rng = random.Random(seed)
    rows = rng.choice([1, 2, 40, 300])
    domain = [float_key(value) for value in FLOATS] if floats else [*EDGES, *range(50)]
    drawn = [rng.choice(domain) if rng.random() < 0.5 else float_key(rng.gauss(0, 1)) for _ in range(rows)]
    values = np.array([drawn], np.int64)
    valid = [seed % 3 == 0 or rng.random() < 0.8 for _ in drawn]
    nulls = NO_NULL_ROWS if all(valid) else np.array([[not held for held in valid]])
    index = _empty_index(1, rows)
    index.scales[0, 2] = floats
    slices.index_column(values, nulls, 0, index)
    ordered = sorted(value for value, held in zip(drawn, valid, strict=True) if held)
    count = int(index.lengths[0])
    assert index.ordered[0, :count].tolist() == ordered
    assert [drawn[row] for row in index.order[0, :count].tolist()] == ordered
    for row, position in enumerate(index.position[0].tolist()):
        assert position == slices.NULL_POSITION if not valid[row] else index.order[0, position] == row
    bounds = [INT64_MIN, INT64_MAX, *domain, *drawn]
    pairs = np.array([sorted(rng.choices(bounds, k=2)) for _ in range(100)], np.int64).repeat(2, axis=0)
    terms = Terms(np.arange(0, 201, 2), np.zeros(200, np.int64), pairs[:, 0].copy(), pairs[:, 1].copy())
    level = level_of(np.arange(100), terms, np.zeros(100, np.uint16), 1)
    out = np.zeros((100, 4), np.int64)
    slices.locate(level, 0, 100, index, out)
    wanted = [
        [
            bisect_left(ordered, low),
            bisect_right(ordered, high),
            bisect_left(ordered, other),
            bisect_right(ordered, end),
        ]
        for low, high, other, end in level.bounds.tolist()
    ]
    assert out.tolist() == wanted


def test_lanes_are_compared_without_a_sign() -> None:
    positions = np.array([[0, 1, 7, 8, 9, 0x7FFF, 0x8000, 0xFFFF] * 10], np.uint16)
    flat = positions[0].tolist()
    for start, low, width in ((0, 0, 0), (3, 1, 7), (16, 8, 0x7FF7), (48, 0, 16_384)):
        wanted = sum((low <= flat[start + k] <= low + width) << k for k in range(slices.LANES))
        assert lanes(positions, start, low, width) == wanted


def lanes(positions: np.ndarray, start: int, low: int, width: int) -> int:
    """An intrinsic is called from compiled code only."""
    if slices.INTERPRETED:
        return int(slices.matches(positions, start, low, width))
    import numba

    matches = slices.matches

    @numba.njit
    def call(p, s, lo, w):  # type: ignore[no-untyped-def]
        return matches(p, s, lo, w)

    return int(call(positions, start, low, width))


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_are_sorted(seed: int) -> None:
    rng = random.Random(seed)
    rows, places = rng.choice([(1, 1), (300, 5000), (2**20, 2**31 - 1)])
    pairs = [rng.randrange(places) << 32 | rng.randrange(rows) for _ in range(rng.choice([0, 1, 700]))]
    array, other = np.array(pairs, np.uint64), np.empty(len(pairs), np.uint64)
    swapped = pair_order.sort_pairs(array, rows, places, other)
    assert (other if swapped else array).tolist() == sorted(pairs)


@pytest.mark.parametrize("seed", SEEDS)
def test_members_of_sets_and_numbers_of_texts(seed: int) -> None:
    rng = random.Random(seed)
    texts = ["", "a", "ab", "b", "é", "a\0", "日本"]
    for domain in ([*EDGES, 3, 4], [text.encode() for text in texts]):
        chosen = [
            ValueSet(tuple(sorted(rng.sample(domain, rng.randint(0, 4)))), rng.random() < 0.5, rng.random() < 0.5)
            for _ in range(5)
        ]
        first = np.cumsum([0, *(len(values.cuts) for values in chosen)])
        cuts = [cut for values in chosen for cut in values.cuts]
        sets = interned.Sets(first, np.array([v.below for v in chosen]), np.array([v.null for v in chosen]))
        values = rng.choices(domain, k=50)
        members = np.array([rng.randrange(5) for _ in values])
        valid = np.array([rng.random() < 0.8 for _ in values])
        for present in (valid, NO_NULLS):
            out = np.empty(50, np.bool_)
            if isinstance(domain[0], bytes):
                text, cut_text = (
                    Column(Type.STRING, pa.array(list_, pa.large_binary())).text() for list_ in (values, cuts)
                )
                interned.texts_in_sets(*text, present, members, sets, *cut_text, out)
            else:
                interned.in_sets(np.array(values), present, members, sets, np.array(cuts, np.int64), out)
            held = valid if len(present) else np.ones(50, np.bool_)
            assert out.tolist() == [
                (value if there else None) in chosen[m] for value, m, there in zip(values, members, held, strict=True)
            ]
    known = rng.sample(texts, 4)
    known_text = Column(Type.STRING, pa.array(known, pa.large_string())).text()
    table = np.full(8, -1, np.int32)
    interned.intern(*known_text, 0, 2, table)
    interned.intern(*known_text, 2, 4, table)
    numbers = np.empty(len(texts), np.int64)
    interned.numbers_of_texts(*Column(Type.STRING, pa.array(texts)).text(), *known_text, table, numbers)
    assert numbers.tolist() == [known.index(text) if text in known else -1 for text in texts]
