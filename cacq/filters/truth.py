"""Whether one row satisfies a query, the slow and direct way: for rows on which a user function failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cacq.data.column import Column
from cacq.data.record import Record
from cacq.data.types import Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.functions import UserFunction
from cacq.filters.residual import constant_column
from cacq.query.normalize import Conjunction, Indexed, Term
from cacq.query.value_sets import key_of


def holds(disjuncts: Iterable[Conjunction], record: Record, row: int, functions: dict[str, UserFunction]) -> bool:
    """Whether the row satisfies the query even if every term whose function fails is false.

    Terms occur unnegated, so what holds with a term false holds with it true: the failure then does not matter.
    """
    return any(
        all(any(_true(term, record, row, functions) for term in clause) for clause in conjunction)
        for conjunction in disjuncts
    )


def _true(term: Term, record: Record, row: int, functions: dict[str, UserFunction]) -> bool:
    parameters = [] if isinstance(term, Indexed) else [constant_column((c,)) for c in term.constants]
    frame = Frame(1, lambda name: record.column(name).slice(row, row + 1), parameters, functions)
    expression = term.key if isinstance(term, Indexed) else term.shape
    value = _only(evaluate(expression, frame))
    if frame.failures:
        return False
    return key_of(value, expression.type) in term.values if isinstance(term, Indexed) else value is True


def _only(column: Column) -> Any:
    if column.valid is not None and not column.valid[0]:
        return None
    return column.values[0].as_py() if column.type is Type.STRING else column.values[0].item()
