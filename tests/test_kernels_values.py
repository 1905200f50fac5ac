"""Kernels over values, each against a twin in plain Python with exact integers."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cacq.kernels.arithmetic import ADD, MULTIPLY, REMAINDER, SUBTRACT, checked_integers
from cacq.kernels.compare import compare_floats, compare_integers_with_floats
from cacq.kernels.like import like
from cacq.kernels.texts import compare_texts, find_texts

pytestmark = pytest.mark.filterwarnings("error")

MINIMUM, MAXIMUM = -(2**63), 2**63 - 1
INTEGERS = [
    0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 2**31, 3037000499, 3037000500, -3037000500, 2**53 - 1, 2**53, 2**53 + 1,
    -(2**53) - 1, 2**62 - 1, 2**62, -(2**62), MAXIMUM - 1, MAXIMUM, MINIMUM, MINIMUM + 1,
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 5e-324, 1e308, -1e308, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**62, 2.0**63,
    -(2.0**63), math.nextafter(2.0**63, 0), math.nextafter(-(2.0**63), -math.inf), math.inf, -math.inf, math.nan,
]  # fmt: skip
TEXTS = ["", "a", "ab", "abc", "b", "a\x00", "é", "éa", "e", "\uffff", "\U0001f600", "\U0001f600a", "z\n"]


def random_integer(source: random.Random) -> int:
    if source.random() < 0.5:
        return source.choice(INTEGERS)
    return source.randint(-1, 1) * source.getrandbits(source.randint(1, 63))


def random_float(source: random.Random) -> float:
    return source.choice([*FLOATS, float(random_integer(source)), source.uniform(-10, 10)])


def encoded(texts: list[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Texts as a kernel reads them, behind some bytes that belong to none."""
    parts = [b"??", *(text.encode() for text in texts)]
    return np.cumsum([len(part) for part in parts]), np.frombuffer(b"".join(parts), np.uint8)


def exact(operator: int, left: int, right: int) -> tuple[int, bool]:
    """The twin of checked_integers for one row."""
    if operator == REMAINDER:
        if right == 0:
            return 0, True
        return abs(left) % abs(right) * (-1 if left < 0 else 1), False
    value = {ADD: left + right, SUBTRACT: left - right, MULTIPLY: left * right}[operator]
    return (value, False) if MINIMUM <= value <= MAXIMUM else (0, True)


def order(left: float | str, right: float | str) -> int:
    """The twin of every comparison: Python compares int with float exactly, and strings by code point."""
    left_is_nan, right_is_nan = left != left, right != right
    if left_is_nan or right_is_nan:
        return left_is_nan - right_is_nan
    return (left > right) - (left < right)  # type: ignore[operator]


def tokens(pattern: str, escape: str) -> list[tuple[str, bool]]:
    """The characters of a LIKE pattern, each with whether it is wild."""
    result, at = [], 0
    while at < len(pattern):
        escaped = pattern[at] == escape
        if escaped and at + 1 < len(pattern):
            at += 1
        result.append((pattern[at], pattern[at] in "%_" and not escaped))
        at += 1
    return result


def is_like(text: str, pattern: str, escape: str = "") -> bool:
    """The twin of like: which prefixes of the text the pattern so far matches."""
    reached = {0}
    for character, wild in tokens(pattern, escape):
        if wild and character == "%":
            reached = set(range(min(reached), len(text) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(text) and (wild or text[at] == character)}
    return len(text) in reached


def run_pairs(kernel: Callable[..., None], left: Any, right: Any, dtypes: tuple[Any, Any], out: Any) -> Any:
    arrays = [np.array(values, dtype) for values, dtype in zip((left, right), dtypes, strict=True)]
    kernel(*arrays, out)
    return out.tolist()


@pytest.mark.parametrize("operator", [ADD, SUBTRACT, MULTIPLY, REMAINDER])
@pytest.mark.parametrize("seed", range(3))
def test_integer_arithmetic_is_exact_or_bad(operator: int, seed: int) -> None:
    source = random.Random(seed)
    pairs = list(itertools.product(INTEGERS, INTEGERS))
    pairs += [(random_integer(source), random_integer(source)) for _ in range(2000)]
    left, right = zip(*pairs, strict=True)
    out, bad = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.bool_)
    checked_integers(operator, np.array(left, np.int64), np.array(right, np.int64), out, bad)
    for (a, b), value, wrong in zip(pairs, out.tolist(), bad.tolist(), strict=True):
        assert (value, wrong) == exact(operator, a, b), f"seed {seed}: operator {operator} of {a} and {b}"


def test_products_are_judged_exactly_at_the_border_of_int64() -> None:
    pairs = [
        (sign * left, right + step)
        for left in (*range(2, 1200), 3037000499, 3037000500, 2**32 + 1, 2**53 + 1, 2**62)
        for right in (2**63 // left, -(2**63) // left)
        for sign in (1, -1)
        for step in (-1, 0, 1)
    ]
    left, right = zip(*pairs, strict=True)
    out, bad = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.bool_)
    checked_integers(MULTIPLY, np.array(left, np.int64), np.array(right, np.int64), out, bad)
    for (a, b), value, wrong in zip(pairs, out.tolist(), bad.tolist(), strict=True):
        assert (value, wrong) == exact(MULTIPLY, a, b), f"{a} times {b}"


def test_one_integer_stands_for_every_row_on_either_side() -> None:
    many, one = np.array(INTEGERS, np.int64), np.array([3], np.int64)
    out, bad = np.empty(len(many), np.int64), np.empty(len(many), np.bool_)
    checked_integers(SUBTRACT, many, one, out, bad)
    assert list(zip(out.tolist(), bad.tolist(), strict=True)) == [exact(SUBTRACT, a, 3) for a in INTEGERS]
    checked_integers(SUBTRACT, one, many, out, bad)
    assert list(zip(out.tolist(), bad.tolist(), strict=True)) == [exact(SUBTRACT, 3, a) for a in INTEGERS]


@pytest.mark.parametrize("seed", range(3))
def test_floats_are_in_one_total_order(seed: int) -> None:
    source = random.Random(seed)
    pairs = list(itertools.product(FLOATS, FLOATS))
    pairs += [(random_float(source), random_float(source)) for _ in range(2000)]
    left, right = zip(*pairs, strict=True)
    signs = run_pairs(compare_floats, left, right, (np.float64, np.float64), np.empty(len(pairs), np.int8))
    for (a, b), sign in zip(pairs, signs, strict=True):
        assert sign == order(a, b), f"seed {seed}: {a} against {b}"


@pytest.mark.parametrize("seed", range(3))
def test_integers_compare_with_floats_exactly(seed: int) -> None:
    source = random.Random(seed)
    pairs: list[tuple[int, float]] = list(itertools.product(INTEGERS, FLOATS))
    for _ in range(2000):
        whole = random_integer(source)
        near = math.nextafter(float(whole), source.choice([-math.inf, math.inf]))
        pairs.append((whole, source.choice([float(whole), near, random_float(source)])))
    left, right = zip(*pairs, strict=True)
    signs = run_pairs(compare_integers_with_floats, left, right, (np.int64, np.float64), np.empty(len(pairs), np.int8))
    for (a, b), sign in zip(pairs, signs, strict=True):
        assert sign == order(a, b), f"seed {seed}: {a} against {b!r}"


def test_one_number_stands_for_every_row_in_comparisons() -> None:
    out = np.empty(len(FLOATS), np.int8)
    assert run_pairs(compare_floats, FLOATS, [1.0], (np.float64, np.float64), out) == [order(a, 1.0) for a in FLOATS]
    assert run_pairs(compare_floats, [1.0], FLOATS, (np.float64, np.float64), out) == [order(1.0, a) for a in FLOATS]
    signs = run_pairs(compare_integers_with_floats, [1], FLOATS, (np.int64, np.float64), out)
    assert signs == [order(1, a) for a in FLOATS]


def test_texts_compare_by_code_point() -> None:
    pairs = list(itertools.product(TEXTS, TEXTS))
    left, right = ([pair[side] for pair in pairs] for side in (0, 1))
    out = np.empty(len(pairs), np.int8)
    compare_texts(*encoded(left), *encoded(right), out)
    assert out.tolist() == [order(a, b) for a, b in pairs]


def test_one_text_stands_for_every_row_on_either_side() -> None:
    out = np.empty(len(TEXTS), np.int8)
    compare_texts(*encoded(TEXTS), *encoded(["b"]), out)
    assert out.tolist() == [order(a, "b") for a in TEXTS]
    compare_texts(*encoded(["b"]), *encoded(TEXTS), out)
    assert out.tolist() == [order("b", a) for a in TEXTS]


@pytest.mark.parametrize("seed", range(5))
def test_a_text_is_found_exactly_if_it_is_a_member(seed: int) -> None:
    source = random.Random(seed)
    members = sorted(source.sample(TEXTS, source.randint(0, len(TEXTS))))
    out = np.empty(len(TEXTS), np.bool_)
    find_texts(*encoded(TEXTS), *encoded(members), out)
    assert out.tolist() == [text in members for text in TEXTS], f"seed {seed}"


def run_like(texts: list[str], patterns: list[str], escape: str = "") -> list[bool]:
    out = np.empty(max(len(texts), len(patterns)), np.bool_)
    like(*encoded(texts), *encoded(patterns), np.frombuffer(escape.encode(), np.uint8), out)
    return out.tolist()


def words_over(letters: str, longest: int) -> list[str]:
    return ["".join(word) for n in range(longest + 1) for word in itertools.product(letters, repeat=n)]


@pytest.mark.parametrize("escape", ["", "é", "%", "_", "a"])
def test_like_agrees_with_its_twin_on_all_short_texts_and_patterns(escape: str) -> None:
    pairs = list(itertools.product(words_over("aé%", 3), words_over("aé%_", 3)))
    found = run_like([text for text, _ in pairs], [pattern for _, pattern in pairs], escape)
    for (text, pattern), result in zip(pairs, found, strict=True):
        assert result == is_like(text, pattern, escape), f"{text!r} LIKE {pattern!r} ESCAPE {escape!r}"


@pytest.mark.parametrize("seed", range(10))
def test_like_agrees_with_its_twin_on_patterns_longer_than_a_word_of_states(seed: int) -> None:
    source = random.Random(seed)
    pairs = []
    for _ in range(10):
        text = "".join(source.choices(["a", "b", "é", "\U0001f600", "\n"], (20, 2, 1, 1, 1), k=source.randint(50, 250)))
        pattern = list(text)
        for _ in range(source.randint(0, 4)):
            pattern[source.randrange(len(pattern))] = source.choice(["_", "%", "b"])
        pairs.append((text, "".join(pattern)))
    found = run_like([text for text, _ in pairs], [pattern for _, pattern in pairs])
    for (text, pattern), result in zip(pairs, found, strict=True):
        assert result == is_like(text, pattern), f"seed {seed}: {text!r} LIKE {pattern!r}"


@pytest.mark.parametrize("length", [62, 63, 64, 65, 127, 128, 129])
def test_like_carries_its_states_from_word_to_word(length: int) -> None:
    text = "a" * length
    assert run_like([text], [text, "_" * length, "%" + text, text + "%"]) == [True] * 4
    assert run_like([text], [text + "_", text[1:], "%" + text[1:] + "b", "b" + text[1:]]) == [False] * 4


def test_like_takes_one_pattern_or_one_text_for_every_row() -> None:
    assert run_like(["abc", "xabc", "ab"], ["abc%"]) == [True, False, False]
    assert run_like(["abc"], ["abc%", "xabc", "a_c"]) == [True, False, True]


def test_like_is_not_slowed_by_many_wildcards() -> None:
    pattern = "%a" * 30 + "%b"
    assert run_like(["a" * 2000], [pattern]) == [False]
    assert run_like(["a" * 2000 + "b"], [pattern]) == [True]


def test_like_takes_an_escape_at_the_end_for_itself() -> None:
    assert run_like(["a!", "a", "a!!"], ["a!"], "!") == [True, False, False]
    assert run_like(["a%", "a", "ab"], ["a%"], "%") == [True, False, False]
