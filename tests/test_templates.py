"""Planning by templates gives what reading each text in full gives: outputs, normal forms, ranges, and errors."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from cacq import plan as planning
from cacq.data.schema import Schema
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.errors import SqlError
from cacq.plan import Plan, Planner
from cacq.query import ast
from cacq.query.lift import LONGEST, ends, lift
from cacq.query.normalize import Indexed, conjuncts
from cacq.query.skeleton import DIRECTED
from cacq.query.value_sets import ValueSet, float_key
from tests.mutator import Mutator
from tests.oracle.generate import make_case
from tests.test_sql_errors import BAD, HERE, SCHEMAS
from tests.test_sql_meaning import SIGNATURES

SCHEMA = Schema.of(
    {"a": "int64", "b": "int64", "temperature": "float64", "ok": "bool", "s": "string", "ts": "timestamp"}, "ts"
)
FUNCTIONS = {
    "is_hot": ast.Function("is_hot", (Type.FLOAT64,), Type.BOOL),
    "alike": ast.Function("alike", (Type.STRING, Type.STRING), Type.BOOL),
}


def planner() -> Planner:
    return Planner({"S": SCHEMA}, FUNCTIONS)


def answer(plan: Plan) -> str:
    """All that a plan says, spelt so that 0.0, -0.0 and 0 are told apart."""
    select = plan.select
    return repr((select.source, select.outputs, plan.disjuncts))


def read(planner: Planner, sql: str) -> str:
    """The same by reading the text in full."""
    select, disjuncts = planner.read(sql)
    return repr((select.source, select.outputs, disjuncts))


def told(error: SqlError) -> tuple[object, ...]:
    return type(error), error.message, error.line, error.column, error.caret, error.hint


def check(planner: Planner, sql: str) -> Plan | None:
    """Compares the two ways for one text; None if both refuse it."""
    try:
        expected = read(planner, sql)
    except SqlError as error:
        with pytest.raises(SqlError) as caught:
            planner.plan(sql)
        assert told(caught.value) == told(error), sql
        return None
    plan = planner.plan(sql)
    assert answer(plan) == expected, sql
    check_ranges(plan.template, [plan])
    return plan


def check_ranges(template: planning.Template, plans: list[Plan]) -> None:
    """Bounds, where there are any, are the value sets of the normal form."""
    if template.ranged is None:
        return
    lows, highs = template.bounds([plan.values for plan in plans])
    assert lows.shape == highs.shape == (len(plans), len(template.ranged))
    for plan, low, high in zip(plans, lows.tolist(), highs.tolist(), strict=True):
        if any(least > greatest for least, greatest in zip(low, high, strict=True)):
            assert plan.disjuncts == (), plan.sql
            continue
        [conjunction] = plan.disjuncts
        sets = {key: value_set(*edges) for key, *edges in zip(template.ranged, low, high, strict=True)}
        assert {unit.key: unit.values for [unit] in conjunction if isinstance(unit, Indexed)} == sets, plan.sql
        assert len(conjunction) == len(sets)


def value_set(least: int, greatest: int) -> ValueSet:
    """The set of the keys from `least` to `greatest`."""
    cuts = ([] if least == INT64_MIN else [least]) + ([] if greatest == INT64_MAX else [greatest + 1])
    return ValueSet(tuple(cuts), least == INT64_MIN)


def compare_mutants(seeds: range) -> tuple[int, int, int]:
    """How many texts were compared, for how many a template was known, how many of these had ranges."""
    compared = known = ranged = 0
    for seed in seeds:
        random = Random(seed)
        case = make_case(seed, rows=2)
        mutator = Mutator(random)
        planner = Planner({case.stream.name: Schema.of(case.stream.schema, case.stream.timestamp)}, SIGNATURES)
        by_template: dict[planning.Template, list[Plan]] = {}
        for text in case.texts:
            for sql in (text, *(mutator.mutated(text) for _ in range(10))):
                compared += 1
                plan = check(planner, sql)
                if plan is not None:
                    known += plan.template in by_template
                    ranged += plan.template in by_template and plan.template.ranged is not None
                    by_template.setdefault(plan.template, []).append(plan)
        for template, plans in by_template.items():
            check_ranges(template, plans * 9)
    return compared, known, ranged


@pytest.mark.parametrize("start", range(0, 96, 12))
def test_ten_thousand_random_texts_are_planned_as_if_read_in_full(start: int) -> None:
    compared, known, ranged = compare_mutants(range(start, start + 12))
    assert compared == 12 * 10 * 11
    assert known > 400
    assert ranged > 100


CONDITIONS = (
    *("a > 5", "a >= 5", "a < 5", "a <= 5", "a = 5", "5 < a", "5 >= a", "a > -5", "-5 = a", "(a) > ((5))", "a > - 5"),
    *("a > 2.5", "a = 2.5", "a >= -2.5", "2.5 > a", "a <= 2.0", "a < 1e3", "a BETWEEN 5 AND 7", "a BETWEEN -5 AND 2.5"),
    *("temperature > 5", "temperature = 5", "temperature <= -5", "temperature > 2.5", "temperature = -0.0", "0.0 = a"),
    *("temperature BETWEEN 5 AND 2.5", "a > 5 AND a < 7", "a > 5 AND b < 7 AND a <= 100", "a > 5 AND ok", "NOT ok"),
    *("ts > '2026-01-31'", "ts BETWEEN '2026-01-31' AND '2026-02-01'", "TIMESTAMP '2026-01-31' <= ts", "a + b > 5"),
    *("a IS NOT NULL AND a < 5", "NOT (a > 5)", "NOT (a <> 5)", "ok IS TRUE AND a > 5", "ok = TRUE", "ok > FALSE"),
    *("NOT (a > 5 OR b < 7)", "ABS(a) < 5", "-a < 5", "is_hot(temperature) AND a < 5", "a < b AND b < 5"),
    *("a > INTERVAL '5 seconds'", "a > INTERVAL 5 SECOND", "a > INTERVAL.5 SECOND", "a > -INTERVAL '5' DAY"),
)
"""Predicates that are ranges."""
OTHERS = (
    *(
        "a <> 5",
        "NOT (a = 5)",
        "a > 5 OR b < 7",
        "a IN (5, 7, 5)",
        "a NOT IN (5, 7)",
        "a NOT IN (5, NULL)",
        "a IS NULL",
    ),
    *(
        "s = 'a'",
        "s > 'a' AND a < 5",
        "s LIKE 'a%'",
        "s LIKE 'a!%' ESCAPE '!'",
        "s NOT LIKE '_b'",
        "s IN ('a', 'it''s')",
    ),
    *(
        "a + 1 > 5",
        "a > 2 + 3",
        "1 = 1",
        "1 = 1 AND a > 5",
        "1 = 2 AND a > 5",
        "a > 5 AND NULL",
        "a > NULL",
        "1 / 0 > a",
    ),
    *(
        "5 BETWEEN a AND 7",
        "5 BETWEEN a AND INTERVAL 7 SECOND",
        "5 BETWEEN a AND 99999999999999999999",
        "TRUE",
        "FALSE",
    ),
    *("'2026-01-31' BETWEEN ts AND s", "ts > TIMESTAMP '2026-01-31' - INTERVAL '5' SECOND"),
    *(
        "ts IN ('2026-01-31', '2026-02-01')",
        "alike(s, 'a')",
        "is_hot(5)",
        "is_hot(-0.0)",
        "is_hot(2.5)",
        "s || 'a' = 'b'",
    ),
    *(
        "a > 5 OR (b < 7 AND temperature > 2.5)",
        "ok OR a > 5",
        "(a > 5) IS TRUE",
        "a % 2 = 1 AND b > 5",
        "s IS NOT NULL",
    ),
    *("ok OR a < b", "NOT (ok AND a < b)", "a > -(5)", "a > -(-5)"),
)
"""Predicates of another form."""
LISTS = (
    *("a", "*", "S.*", "a + 5 AS x", "a + 5", "5 AS x, 'a' AS y", "a, 2.5, s", "-0.0 AS zero", "a < 5 AS x", "a < 5"),
    *("INTERVAL 5 SECOND AS i", "a < 5 AS x, b > 7 AS y"),
)


def check_mutants(sql: str) -> Plan:
    """Compares a text and many that differ from it in literals; gives the plan of the text itself."""
    subject, mutator = planner(), Mutator(Random(3))
    first = check(subject, sql)
    assert first is not None
    by_template = {first.template: [first]}
    for _ in range(60):
        plan = check(subject, mutator.mutated(sql))
        if plan is not None:
            by_template.setdefault(plan.template, []).append(plan)
    for template, plans in by_template.items():
        check_ranges(template, plans * 9)
    return first


@pytest.mark.parametrize("condition", CONDITIONS + OTHERS)
def test_each_condition_with_many_constants(condition: str) -> None:
    plan = check_mutants(f"SELECT a FROM S WHERE {condition}")
    assert (plan.template.ranged is not None) == (condition in CONDITIONS)


@pytest.mark.parametrize("items", LISTS)
def test_each_select_list_with_many_constants(items: str) -> None:
    check_mutants(f"SELECT {items} FROM S WHERE a > 5")


BROKEN: dict[str, tuple[str, Any]] = {
    "the sign is lost": ("cacq.query.ranges.value_at", lambda place, values: values[abs(place) - 1]),
    "instants are one moment": ("cacq.plan.microseconds", lambda text: 0),
    "outputs are named by the first text": ("cacq.plan._named_by_text", lambda places, titles: set()),
    "intervals are lifted": ("cacq.plan.exchangeable", lambda literal, constant: True),
    "a kind is forgotten": ("cacq.query.lift.DECIMAL", "\0i"),
    "a term is lost": ("cacq.query.ranges.conjuncts", lambda predicate: conjuncts(predicate)[:2]),
    "NOT is overlooked": ("cacq.plan.turned_all", lambda operators, ranks, before, after: after),
    "comparisons in outputs are turned": ("cacq.plan.ranks", lambda predicate, count: [1]),
    "large integers are floats": ("cacq.query.ranges._EXACT", 2**64),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_planner_is_found_out(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BROKEN[fault])
    with pytest.raises((AssertionError, ValueError, TypeError, RuntimeWarning)):
        for condition in CONDITIONS + OTHERS:
            test_each_condition_with_many_constants(condition)
        for items in LISTS:
            test_each_select_list_with_many_constants(items)


def test_the_direction_of_comparisons_needs_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = planner()
    subject.plan("SELECT a FROM S WHERE a < 5 AND 7 <= b AND NOT (b > 6) AND temperature = 2.5")
    texts = [
        f"SELECT a FROM S WHERE a {one} 5 AND 7 {two} b AND NOT (b {three} 8) AND temperature = 3.5"
        for one, two, three in product(sorted(DIRECTED), repeat=3)
    ]
    expected = [read(subject, text) for text in texts]
    monkeypatch.setattr(planning, "bind_with_titles", None)
    assert [answer(subject.plan(text)) for text in texts] == expected


def test_texts_that_differ_in_literals_share_a_template() -> None:
    one, other = planner().plan_many(["SELECT a FROM S WHERE a > 5 AND b < 7", "SELECT a FROM S WHERE a > 6 AND b < 8"])
    assert one.template is other.template
    assert one.select is other.select
    assert (one.sql, one.values, other.values) == ("SELECT a FROM S WHERE a > 5 AND b < 7", (5, 7), (6, 8))


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        ("a > 5", 6, INT64_MAX),
        ("a > 5 AND a <= 9", 6, 9),
        ("a = -5", -5, -5),
        ("a > 9223372036854775807", INT64_MAX, INT64_MIN),
        ("a < -9223372036854775807", INT64_MIN, INT64_MIN),
        ("a >= 99999999999999999999", INT64_MAX, INT64_MIN),
        ("a <= 99999999999999999999", INT64_MIN, INT64_MAX),
        ("a > 2.5", 3, INT64_MAX),
        ("a = 2.5", 3, 2),
        ("temperature >= 1.5", float_key(1.5), INT64_MAX),
        ("temperature = -0.0", float_key(0.0), float_key(0.0)),
        ("temperature >= 9007199254740993", float_key(9007199254740994.0), INT64_MAX),
        ("ts < '1970-01-01 00:00:01'", INT64_MIN, 999_999),
        ("ok", 1, 1),
        ("NOT ok", 0, 0),
        ("a IS NOT NULL", INT64_MIN, INT64_MAX),
    ],
)
def test_bounds(condition: str, low: int, high: int) -> None:
    plan = planner().plan(f"SELECT a FROM S WHERE {condition}")
    for count in (1, 50):
        lows, highs = plan.template.bounds([plan.values] * count)
        assert (lows.tolist(), highs.tolist()) == ([[low]] * count, [[high]] * count)


def test_keys_stand_in_one_order_however_the_text_orders_them() -> None:
    one, other = planner().plan_many(["SELECT a FROM S WHERE b > 1 AND a > 2", "SELECT a FROM S WHERE a > 2 AND b > 1"])
    assert one.template.ranged == other.template.ranged == (ast.Column("a", Type.INT64), ast.Column("b", Type.INT64))
    assert (
        one.template.bounds([one.values])[0].tolist() == other.template.bounds([other.values])[0].tolist() == [[3, 2]]
    )


def test_a_query_without_a_predicate_has_no_keys() -> None:
    plan = planner().plan("SELECT a FROM S")
    assert plan.template.ranged == ()
    assert plan.template.bounds([()])[0].shape == (1, 0)
    assert plan.disjuncts == ((),)


def test_a_bad_instant_in_a_known_shape_is_refused_at_its_place() -> None:
    subject = planner()
    subject.plan("SELECT a FROM S WHERE a > 5 AND ts > '2026-01-31'")
    with pytest.raises(SqlError) as caught:
        subject.plan("SELECT a FROM S WHERE a > 500 AND ts > '2026-02-30'")
    assert caught.value.column == 40
    assert "is not a date" in caught.value.message


@pytest.mark.parametrize("sql", [sql for sql, _, _ in BAD])
def test_wrong_texts_are_refused_alike_before_and_after_their_neighbours(sql: str) -> None:
    subject = Planner(SCHEMAS, FUNCTIONS)
    for _ in range(2):
        assert check(subject, sql.replace(HERE, "")) is None


def test_what_was_unknown_may_become_known() -> None:
    schemas, functions = {"S": SCHEMA}, dict(FUNCTIONS)
    subject = Planner(schemas, functions)
    for text in ("SELECT a FROM T WHERE a > 5", "SELECT a FROM S WHERE twice(a) > 5"):
        assert check(subject, text) is None
    schemas["T"] = Schema.of({"a": "string"})
    functions["twice"] = ast.Function("twice", (Type.INT64,), Type.INT64)
    assert check(subject, "SELECT a FROM S WHERE twice(a) > 6") is not None
    assert check(subject, "SELECT a FROM T WHERE a > 6") is None
    schemas["U"] = Schema.of({"a": "float64"})
    assert check(subject, "SELECT a FROM U WHERE a > 6") is not None


def test_no_more_shapes_are_kept_than_asked_for_and_used_ones_stay() -> None:
    subject = Planner({"S": SCHEMA}, {}, most_shapes=20)
    often = subject.plan("SELECT a FROM S WHERE a > 5").template
    for number in range(200):
        subject.plan(f"SELECT a AS x{number} FROM S WHERE a > 5")
        assert subject.plan(f"SELECT a FROM S WHERE a > {number}").template is often
        assert len(subject._young) + len(subject._old) <= 20
    first = subject.plan("SELECT a AS x0 FROM S WHERE a > 5")
    assert answer(first) == read(subject, "SELECT a AS x0 FROM S WHERE a > 5")


def test_of_long_shapes_fewer_are_kept() -> None:
    subject = Planner({"S": SCHEMA}, {}, most_shapes=20)
    for number in range(1, 100):
        subject.plan(f"SELECT a AS x{number} FROM S WHERE a IN ({', '.join('5' * 300)})")
        assert len(subject._young) + len(subject._old) <= 6


def test_texts_that_are_not_lifted_leave_nothing_behind() -> None:
    subject = planner()
    for number in range(10):
        assert check(subject, f"SELECT a + {number} FROM S /* /* */ */ WHERE a > {number}") is not None
    assert not (subject._young or subject._old or subject._skeletons or subject._parts._known)


@pytest.mark.parametrize(
    ("sql", "shape", "values"),
    [
        ("a1 > 5 AND b2>.5", "a1 > \0i AND b2>\0d", [5, 0.5]),
        ("x = 'it''s' -- 5\n", "x = \0s -- 5\n", ["it's"]),
        ("\"n 5\" = 5. /* 6 */ + 'a--b'", '"n 5" = \0d /* 6 */ + \0s', [5.0, "a--b"]),
        ("a > 9223372036854775807", "a > \0i", [INT64_MAX]),
        ("a > 9223372036854775808 + 1", "a > 9223372036854775808 + \0i", [1]),
        ("a > 1e999 + 1e2", "a > 1e999 + \0d", [100.0]),
        ("\u00e91 > 5", "\u00e91 > \0i", [5]),
    ],
)
def test_lifting(sql: str, shape: str, values: list[object]) -> None:
    lifted = lift(sql)
    assert lifted is not None
    assert lifted[0] == shape
    assert lifted[2] == values
    assert [sql[:end][-len(text) :] for end, text in zip(ends(sql), lifted[1], strict=True)] == lifted[1]


@pytest.mark.parametrize("sql", ["a > '\0'", "a /* /* */ */ > 5", 'a > "5', "a /* 5", "'\ud800'", "5" * (LONGEST + 1)])
def test_odd_texts_are_not_lifted(sql: str) -> None:
    assert lift(sql) is None
