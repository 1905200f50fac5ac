"""Sets of values of one expression: what a predicate on a single key accepts.

Observation: every domain can be made discrete. Integers have a next integer; floats in their total order map to
integers (`float_key`); a UTF-8 string has the immediate successor `s + b"\\0"`. So every comparison is a half-open
range of keys, every set a sorted row of cuts at which membership flips, and a grouped filter needs one search over
cuts, whatever the operator and the type.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import merge

from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.query.ast import Value

Key = int | bytes
BEYOND = INT64_MAX + 1
"""A cut that no number reaches."""


@dataclass(frozen=True)
class ValueSet:
    """Keys at which membership flips, ascending; whether keys below the first cut belong; whether NULL does."""

    cuts: tuple[Key, ...]
    below: bool
    null: bool = False

    def __contains__(self, key: Key | None) -> bool:
        if key is None:
            return self.null
        return self.below ^ bool(bisect_right(self.cuts, key) & 1)

    @property
    def everything(self) -> bool:
        """Whether every key and NULL are in."""
        return self.below and self.null and not self.cuts

    @property
    def nothing(self) -> bool:
        """Whether no key is in, nor NULL."""
        return not (self.below or self.null or self.cuts)


NOTHING = ValueSet((), False)
EVERYTHING = ValueSet((), True, True)
NOT_NULL = ValueSet((), True)
ONLY_NULL = ValueSet((), False, True)


def complement(values: ValueSet) -> ValueSet:
    """Every key that is not in the set. NULL stays out: NOT of unknown is unknown."""
    return ValueSet(values.cuts, not values.below)


def union(sets: Sequence[ValueSet]) -> ValueSet:
    """Keys that are in at least one of the sets, in O(n log k) for n cuts in k sets."""
    return _combine(sets, 1)


def intersection(sets: Sequence[ValueSet]) -> ValueSet:
    """Keys that are in all of the sets."""
    return _combine(sets, len(sets))


def _combine(sets: Sequence[ValueSet], needed: int) -> ValueSet:
    """Keys that are in at least `needed` of the sets: one sweep over all cuts, counting the sets one is inside of."""
    if len(sets) == 1:
        return sets[0]
    inside = sum(s.below for s in sets)
    below = holds = inside >= needed
    cuts: list[Key] = []
    steps: Iterable[tuple[Key, int]] = merge(*(_steps(s) for s in sets), key=lambda step: step[0])
    position: Key | None = None
    for cut, change in steps:
        if cut != position:
            if position is not None and holds != (inside >= needed):
                holds = not holds
                cuts.append(position)
            position = cut
        inside += change
    if position is not None and holds != (inside >= needed):
        cuts.append(position)
    return ValueSet(tuple(cuts), below, sum(s.null for s in sets) >= needed)


def _steps(values: ValueSet) -> list[tuple[Key, int]]:
    change = -1 if values.below else 1
    return [(cut, change if i % 2 == 0 else -change) for i, cut in enumerate(values.cuts)]


def of_comparison(operator: str, value: Value, key_type: Type) -> ValueSet:
    """The keys k of `key_type` for which `k operator value` is true; the value is not NULL."""
    first, after = bounds(value, key_type)
    if operator == "<":
        return _below(first)
    if operator == "<=":
        return _below(after)
    if operator == ">":
        return complement(_below(after))
    if operator == ">=":
        return complement(_below(first))
    equal = _between(first, after)
    return equal if operator == "=" else complement(equal)


def of_range(low: int, high: int) -> ValueSet:
    """The numbers from `low` to `high`, both included."""
    return _normal([low, high + 1]) if low <= high else NOTHING


def of_members(values: Sequence[Value], key_type: Type) -> ValueSet:
    """The keys that equal one of the values (none of them NULL), in O(n log n)."""
    ranges = sorted(r for r in (bounds(v, key_type) for v in values) if r[0] != r[1])
    cuts: list[Key] = []
    for first, after in ranges:
        if cuts and first <= cuts[-1]:  # type: ignore[operator]
            cuts[-1] = max(cuts[-1], after)
        else:
            cuts += [first, after]
    return _normal(cuts)


def of_prefix(prefix: str) -> ValueSet:
    """The strings that begin with a prefix. No UTF-8 string holds the byte 0xff, so it closes the range."""
    start = prefix.encode()
    return _between(start, start + b"\xff")


def key_of(value: Value, key_type: Type) -> Key | None:
    """A value of that very type as the key that the sets are made of; None for NULL."""
    return None if value is None else bounds(value, key_type)[0]


def float_key(value: float) -> int:
    """Floats as integers in the order of SEMANTICS 23: NaN largest, -0.0 equal to 0.0."""
    if math.isnan(value):
        value = math.nan
    bits: int = struct.unpack("<q", struct.pack("<d", abs(value) if value == 0 or value != value else value))[0]
    return bits if bits >= 0 else bits ^ INT64_MAX


def bounds(value: Value, key_type: Type) -> tuple[Key, Key]:
    """The first key not less than the value, and the first key greater than it (equal where no key equals it)."""
    if isinstance(value, str):
        text = value.encode()
        return text, text + b"\0"
    assert value is not None
    if key_type is Type.FLOAT64:
        return _float_bounds(value)
    if not isinstance(value, float):
        return int(value), int(value) + 1
    if math.isnan(value) or value == math.inf:
        return BEYOND, BEYOND
    if value == -math.inf:
        return INT64_MIN, INT64_MIN
    return math.ceil(value), math.floor(value) + 1


def _float_bounds(value: int | float) -> tuple[int, int]:
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    if isinstance(value, float) or nearest == value:
        key = float_key(nearest)
        return key, key + 1
    least = nearest if nearest > value else math.nextafter(nearest, math.inf)
    return float_key(least), float_key(least)


def _below(cut: Key) -> ValueSet:
    return complement(_from(cut))


def _from(cut: Key) -> ValueSet:
    return _normal([cut])


def _between(first: Key, after: Key) -> ValueSet:
    return _normal([first, after]) if first != after else NOTHING


def _normal(cuts: list[Key]) -> ValueSet:
    """The set whose membership flips at each cut; cuts outside of int64 are dropped, as no number lies beyond them."""
    if not cuts or isinstance(cuts[0], bytes):
        if cuts and cuts[0] == b"":
            return ValueSet(tuple(cuts[1:]), True)
        return ValueSet(tuple(cuts), False)
    low = bisect_right(cuts, INT64_MIN)
    return ValueSet(tuple(cuts[low : bisect_right(cuts, INT64_MAX)]), bool(low & 1))
