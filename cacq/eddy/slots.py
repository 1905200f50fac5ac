"""Which bit of the lineage belongs to which query.

Words of 64 slots come in classes by how many clause columns stand behind them: 0, 1, 2, 4, 8 or 16. A query takes a
slot in a word of the smallest class that has room for its clauses, so that queries without disjunctions over several
operators carry no clause columns.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from cacq.data.lineage import WORD, Layout

CLASSES = (0, 1, 2, 4, 8, 16)
SPARE = 8 * WORD
"""Slots that are not worth moving queries for: more than a word of each class."""


class Slots:
    """Hands out slots and takes them back; a slot that came back is handed out again, lowest first."""

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {depth: [] for depth in CLASSES}
        self._depth: list[int] = []
        self._tenants: list[int] = []
        self._taken = 0
        self._layout: Layout | None = None

    def __len__(self) -> int:
        return len(self._depth) * WORD

    @property
    def taken(self) -> int:
        """How many slots have a query."""
        return self._taken

    def take(self, clauses: int) -> int:
        """A free slot with room for that many clauses."""
        depth = next(depth for depth in CLASSES if depth >= clauses)
        if not self._free[depth]:
            self._add_word(depth)
        slot = heappop(self._free[depth])
        self._tenants[slot // WORD] += 1
        self._taken += 1
        return slot

    def give_back(self, slot: int) -> None:
        """The slot's query has left every operator."""
        heappush(self._free[self._depth[slot // WORD]], slot)
        self._tenants[slot // WORD] -= 1
        self._taken -= 1

    def layout(self) -> Layout:
        """A lineage with a word for every slot that is taken: it stays the same object until words come or go."""
        if self._tenants and not self._tenants[-1]:
            self._drop_words()
        if self._layout is None:
            self._layout = Layout(self._depth)
        return self._layout

    def misplaced(self) -> list[int]:
        """Slots that could be given up for earlier ones, where most are free: those of the last word if they all would
        find room in others of their class; all of them where they are no more than fill a word."""
        if len(self) <= SPARE or 2 * self._taken > len(self):
            return []
        if self._taken <= WORD:
            return sorted(set(range(len(self))).difference(*self._free.values()))
        word = len(self._depth) - 1
        first, free = word * WORD, self._free[self._depth[word]]
        if sum(slot < first for slot in free) < self._tenants[word]:
            return []
        taken = set(range(first, len(self))).difference(free)
        return sorted(taken)

    def _add_word(self, depth: int) -> None:
        first = len(self)
        self._depth.append(depth)
        self._tenants.append(0)
        self._free[depth] = list(range(first, first + WORD))
        self._layout = None

    def _drop_words(self) -> None:
        """Forget the empty words at the end."""
        while self._tenants and not self._tenants[-1]:
            self._tenants.pop()
            self._depth.pop()
        for free in self._free.values():
            free[:] = [slot for slot in free if slot < len(self)]
            heapify(free)
        self._layout = None

    def _check(self) -> None:
        """No slot is free twice, every slot that is taken has its columns (used by tests)."""
        free = [slot for slots in self._free.values() for slot in slots]
        assert len(free) == len(set(free))
        assert len(free) + self._taken == len(self)
        assert sum(self._tenants) == self._taken
        layout = self.layout()
        assert layout.live_words == len(self._depth)
        for word, depth in enumerate(self._depth):
            first = word * WORD
            columns = [layout.column(first, clause) for clause in range(depth)]
            places = [layout.clauses.tolist().index(column) for column in columns]
            assert [int(layout.guards[place]) for place in places] == [layout.column(first)] * depth
