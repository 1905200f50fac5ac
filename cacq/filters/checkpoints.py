"""Which queries accept which keys, for one grouped filter: rows of bits at checkpoints and single flips in between.

Observations the design rests on. A set of keys is a row of cuts at which membership flips, so all sets together are a
sorted sequence of flips, and the bits at a key are the bits at any earlier point XOR the flips since. With few cuts
every cut gets a row (a checkpoint) and a key costs one search. With many, rows are kept for a budget of bytes and the
flips in between are applied one by one, at most SLAB of them. Both are one structure that is changed in place: a flip
toggles its bit in all rows behind it, a full slab is split by one more row, a row that says no more than what is before
it is given back. So adding and taking out cost the same, a few strided writes, and nothing is ever rebuilt in the
middle of a flow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cacq.data.arrays import Bools, Int32s, Ints, Words
from cacq.data.types import INT64_MIN
from cacq.filters.bit_rows import BitRows
from cacq.kernels import checkpoints

BUDGET = 16 << 20
"""Bytes of rows for one filter, beyond which cuts share a row as long as their flips fit into a slab."""
SLAB = 128
DIRECTORY = 2048


class Checkpoints:
    """A sorted sequence of flips with the rows that sum them up."""

    def __init__(self, bits: BitRows, budget: int = BUDGET, slab: int = SLAB) -> None:
        self._bits = bits
        self._budget = budget
        self._slab = slab
        self.rows: Int32s = bits.take(1)
        self.bounds: Ints = np.empty(0, np.int64)
        self._slabs: Int32s = np.full(1, -1, np.int32)
        self._cuts: Ints = np.empty((0, slab), np.int64)
        self._codes: Int32s = np.full((0, slab), -1, np.int32)
        self._free_slabs: list[int] = []
        self._used_slabs = 0
        self._directory: Int32s = np.zeros(2, np.int32)
        self._shift = 0
        self._stale = True

    @property
    def flat(self) -> bool:
        """Whether every cut has a row of its own, so that `locate` says all."""
        return not self._used_slabs

    @property
    def nbytes(self) -> int:
        """Bytes held besides the rows of bits."""
        held = (self.rows, self.bounds, self._slabs, self._cuts, self._codes, self._directory)
        return sum(array.nbytes for array in held)

    def locate(self, keys: Ints, valid: Bools, null_row: int, out: Int32s) -> None:
        """The row of the matrix for each key, if `flat`."""
        self._direct()
        checkpoints.locate(keys, valid, self.bounds, self._shift, self._directory, self.rows, null_row, out)

    def narrow(self, lineage: Words, keys: Ints, blocks: Ints) -> None:
        """AND the bits at each key into the lineage, `blocks` being `blocks_of` them or ~row for a row of its own."""
        matrix = self._bits.matrix
        checkpoints.narrow_between(lineage, keys, blocks, self.rows, self._slabs, self._cuts, self._codes, matrix)

    def blocks_of(self, keys: Ints) -> Ints:
        """The block of each key."""
        return np.searchsorted(self.bounds, keys, "right")

    def flip(self, cut: int | None, code: int) -> None:
        """Change a bit for all keys from a cut on; None is below every key."""
        if cut is None or cut == INT64_MIN:
            checkpoints.toggle(self._bits.matrix, self.rows, 0, code)
            return
        block = int(np.searchsorted(self.bounds, cut, "right"))
        if not block or self.bounds[block - 1] != cut:
            block = self._enter(block, cut, code)
        checkpoints.toggle(self._bits.matrix, self.rows, block, code)

    def unflip(self, cut: int | None, code: int) -> None:
        """Take back a flip that was made before."""
        if cut is None or cut == INT64_MIN:
            checkpoints.toggle(self._bits.matrix, self.rows, 0, code)
            return
        block = int(np.searchsorted(self.bounds, cut, "right"))
        if block and self.bounds[block - 1] == cut:
            checkpoints.toggle(self._bits.matrix, self.rows, block, code)
            self._merge(block)
            return
        slab = int(self._slabs[block])
        found = slab >= 0 and checkpoints.remove_flip(self._cuts[slab], self._codes[slab], cut, code)
        assert found, "a flip is taken back once"
        if self._codes[slab, 0] < 0:
            self._drop_slab(block)
        checkpoints.toggle(self._bits.matrix, self.rows, block + 1, code)
        for neighbour in (block + 1, block):
            if 0 < neighbour < len(self.rows):
                self._merge(neighbour)

    def shift(self, cut: int) -> None:
        """Renumber: every cut from this one on becomes one greater (a new string came in below them)."""
        self.bounds[np.searchsorted(self.bounds, cut) :] += 1
        self._cuts[self._cuts >= cut] += 1
        self._stale = True

    def rebuild(self, first: Words, cuts: Ints, codes: Int32s) -> None:
        """Begin anew: `first` are the bits below every cut, then come these flips, in any order."""
        order = np.argsort(cuts, kind="stable")
        cuts, codes = cuts[order], codes[order]
        distinct, starts, counts = np.unique(cuts, return_index=True, return_counts=True)
        step = min(self._slab // 2, max(1, -(-len(cuts) // self._most_rows())))
        group = starts // step
        chosen = (np.diff(group, prepend=-1) > 0) | (counts > self._slab // 4)
        self.bounds = distinct[chosen]
        self._bits.give_back(self.rows)
        self.rows = self._bits.take(len(self.bounds) + 1)
        matrix, width = self._bits.matrix, self._bits.width
        matrix[self.rows[1:], :width] = 0
        matrix[self.rows[0], :width] = first
        checkpoints.scatter(matrix, self.rows, *_landing(self.bounds, cuts, codes))
        checkpoints.sweep(matrix, self.rows, width)
        self._fill_slabs(cuts, codes)
        self._stale = True

    def give_back(self) -> None:
        """The filter is gone."""
        self._bits.give_back(self.rows)

    def _most_rows(self) -> int:
        return max(64, self._budget // (8 * max(1, self._bits.width)))

    def _enter(self, block: int, cut: int, code: int) -> int:
        """Make the cut known inside a block; the first block that begins at or behind it."""
        if self._slabs[block] < 0:
            if len(self.rows) < self._most_rows():
                self._split(block, cut, self._bits.matrix[self.rows[block]].copy())
                return block + 1
            self._slabs[block] = self._take_slab()
        slab = int(self._slabs[block])
        if checkpoints.insert_flip(self._cuts[slab], self._codes[slab], cut, code):
            return block + 1
        self._halve(block)
        block = int(np.searchsorted(self.bounds, cut, "right"))
        return block if self.bounds[block - 1] == cut else self._enter(block, cut, code)

    def _split(self, block: int, cut: int, bits: Words) -> None:
        """A new block that begins at a cut inside of a block, with these bits."""
        row = self._bits.take(1)
        self._bits.matrix[row[0]] = bits
        self.bounds = _inserted(self.bounds, block, cut)
        self.rows = _inserted(self.rows, block + 1, int(row[0]))
        self._slabs = _inserted(self._slabs, block + 1, -1)
        self._stale = True

    def _halve(self, block: int) -> None:
        """Split a block in the middle of its slab: flips at the new checkpoint are summed up in it."""
        slab = int(self._slabs[block])
        cuts, codes = self._cuts[slab].copy(), self._codes[slab].copy()
        cut = int(cuts[len(cuts) // 2])
        below, behind = int(np.searchsorted(cuts, cut)), int(np.searchsorted(cuts, cut, "right"))
        bits = self._bits.matrix[self.rows[block]].copy()
        _apply(codes[:behind], bits)
        self._split(block, cut, bits)
        self._codes[slab, below:] = -1
        if not below:
            self._drop_slab(block)
        if behind < len(cuts):
            upper = self._slabs[block + 1] = self._take_slab()
            self._cuts[upper, : len(cuts) - behind] = cuts[behind:]
            self._codes[upper, : len(cuts) - behind] = codes[behind:]

    def _merge(self, block: int) -> None:
        """Give a block's row back if no flip stands where the block begins and its flips fit into the slab before it; a
        slab that was split is not joined again before half of it is gone."""
        lower, upper = int(self._slabs[block - 1]), int(self._slabs[block])
        below, behind = self._held(lower), self._held(upper)
        if below and behind and below + behind > self._slab // 2:
            return
        bits = self._bits.matrix[self.rows[block - 1]].copy()
        if below:
            _apply(self._codes[lower, :below], bits)
        if not np.array_equal(bits, self._bits.matrix[self.rows[block]]):
            return
        if below and behind:
            self._cuts[lower, below : below + behind] = self._cuts[upper, :behind]
            self._codes[lower, below : below + behind] = self._codes[upper, :behind]
            self._codes[upper] = -1
            self._drop_slab(block)
        self._slabs[block - 1] = lower if below else upper
        self._bits.give_back(self.rows[block : block + 1])
        self.bounds = _without(self.bounds, block - 1)
        self.rows = _without(self.rows, block)
        self._slabs = _without(self._slabs, block)
        self._stale = True

    def _held(self, slab: int) -> int:
        """How many flips a slab has; -1 is none."""
        return int(np.count_nonzero(self._codes[slab] >= 0)) if slab >= 0 else 0

    def _take_slab(self) -> int:
        self._used_slabs += 1
        if not self._free_slabs:
            room = len(self._cuts)
            more = max(4, room // 2)
            self._cuts = np.concatenate([self._cuts, np.zeros((more, self._slab), np.int64)])
            self._codes = np.concatenate([self._codes, np.full((more, self._slab), -1, np.int32)])
            self._free_slabs = list(range(room, room + more))
        return self._free_slabs.pop()

    def _drop_slab(self, block: int) -> None:
        self._free_slabs.append(int(self._slabs[block]))
        self._used_slabs -= 1
        self._slabs[block] = -1

    def _fill_slabs(self, cuts: Ints, codes: Int32s) -> None:
        """Put the flips that lie between bounds into slabs."""
        blocks = np.searchsorted(self.bounds, cuts, "right")
        inside = (blocks == 0) | (self.bounds[np.maximum(blocks, 1) - 1] != cuts) if len(self.bounds) else blocks == 0
        blocks, cuts, codes = blocks[inside], cuts[inside], codes[inside]
        owners, starts, slab_of = np.unique(blocks, return_index=True, return_inverse=True)
        self._slabs = np.full(len(self.rows), -1, np.int32)
        self._slabs[owners] = np.arange(len(owners))
        self._cuts = np.zeros((len(owners), self._slab), np.int64)
        self._codes = np.full((len(owners), self._slab), -1, np.int32)
        place = np.arange(len(blocks)) - starts[slab_of] if len(blocks) else starts
        self._cuts[slab_of, place] = cuts
        self._codes[slab_of, place] = codes
        self._free_slabs, self._used_slabs = [], len(owners)

    def _direct(self) -> None:
        """Bring the directory of buckets in step with the bounds."""
        if not self._stale:
            return
        span = int(self.bounds[-1]) - int(self.bounds[0]) if len(self.bounds) else 0
        self._shift = max(0, span.bit_length() - DIRECTORY.bit_length() + 1)
        self._directory = np.zeros((span >> self._shift) + 2, np.int32)
        checkpoints.build_directory(self.bounds, self._shift, self._directory)
        self._stale = False

    def bits_at(self, key: int) -> Words:
        """The bits that hold at a key (for tests and EXPLAIN)."""
        lineage = np.full((1, self._bits.width), ~np.uint64(0), np.uint64)
        keys = np.array([key], np.int64)
        self.narrow(lineage, keys, self.blocks_of(keys))
        bits: Words = lineage[0]
        return bits

    def _check(self) -> None:
        """Bounds ascend, slabs are sorted and hold only what lies inside of their block (used by tests)."""
        assert len(self.rows) == len(self.bounds) + 1 == len(self._slabs)
        assert (np.diff(self.bounds) > 0).all()
        assert len(set(self.rows.tolist())) == len(self.rows)
        used = self._slabs[self._slabs >= 0].tolist()
        assert len(used) == self._used_slabs == len(set(used))
        assert not set(used) & set(self._free_slabs)
        for block, slab in enumerate(self._slabs.tolist()):
            if slab < 0:
                continue
            count = int((self._codes[slab] >= 0).sum())
            cuts = self._cuts[slab, :count]
            assert count and (np.diff(cuts) >= 0).all()
            assert (self._codes[slab, :count] >= 0).all()
            assert not block or (cuts > self.bounds[block - 1]).all()
            assert block == len(self.bounds) or (cuts < self.bounds[block]).all()


def _landing(bounds: Ints, cuts: Ints, codes: Int32s) -> tuple[Ints, Int32s]:
    """For each flip the first block whose row must have it; flips behind the last bound have none."""
    blocks = np.searchsorted(bounds, cuts, "left") + 1
    kept = blocks <= len(bounds)
    return blocks[kept], codes[kept]


def _apply(codes: Int32s, bits: Words) -> None:
    """Make these flips in one row of bits."""
    checkpoints.scatter(bits.reshape(1, -1), np.zeros(1, np.int32), np.zeros(len(codes), np.int64), codes)


def _inserted(array: Any, at: int, value: int) -> Any:
    """The array with one more entry; a twentieth of what np.insert takes for a thousand entries."""
    longer = np.empty(len(array) + 1, array.dtype)
    longer[:at], longer[at], longer[at + 1 :] = array[:at], value, array[at:]
    return longer


def _without(array: Any, at: int) -> Any:
    """The array without one entry."""
    return np.concatenate([array[:at], array[at + 1 :]])
