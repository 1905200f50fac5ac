"""The results of one record as they come from the eddy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cacq.data.arrays import NO_PAIRS, Ints, Words
from cacq.data.column import Column
from cacq.data.lineage import Layout


class Chunk(NamedTuple):
    """Surviving rows in canonical order, the columns that queries show, and which queries want which row.

    A query's slot says where its results stand. A slot from 0 on is a bit of `live`, whose rows are laid out by
    `layout`. A negative slot is the place `~slot` of `pairs`, which are `place << 32 | row`, ascending.
    """

    lsn: int
    ts: Ints
    columns: Mapping[str, Column]
    live: Words
    layout: Layout
    pairs: Words = NO_PAIRS
