"""Which bit of the lineage belongs to which query.

Live words come in classes by how many clause words stand behind them: 0, 1, 2, 4, 8 or 16. A query takes a slot in
a word of the smallest class that has room for its clauses, so that queries without disjunctions over several
operators carry no clause words.
"""

from __future__ import annotations

from heapq import heappop, heappush

from cacq.data.lineage import WORD, Layout

CLASSES = (0, 1, 2, 4, 8, 16)
SPARE_WORDS = 4
"""Empty words that are not worth a new layout, for which every operator's table is built anew."""


class Slots:
    """Hands out slots and takes them back; a slot that came back is handed out again, lowest first."""

    def __init__(self) -> None:
        self._free: dict[int, list[int]] = {depth: [] for depth in CLASSES}
        self._depth: list[int] = []
        self._tenants: list[int] = []
        self._layout = Layout((), ())

    def __len__(self) -> int:
        return len(self._depth) * WORD

    def take(self, clauses: int) -> int:
        """A free slot with room for that many clauses."""
        depth = next(depth for depth in CLASSES if depth >= clauses)
        free = self._free[depth]
        if not free:
            word = len(self._depth)
            self._depth.append(depth)
            self._tenants.append(0)
            self._free[depth] = free = list(range(word * WORD, (word + 1) * WORD))
        slot = heappop(free)
        self._tenants[slot // WORD] += 1
        return slot

    def give_back(self, slot: int) -> None:
        """The slot's query has left every operator."""
        heappush(self._free[self._depth[slot // WORD]], slot)
        self._tenants[slot // WORD] -= 1

    def layout(self) -> Layout:
        """A lineage with a word for every slot that is taken, and not much more: it stays the same object until a
        word is missing or most of its words are empty."""
        occupied = [word for word, tenants in enumerate(self._tenants) if tenants]
        fits = all(word * WORD in self._layout for word in occupied)
        if not fits or self._layout.live_words > 2 * len(occupied) + SPARE_WORDS:
            self._layout = Layout(occupied, [self._depth[word] for word in occupied])
        return self._layout

    def _check(self) -> None:
        """No slot is free twice, every slot that is taken has its words (used by tests)."""
        free = [slot for slots in self._free.values() for slot in slots]
        assert len(free) == len(set(free))
        assert len(free) + sum(self._tenants) == len(self)
        layout = self.layout()
        assert layout.live_words <= 2 * sum(map(bool, self._tenants)) + SPARE_WORDS
        for word, tenants in enumerate(self._tenants):
            first = word * WORD
            if tenants:
                assert layout.words[layout.word(first)] == word
            for clause in range(self._depth[word] if tenants else 0):
                assert layout.guards[layout.clause_word(first, clause) - layout.live_words] == layout.word(first)
