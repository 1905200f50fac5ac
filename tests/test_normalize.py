"""The normal form of a predicate is true for exactly the rows for which the predicate is."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cacq.data.column import Column
from cacq.data.record import Record
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.filters.evaluate import Frame, evaluate
from cacq.filters.fold import fold
from cacq.filters.truth import truth_of
from cacq.query import ast
from cacq.query.normalize import MAX_CLAUSES, MAX_DISJUNCTS, Indexed, Residual, normalize

NAMES = ("a", "b", "c")
SCHEMA = Schema.of(dict.fromkeys(NAMES, "int64"))
COLUMNS = {name: ast.Column(name, Type.INT64) for name in NAMES}


def number(value: int) -> ast.Constant:
    return ast.Constant(value, Type.INT64)


def equal(name: str, value: int) -> ast.Compare:
    return ast.Compare("=", COLUMNS[name], number(value))


def random_leaf(rng: random.Random) -> ast.Expression:
    column = COLUMNS[rng.choice(NAMES)]
    other = COLUMNS[rng.choice(NAMES)]
    operator = rng.choice(["=", "!=", "<", "<=", ">", ">="])
    kind = rng.randrange(7)
    if kind < 3:
        return ast.Compare(operator, column, number(rng.randint(0, 3)))
    if kind == 3:
        return ast.In(column, tuple(ast.Constant(rng.choice([0, 1, 2, 3, None]), Type.INT64) for _ in range(3)))
    if kind == 4:
        return ast.IsNull(column)
    if kind == 5:
        return ast.Compare(operator, column, other)
    plus = ast.Arithmetic("+", column, number(rng.randint(0, 2)), Type.INT64)
    return ast.Compare(operator, plus, rng.choice([other, number(rng.randint(0, 4))]))


def random_predicate(rng: random.Random, depth: int) -> ast.Expression:
    if depth == 0 or rng.random() < 0.2:
        return random_leaf(rng)
    if rng.random() < 0.2:
        return ast.Not(random_predicate(rng, depth - 1))
    parts = tuple(random_predicate(rng, depth - 1) for _ in range(rng.randint(2, 4)))
    return rng.choice([ast.And, ast.Or])(parts)


def random_record(rng: random.Random, rows: int) -> Record:
    columns = {}
    for name in NAMES:
        valid = np.array([rng.random() < 0.8 for _ in range(rows)])
        columns[name] = Column(Type.INT64, np.array([rng.randint(0, 3) for _ in range(rows)]), valid)
    return Record(SCHEMA, 1, np.zeros(rows, np.int64), columns)


@pytest.mark.parametrize("seed", range(60))
def test_normal_form_and_predicate_accept_the_same_rows(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(8):
        predicate = fold(random_predicate(rng, rng.randint(0, 4)))
        disjuncts = normalize(predicate)
        record = random_record(rng, 12)
        truth = evaluate(predicate, Frame(12, record.column))
        wanted = [bool(v) for v in (truth.values if truth.valid is None else truth.values & truth.valid)]
        truth = truth_of(disjuncts, record, np.arange(12), {})
        assert truth.certain.tolist() == truth.possible.tolist() == wanted, predicate


@pytest.mark.parametrize("seed", range(30))
def test_limits_hold_and_each_key_stands_once_in_a_clause(seed: int) -> None:
    rng = random.Random(1000 + seed)
    disjuncts = normalize(fold(random_predicate(rng, 5)))
    assert len(disjuncts) <= MAX_DISJUNCTS
    for conjunction in disjuncts:
        assert sum(len(clause) > 1 for clause in conjunction) <= MAX_CLAUSES
        alone = [clause[0].key for clause in conjunction if len(clause) == 1 and isinstance(clause[0], Indexed)]
        assert len(alone) == len(set(alone))
        for clause in conjunction:
            keys = [term.key for term in clause if isinstance(term, Indexed)]
            assert len(keys) == len(set(keys))


def test_terms_on_one_key_become_one_set_without_a_clause() -> None:
    predicate = ast.Or((equal("a", 1), equal("a", 2), ast.Compare(">", COLUMNS["a"], number(7))))
    ((clause,),) = normalize(predicate)
    assert len(clause) == 1 and clause[0].values.cuts == (1, 3, 8)


def test_a_contradiction_has_no_disjunct_and_a_tautology_no_clause() -> None:
    assert normalize(ast.And((equal("a", 1), equal("a", 2)))) == ()
    tautology = ast.Or((ast.IsNull(COLUMNS["a"]), ast.Not(ast.IsNull(COLUMNS["a"]))))
    assert normalize(tautology) == ((),)


def test_seventeen_clauses_are_split_into_disjuncts() -> None:
    both = [ast.And((equal("a", i), equal("b", i))) for i in range(20)]
    disjuncts = normalize(ast.Or(tuple(both)))
    assert len(disjuncts) == 20
    assert all(len(clause) == 1 for conjunction in disjuncts for clause in conjunction)


def test_beyond_64_disjuncts_a_residual_stands_behind_what_it_implies() -> None:
    both = [ast.And((equal("a", i), equal("b", -i))) for i in range(100)]
    predicate = ast.And((ast.Compare(">", COLUMNS["c"], number(5)), ast.Or(tuple(both))))
    (conjunction,) = normalize(predicate)
    terms = [term for (term,) in conjunction]
    assert [term.key.name for term in terms if isinstance(term, Indexed)] == ["c", "a", "b"]
    assert [term.values.cuts for term in terms[1:3]] == [(0, 100), (-99, 1)]
    assert isinstance(terms[3], Residual) and len(terms[3].constants) == 200


def test_equal_shapes_differ_only_in_their_constants() -> None:
    def shape(value: int) -> Residual:
        plus = ast.Arithmetic("+", COLUMNS["a"], number(value), Type.INT64)
        ((clause,),) = normalize(ast.Compare("<", plus, COLUMNS["b"]))
        assert isinstance(clause[0], Residual)
        return clause[0]

    assert shape(1).shape == shape(2).shape
    assert shape(1).constants != shape(2).constants


def test_prefix_and_exact_patterns_are_indexed_and_others_are_not() -> None:
    text = ast.Column("s", Type.STRING)

    def term(pattern: str, escape: str = "") -> object:
        ((clause,),) = normalize(ast.Like(text, ast.Constant(pattern, Type.STRING), escape))
        return clause[0]

    assert term("ab%").values.cuts == (b"ab", b"ab\xff")
    assert term("ab").values.cuts == (b"ab", b"ab\0")
    assert term("a!%%", "!").values.cuts == (b"a%", b"a%\xff")
    assert isinstance(term("%ab"), Residual)
    assert isinstance(term("a_b%"), Residual)
