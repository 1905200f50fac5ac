"""Each kernel of the lineage against a plain-Python twin, on random arrays that cover the edges of words."""

from __future__ import annotations

import math
import random

import numpy as np
import pyarrow as pa
import pytest

from cacq.data.arrays import NO_NULLS
from cacq.data.column import Column
from cacq.data.lineage import Layout, drop, put, slot_set
from cacq.data.types import Type
from cacq.kernels import answers, intervals, lineages, pairs, texts
from cacq.query.value_sets import float_key

SEEDS = range(20)


def random_words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    words = rng.integers(0, 2**64, shape, dtype=np.uint64)
    return words & rng.integers(0, 2**64, shape, dtype=np.uint64)


def bits_of(row: np.ndarray) -> set[int]:
    return {w * 64 + b for w, word in enumerate(row) for b in range(64) if int(word) >> b & 1}


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


def some_layout(rng: np.random.Generator) -> Layout:
    """Four words of slots with up to four clause columns behind each."""
    return Layout(rng.integers(0, 5, 4).tolist())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_layout_gives_every_bit_a_place_of_its_own(seed: int) -> None:
    depths = np.random.default_rng(seed).integers(0, 5, 4).tolist()
    layout = Layout(depths)
    live = [layout.column(word * 64) for word in range(4)]
    clauses = {layout.column(word * 64, clause): live[word] for word in range(4) for clause in range(depths[word])}
    assert sorted([*live, *clauses]) == list(range(layout.width))
    assert layout.columns.tolist() == live and layout.live_words == 4
    assert dict(zip(layout.clauses.tolist(), layout.guards.tolist(), strict=True)) == clauses
    assert bits_of(layout.live_bits) == {column * 64 + bit for column in live for bit in range(64)}
    longer = Layout([*depths, 2])
    assert longer.columns[:4].tolist() == live, "a new word moves no column"
    slots = slot_set()
    for slot in (0, 63, 64, 200):
        put(slots, slot)
    drop(slots, 64)
    drop(slots, 10_000)
    spread = layout.spread(slots)
    assert bits_of(spread) == {layout.column(slot) * 64 + slot % 64 for slot in (0, 63, 200)}
    assert layout.slots_of(layout.live(spread.reshape(1, -1))[0]) == [0, 63, 200]
    assert 255 in layout and 256 not in layout


@pytest.mark.parametrize("seed", SEEDS)
def test_narrow_is_and_with_the_row_of_each_tuple(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lineage, matrix = random_words(rng, 17, 6), random_words(rng, 4, 8)  # a matrix has spare columns
    rows = rng.integers(0, 4, 17).astype(np.int32)
    expected = [bits_of(lineage[i]) & bits_of(matrix[rows[i], :6]) for i in range(17)]
    lineages.narrow(lineage, rows, matrix)
    assert [bits_of(row) for row in lineage] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_narrow_all_goes_through_filters_as_far_as_a_tuple_must(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = some_layout(rng)
    filters, width = 4, layout.width
    lineage = random_words(rng, 40, width)
    matrix = random_words(rng, 5, width + 1) | random_words(rng, 5, width + 1)
    matrix[4] = 0
    rows = rng.integers(0, 5, (filters, 40)).astype(np.int32)
    checks = rng.random(filters) < 0.7
    pending = np.array([random_words(rng, width) & random_words(rng, width) & layout.live_bits for _ in range(filters)])
    pending[-1] = 0
    live, counts = bits_of(layout.live_bits), np.zeros((filters, 2), np.int64)

    expected, stops = [bits_of(row) for row in lineage], np.zeros((filters, 2), np.int64)
    for i in range(40):
        for k in range(filters):
            expected[i] &= bits_of(matrix[rows[k, i], :width])
            if checks[k] and not expected[i] & bits_of(pending[k]):
                stops[k] += (1, bool(expected[i] & live))
                break
    lineages.narrow_all(lineage, rows, matrix, pending, checks, layout.live_bits, counts)
    assert [bits_of(row) for row in lineage] == expected
    assert counts.tolist() == stops.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_settled_finish_and_survey_agree_with_sets_of_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = some_layout(rng)
    clauses, guards, live_bits = layout.clauses, layout.guards, layout.live_bits
    lineage = random_words(rng, 17, layout.width)
    closing = random_words(rng, layout.width) & ~live_bits
    closing[rng.random(layout.width) < 0.3] = 0

    true_already = sum(
        len((bits_of(row[g : g + 1]) - bits_of(row[c : c + 1])) & bits_of(closing[c : c + 1]))
        for row in lineage
        for c, g in zip(clauses, guards, strict=True)
    )
    assert lineages.settled(lineage, clauses, guards, closing) == true_already

    expected = [bits_of(row) for row in lineage]
    for mine, row in zip(expected, lineage, strict=True):
        for c, g in zip(clauses.tolist(), guards.tolist(), strict=True):
            mine -= {g * 64 + bit for bit in bits_of(row[c : c + 1]) & bits_of(closing[c : c + 1])}
    lineages.finish(lineage, clauses, guards, closing)
    assert [bits_of(row) for row in lineage] == expected

    incomplete = random_words(rng, layout.width) & live_bits
    lineage[3] &= ~live_bits  # dead, whatever clauses are open
    lineage[4] &= ~incomplete
    lineage[4, layout.columns[0]] = ~incomplete[layout.columns[0]]
    fate, wanted = np.empty(17, np.uint8), np.zeros(layout.width, np.uint64)
    staying = lineages.survey(lineage, incomplete, live_bits, fate, wanted)
    fates = [
        lineages.STAYS if bits_of(row & incomplete) else lineages.LEAVES if bits_of(row & live_bits) else lineages.DEAD
        for row in lineage
    ]
    assert fates[3:5] == [lineages.DEAD, lineages.LEAVES]
    assert fate.tolist() == fates and staying == fates.count(lineages.STAYS)
    assert bits_of(wanted) == set().union(*(bits_of(row & incomplete) for row in lineage))


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
    lineage = random_words(rng, 12, 4)  # a word without clauses; one with two clause columns
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
                    if words[t] != guards[t] and not lineage[i, words[t]] & bits[t]:
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
            if words[t] != guards[t] and true:  # its clause is open no more
                after[i, words[t]] &= ~bits[t]
    pairs.apply(lineage, first, words, guards, bits, rows, predicates, truth)
    assert np.array_equal(lineage, after)


@pytest.mark.parametrize("seed", SEEDS)
def test_tally_counts_each_live_query_of_the_mask(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lineage, mask = random_words(rng, 9, 2), random_words(rng, 2)
    rows, counts = np.array([1, 4, 8]), np.zeros(128, np.int64)
    pairs.tally(lineage, rows, mask, counts)
    assert counts.tolist() == [sum(slot in bits_of(lineage[i] & mask) for i in rows) for slot in range(128)]


@pytest.mark.parametrize("words", [1, 8, 11])
@pytest.mark.parametrize("tuples", [1, 2, 63, 64, 65, 130])
def test_transpose_gives_each_query_its_tuples(tuples: int, words: int) -> None:
    rng = np.random.default_rng(tuples)
    live = random_words(rng, tuples, words)
    expected = [[i for i in range(tuples) if int(live[i, slot // 64]) >> slot % 64 & 1] for slot in range(words * 64)]
    for cut in {0, 1, tuples // 2, tuples - 1}:
        turned = np.zeros((words * 64, (tuples + 63) // 64), np.uint64)
        for first, last in ((0, cut), (cut, tuples)):
            if first < last:
                answers.transpose(live[first:last], first, turned)
        assert [sorted(bits_of(row)) for row in turned] == expected, cut
    counts = np.full((2, words * 64), 5, np.int64)
    answers.count_rows(turned, counts[0])
    answers.count_columns(live, counts[1])
    assert counts.tolist() == [[5 + len(rows) for rows in expected]] * 2


def test_pairs_are_tallied_by_place() -> None:
    pairs_of = [(0, 3), (0, 9), (2, 0), (2, 2**32 - 1), (7, 1)]
    counts = np.ones(8, np.int64)
    answers.tally_pairs(np.array([place << 32 | row for place, row in pairs_of], np.uint64), counts)
    assert counts.tolist() == [3, 1, 3, 1, 1, 1, 1, 2]
