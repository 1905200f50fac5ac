"""Each kernel that reads results against a plain-Python twin, at the edges of words and of lines of words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from cacq.deliver.pick import PAIRED, SCANNED, TURNED, Form
from cacq.kernels import answers

SIZES = [1, 2, 63, 64, 65, 130]


def random_words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2**64, shape, dtype=np.uint64) & rng.integers(0, 2**64, shape, dtype=np.uint64)


def has(live: np.ndarray, tuple_: int, slot: int) -> bool:
    return bool(int(live[tuple_, slot // 64]) >> slot % 64 & 1)


@pytest.mark.parametrize("words", [1, 3, 8, 9])
@pytest.mark.parametrize("tuples", SIZES)
def test_transpose_gives_each_query_its_tuples(tuples: int, words: int) -> None:
    rng = np.random.default_rng(tuples)
    live = random_words(rng, tuples, words)
    turned = np.zeros((words * 64, (tuples + 63) // 64 + 1), np.uint64)
    answers.transpose(live, 0, turned)
    by_rows, by_columns = np.zeros(words * 64, np.int64), np.zeros(words * 64, np.int64)
    answers.count_rows(turned, by_rows)
    answers.count_columns(live, by_columns)
    for slot in range(0, words * 64, 5):
        bits = np.unpackbits(turned[slot].view(np.uint8), bitorder="little")
        expected = [i for i in range(tuples) if has(live, i, slot)]
        assert np.flatnonzero(bits).tolist() == expected
        assert by_rows[slot] == by_columns[slot] == len(expected)


@pytest.mark.parametrize("cuts", [(0, 10), (0, 64, 70), (0, 1, 2, 130), (0, 60, 125, 126, 200)])
def test_what_is_transposed_piece_by_piece_is_what_is_transposed_at_once(cuts: tuple[int, ...]) -> None:
    live = random_words(np.random.default_rng(len(cuts)), cuts[-1], 2)
    whole, pieces = (np.zeros((128, (cuts[-1] + 63) // 64), np.uint64) for _ in range(2))
    answers.transpose(live, 0, whole)
    for start, stop in pairwise(cuts):
        answers.transpose(live[start:stop], start, pieces)
    assert np.array_equal(whole, pieces)


def lineage_in(form: Form, live: np.ndarray) -> np.ndarray:
    """The same lineage in the form that these kernels read."""
    tuples, words = live.shape
    if form is SCANNED:
        return live
    if form is PAIRED:
        held = [slot << 32 | i for slot in range(words * 64) for i in range(tuples) if has(live, i, slot)]
        return np.array(held, np.uint64)
    turned = np.zeros((words * 64, (tuples + 63) // 64), np.uint64)
    answers.transpose(live, 0, turned)
    return turned


@pytest.mark.parametrize("form", [TURNED, SCANNED, PAIRED], ids=["turned", "scanned", "paired"])
@pytest.mark.parametrize("tuples", SIZES)
def test_each_form_of_lineage_gives_a_query_its_tuples(tuples: int, form: Form) -> None:
    rng = np.random.default_rng(tuples)
    live = random_words(rng, tuples, 2)
    held, base = lineage_in(form, live), 5
    values = rng.integers(-9, 9, base + tuples)
    edges = sorted({0, 1, 62, 63, 64, 65, 128, tuples - 1, tuples} & set(range(tuples + 1)))
    for slot in (0, 1, 63, 64, 100, 127):
        for start in edges:
            for stop in (stop for stop in edges if stop >= start):
                expected = [base + i for i in range(start, stop) if has(live, i, slot)]
                out, taken = np.empty(len(expected), np.int64), np.empty(len(expected), np.int64)
                assert form.size(held, slot, start, stop) == len(expected)
                assert form.fill(held, slot, start, stop, base, out) == len(expected)
                assert form.gather(held, slot, start, stop, base, values, taken) == len(expected)
                assert out.tolist() == expected
                assert taken.tolist() == values[expected].tolist()


def test_pairs_are_counted_by_place() -> None:
    rng = np.random.default_rng(1)
    pairs = np.unique(
        rng.integers(0, 7, 50, dtype=np.uint64) << np.uint64(32) | rng.integers(0, 9, 50, dtype=np.uint64)
    )
    counts = np.ones(8, np.int64)
    answers.tally_pairs(pairs, counts)
    assert counts.tolist() == [1 + sum(int(pair) >> 32 == place for pair in pairs) for place in range(8)]
