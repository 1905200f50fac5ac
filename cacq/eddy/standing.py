"""The standing predicates of one source: queries with the same predicate share a slot (SEMANTICS 19)."""

from __future__ import annotations

from cacq.eddy.tables import Tables
from cacq.query.normalize import Conjunction

Signature = frozenset[frozenset[frozenset[object]]]


class Standing:
    """One installed predicate and the names of the queries that hold it. `slots` are its disjuncts', the first one
    the query's. There are none where no row can satisfy it."""

    def __init__(self, signature: Signature, slots: tuple[int, ...]) -> None:
        self.signature = signature
        self.slots = slots
        self.holders: dict[str, None] = {}


class StandingPredicates:
    """Installs each distinct predicate once."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._held: dict[Signature, Standing] = {}
        self._by_slot: dict[int, Standing] = {}

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, disjuncts: tuple[Conjunction, ...], holder: str) -> Standing:
        """The predicate, installed if it is new, with one more holder."""
        signature = frozenset(frozenset(frozenset(clause) for clause in conjunction) for conjunction in disjuncts)
        standing = self._held.get(signature)
        if standing is None:
            slots: list[int] = []
            for conjunction in disjuncts:
                slots.append(self._tables.install(conjunction, slots[0] if slots else None))
            standing = self._held[signature] = Standing(signature, tuple(slots))
            if slots:
                self._by_slot[slots[0]] = standing
        standing.holders[holder] = None
        return standing

    def let_go(self, standing: Standing, holder: str) -> None:
        """One holder less; with the last one the predicate is uninstalled."""
        del standing.holders[holder]
        if not standing.holders:
            del self._held[standing.signature]
            for slot in standing.slots:
                self._tables.uninstall(slot)
            if standing.slots:
                del self._by_slot[standing.slots[0]]

    def in_slot(self, slot: int) -> Standing:
        """The predicate whose results stand in a slot."""
        return self._by_slot[slot]
