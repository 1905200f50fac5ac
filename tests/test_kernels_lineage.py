"""Each kernel of the lineage against a plain-Python twin, on random arrays that cover the edges of words."""

from __future__ import annotations

import math
import random

import numpy as np
import pyarrow as pa
import pytest

from cacq.data.arrays import NO_NULLS
from cacq.data.column import Column
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.kernels import bit_tables, intervals, lineages, pairs, texts
from cacq.query.value_sets import float_key

SEEDS = range(20)


def random_words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    words = rng.integers(0, 2**64, shape, dtype=np.uint64)
    return words & rng.integers(0, 2**64, shape, dtype=np.uint64)


def bits_of(row: np.ndarray) -> set[int]:
    return {w * 64 + b for w, word in enumerate(row) for b in range(64) if int(word) >> b & 1}


@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_of_integers_count_the_cuts_at_or_below(seed: int) -> None:
    rng = random.Random(seed)
    domain = [INT64_MIN, -3, -1, 0, 1, 2, 5, INT64_MAX]
    cuts = np.array(sorted(rng.sample(domain, rng.randint(0, len(domain)))), np.int64)
    values = np.array(rng.choices(domain, k=50), np.int64)
    valid = np.array([rng.random() < 0.8 for _ in values])
    out = np.empty(50, np.int32)
    intervals.of_integers(values, NO_NULLS, cuts, out)
    assert out.tolist() == [sum(cut <= value for cut in cuts.tolist()) for value in values.tolist()]
    intervals.of_integers(values, valid, cuts, out)
    assert all(out[~valid] == len(cuts) + 1)


def test_float_keys_of_the_kernel_are_those_of_the_planner() -> None:
    values = np.array([-math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan, -math.nan])
    keys = np.empty(len(values), np.int64)
    intervals.keys_of_floats(values, values.view(np.int64), keys)
    assert keys.tolist() == [float_key(value) for value in values.tolist()]
    assert sorted(keys.tolist()) == keys.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_of_text_follow_code_points(seed: int) -> None:
    rng = random.Random(seed)
    domain = ["", "a", "ab", "b", "é", "éa", "z", "\U0010ffff", "日本", "a\0"]
    cuts = sorted(rng.sample(domain, rng.randint(0, len(domain))))
    values = rng.choices(domain, k=40)
    strings = Column(Type.STRING, pa.array(values, rng.choice([pa.string(), pa.large_string()])))
    out = np.empty(40, np.int32)
    cut_offsets, cut_data = Column(Type.STRING, pa.array(cuts, pa.large_string())).text()
    texts.intervals_of_texts(*strings.text(), NO_NULLS, cut_offsets, cut_data, out)
    assert out.tolist() == [sum(cut <= value for cut in cuts) for value in values]


@pytest.mark.parametrize("seed", SEEDS)
def test_sweep_carries_each_flip_to_the_rows_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.zeros((9, 3), np.uint64)
    rows, words = rng.integers(0, 8, 30), rng.integers(0, 3, 30)
    bits = np.uint64(1) << rng.integers(0, 64, 30, dtype=np.uint64)
    bit_tables.flip(table, rows, words, bits)
    bit_tables.sweep(table, 8)
    for row in range(8):
        expected = [0, 0, 0]
        for r, w, b in zip(rows, words, bits, strict=True):
            if r <= row:
                expected[w] ^= int(b)
        assert table[row].tolist() == expected
    assert not table[8].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_narrow_finish_settled_and_survey_agree_with_sets_of_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    live_words, guards = 3, np.array([2, 2, 0])
    lineage, table = random_words(rng, 17, 6), random_words(rng, 4, 6)
    rows = rng.integers(0, 4, 17).astype(np.int32)
    mask = random_words(rng, 3)

    expected = lineage.copy()
    for i in range(17):
        expected[i, :3] &= table[rows[i], :3]
        expected[i, 3:] |= table[rows[i], 3:]
    lineages.narrow(lineage, rows, table, live_words)
    assert np.array_equal(lineage, expected)

    true_already = sum(
        int(lineage[i, 3 + c] & lineage[i, guards[c]] & mask[c]).bit_count() for i in range(17) for c in range(3)
    )
    assert lineages.settled(lineage, guards, mask, live_words) == true_already

    for i in range(17):
        for c in range(3):
            expected[i, guards[c]] &= expected[i, 3 + c] | ~mask[c]
    lineages.finish(lineage, guards, mask, live_words)
    assert np.array_equal(lineage, expected)

    lineage[3, :3], lineage[4, :3] = 0, 0
    incomplete = random_words(rng, 3)
    lineage[4, 1] = ~incomplete[1] & np.uint64(255) | np.uint64(256) & ~incomplete[1]
    fate, wanted = np.empty(17, np.uint8), np.zeros(3, np.uint64)
    staying = lineages.survey(lineage, incomplete, fate, wanted)
    fates = [
        lineages.STAYS if bits_of(row[:3] & incomplete) else lineages.LEAVES if bits_of(row[:3]) else lineages.DEAD
        for row in lineage
    ]
    assert fate.tolist() == fates and staying == fates.count(lineages.STAYS)
    assert bits_of(wanted) == set().union(*(bits_of(row[:3] & incomplete) for row in lineage))


@pytest.mark.parametrize("seed", SEEDS)
def test_fold_and_wanting_agree_with_sets_of_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    live, mask = random_words(rng, 20, 2), random_words(rng, 2) & random_words(rng, 2) & random_words(rng, 2)
    out = np.empty(20, np.int64)
    found = lineages.wanting(live, mask, out)
    assert out[:found].tolist() == [i for i in range(20) if bits_of(live[i] & mask)]

    source, target = [5, 64, 127], [70, 0, 5]
    expected = [bits_of(row) for row in live]
    for bits in expected:
        for a, b in zip(source, target, strict=True):
            if a in bits:
                bits.remove(a)
                bits.add(b)
    as_words = [np.array([slot // 64 for slot in slots]) for slots in (source, target)]
    as_bits = [np.array([1 << slot % 64 for slot in slots], np.uint64) for slots in (source, target)]
    lineages.fold(live, as_words[0], as_bits[0], as_words[1], as_bits[1])
    assert [bits_of(row) for row in live] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_are_those_that_a_live_query_needs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lineage = random_words(rng, 12, 4)  # two live words, two clause words guarded by word 1
    slots = rng.choice(128, 9, replace=False)
    alone = (slots < 64) | (rng.random(9) < 0.5)
    guards = slots // 64
    words = np.where(alone, guards, 2 + rng.integers(0, 2, 9))
    bits = np.uint64(1) << (slots % 64).astype(np.uint64)
    first = np.array([0, 2, 3, 7, 9])
    rows, predicates, counts = np.empty(48, np.int64), np.empty(48, np.int64), np.zeros(2, np.int64)

    expected, spared = [], 0
    for i in range(12):
        for p in range(4):
            needed = False
            for t in range(first[p], first[p + 1]):
                if lineage[i, guards[t]] & bits[t]:
                    if words[t] != guards[t] and lineage[i, words[t]] & bits[t]:
                        spared += 1
                    else:
                        needed = True
            if needed:
                expected.append((i, p))
    pairs.needed(lineage, first, words, guards, bits, rows, predicates, counts)
    rows, predicates = rows[: counts[0]], predicates[: counts[0]]
    assert list(zip(rows.tolist(), predicates.tolist(), strict=True)) == expected
    assert counts[1] == spared

    errors = np.zeros(128, np.int64)
    pairs.tally_terms(lineage, first, guards, bits, rows, predicates, errors)
    for t, slot in enumerate(slots):
        p = int(np.searchsorted(first, t, "right")) - 1
        assert errors[slot] == sum(1 for i, q in expected if q == p and lineage[i, guards[t]] & bits[t])

    truth = rng.random(len(rows)) < 0.5
    after = lineage.copy()
    for (i, p), true in zip(expected, truth, strict=True):
        for t in range(first[p], first[p + 1]):
            if words[t] == guards[t] and not true:
                after[i, words[t]] &= ~bits[t]
            if words[t] != guards[t] and true:
                after[i, words[t]] |= bits[t]
    pairs.apply(lineage, first, words, guards, bits, rows, predicates, truth)
    assert np.array_equal(lineage, after)


@pytest.mark.parametrize("seed", SEEDS)
def test_tally_counts_each_live_query_of_the_mask(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lineage, mask = random_words(rng, 9, 2), random_words(rng, 2)
    rows, counts = np.array([1, 4, 8]), np.zeros(128, np.int64)
    pairs.tally(lineage, rows, mask, counts)
    assert counts.tolist() == [sum(slot in bits_of(lineage[i] & mask) for i in rows) for slot in range(128)]
