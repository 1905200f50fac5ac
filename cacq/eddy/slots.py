"""Which bit of the lineage belongs to which query.

Live words come in classes by how many clause words stand behind them: 0, 1, 2, 4, 8 or 16. A query takes a slot in
a word of the smallest class that has room for its clauses, so that queries without disjunctions over several
operators carry no clause words.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from cacq.data.lineage import WORD, Layout

CLASSES = (0, 1, 2, 4, 8, 16)


class Slots:
    """Hands out slots and takes them back; a slot that came back is handed out again, lowest first."""

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {depth: [] for depth in CLASSES}
        self._depth: list[int] = []
        self._first_clause: list[int] = []
        self._guards: list[int] = []
        self._layout: Layout | None = None

    def __len__(self) -> int:
        return len(self._depth) * WORD

    def take(self, clauses: int) -> int:
        """A free slot with room for that many clauses."""
        depth = next(depth for depth in CLASSES if depth >= clauses)
        free = self._free[depth]
        if not free:
            word = len(self._depth)
            self._depth.append(depth)
            self._first_clause.append(len(self._guards))
            self._guards += [word] * depth
            self._free[depth] = free = list(range(word * WORD, (word + 1) * WORD))
            self._layout = None
        return heappop(free)

    def give_back(self, slot: int) -> None:
        """The slot's query has left every operator."""
        heappush(self._free[self._depth[slot // WORD]], slot)

    def clause(self, slot: int, index: int) -> int:
        """The clause word of the index-th clause of the query in the slot."""
        assert index < self._depth[slot // WORD]
        return self._first_clause[slot // WORD] + index

    def layout(self) -> Layout:
        """The lineage that covers all slots handed out so far."""
        if self._layout is None:
            self._layout = Layout(len(self._depth), np.array(self._guards, np.int64))
        return self._layout

    def _check(self) -> None:
        """No slot is free twice, and every clause word has its guard (used by tests)."""
        free = [slot for slots in self._free.values() for slot in slots]
        assert len(free) == len(set(free))
        assert len(self._guards) == sum(self._depth)
        for word, depth in enumerate(self._depth):
            first = self._first_clause[word]
            assert self._guards[first : first + depth] == [word] * depth
