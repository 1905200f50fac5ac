"""The batches of a record on their way through the eddy, and what becomes of tuples between two visits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cacq.data.batch import Batch
from cacq.eddy.tables import Tables
from cacq.kernels import lineages


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
    staying, leaving = lineages.survey(batch.lineage, incomplete, batch.layout.live_bits, fate, wanted), 0
    if staying < len(batch):
        leaves = fate == lineages.LEAVES
        leaving = int(np.count_nonzero(leaves))
        if leaving:
            batches.delivered.append(batch if leaving == len(batch) else batch.keep(leaves))
        if not staying:
            return 0, leaving
        batch = batch.keep(fate == lineages.STAYS)
    batch.wanted = wanted
    batches.waiting.append(batch)
    return staying, leaving
