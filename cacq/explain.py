"""EXPLAIN and statistics: what the tables hold, as plain dicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cacq.query import ast
from cacq.query.normalize import Conjunction
from cacq.query.render import render
from cacq.query.show import show_term
from cacq.stream import Stream

if TYPE_CHECKING:
    from cacq.handle import Query


def explain(
    sql: str, select: ast.Select, disjuncts: tuple[Conjunction, ...], stream: Stream, query: Query | None
) -> dict[str, Any]:
    """How a query is evaluated, or would be: its terms in normal form and the operators that they share."""
    active = query is not None and query.state == "active"
    sparse = active and query is not None and query._standing.sparse
    answer = {
        "sql": sql,
        "source": select.source,
        "schema": {output.name: output.expression.type.value for output in select.outputs},
        "predicate": None if select.predicate is None else render(select.predicate),
        "pattern": "MON",
        "lineage": "sparse" if sparse else "dense",
        "state_bytes": 0,
        "disjuncts": [[_clause(clause, stream, sparse) for clause in conjunction] for conjunction in disjuncts],
        "never": not disjuncts,
    }
    if query is None:
        return answer
    return {
        "id": query.id,
        "name": query.name,
        "state": query.state,
        **answer,
        "slots": list(query._standing.slots) if active else [],
        "queries_with_this_predicate": len(query._standing.holders) if active else 0,
    }


def _clause(clause: tuple[Any, ...], stream: Stream, sparse: bool) -> list[dict[str, Any]]:
    """The terms of a clause, any of which makes it true."""
    rows = []
    for term in clause:
        operator = stream.tables.anchored if sparse else stream.tables.operator_of(term)
        rows.append(
            {
                "term": show_term(term),
                "kind": stream.tables.anchored.kind if sparse else stream.tables.kind_of(term),
                "operator": None if operator is None else operator.name,
                "predicates_in_operator": 0 if operator is None else operator.predicates,
            }
        )
    return rows


def operator_rows(stream: Stream) -> list[dict[str, Any]]:
    """The counters of a stream's operators. `queue` is the most tuples that were in the pool of functions at a time;
    other operators work off a batch at once. `seconds` of a function in the pool are its own, waiting left out."""
    return [
        {
            "name": operator.name,
            "kind": operator.kind,
            "source": stream.name,
            "predicates": operator.predicates,
            "tuples_in": operator.counters.tuples_in,
            "tuples_out": operator.counters.tuples_out,
            "visits": operator.counters.visits,
            "tickets": operator.account.tickets,
            "seconds": operator.counters.nanoseconds / 1e9,
            "queue": operator.counters.queue,
            "terms_skipped": operator.counters.spared,
        }
        for operator in stream.tables.operators_in_use()
    ]


def source_row(stream: Stream) -> dict[str, Any]:
    """The counters of a stream: its tuples, its predicates by form, how often one changed its form, bytes of
    operators."""
    tables = stream.tables
    return {
        "tuples": stream.tuples,
        "late": stream.late,
        "watermark": stream.watermark.value,
        "dense_slots": tables.slots.taken,
        "sparse_places": tables.places_taken,
        "moves": stream.standing.moves,
        "table_bytes": tables.nbytes,
        "anchor_bytes": tables.anchored.nbytes + tables.keys.nbytes,
    }
