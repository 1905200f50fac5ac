"""Whether rows satisfy a query, the slow and direct way: for rows on which a user function failed.

Terms occur unnegated, and inside a term AND, OR and NOT are followed down, so that a failed call spoils only the part
that it stands in. A part that fails counts once as false and once as true: *certain* is what holds either way,
*possible* what holds in the better case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cacq.data.arrays import Bools, Ints
from cacq.data.column import Column
from cacq.data.record import Record
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.functions import UserFunction
from cacq.filters.residual import constant_column
from cacq.query import ast
from cacq.query.normalize import Conjunction, Indexed, Term
from cacq.query.value_sets import key_of


@dataclass(frozen=True)
class Truth:
    """For each row whether something certainly holds, and whether it possibly does."""

    certain: Bools
    possible: Bools


def truth_of(disjuncts: Iterable[Conjunction], record: Record, rows: Ints, functions: dict[str, UserFunction]) -> Truth:
    """The truth of a query in its normal form."""
    return _any(
        [
            _all(
                [_any([_term(term, record, rows, functions) for term in clause], rows) for clause in conjunction], rows
            )
            for conjunction in disjuncts
        ],
        rows,
    )


def _all(truths: list[Truth], rows: Ints) -> Truth:
    every = np.ones(len(rows), np.bool_)
    return Truth(
        np.logical_and.reduce([every, *(truth.certain for truth in truths)]),
        np.logical_and.reduce([every, *(truth.possible for truth in truths)]),
    )


def _any(truths: list[Truth], rows: Ints) -> Truth:
    none = np.zeros(len(rows), np.bool_)
    return Truth(
        np.logical_or.reduce([none, *(truth.certain for truth in truths)]),
        np.logical_or.reduce([none, *(truth.possible for truth in truths)]),
    )


def _term(term: Term, record: Record, rows: Ints, functions: dict[str, UserFunction]) -> Truth:
    def column(name: str) -> Column:
        return record.column(name).take(rows)

    if not isinstance(term, Indexed):
        parameters = [constant_column((constant,) * len(rows)) for constant in term.constants]
        return _part(term.shape, False, Frame(len(rows), column, parameters, functions), rows)
    frame = Frame(len(rows), column, (), functions)
    values = evaluate(term.key, frame).to_list()
    return _spoiled(np.array([key_of(value, term.key.type) in term.values for value in values], np.bool_), frame)


def _part(expression: ast.Expression, negated: bool, frame: Frame, rows: Ints) -> Truth:
    """The truth of an expression, or of its negation."""
    if isinstance(expression, ast.Not):
        return _part(expression.operand, not negated, frame, rows)
    if isinstance(expression, ast.And | ast.Or):
        parts = [_part(part, negated, frame, rows) for part in expression.parts]
        return _all(parts, rows) if isinstance(expression, ast.And) != negated else _any(parts, rows)
    alone = Frame(frame.length, frame.columns, frame.parameters, frame.functions)
    column = evaluate(expression, alone)
    known = np.ones(len(rows), np.bool_) if column.valid is None else column.valid
    return _spoiled((column.values != negated) & known, alone)


def _spoiled(truth: Bools, frame: Frame) -> Truth:
    certain, possible = truth.copy(), truth.copy()
    failed = list(frame.failures)
    certain[failed], possible[failed] = False, True
    return Truth(certain, possible)
