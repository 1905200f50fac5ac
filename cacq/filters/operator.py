"""What every operator is to the eddy: something that takes a batch, narrows its lineage and hands it back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, Self

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.data.batch import Batch
from cacq.data.lineage import WORD, Layout

ALONE = -1


class Target(NamedTuple):
    """Where the truth of a term goes: the slot of its query, and which of the query's clauses it is a term of. ALONE
    is no clause: the term clears the slot's own bit where it is not true."""

    slot: int
    clause: int


class Places(NamedTuple):
    """Targets as kernels see them: the column and bit that the truth goes to, and the live column with the query's
    bit."""

    words: Ints
    guards: Ints
    bits: Words


@dataclass
class Counters:
    """What an operator has done since it was made. `spared` terms had their clause true before they were evaluated.
    `queue` is the most tuples that waited or were worked on in the pool of functions at a time."""

    visits: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    nanoseconds: int = 0
    spared: int = 0
    queue: int = 0

    def record(self, taken: int, returned: int, nanoseconds: int) -> None:
        """Count one visit."""
        self.visits += 1
        self.tuples_in += taken
        self.tuples_out += returned
        self.nanoseconds += nanoseconds


@dataclass
class Account:
    """What routing remembers of an operator; `eddy/tickets.py` keeps it and says what the figures mean."""

    seen: int = 1
    consumed: float = 1.0
    timed: int = 0
    cost: float = 0.0
    last: float = inf
    before_last: float = inf
    tickets: float = 1.0
    weight: float = 1.0
    waiting: int = 0


class ValueErrors:
    """How often an overflow or a division by zero gave NULL in a predicate, for each slot of a source."""

    def __init__(self) -> None:
        self.counts: Ints = np.zeros(0, np.int64)

    def make_room(self, slots: int) -> None:
        """Have an entry for that many slots."""
        if slots > len(self.counts):
            self.counts = np.concatenate([self.counts, np.zeros(slots - len(self.counts), np.int64)])

    def add(self, counts: Ints, layout: Layout) -> None:
        """Add counts for each bit of all columns; only those of live columns belong to slots."""
        layout.add_by_slot(counts.reshape(-1, WORD)[layout.columns].reshape(-1), self.counts)


class NotedErrors(ValueErrors):
    """Remembers what was added, for another thread to add where it belongs."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[tuple[Ints, Layout]] = []

    def add(self, counts: Ints, layout: Layout) -> None:
        """Keep the counts."""
        self.noted.append((counts, layout))


class Operator(ABC):
    """Holds the terms of many queries. After terms came or went, `refresh` comes before `process`.

    `mask` has the slots that have a term here, as bits of the live columns; `clause_mask` the clauses that have one, as
    bits of the clause columns. Both have all columns of the lineage. An operator that `calls_functions` runs the code
    of users.
    """

    kind: str

    def __init__(self, name: str, errors: ValueErrors, calls_functions: bool) -> None:
        self.name = name
        self.calls_functions = calls_functions
        self.counters = Counters()
        self.account = Account()
        self._errors = errors
        self.mask: Words = np.zeros(0, np.uint64)
        self.clause_mask: Words = np.zeros(0, np.uint64)

    @property
    @abstractmethod
    def predicates(self) -> int:
        """How many terms of queries are applied at once."""

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether no query has a term here any more."""

    @abstractmethod
    def refresh(self, layout: Layout) -> None:
        """Bring the arrays that kernels read in step with the terms and the layout of the lineage."""

    @abstractmethod
    def process(self, batch: Batch) -> Batch:
        """Narrow the lineage of the batch by every term at once."""

    def twin(self) -> Self:
        """The same operator for one visit in another thread: it reads the same tables and counts for itself."""
        twin = copy(self)
        twin.counters = Counters()
        twin._errors = NotedErrors()
        return twin

    def absorb(self, twin: Operator) -> None:
        """Count what a twin has counted."""
        self.counters.spared += twin.counters.spared
        assert isinstance(twin._errors, NotedErrors)
        for counts, layout in twin._errors.noted:
            self._errors.add(counts, layout)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, without rows of bits that it shares with others."""
        return self.mask.nbytes + self.clause_mask.nbytes

    def retire(self) -> None:
        """The last term has gone: give back what is shared with other operators."""
        self.mask = self.clause_mask = np.zeros(0, np.uint64)

    def _mark(self, places: Places, layout: Layout) -> None:
        """Set the masks to these places."""
        everything = np.zeros(layout.width, np.uint64)
        np.bitwise_or.at(everything, places.words, places.bits)
        self.clause_mask = everything & ~layout.live_bits
        self.mask = np.zeros(layout.width, np.uint64)
        np.bitwise_or.at(self.mask, places.guards, places.bits)


def place(targets: list[Target], layout: Layout) -> Places:
    """Where the targets are in this layout."""
    slots = np.array([slot for slot, _ in targets], np.int64)
    guards = layout.columns[slots // WORD]
    words = guards + 1 + np.array([clause for _, clause in targets], np.int64)
    return Places(words, guards, np.uint64(1) << (slots % WORD).astype(np.uint64))
