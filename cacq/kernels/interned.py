"""Strings to numbers, and membership in sets that differ from row to row: what candidates are verified with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cacq.data.arrays import Bools, Int32s, Ints, Octets
from cacq.kernels.compiled import kernel

UNKNOWN = -1


class Sets(NamedTuple):
    """Sets of keys: the cuts of set m are `first[m]` to `first[m + 1]`, membership flips at each; `below` says whether
    keys below the first cut belong, `null` whether NULL does."""

    first: Ints
    below: Bools
    null: Bools


@kernel
def slot_of(data: Octets, start: int, stop: int, size: int) -> int:
    """Where the search for a string begins in a table of that many slots, a power of two. FNV-1a on 32 bits: their
    product fits in 64, so plain Python does the same."""
    state = np.uint64(0x811C9DC5)
    for i in range(start, stop):
        state = ((state ^ np.uint64(data[i])) * np.uint64(0x01000193)) & np.uint64(0xFFFFFFFF)
    return int(np.int64((state ^ (state >> np.uint64(15))) & np.uint64(size - 1)))


@kernel
def _compare(left: Octets, left_start: int, left_stop: int, right: Octets, right_start: int, right_stop: int) -> int:
    """How two runs of bytes compare. A twin of texts.compare_bytes: numba's cache on disk sees one file only."""
    for k in range(min(left_stop - left_start, right_stop - right_start)):
        a, b = left[left_start + k], right[right_start + k]
        if a != b:
            return -1 if a < b else 1
    left_length, right_length = left_stop - left_start, right_stop - right_start
    return 1 if left_length > right_length else (-1 if left_length < right_length else 0)


@kernel
def intern(offsets: Ints, data: Octets, start: int, stop: int, table: Int32s) -> None:
    """Put strings `[start, stop)`, all different, into a table that has room for them; free slots are -1."""
    for i in range(start, stop):
        slot = slot_of(data, offsets[i], offsets[i + 1], len(table))
        while table[slot] >= 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = i


@kernel
def numbers_of_texts(offsets: Ints, data: Octets, known_offsets: Ints, known: Octets, table: Int32s, out: Ints) -> None:
    """The number of each string among the known ones, or UNKNOWN."""
    for i in range(len(out)):
        slot = slot_of(data, offsets[i], offsets[i + 1], len(table))
        out[i] = UNKNOWN
        while table[slot] >= 0 and out[i] == UNKNOWN:
            k = table[slot]
            if _compare(data, offsets[i], offsets[i + 1], known, known_offsets[k], known_offsets[k + 1]) == 0:
                out[i] = k
            slot = (slot + 1) & (len(table) - 1)


@kernel
def in_sets(values: Ints, valid: Bools, members: Ints, sets: Sets, cuts: Ints, out: Bools) -> None:
    """Whether value i is in set members[i]. An empty `valid` means that no value is NULL."""
    for i in range(len(values)):
        m = members[i]
        if len(valid) > 0 and not valid[i]:
            out[i] = sets.null[m]
            continue
        low, high = sets.first[m], sets.first[m + 1]
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] <= values[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = sets.below[m] != ((low - sets.first[m]) & 1 == 1)


@kernel
def texts_in_sets(
    offsets: Ints, data: Octets, valid: Bools, members: Ints, sets: Sets, cut_offsets: Ints, cuts: Octets, out: Bools
) -> None:
    """As `in_sets` for strings; cut c is `cuts[cut_offsets[c]:cut_offsets[c + 1]]`."""
    for i in range(len(out)):
        m = members[i]
        if len(valid) > 0 and not valid[i]:
            out[i] = sets.null[m]
            continue
        low, high = sets.first[m], sets.first[m + 1]
        while low < high:
            middle = (low + high) >> 1
            order = _compare(cuts, cut_offsets[middle], cut_offsets[middle + 1], data, offsets[i], offsets[i + 1])
            if order <= 0:
                low = middle + 1
            else:
                high = middle
        out[i] = sets.below[m] != ((low - sets.first[m]) & 1 == 1)
