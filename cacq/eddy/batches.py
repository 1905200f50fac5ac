"""The batches of a record on their way: sorted after each visit, collected at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cacq.data.arrays import Ints, Words
from cacq.data.batch import Batch, Failure
from cacq.eddy.tables import Tables
from cacq.kernels import lineages


@dataclass(frozen=True, eq=False)
class Survivors:
    """Rows of the record that at least one query wants, ascending, with their live words."""

    rows: Ints
    live: Words
    failures: list[Failure]


@dataclass
class Batches:
    """The batches of a record: those that wait for more operators, and those that have all they need, in no order."""

    waiting: list[Batch] = field(default_factory=list)
    delivered: list[Batch] = field(default_factory=list)


def part(batch: Batch, tuples: slice) -> Batch:
    """Some tuples of a batch, without copying."""
    half = Batch(batch.record, batch.rows[tuples], batch.lineage[tuples], batch.layout, batch.failures, batch.done)
    half.wanted = batch.wanted
    return half


def sort(batch: Batch, tables: Tables, batches: Batches) -> tuple[int, int]:
    """Drop the dead, deliver the complete, let the rest wait; how many stay and how many are delivered."""
    incomplete = tables.incomplete(batch.done)
    fate = np.empty(len(batch), np.uint8)
    wanted = np.zeros(len(incomplete), np.uint64)
    staying, leaving = lineages.survey(batch.lineage, incomplete, fate, wanted), 0
    if staying < len(batch):
        leaves = fate == lineages.LEAVES
        leaving = int(np.count_nonzero(leaves))
        if leaving:
            whole = leaving == len(batch) and batch.lineage.base is None
            batches.delivered.append(batch if whole else batch.keep(leaves))
        if not staying:
            return 0, leaving
        batch = batch.keep(fate == lineages.STAYS)
    batch.wanted = wanted
    batches.waiting.append(batch)
    return staying, leaving


def collect(delivered: list[Batch], failures: list[Failure], tables: Tables) -> Survivors:
    """One answer of all delivered batches, in the order of rows."""
    live_words = tables.layout.live_words
    if not delivered:
        return Survivors(np.empty(0, np.int64), np.empty((0, live_words), np.uint64), failures)
    if len(delivered) == 1:
        rows, live = delivered[0].rows, np.ascontiguousarray(delivered[0].live)
    else:
        rows = np.concatenate([batch.rows for batch in delivered])
        live = np.concatenate([batch.live for batch in delivered])
        order = np.argsort(rows)
        rows, live = rows[order], live[order]
    tables.fold(live)
    return Survivors(rows, live, failures)
