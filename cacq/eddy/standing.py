"""The standing predicates of one source: queries with the same predicate share one, installed once (SEMANTICS 19).

A predicate that is a conjunction of plain ranges, the common case, is its keys and the bytes of its bounds; any other
is its normal form. Each is installed dense, in slots of the tables, or sparse, in a place of the anchored filter, as
`Forms` decides; the decision is looked at again as the data changes, a few predicates at a time, and a predicate then
moves: it is uninstalled and installed at a batch boundary, and its queries carry on with the results of its new place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from cacq.data.arrays import Ints
from cacq.data.record import Record
from cacq.eddy.forms import MANY, Anchorable, Forms, anchorable, range_of
from cacq.eddy.packing import pack, unpack
from cacq.eddy.sample import Sample
from cacq.eddy.tables import Keys, Ranges, Tables
from cacq.filters.keys import KeyColumns
from cacq.query import ast, value_sets
from cacq.query.normalize import Conjunction, Indexed
from cacq.query.render import render

NOWHERE: tuple[int, ...] = ()
OFTEN, SELDOM = 1 << 14, 1 << 20
"""Tuples from one review of forms to the next."""
REVIEWED, MOVED = 1024, 64
"""Predicates looked at in one review, and moved at most: some milliseconds."""

Disjuncts = tuple[Conjunction, ...]
Signature = bytes | frozenset[Any]


class Holder(Protocol):
    """A query that holds a predicate."""

    def _pack(self) -> None:
        """The predicate is about to leave its slots."""

    def _move(self, lsn: int) -> None:
        """From the record with this LSN on, results stand in the predicate's new slots."""


class Standing:
    """One installed predicate. `slots` are its disjuncts', the first one the query's; a slot below 0 is a place,
    ~place, in the anchored filter. There are none where no row can satisfy it."""

    __slots__ = ("_holders", "_slots", "keys", "signature")

    def __init__(self, keys: Keys | None, signature: Signature | Disjuncts) -> None:
        self.keys = keys
        self.signature = signature
        self._slots: int | tuple[int, ...] = NOWHERE
        self._holders: Holder | dict[int, Holder] | None = None

    @property
    def slots(self) -> tuple[int, ...]:
        """Where it is installed."""
        return (self._slots,) if isinstance(self._slots, int) else self._slots

    @slots.setter
    def slots(self, slots: tuple[int, ...]) -> None:
        """One slot is kept without a tuple around it."""
        self._slots = slots[0] if len(slots) == 1 else slots

    @property
    def holders(self) -> list[Holder]:
        """The queries that hold it, in the order in which they came."""
        if self._holders is None:
            return []
        return list(self._holders.values()) if isinstance(self._holders, dict) else [self._holders]

    @property
    def held(self) -> bool:
        """Whether a query holds it."""
        return bool(self._holders)

    @property
    def sparse(self) -> bool:
        """Whether it is installed in the anchored filter."""
        return bool(self.slots) and self.slots[0] < 0

    def join(self, holder: Holder) -> None:
        """One holder more."""
        if self._holders is None:
            self._holders = holder
            return
        if not isinstance(self._holders, dict):
            self._holders = {id(self._holders): self._holders}
        self._holders[id(holder)] = holder

    def leave(self, holder: Holder) -> bool:
        """One holder less; whether it was the last."""
        if isinstance(self._holders, dict):
            del self._holders[id(holder)]
        else:
            self._holders = None
        return not self._holders

    def disjuncts(self) -> Disjuncts:
        """The predicate in its normal form."""
        if self.keys is None:
            return self.signature  # type: ignore[return-value]
        lows, highs = _bounds([self])
        ends = zip(self.keys, lows[0].tolist(), highs[0].tolist(), strict=True)
        return (tuple((Indexed(key, value_sets.of_range(low, high)),) for key, low, high in ends),)


class StandingPredicates:
    """Installs each distinct predicate once."""

    def __init__(self, tables: Tables, lineage: str) -> None:
        self._tables = tables
        self._sample = Sample(tables.keys)
        self._forms = Forms(lineage, self._sample)
        self._ranged: dict[Keys, tuple[Keys, dict[bytes, Standing]]] = {}
        self._others: dict[Signature, Standing] = {}
        self._new: list[Standing] = []
        self._count = 0
        self._waiting = 0
        self._interval = OFTEN
        self._selective = 0
        self._round: Iterator[Standing] | None = None
        self.moves = 0
        """How often a predicate has changed its form."""
        self._moves_before = 0

    def __len__(self) -> int:
        return self._count

    def hold_ranges(self, keys: Keys, lows: Ints, highs: Ints) -> list[Standing]:
        """The predicates `lows[i, k] <= keys[k] <= highs[i, k]`; `install` must follow."""
        if not keys:
            return [self.hold(((),))] * len(lows)
        keys, held = self._ranged.setdefault(keys, (keys, {}))
        never: list[bool] = np.any(lows > highs, axis=1).tolist()
        found: list[Standing] = []
        for signature, empty in zip(pack(lows, highs), never, strict=True):
            if empty:
                found.append(self.hold(()))
                continue
            standing = held.get(signature)
            if standing is None:
                standing = held[signature] = Standing(keys, signature)
                self._new.append(standing)
            found.append(standing)
        return found

    def hold(self, disjuncts: Disjuncts) -> Standing:
        """The predicate in this normal form; `install` must follow."""
        ranges = _as_ranges(disjuncts)
        if ranges is not None:
            return self.hold_ranges(*ranges)[0]
        signature = frozenset(frozenset(frozenset(clause) for clause in conjunction) for conjunction in disjuncts)
        standing = self._others.get(signature)
        if standing is None:
            standing = self._others[signature] = Standing(None, disjuncts)
            self._new.append(standing)
        return standing

    def install(self) -> None:
        """Give all new predicates a slot or a place."""
        new, self._new = self._new, []
        if new:
            self._count = sum(len(held) for _, held in self._ranged.values()) + len(self._others)
            self._put(new, now_sparse=False)
            self._interval = OFTEN

    def let_go(self, standing: Standing, holder: Holder) -> None:
        """One holder less; with the last one the predicate is uninstalled."""
        if not standing.leave(holder):
            return
        if standing.keys is not None:
            _, held = self._ranged[standing.keys]
            del held[standing.signature]  # type: ignore[arg-type]
            if not held:
                del self._ranged[standing.keys]
        else:
            conjunctions = standing.disjuncts()
            del self._others[frozenset(frozenset(frozenset(clause) for clause in each) for each in conjunctions)]
        self._count -= 1
        self._take_out([standing])

    def in_slot(self, slot: int) -> Standing:
        """The predicate with a dense slot."""
        standing = self._tables.owners[slot]
        assert isinstance(standing, Standing)
        return standing

    def look(self, record: Record) -> None:
        """Before a record is routed: sample it, move predicates out of words of slots that are not worth keeping, and
        now and then to the form that suits them."""
        self._sample.look(record)
        misplaced = self._tables.slots.misplaced()
        if misplaced:
            owners = {id(owner): owner for owner in map(self.in_slot, misplaced)}
            self._move(list(owners.values()), now_sparse=False, lsn=record.lsn)
        self._waiting += len(record)
        if self._waiting >= self._interval:
            self._waiting = 0
            self._review(record.lsn)

    def _review(self, lsn: int) -> None:
        """Look at some predicates, move those that are better off elsewhere. After a round without moves, reviews are
        half as frequent; after a move they are frequent again."""
        reviewed = list(islice(self._round, REVIEWED)) if self._round is not None else []
        if not reviewed:
            if self._round is not None:
                self._forms.count(self._selective)
                self._interval = OFTEN if self.moves > self._moves_before else min(SELDOM, 2 * self._interval)
            self._selective, self._moves_before = 0, self.moves
            everything = [standing for _, held in self._ranged.values() for standing in held.values()]
            self._round = iter([*everything, *self._others.values()])
            return
        present = [standing for standing in reviewed if standing.slots and standing.held]
        for sparse in (False, True):
            moving: list[Standing] = []
            for group in _anchorable_groups([each for each in present if each.sparse == sparse], self._tables.keys):
                selective, _ = self._forms.judge(group.keys, group.lows, group.highs, sparse)
                self._selective += int(np.count_nonzero(selective))
                moving += [group.standings[i] for i in np.flatnonzero((selective & self._forms.open) != sparse)]
            if moving:
                self._move(moving[:MOVED], sparse, lsn)

    def _move(self, standings: list[Standing], now_sparse: bool, lsn: int) -> None:
        """Take predicates out and put them where they are better off, from the record with this LSN on."""
        holders = [holder for standing in standings for holder in standing.holders]
        for holder in holders:
            holder._pack()
        self._take_out(standings)
        self._tables.shrink()
        self._put(standings, now_sparse)
        for holder in holders:
            holder._move(lsn)
        self.moves += len(standings)

    def _put(self, standings: list[Standing], now_sparse: bool) -> None:
        """Install predicates in the form that suits them."""
        groups = _anchorable_groups(standings, self._tables.keys)
        judged = [self._forms.judge(group.keys, group.lows, group.highs, now_sparse) for group in groups]
        selective = sum(int(np.count_nonzero(each.selective)) for each in judged)
        if not self._forms.open and selective >= MANY:
            self._forms.count(selective)
        for group, each in zip(groups, judged, strict=True):
            chosen = np.flatnonzero(each.selective)
            if self._forms.open and len(chosen):
                self._put_sparse(group, chosen, each.order[chosen])
        dense = [standing for standing in standings if not standing.slots]
        self._put_dense([standing for standing in dense if standing.keys is not None])
        for standing in dense:
            if standing.keys is None:
                standing.slots = self._tables.install_disjuncts(standing.disjuncts())
            for slot in standing.slots:
                self._tables.owners[slot] = standing

    def _put_dense(self, standings: list[Standing]) -> None:
        together = _by_keys(standings)
        groups = [Ranges(mine[0].keys or (), *_bounds(mine)) for mine in together]
        for mine, slots in zip(together, self._tables.install_ranges(groups), strict=True):
            for standing, slot in zip(mine, slots.tolist(), strict=True):
                standing.slots = (slot,)

    def _put_sparse(self, group: _Group, chosen: Ints, order: Ints) -> None:
        keys = np.array(group.keys)[order]
        lows = np.take_along_axis(group.lows[chosen], order, 1)
        highs = np.take_along_axis(group.highs[chosen], order, 1)
        rest = {k: group.rests[i] for k, i in enumerate(chosen.tolist()) if group.rests[i]} if group.rests else {}
        places = self._tables.install_sparse(keys, lows, highs, rest)
        for i, place in zip(chosen.tolist(), places.tolist(), strict=True):
            group.standings[i].slots = (~place,)

    def _take_out(self, standings: list[Standing]) -> None:
        sparse = [~standing.slots[0] for standing in standings if standing.sparse]
        if sparse:
            self._tables.uninstall_sparse(np.array(sparse, np.int64))
        for standing in standings:
            if not standing.sparse:
                held: Sequence[Conjunction | Keys] = standing.disjuncts() if standing.keys is None else (standing.keys,)
                for slot, installed in zip(standing.slots, held, strict=bool(standing.slots)):
                    self._tables.uninstall(slot, installed)
            standing.slots = NOWHERE

    def _check(self) -> None:
        """Every predicate that some row can satisfy is installed, no slot twice (used by tests)."""
        everything = [s for _, held in self._ranged.values() for s in held.values()] + list(self._others.values())
        slots = [slot for standing in everything for slot in standing.slots]
        assert len(slots) == len(set(slots))
        assert self._count == len(everything)
        self._tables._check()


class _Group(NamedTuple):
    """Predicates that an anchored filter could take, with ranges over the same keys."""

    keys: tuple[int, ...]
    standings: list[Standing]
    lows: Ints
    highs: Ints
    rests: list[Conjunction]


def _anchorable_groups(standings: Sequence[Standing], columns: KeyColumns) -> list[_Group]:
    """The predicates that could be sparse, in groups."""
    groups: list[_Group] = []
    others: dict[tuple[int, ...], list[tuple[Standing, Anchorable]]] = {}
    for mine in _by_keys(standings):
        keys = mine[0].keys
        if keys is not None and all(isinstance(key, ast.Column) for key in keys):
            numbers = tuple(columns.number(key) for key in keys if isinstance(key, ast.Column))
            groups.append(_Group(numbers, mine, *_bounds(mine), []))
            continue
        for standing in mine:
            found = anchorable(standing.disjuncts(), columns)
            if found is not None:
                others.setdefault(found.keys, []).append((standing, found))
    for numbers, pairs in others.items():
        lows = np.array([found.lows for _, found in pairs], np.int64)
        highs = np.array([found.highs for _, found in pairs], np.int64)
        rests = [found.rest for _, found in pairs]
        groups.append(_Group(numbers, [standing for standing, _ in pairs], lows, highs, rests))
    return groups


def _by_keys(standings: Sequence[Standing]) -> list[list[Standing]]:
    """The same in lists, each of predicates with the same keys, which are one object, and bounds of the same size."""
    found: dict[tuple[int, int], list[Standing]] = {}
    for standing in standings:
        key = (id(standing.keys), len(standing.signature) if standing.keys else 0)
        mine = found.get(key)
        if mine is None:
            mine = found[key] = []
        mine.append(standing)
    return list(found.values())


def _bounds(standings: Sequence[Standing]) -> tuple[Ints, Ints]:
    """The lows and the highs of predicates with the same keys and bounds of the same size."""
    return unpack([standing.signature for standing in standings], len(standings[0].keys or ()))  # type: ignore[misc]


def _as_ranges(disjuncts: Disjuncts) -> tuple[Keys, Ints, Ints] | None:
    """The predicate as plain ranges of numbers, keys in canonical order, if it is no more than that."""
    if len(disjuncts) != 1 or not disjuncts[0]:
        return None
    found: list[tuple[str, ast.Expression, tuple[int, int]]] = []
    for clause in disjuncts[0]:
        term = clause[0]
        ends = range_of(term.values) if len(clause) == 1 and isinstance(term, Indexed) else None
        if ends is None or not isinstance(term, Indexed):
            return None
        found.append((render(term.key), term.key, ends))
    found.sort(key=lambda each: each[0])
    lows, highs = zip(*(ends for _, _, ends in found), strict=True)
    return tuple(key for _, key, _ in found), np.array([lows]), np.array([highs])
