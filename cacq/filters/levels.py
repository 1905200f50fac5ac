"""Where anchored queries are kept: a large level that is not changed, and a small one that new queries are merged into.

When the small level is full it is frozen and merged into the large one a slice at a time; the work is spread over the
additions that follow, so that it ends before the small level is full again. Removal changes only the generation of a
place: its entry is dead from then on, and gone with the next merge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cacq.data.arrays import Ints
from cacq.kernels import anchors
from cacq.kernels.anchors import Generations, Level, Terms

DELTA = 4096
SLICE = 25_000
"""Entries merged at a time between batches: about 1 ms."""


def empty_level(entries: int = 0, extras: int = 0, segments: int = 0) -> Level:
    """A level with room for so many."""
    blocks = -(-entries >> anchors.BLOCK_BITS) if entries else 0
    return Level(
        np.empty((entries, 4), np.int64),
        np.empty((entries, 4), np.int32),
        np.empty((extras, 3), np.int64),
        np.empty((segments, 3), np.int64),
        np.empty(blocks, np.int64),
    )


def nbytes_of(level: Level) -> int:
    """Bytes of its arrays."""
    return sum(array.nbytes for array in level)


class Merge:
    """Two levels on their way to become one. Both stay as they are until `step` says that it is done."""

    def __init__(self, left: Level, right: Level, keys: int) -> None:
        self.left, self.right = left, right
        self.uses: Ints = np.zeros((2, keys), np.int64)
        self._state: Ints = np.zeros(6, np.int64)
        sizes = [len(left[i]) + len(right[i]) for i in (1, 2, 3)]
        self._out = empty_level(*sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of the level that is being made."""
        return nbytes_of(self._out)

    def step(self, generations: Generations, budget: int) -> bool:
        """Merge at most so many entries; whether it is done."""
        return anchors.merge(self.left, self.right, generations, self._state, budget, self._out, self.uses)

    @property
    def dropped(self) -> int:
        """Dead entries that were left out."""
        return int(self._state[anchors.DROPPED])

    @property
    def result(self) -> Level:
        """The merged level; its arrays are copied where much of them is unused."""
        _, _, entries, extras, segments, _ = (int(x) for x in self._state)
        blocks = -(-entries >> anchors.BLOCK_BITS) if entries else 0
        bounds, marks, further, homes, ceilings = self._out
        return Level(
            _cut(bounds, entries),
            _cut(marks, entries),
            _cut(further, extras),
            _cut(homes, segments),
            _cut(ceilings, blocks),
        )


def _cut(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    return array[:size] if 8 * size >= 7 * len(array) else array[:size].copy()


def level_of(places: Ints, terms: Terms, generations: Generations, keys: int) -> Level:
    """A level of these places alone."""
    loose = empty_level(len(places), 2 * len(terms.keys))
    anchors.lay_out(places, terms, generations, loose.bounds, loose.marks, loose.extras)
    bounds, marks = loose.bounds, loose.marks
    if len(places) > 1:
        order = np.lexsort((bounds[:, anchors.HIGH], bounds[:, anchors.LOW], marks[:, anchors.HOME]))
        bounds, marks = bounds[order], marks[order]
    segments = np.empty((len(places), 3), np.int64)
    sorting = Merge(Level(bounds, marks, loose.extras, segments, loose.ceilings), empty_level(), keys)
    sorting.step(generations, len(places))
    return sorting.result


class Levels:
    """The levels of one filter. `generations` belongs to the caller, who changes it to remove."""

    def __init__(self, delta: int = DELTA, slice: int = SLICE) -> None:
        self._capacity, self._slice = delta, slice
        self._main, self._frozen, self._delta = empty_level(), empty_level(), empty_level()
        self._uses: dict[str, Ints] = {name: np.zeros((2, 0), np.int64) for name in ("main", "frozen", "delta")}
        self._merge: Merge | None = None
        self.dead = 0
        self._keys = 0
        self.all: tuple[Level, ...] = ()
        self.compared: list[int] = []
        self.looked_at: list[int] = []

    def __len__(self) -> int:
        return len(self._main.marks) + len(self._frozen.marks) + len(self._delta.marks)

    @property
    def nbytes(self) -> int:
        """Bytes of all levels and of the one that is being made."""
        levels = (self._main, self._frozen, self._delta)
        return sum(map(nbytes_of, levels)) + (0 if self._merge is None else self._merge.nbytes)

    def add(self, places: Ints, terms: Terms, generations: Generations, keys: int) -> None:
        """Add entries. O(delta) for a few; more than fit into the small level are merged into the large one at once."""
        self._keys = keys
        fresh = level_of(places, terms, generations, keys)
        if len(fresh.marks) > self._capacity:
            self._delta = self._merged(self._delta, fresh, generations, "delta")
            self.settle(generations)
            return
        if len(fresh.marks) + len(self._delta.marks) > self._capacity:
            self._finish(generations)
            self._freeze()
        self._delta = self._merged(self._delta, fresh, generations, "delta")
        if self._merge is not None:
            share = 2 * (len(self._main.marks) + len(self._frozen.marks)) // self._capacity + 2
            self._step(generations, share * len(fresh.marks))
        self._publish()

    def fold_a_little(self, generations: Generations) -> bool:
        """One slice of the merge that is under way, or that is due; whether there was one."""
        if self._merge is None:
            due = 2 * len(self._delta.marks) >= self._capacity or 4 * self.dead > max(len(self), self._capacity)
            if not due:
                return False
            self._freeze()
        self._step(generations, self._slice)
        self._publish()
        return True

    def settle(self, generations: Generations) -> None:
        """Merge everything into one level without dead entries."""
        self._finish(generations)
        self._freeze()
        self._finish(generations)
        self._publish()

    def _freeze(self) -> None:
        self._frozen, self._delta = self._delta, empty_level()
        self._uses["frozen"], self._uses["delta"] = self._uses["delta"], np.zeros((2, 0), np.int64)
        self._merge = Merge(self._main, self._frozen, self._keys)

    def _finish(self, generations: Generations) -> None:
        if self._merge is not None:
            self._step(generations, len(self))

    def _step(self, generations: Generations, budget: int) -> None:
        merge = self._merge
        assert merge is not None
        if merge.step(generations, budget):
            self._main, self._frozen, self._merge = merge.result, empty_level(), None
            self._uses["main"], self._uses["frozen"] = merge.uses, np.zeros((2, 0), np.int64)
            self.dead -= merge.dropped

    def _merged(self, left: Level, right: Level, generations: Generations, name: str) -> Level:
        merge = Merge(left, right, self._keys)
        merge.step(generations, len(left.marks) + len(right.marks))
        self._uses[name] = merge.uses
        self.dead -= merge.dropped
        return merge.result

    def _publish(self) -> None:
        """What kernels run over: the levels that hold something, and the keys of their ranges."""
        self.all = tuple(level for level in (self._main, self._frozen, self._delta) if len(level.marks))
        uses = np.zeros((2, self._keys), np.int64)
        for counts in self._uses.values():
            uses[:, : counts.shape[1]] += counts
        self.compared = [int(key) for key in np.flatnonzero(uses[0])]
        self.looked_at = [int(key) for key in np.flatnonzero(uses[0] + uses[1])]

    def _check(self, generations: Generations) -> None:
        """Each level is in order, its segments, ceilings and uses say what its entries say; the dead are counted."""
        assert len(self._delta.marks) <= self._capacity
        dead = 0
        for name, level in (("main", self._main), ("frozen", self._frozen), ("delta", self._delta)):
            homes, stamps = level.marks[:, anchors.HOME].astype(np.int64), level.marks[:, anchors.STAMP]
            order = list(zip(homes.tolist(), level.bounds[:, 0].tolist(), level.bounds[:, 1].tolist(), strict=True))
            assert order == sorted(order)
            assert [h & 63 for h in homes.tolist()] == [(hi - lo).bit_length() + 1 >> 1 for _, lo, hi in order]
            covered = np.concatenate([np.full(b - a, h) for h, a, b in level.segments.tolist()] or [homes])
            assert covered.tolist() == homes.tolist() and len(set(level.segments[:, 0].tolist())) == len(level.segments)
            for block, ceiling in enumerate(level.ceilings.tolist()):
                assert ceiling == max(high for _, _, high in order[block * 64 : block * 64 + 64])
            uses = np.zeros_like(self._uses[name])
            np.add.at(uses[0], homes >> anchors.CLASS_BITS, 1)
            checks = stamps >> anchors.GENERATION_BITS
            np.add.at(uses[0], checks[checks >= 0], 1)
            np.add.at(uses[1], level.extras[level.extras[:, 0] >= 0, 0], 1)
            assert uses.tolist() == self._uses[name].tolist(), name
            dead += int(((stamps & anchors.GENERATION) != generations[level.marks[:, anchors.PLACE]]).sum())
        assert dead == self.dead, (dead, self.dead)
