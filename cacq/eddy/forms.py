"""Which form of lineage a predicate gets: dense (a bit in every tuple's lineage) or sparse (an anchored filter).

A dense predicate costs every tuple its share of a word in each operator, about 80 ps; a sparse one costs a candidate,
about 1.2 ns, for each tuple that its anchor accepts. So a predicate whose best range accepts less than SPARSE_BELOW of
the rows is better off sparse, and one beyond DENSE_ABOVE dense; in between it stays what it is. The anchored filter has
to sort each large batch by every column, about 70 ns a tuple: that pays only for MANY predicates, below FEW all are
dense again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cacq.data.arrays import Bools, Ints
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.eddy.sample import Sample
from cacq.filters.keys import KeyColumns
from cacq.query import ast
from cacq.query.normalize import Conjunction, Indexed, Residual
from cacq.query.value_sets import ValueSet

SPARSE_BELOW, DENSE_ABOVE = 0.03, 0.08
MANY, FEW = 2048, 1024
MOST_RANGES = 16


class Anchorable(NamedTuple):
    """A predicate as an anchored filter takes it: inclusive ranges of columns, at least one, and clauses to verify."""

    keys: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    rest: Conjunction


class Judgement(NamedTuple):
    """For each predicate: whether it accepts few rows, and its ranges in the order in which they should be tried, the
    most selective first."""

    selective: Bools
    order: Ints


class Forms:
    """Decides for the predicates of one source. `lineage` is auto, or one form for all that can have it."""

    def __init__(self, lineage: str, sample: Sample) -> None:
        self._lineage = lineage
        self._sample = sample
        self.open = lineage == "sparse"
        """Whether selective predicates are to be sparse."""

    def count(self, selective: int) -> None:
        """There are so many selective predicates: are they enough?"""
        if self._lineage == "auto":
            self.open = selective >= (FEW if self.open else MANY)

    def judge(self, keys: tuple[int, ...], lows: Ints, highs: Ints, now_sparse: bool) -> Judgement:
        """Predicates, each a row of ranges over these keys, that are of the same form now."""
        shares = np.column_stack([self._sample.shares(key, lows[:, k], highs[:, k]) for k, key in enumerate(keys)])
        limit = DENSE_ABOVE if now_sparse else SPARSE_BELOW
        selective = np.full(len(lows), True) if self._lineage == "sparse" else shares.min(axis=1) < limit
        return Judgement(selective, np.argsort(shares, axis=1, kind="stable"))


def anchorable(disjuncts: tuple[Conjunction, ...], columns: KeyColumns) -> Anchorable | None:
    """The predicate as ranges and a rest, if it has a range and calls no user function."""
    if len(disjuncts) != 1 or any(_calls(term) for clause in disjuncts[0] for term in clause):
        return None
    found: list[tuple[int, int, int]] = []
    rest: list[tuple[Indexed | Residual, ...]] = []
    for clause in disjuncts[0]:
        bounds = _bounds(clause[0], columns) if len(clause) == 1 and len(found) < MOST_RANGES else None
        if bounds is None:
            rest.append(clause)
        else:
            found.append(bounds)
    if not found:
        return None
    keys, lows, highs = zip(*found, strict=True)
    return Anchorable(keys, lows, highs, tuple(rest))


def range_of(values: ValueSet) -> tuple[int, int] | None:
    """The inclusive ends of a set of numbers that is one range without NULL."""
    if values.null or len(values.cuts) + values.below not in (1, 2):
        return None
    cuts = [cut for cut in values.cuts if isinstance(cut, int)]
    if len(cuts) < len(values.cuts):
        return None
    if values.below:
        cuts.insert(0, INT64_MIN)
    return cuts[0], INT64_MAX if len(cuts) == 1 else cuts[1] - 1


def _bounds(term: Indexed | Residual, columns: KeyColumns) -> tuple[int, int, int] | None:
    """A term as key, low and high, where it is a range of numbers or one string."""
    if not isinstance(term, Indexed) or not isinstance(term.key, ast.Column):
        return None
    if term.key.type is not Type.STRING:
        ends = range_of(term.values)
        return None if ends is None else (columns.number(term.key), *ends)
    text = _one_text(term.values)
    if text is None:
        return None
    key = columns.number(term.key)
    number = columns.intern(key, text)
    return key, number, number


def _one_text(values: ValueSet) -> str | None:
    """The one string in a set, if that is all there is."""
    if values.null or values.below or len(values.cuts) != 2:
        return None
    first, after = values.cuts
    assert isinstance(first, bytes) and isinstance(after, bytes)
    return first.decode() if after == first + b"\0" else None


def _calls(term: Indexed | Residual) -> bool:
    """Whether a term runs the code of users, which may fail: only dense lineage can tell what follows from that."""
    return ast.calls_functions(term.key if isinstance(term, Indexed) else term.shape)
