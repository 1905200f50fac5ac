"""Each kernel of the checkpoints against a plain-Python twin; the checkpoints themselves against a list of flips."""

from __future__ import annotations

import random
from bisect import bisect_right

import numpy as np
import pytest

from cacq.data.arrays import NO_NULLS
from cacq.data.types import INT64_MAX, INT64_MIN
from cacq.filters import checkpoints as filters
from cacq.filters.bit_rows import BitRows
from cacq.filters.checkpoints import Checkpoints
from cacq.kernels import checkpoints

SEEDS = range(20)
NULL = 99
EDGES = [INT64_MIN, INT64_MIN + 1, -3, -1, 0, 1, 2, 5, 700, 5_000, INT64_MAX - 1, INT64_MAX]
ONES = ~np.uint64(0)


def directory_of(bounds: list[int], most: int) -> tuple[int, np.ndarray]:
    """Shift and directory as `Checkpoints` makes them, with at most about so many buckets."""
    span = bounds[-1] - bounds[0] if bounds else 0
    shift = max(0, span.bit_length() - most.bit_length() + 1)
    directory = np.zeros((span >> shift) + 2, np.int32)
    checkpoints.build_directory(np.array(bounds, np.int64), shift, directory)
    return shift, directory


def keys_around(bounds: list[int]) -> list[int]:
    near = {bound + step for bound in bounds for step in (-1, 0, 1)} | set(EDGES)
    return sorted(key for key in near if INT64_MIN <= key <= INT64_MAX)


def check_location(bounds: list[int], most: int) -> int:
    """Directory, blocks and rows of a set of bounds, against bisection; returns the shift."""
    shift, directory = directory_of(bounds, most)
    if bounds:
        buckets = [bounds[0] + (j << shift) for j in range(len(directory))]
        assert directory.tolist() == [sum(bound < bucket for bound in bounds) for bucket in buckets]
    keys = keys_around(bounds)
    rows = np.arange(100, 100 + len(bounds) + 1, dtype=np.int32)[::-1].copy()
    array = np.array(bounds, np.int64)
    expected = [bisect_right(bounds, key) for key in keys]
    assert [checkpoints.block_of(key, array, shift, directory) for key in np.array(keys)] == expected
    valid = np.arange(len(keys)) % 3 != 1
    for given in (NO_NULLS, valid):
        out = np.empty(len(keys), np.int32)
        checkpoints.locate(np.array(keys, np.int64), given, array, shift, directory, rows, NULL, out)
        known = given if len(given) else np.ones(len(keys), np.bool_)
        assert out.tolist() == [rows[block] if there else NULL for block, there in zip(expected, known, strict=True)]
    return shift


@pytest.mark.parametrize("most", [2, 5, 2048])
@pytest.mark.parametrize("seed", SEEDS)
def test_keys_are_located_by_a_directory_of_any_size(seed: int, most: int) -> None:
    rng = random.Random(seed)
    near = rng.choice([0, -700, INT64_MIN, INT64_MAX - 1000])
    narrow = sorted({near + rng.randrange(1000) for _ in range(rng.randint(0, 30))})
    check_location(narrow, most)
    check_location(sorted(rng.sample(EDGES, rng.randint(0, len(EDGES)))), most)


@pytest.mark.parametrize(
    "bounds", [[0], [INT64_MIN], [INT64_MAX], [-2, -1, 0, 1], [INT64_MIN, INT64_MIN + 3], [INT64_MAX - 3, INT64_MAX]]
)
def test_close_bounds_have_a_bucket_for_each_key(bounds: list[int]) -> None:
    assert check_location(bounds, 2048) == 0


def test_bounds_at_both_ends_of_the_integers_are_told_apart() -> None:
    assert check_location([INT64_MIN, 0, INT64_MAX], 2048) > 0
    assert check_location([INT64_MIN, INT64_MAX], 2048) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_narrow_between_applies_the_flips_up_to_the_key(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width, slab = 3, 5
    matrix = rng.integers(0, 2**64, (6, width + 1), dtype=np.uint64)
    rows, slabs = np.array([4, 0, 2], np.int32), np.array([1, -1, 0], np.int32)
    bounds = [10, 20]
    cuts, codes = np.zeros((2, slab), np.int64), np.full((2, slab), -1, np.int32)
    for number, (low, high, count) in enumerate([(21, 30, int(rng.integers(1, 6))), (0, 10, 3)]):
        cuts[number, :count] = np.sort(rng.integers(low, high, count))
        codes[number, :count] = rng.integers(0, 64 * width, count)
    keys = rng.integers(-2, 33, 60)
    blocks = np.searchsorted(bounds, keys, "right")
    blocks[::7] = ~5  # NULL: a row of its own, without flips
    lineage = rng.integers(0, 2**64, (60, width), dtype=np.uint64)
    expected = []
    for key, block, mine in zip(keys.tolist(), blocks.tolist(), lineage, strict=True):
        row = [int(word) for word in matrix[rows[block] if block >= 0 else 5, :width]]
        number = slabs[block] if block >= 0 else -1
        for cut, code in zip(cuts[number].tolist(), codes[number].tolist(), strict=True) if number >= 0 else ():
            if code >= 0 and cut <= key:
                row[code // 64] ^= 1 << code % 64
        expected.append([int(word) & other for word, other in zip(mine, row, strict=True)])
    checkpoints.narrow_between(lineage, keys, blocks, rows, slabs, cuts, codes, matrix)
    assert lineage.tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_toggle_scatter_and_sweep_agree_with_flips_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(9)[:7].astype(np.int32)
    first = rng.integers(0, 2**64, 3, dtype=np.uint64)
    blocks, codes = rng.integers(0, 7, 40), rng.integers(0, 192, 40).astype(np.int32)
    spare = rng.integers(0, 2**64, (9, 4), dtype=np.uint64)
    one_by_one, at_once = spare.copy(), spare.copy()
    one_by_one[rows, :3] = first
    for block, code in zip(blocks.tolist(), codes.tolist(), strict=True):
        checkpoints.toggle(one_by_one, rows, block, code)
    at_once[rows[1:], :3], at_once[rows[0], :3] = 0, first
    checkpoints.scatter(at_once, rows, blocks, codes)
    checkpoints.sweep(at_once, rows, 3)
    assert np.array_equal(one_by_one, at_once)
    for number, row in enumerate(rows):
        expected = [int(word) for word in first]
        for block, code in zip(blocks.tolist(), codes.tolist(), strict=True):
            if block <= number:
                expected[code // 64] ^= 1 << code % 64
        assert at_once[row, :3].tolist() == expected
        assert at_once[row, 3] == spare[row, 3]


@pytest.mark.parametrize("seed", SEEDS)
def test_flips_in_a_slab_are_sorted_and_go_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    cuts, codes, held = np.zeros(6, np.int64), np.full(6, -1, np.int32), list[tuple[int, int]]()
    domain = [INT64_MIN, -1, 0, 1, INT64_MAX]
    for _ in range(60):
        cut, code = rng.choice(domain), rng.randrange(4)
        if rng.random() < 0.6:
            assert checkpoints.insert_flip(cuts, codes, cut, code) == (len(held) < 6)
            held += [(cut, code)] * (len(held) < 6)
        else:
            assert checkpoints.remove_flip(cuts, codes, cut, code) == ((cut, code) in held)
            if (cut, code) in held:
                held.remove((cut, code))
        found = list(zip(cuts[: len(held)].tolist(), codes[: len(held)].tolist(), strict=True))
        assert sorted(found) == sorted(held) and [cut for cut, _ in found] == sorted(cut for cut, _ in held)
        assert (codes[len(held) :] == -1).all()


def bits_by_hand(flips: list[tuple[int | None, int]], key: int, width: int) -> list[int]:
    words = [int(ONES)] * width
    for cut, code in flips:
        if cut is None or cut <= key:
            words[code // 64] ^= 1 << code % 64
    return words


def compare(held: Checkpoints, flips: list[tuple[int | None, int]], bits: BitRows, other: int) -> None:
    """Every key near a cut has the bits that the flips say, asked in both ways; another filter's row is untouched."""
    held._check()
    bits._check()
    keys = np.array(keys_around([cut for cut, _ in flips if cut is not None]), np.int64)
    expected = [bits_by_hand(flips, key, bits.width) for key in keys.tolist()]
    assert [held.bits_at(key).tolist() for key in keys.tolist()] == expected
    if held.flat:
        out = np.empty(len(keys), np.int32)
        held.locate(keys, NO_NULLS, NULL, out)
        assert bits.matrix[out, : bits.width].tolist() == expected
    assert bits.matrix[other, : bits.width].tolist() == [7] * bits.width


@pytest.mark.parametrize("slab", [2, 4, 9])
@pytest.mark.parametrize("seed", range(8))
def test_checkpoints_hold_what_was_flipped(seed: int, slab: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random flips in and out, with slabs and budgets so small that blocks are split and merged all the time."""
    rng = random.Random(seed)
    monkeypatch.setattr(Checkpoints, "_most_rows", lambda self: 1 + seed % 4 * 6)
    monkeypatch.setattr(filters, "DIRECTORY", rng.choice([4, 2048]))
    bits = BitRows()
    bits.widen(3)
    other = int(bits.take(1)[0])
    bits.matrix[other, :3] = 7
    held = Checkpoints(bits, slab=slab)
    cuts: list[int | None] = [None, *rng.choice([range(40), [INT64_MIN, INT64_MIN + 1, *range(-4, 4), INT64_MAX]])]
    flips: list[tuple[int | None, int]] = []
    for step in range(150):
        growing = rng.random() < (0.75 if step % 100 < 60 else 0.2)
        flip = rng.choice(cuts), rng.randrange(192)
        if growing and flip not in flips:
            flips.append(flip)
            held.flip(*flip)
        elif not growing and flips:
            held.unflip(*flips.pop(rng.randrange(len(flips))))
        if step in (70, 120):
            within = [(cut, code) for cut, code in flips if cut not in (None, INT64_MIN)]
            first = np.array(bits_by_hand([flip for flip in flips if flip not in within], INT64_MIN, 3), np.uint64)
            codes = np.array([code for _, code in within], np.int32)
            held.rebuild(first, np.array([cut for cut, _ in within], np.int64), codes)
        if step % 10 == 9:
            compare(held, flips, bits, other)
    for flip in flips:
        held.unflip(*flip)
    compare(held, [], bits, other)
    assert held.flat and len(held.rows) == 1, "what is not needed is given back"


def test_rows_are_given_back_where_constants_drift() -> None:
    """The oldest range goes when a new one comes, each a little higher than the last: rows must not pile up."""
    bits = BitRows()
    bits.widen(4)
    held, most = Checkpoints(bits, budget=0, slab=8), 0
    for low in range(600):
        for cut in (low, low + 40):
            held.flip(cut, low % 256)
        if low >= 100:
            for cut in (low - 100, low - 60):
                held.unflip(cut, (low - 100) % 256)
            most = max(most, len(held.rows))
    held._check()
    assert most < 100 and len(bits.matrix) < 150
