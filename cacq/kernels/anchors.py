"""Selective queries hung on one range each, their anchor: how they are laid out, merged, and found for a few rows.

A level holds entries sorted by (home, low, high). The home of an entry is `key << 6 | class`: the key of its anchor and
the class of the anchor's width, which is below 4 ** class. So the entries of one home whose anchor may hold a value v
have their low in `(v - 4 ** class, v]`, and at least a quarter of that stretch does hold it if the lows are even: a few
wide ranges do not spoil the search among narrow ones. Entries of one home are a segment. An entry is alive while its
place has the generation that the entry was made with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cacq.data.arrays import Bools, Int32s, Ints, Octets, Words
from cacq.data.types import INT64_MIN
from cacq.kernels.compiled import kernel

Generations = npt.NDArray[np.uint16]

LOW, HIGH, OTHER_LOW, OTHER_HIGH = 0, 1, 2, 3
PLACE, STAMP, EXTRA, HOME = 0, 1, 2, 3
FOUND, CANDIDATES = 0, 1
LEFT, RIGHT, ENTRIES, EXTRAS, SEGMENTS, DROPPED = 0, 1, 2, 3, 4, 5
CLASS_BITS, CLASSES = 6, 33
GENERATION_BITS, GENERATION = 16, 0xFFFF
BLOCK_BITS = 6
TWO, ROW_BITS = np.uint64(2), np.uint64(32)
NONE = -1


class Level(NamedTuple):
    """Entries in order. The range that is verified first stands beside the anchor, further ones in `extras`.

    bounds: anchor low and high, other low and high, all inclusive. marks: place; key of the other range << 16 |
    generation, where key -1 is no other range; first of the extras or -1; home. extras: key, low, high, closed by a
    key of -1. segments: home, start, stop. ceilings: the largest high of each 64 entries.
    """

    bounds: Ints
    marks: Int32s
    extras: Ints
    segments: Ints
    ceilings: Ints


class Terms(NamedTuple):
    """Ranges of several places: those of place i are `first[i]` to `first[i + 1]`, its anchor first."""

    first: Ints
    keys: Ints
    lows: Ints
    highs: Ints


@kernel
def width_class(low: int, high: int) -> int:
    """The least c with high - low < 4 ** c."""
    if low >= 0 or high < 0:
        width = np.uint64(high - low)
    else:
        width = np.uint64(high) + np.uint64(-(low + 1)) + np.uint64(1)
    found = 0
    while width > 0:
        width >>= TWO
        found += 1
    return found


@kernel
def lay_out(places: Ints, terms: Terms, generations: Generations, bounds: Ints, marks: Int32s, extras: Ints) -> int:
    """Entries of these places, unsorted; how many extras. With an empty range the entry is one that nothing matches."""
    used = 0
    for i in range(len(places)):
        start, stop = terms.first[i], terms.first[i + 1]
        low, high, check, other_low, other_high = terms.lows[start], terms.highs[start], NONE, 0, 0
        if start + 1 < stop:
            check, other_low, other_high = terms.keys[start + 1], terms.lows[start + 1], terms.highs[start + 1]
        for t in range(start, stop):
            if terms.lows[t] > terms.highs[t]:
                low, high, check, other_low, other_high = 0, 0, terms.keys[t], 1, 0
        bounds[i, LOW], bounds[i, HIGH], bounds[i, OTHER_LOW], bounds[i, OTHER_HIGH] = low, high, other_low, other_high
        marks[i, PLACE] = places[i]
        marks[i, STAMP] = (check << GENERATION_BITS) | np.int64(generations[places[i]])
        marks[i, EXTRA] = NONE
        marks[i, HOME] = (terms.keys[start] << CLASS_BITS) | width_class(low, high)
        if start + 2 < stop:
            marks[i, EXTRA] = used
            for t in range(start + 2, stop):
                extras[used, 0], extras[used, 1], extras[used, 2] = terms.keys[t], terms.lows[t], terms.highs[t]
                used += 1
            extras[used, 0], extras[used, 1], extras[used, 2] = NONE, 0, 0
            used += 1
    return used


@kernel
def _choose(left: Level, right: Level, generations: Generations, state: Ints, out: Octets) -> None:
    """Which entries come next, as many as `out` holds: 0 is one from the left, 1 from the right; 2 more if dead."""
    left_bounds, left_marks, right_bounds, right_marks = left.bounds, left.marks, right.bounds, right.marks
    i, j, chosen = state[LEFT], state[RIGHT], 0
    while chosen < len(out) and (i < len(left_marks) or j < len(right_marks)):
        if i == len(left_marks) or j == len(right_marks):
            later = i == len(left_marks)
        elif left_marks[i, HOME] != right_marks[j, HOME]:
            later = left_marks[i, HOME] > right_marks[j, HOME]
        elif left_bounds[i, LOW] != right_bounds[j, LOW]:
            later = left_bounds[i, LOW] > right_bounds[j, LOW]
        else:
            later = left_bounds[i, HIGH] > right_bounds[j, HIGH]
        if later:
            stamp, place = right_marks[j, STAMP], right_marks[j, PLACE]
            j += 1
        else:
            stamp, place = left_marks[i, STAMP], left_marks[i, PLACE]
            i += 1
        dead = np.int64(stamp) & GENERATION != np.int64(generations[place])
        out[chosen] = np.int64(later) + 2 * np.int64(dead)
        chosen += 1
    state[LEFT], state[RIGHT] = i, j


@kernel
def _copy(source: Level, i: int, side: int, chosen: Octets, out: Level, state: Ints) -> None:
    """Copy the chosen entries of one side, the first of which is i, to their places behind the entries of `out`."""
    bounds, marks, extras = source.bounds, source.marks, source.extras
    out_bounds, out_marks, out_extras = out.bounds, out.marks, out.extras
    o, e = state[ENTRIES], state[EXTRAS]
    for k in range(len(chosen)):
        if chosen[k] == side:
            for c in range(4):
                out_bounds[o, c] = bounds[i, c]
                out_marks[o, c] = marks[i, c]
            extra = marks[i, EXTRA]
            if extra >= 0:
                out_marks[o, EXTRA] = e
                going_on = True
                while going_on:
                    for c in range(3):
                        out_extras[e, c] = extras[extra, c]
                    going_on = extras[extra, 0] >= 0
                    extra += 1
                    e += 1
        i += chosen[k] & 1 == side
        o += chosen[k] < 2
    state[EXTRAS] = e


@kernel
def _describe(out: Level, start: int, stop: int, state: Ints, uses: Ints) -> None:
    """Bring segments, ceilings and uses in step with the entries `[start, stop)`, which are new."""
    bounds, marks, segments, ceilings = out.bounds, out.marks, out.segments, out.ceilings
    s = state[SEGMENTS]
    for o in range(start, stop):
        home, high = np.int64(marks[o, HOME]), bounds[o, HIGH]
        if s == 0 or segments[s - 1, 0] != home:
            segments[s, 0], segments[s, 1] = home, o
            s += 1
        segments[s - 1, 2] = o + 1
        if o & ((1 << BLOCK_BITS) - 1) == 0 or high > ceilings[o >> BLOCK_BITS]:
            ceilings[o >> BLOCK_BITS] = high
        uses[0, home >> CLASS_BITS] += 1
        check = np.int64(marks[o, STAMP]) >> GENERATION_BITS
        if check >= 0:
            uses[0, check] += 1
    state[SEGMENTS] = s


@kernel
def merge(
    left: Level, right: Level, generations: Generations, state: Ints, budget: int, out: Level, uses: Ints
) -> bool:
    """Go on merging the live entries of two levels into `out`, at most `budget` of them; whether all are merged.

    `state` is zero at first and says how far the merge has come. `uses` counts the live ranges on each key: in row 0
    those beside an anchor and the anchors, in row 1 the extras.
    """
    i, j, entries, extras = state[LEFT], state[RIGHT], state[ENTRIES], state[EXTRAS]
    chosen = np.empty(min(budget, len(left.marks) - i + len(right.marks) - j), np.uint8)
    _choose(left, right, generations, state, chosen)
    _copy(left, i, 0, chosen, out, state)
    _copy(right, j, 1, chosen, out, state)
    for k in range(len(chosen)):
        state[ENTRIES] += chosen[k] < 2
        state[DROPPED] += chosen[k] >= 2
    _describe(out, entries, state[ENTRIES], state, uses)
    for e in range(extras, state[EXTRAS]):
        if out.extras[e, 0] >= 0:
            uses[1, out.extras[e, 0]] += 1
    return bool(state[LEFT] == len(left.marks) and state[RIGHT] == len(right.marks))


@kernel
def _inside(values: Ints, nulls: Bools, key: int, row: int, low: int, high: int) -> bool:
    """Whether a value is in a range; NULL is not. `nulls` has no rows where no value is NULL."""
    return low <= values[key, row] <= high and not (len(nulls) > 0 and nulls[key, row])


@kernel
def _extras_hold(extras: Ints, extra: int, values: Ints, nulls: Bools, row: int) -> bool:
    """Whether the row is in every further range of an entry."""
    while extra >= 0 and extras[extra, 0] >= 0:
        if not _inside(values, nulls, extras[extra, 0], row, extras[extra, 1], extras[extra, 2]):
            return False
        extra += 1
    return True


@kernel
def _first(bounds: Ints, start: int, stop: int, low: int) -> int:
    """The first entry of a segment whose low is at least this."""
    while start < stop:
        middle = (start + stop) >> 1
        if bounds[middle, LOW] < low:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def stab(
    level: Level, generations: Generations, values: Ints, nulls: Bools, first_row: int, out: Words, counts: Ints
) -> None:
    """Queries as index: for each row search the anchors that hold its value, and verify the rest.

    values[key, i] is row `first_row + i`. Matches go to `out[counts[FOUND]:]` as place << 32 | row and are counted
    there; beyond the end of `out` they are only counted. counts[CANDIDATES] counts the anchors that held their value.
    """
    # Arrays of their own, as fields of a tuple cost two atomic counts at each use.
    bounds, marks, extras, segments, ceilings = level
    found, candidates = counts[FOUND], counts[CANDIDATES]
    for s in range(len(segments)):
        start, stop = segments[s, 1], segments[s, 2]
        key, width = segments[s, 0] >> CLASS_BITS, segments[s, 0] & ((1 << CLASS_BITS) - 1)
        reach = (np.int64(1) << (2 * min(width, CLASSES - 2))) - 1
        for row in range(values.shape[1]):
            if len(nulls) > 0 and nulls[key, row]:
                continue
            value = values[key, row]
            least = INT64_MIN
            if width < CLASSES - 1 and value >= least + reach:
                least = value - reach
            entry = _first(bounds, start, stop, least)
            while entry < stop and bounds[entry, LOW] <= value:
                if ceilings[entry >> BLOCK_BITS] < value:
                    entry = ((entry >> BLOCK_BITS) + 1) << BLOCK_BITS
                    continue
                if bounds[entry, HIGH] >= value:
                    candidates += 1
                    stamp, place = int(marks[entry, STAMP]), marks[entry, PLACE]
                    check, low, high = stamp >> GENERATION_BITS, bounds[entry, OTHER_LOW], bounds[entry, OTHER_HIGH]
                    # One branch for all three: one on a single side of the range is mispredicted half of the time.
                    other = values[max(check, 0), row]
                    if (
                        ((check < 0) | ((low <= other) & (other <= high)))
                        and not (check >= 0 and len(nulls) > 0 and nulls[check, row])
                        and stamp & GENERATION == np.int64(generations[place])
                        and _extras_hold(extras, int(marks[entry, EXTRA]), values, nulls, row)
                    ):
                        if found < len(out):
                            out[found] = np.uint64(place) << ROW_BITS | np.uint64(first_row + row)
                        found += 1
                entry += 1
    counts[FOUND], counts[CANDIDATES] = found, candidates
