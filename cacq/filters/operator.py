"""What every operator is to the eddy: something that takes a batch, narrows its lineage and hands it back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.data.batch import Batch
from cacq.data.lineage import Layout, slot_set
from cacq.data.lineage import put as put_slot
from cacq.data.lineage import words as as_words

ALONE = -1


class Target(NamedTuple):
    """Where the truth of a term goes: the slot of its query, and the clause word it sets, or ALONE."""

    slot: int
    clause: int

    def word(self, live_words: int) -> int:
        """The word of the lineage that holds the bit."""
        return self.slot >> 6 if self.clause == ALONE else live_words + self.clause


@dataclass
class Counters:
    """What an operator has done since it was made. `spared` terms had their clause true before they were evaluated."""

    visits: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    nanoseconds: int = 0
    spared: int = 0

    def record(self, taken: int, returned: int, nanoseconds: int) -> None:
        """Count one visit."""
        self.visits += 1
        self.tuples_in += taken
        self.tuples_out += returned
        self.nanoseconds += nanoseconds


class ValueErrors:
    """How often an overflow or a division by zero gave NULL in a predicate, for each slot of a source."""

    def __init__(self) -> None:
        self.counts: Ints = np.zeros(0, np.int64)

    def make_room(self, slots: int) -> None:
        """Have an entry for that many slots."""
        if slots > len(self.counts):
            self.counts = np.concatenate([self.counts, np.zeros(slots - len(self.counts), np.int64)])


class Operator(ABC):
    """Holds the terms of many queries. `install` is the only writer; after it wrote, `refresh` comes before `process`.

    `mask` has the slots that have a term here, `clause_mask` the clause bits that a term here can set.
    """

    kind: str

    def __init__(self, name: str) -> None:
        self.name = name
        self.counters = Counters()
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

    def _set_masks(self, targets: list[Target], layout: Layout) -> None:
        slots, clauses = slot_set(), slot_set()
        for target in targets:
            put_slot(slots, target.slot)
            if target.clause != ALONE:
                put_slot(clauses, target.clause * 64 + target.slot % 64)
        self.mask = as_words(slots, layout.live_words)
        self.clause_mask = as_words(clauses, len(layout.guards))
