"""Text of a query -> bound, typed form: a golden pair for every construct."""

from __future__ import annotations

import sys
import threading

import pytest

from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.query.ast import (
    Absolute,
    And,
    Arithmetic,
    Call,
    Column,
    Compare,
    Concat,
    Constant,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Negate,
    Not,
    Or,
    Output,
    Select,
)
from cacq.query.bind import bind
from cacq.query.render import render

INT, FLOAT, BOOL, STRING, TIMESTAMP = Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING, Type.TIMESTAMP

STREAM = Schema.of(
    {"a": "int64", "b": "int64", "x": "float64", "ok": "bool", "s": "string", "ts": "timestamp", "index": "int64"},
    timestamp="ts",
)
DUMP = Schema.of({"len": "int64", "src": "string"})
ODD = Schema.of({"a b": "int64", "from": "int64", "count": "int64", 'q"q': "int64", "if": "bool", "interval": "int64"})
SCHEMAS = {"S": STREAM, "network.tcpdump": DUMP, "odd names": ODD}
FUNCTIONS = {
    "is_hot": Function("is_hot", (FLOAT,), BOOL),
    "Distance": Function("Distance", (FLOAT, FLOAT), FLOAT),
    "if": Function("if", (BOOL, STRING), BOOL),
    "answer": Function("answer", (), INT),
}

a, b, x, ok = Column("a", INT), Column("b", INT), Column("x", FLOAT), Column("ok", BOOL)
s, ts, index = Column("s", STRING), Column("ts", TIMESTAMP), Column("index", INT)
NULL = Constant(None, BOOL)
NEW_YEAR = 1_767_225_600_000_000
"""2026-01-01 00:00 UTC."""


def i(value: int | None) -> Constant:
    return Constant(value, INT)


def f(value: float | None) -> Constant:
    return Constant(value, FLOAT)


def t(value: str | None) -> Constant:
    return Constant(value, STRING)


def at(value: int | None) -> Constant:
    return Constant(value, TIMESTAMP)


def truth(value: bool | None) -> Constant:
    return Constant(value, BOOL)


def bound(sql: str) -> Select:
    return bind(sql, SCHEMAS, FUNCTIONS)


def where(condition: str) -> Expression:
    predicate = bound(f"SELECT a FROM S WHERE {condition}").predicate
    assert predicate is not None
    return predicate


def names(sql: str) -> list[str]:
    return [output.name for output in bound(sql).outputs]


PREDICATES: dict[str, Expression] = {
    # columns and comparisons
    "ok": ok,
    "S.ok": ok,
    "(ok)": ok,
    "a = 1": Compare("=", a, i(1)),
    "a != 1": Compare("!=", a, i(1)),
    "a <> 1": Compare("!=", a, i(1)),
    "a < 1": Compare("<", a, i(1)),
    "a <= 1": Compare("<=", a, i(1)),
    "a > 1": Compare(">", a, i(1)),
    "a >= 1": Compare(">=", a, i(1)),
    "a>-1": Compare(">", a, i(-1)),
    "1 < a": Compare(">", a, i(1)),
    "1 >= a": Compare("<=", a, i(1)),
    "1 = a": Compare("=", a, i(1)),
    "1 < 2": Compare("<", i(1), i(2)),
    "a < b": Compare("<", a, b),
    "a = x": Compare("=", a, x),
    "ok = TRUE": Compare("=", ok, truth(True)),
    "ok = (a < b)": Compare("=", ok, Compare("<", a, b)),
    "(a < b) = ok": Compare("=", Compare("<", a, b), ok),
    # literals
    "x = 1.5": Compare("=", x, f(1.5)),
    "x = .5": Compare("=", x, f(0.5)),
    "x = 5.": Compare("=", x, f(5.0)),
    "x = 1e3": Compare("=", x, f(1000.0)),
    "x = -2.5E-1": Compare("=", x, f(-0.25)),
    "x = 1e-400": Compare("=", x, f(0.0)),
    "x = 7": Compare("=", x, i(7)),
    "s = ''": Compare("=", s, t("")),
    "s = 'it''s'": Compare("=", s, t("it's")),
    "s = '/* -- */'": Compare("=", s, t("/* -- */")),
    "s = 'a\\n\n\u00e9'": Compare("=", s, t("a\\n\n\u00e9")),
    "ok = true": Compare("=", ok, truth(True)),
    "ok = False": Compare("=", ok, truth(False)),
    "TRUE": truth(True),
    "a = -9223372036854775808": Compare("=", a, i(-(2**63))),
    "a < 99999999999999999999": Compare("<", a, i(99999999999999999999)),
    "-99999999999999999999 < a": Compare(">", a, i(-99999999999999999999)),
    "a IN (99999999999999999999)": In(a, (i(99999999999999999999),)),
    # NULL takes the type of its partner
    "NULL": truth(None),
    "a = NULL": Compare("=", a, i(None)),
    "NULL = s": Compare("=", s, t(None)),
    "NULL = NULL": Compare("=", i(None), i(None)),
    "a + NULL > 1": Compare(">", Arithmetic("+", a, i(None), INT), i(1)),
    "NULL * x > 1": Compare(">", Arithmetic("*", f(None), x, FLOAT), i(1)),
    "ts - NULL > 1": Compare(">", Arithmetic("-", ts, at(None), INT), i(1)),
    "ts + NULL > ts": Compare(">", Arithmetic("+", ts, i(None), TIMESTAMP), ts),
    "s || NULL = 'x'": Compare("=", Concat(s, t(None)), t("x")),
    "NULL IS NULL": IsNull(i(None)),
    "NULL AND ok": And((truth(None), ok)),
    "NOT NULL": Not(truth(None)),
    "is_hot(NULL)": Call("is_hot", (f(None),), BOOL),
    "NULL IN (1, 2)": In(i(None), (i(1), i(2))),
    "NULL LIKE 'a'": Like(t(None), t("a")),
    # timestamps and intervals
    "ts > '2026-01-01'": Compare(">", ts, at(NEW_YEAR)),
    "'2026-01-01T01:00+01:00' = ts": Compare("=", ts, at(NEW_YEAR)),
    "ts > TIMESTAMP '2026-01-01 00:00:00.000001'": Compare(">", ts, at(NEW_YEAR + 1)),
    "ts > timestamp '2026-01-01'": Compare(">", ts, at(NEW_YEAR)),
    "TIMESTAMP '2026-01-01' > '2025-12-31'": Compare(">", at(NEW_YEAR), at(NEW_YEAR - 86_400_000_000)),
    "ts IN ('2026-01-01', NULL)": In(ts, (at(NEW_YEAR), at(None))),
    "'2026-01-01' IN (ts)": Compare("=", ts, at(NEW_YEAR)),
    "ts BETWEEN '2026-01-01' AND NULL": And((Compare(">=", ts, at(NEW_YEAR)), Compare("<=", ts, at(None)))),
    "ts - ts < INTERVAL '5' SECOND": Compare("<", Arithmetic("-", ts, ts, INT), i(5_000_000)),
    "ts + INTERVAL '2' hours > ts": Compare(">", Arithmetic("+", ts, i(7_200_000_000), TIMESTAMP), ts),
    "INTERVAL 1 WEEK + ts > ts": Compare(">", Arithmetic("+", i(604_800_000_000), ts, TIMESTAMP), ts),
    "ts - INTERVAL '1.5 milliseconds' = ts": Compare("=", Arithmetic("-", ts, i(1_500), TIMESTAMP), ts),
    "a = INTERVAL '-3' MICROSECOND": Compare("=", a, i(-3)),
    "a = - INTERVAL '1' DAY": Compare("=", a, i(-86_400_000_000)),
    # arithmetic: types and precedence
    "a + b > 1": Compare(">", Arithmetic("+", a, b, INT), i(1)),
    "a - x > 1": Compare(">", Arithmetic("-", a, x, FLOAT), i(1)),
    "a * 2 > 1": Compare(">", Arithmetic("*", a, i(2), INT), i(1)),
    "a / b > 1": Compare(">", Arithmetic("/", a, b, FLOAT), i(1)),
    "a % 2 = 1": Compare("=", Arithmetic("%", a, i(2), INT), i(1)),
    "x % a = 1": Compare("=", Arithmetic("%", x, a, FLOAT), i(1)),
    "a - b - 1 = 0": Compare("=", Arithmetic("-", Arithmetic("-", a, b, INT), i(1), INT), i(0)),
    "a - (b - 1) = 0": Compare("=", Arithmetic("-", a, Arithmetic("-", b, i(1), INT), INT), i(0)),
    "a + b * 2 = 0": Compare("=", Arithmetic("+", a, Arithmetic("*", b, i(2), INT), INT), i(0)),
    "-a * b = 0": Compare("=", Arithmetic("*", Negate(a, INT), b, INT), i(0)),
    "a - -1 = 0": Compare("=", Arithmetic("-", a, i(-1), INT), i(0)),
    "- -a = 0": Compare("=", Negate(Negate(a, INT), INT), i(0)),
    "- -1 = a": Compare("=", Negate(i(-1), INT), a),
    "-(1) = a": Compare("=", Negate(i(1), INT), a),
    "-x = 0": Compare("=", Negate(x, FLOAT), i(0)),
    "ABS(a - b) <= 5": Compare("<=", Absolute(Arithmetic("-", a, b, INT), INT), i(5)),
    "abs(x) < 1": Compare("<", Absolute(x, FLOAT), i(1)),
    # strings
    "s || 'x' = 'y'": Compare("=", Concat(s, t("x")), t("y")),
    "s || 'x' || s = 'y'": Compare("=", Concat(Concat(s, t("x")), s), t("y")),
    "s LIKE 'a%'": Like(s, t("a%")),
    "s NOT LIKE 'a%'": Not(Like(s, t("a%"))),
    "s LIKE 'a!%' ESCAPE '!'": Like(s, t("a!%"), "!"),
    "s NOT LIKE 'a!!' ESCAPE '!'": Not(Like(s, t("a!!"), "!")),
    "s LIKE 'a' ESCAPE ''": Like(s, t("a")),
    "s LIKE ('a')": Like(s, t("a")),
    "s || 'x' LIKE 'a'": Like(Concat(s, t("x")), t("a")),
    "s LIKE NULL": truth(None),
    "s NOT LIKE NULL": truth(None),
    # ranges and lists
    "a BETWEEN 1 AND 5": And((Compare(">=", a, i(1)), Compare("<=", a, i(5)))),
    "a NOT BETWEEN 1 AND 5": Not(And((Compare(">=", a, i(1)), Compare("<=", a, i(5))))),
    "a BETWEEN b AND 5 AND ok": And((Compare(">=", a, b), Compare("<=", a, i(5)), ok)),
    "3 BETWEEN a AND b": And((Compare("<=", a, i(3)), Compare(">=", b, i(3)))),
    "a BETWEEN (-1) AND -(b)": And((Compare(">=", a, i(-1)), Compare("<=", a, Negate(b, INT)))),
    "a IN (1, -2, 3)": In(a, (i(1), i(-2), i(3))),
    "a NOT IN (1, NULL)": Not(In(a, (i(1), i(None)))),
    "a IN (1, 2.5)": In(a, (i(1), f(2.5))),
    "a IN (NULL)": In(a, (i(None),)),
    "ok IN (TRUE)": In(ok, (truth(True),)),
    "s IN ('a', (('b')))": In(s, (t("a"), t("b"))),
    "a + 1 IN (2)": In(Arithmetic("+", a, i(1), INT), (i(2),)),
    "a IN (b, 1)": Or((Compare("=", a, b), Compare("=", a, i(1)))),
    "a NOT IN (b)": Not(Compare("=", a, b)),
    "1 IN (a, b)": Or((Compare("=", a, i(1)), Compare("=", b, i(1)))),
    # IS
    "a IS NULL": IsNull(a),
    "a IS NOT NULL": Not(IsNull(a)),
    "NOT a IS NULL": Not(IsNull(a)),
    "a + b IS NULL": IsNull(Arithmetic("+", a, b, INT)),
    "a = b IS NULL": IsNull(Compare("=", a, b)),
    "a IS NULL IS NULL": IsNull(IsNull(a)),
    "a IS NULL = ok": Compare("=", IsNull(a), ok),
    "ok IS TRUE": And((ok, Not(IsNull(ok)))),
    "ok IS FALSE": And((Not(ok), Not(IsNull(ok)))),
    "ok IS NOT TRUE": Not(And((ok, Not(IsNull(ok))))),
    "ok IS NOT FALSE": Not(And((Not(ok), Not(IsNull(ok))))),
    "a > 1 IS TRUE": Not(IsNull(Or((Compare(">", a, i(1)), NULL)))),
    "a > 1 IS FALSE": Not(IsNull(And((Compare(">", a, i(1)), NULL)))),
    "(a > 1) IS NOT TRUE": Not(Not(IsNull(Or((Compare(">", a, i(1)), NULL))))),
    # logic
    "ok AND a = 1": And((ok, Compare("=", a, i(1)))),
    "ok OR a = 1": Or((ok, Compare("=", a, i(1)))),
    "NOT ok": Not(ok),
    "NOT NOT ok": Not(Not(ok)),
    "NOT a = 1": Not(Compare("=", a, i(1))),
    "NOT ok AND ok": And((Not(ok), ok)),
    "NOT (ok AND ok)": Not(And((ok, ok))),
    "ok OR ok AND NOT ok": Or((ok, And((ok, Not(ok))))),
    "(ok OR ok) AND ok": And((Or((ok, ok)), ok)),
    "ok AND (ok AND (ok AND ok))": And((ok, ok, ok, ok)),
    "((ok OR ok) OR (ok OR NOT ok))": Or((ok, ok, ok, Not(ok))),
    "ok = NOT ok": Compare("=", ok, Not(ok)),
    # functions
    "is_hot(x)": Call("is_hot", (x,), BOOL),
    "IS_HOT(a)": Call("is_hot", (a,), BOOL),
    "distance(x, 1) > answer()": Compare(">", Call("Distance", (x, i(1)), FLOAT), Call("answer", (), INT)),
    "If(ok OR a = 1, s)": Call("if", (Or((ok, Compare("=", a, i(1)))), s), BOOL),
    "is_hot((x))": Call("is_hot", (x,), BOOL),
}


@pytest.mark.parametrize("condition", PREDICATES)
def test_a_condition_is_bound(condition: str) -> None:
    assert where(condition) == PREDICATES[condition]


@pytest.mark.parametrize("condition", [c for c in PREDICATES if "LIKE NULL" not in c])
def test_a_rendered_condition_reads_as_itself(condition: str) -> None:
    assert where(render(where(condition))) == where(condition)


QUERIES: dict[str, Select] = {
    "SELECT a FROM S": Select("S", STREAM, (Output("a", a),), None),
    "SELECT a FROM S;": Select("S", STREAM, (Output("a", a),), None),
    "select a from S where ok": Select("S", STREAM, (Output("a", a),), ok),
    "FROM S SELECT S.index WHERE S.ok": Select("S", STREAM, (Output("index", index),), ok),
    "FROM S AS q SELECT q.index": Select("S", STREAM, (Output("index", index),), None),
    "SELECT len FROM network.tcpdump": Select("network.tcpdump", DUMP, (Output("len", Column("len", INT)),), None),
    'SELECT "if" FROM "odd names"': Select("odd names", ODD, (Output("if", Column("if", BOOL)),), None),
    "\n SELECT -- the a\n a /* and /* nested */ */ FROM\tS -- done": Select("S", STREAM, (Output("a", a),), None),
}


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_is_bound(sql: str) -> None:
    assert bound(sql) == QUERIES[sql]


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM S", list(STREAM.columns)),
        ("SELECT S.* FROM S", list(STREAM.columns)),
        ("SELECT q.* FROM S q", list(STREAM.columns)),
        ("SELECT network.tcpdump.* FROM network.tcpdump", ["len", "src"]),
        ("SELECT network.tcpdump.len, tcpdump.src FROM network.tcpdump", ["len", "src"]),
        ("SELECT d.len, src FROM network.tcpdump AS d", ["len", "src"]),
        ('SELECT "network.tcpdump".len FROM "network.tcpdump"', ["len"]),
        ('SELECT "a b", "from", count, "q""q", "if", interval FROM "odd names"', list(ODD.columns)),
        ('SELECT o.from, o."a b" FROM "odd names" o', ["from", "a b"]),
    ],
)
def test_columns_are_found_under_every_name_they_have(sql: str, columns: list[str]) -> None:
    outputs = bound(sql).outputs
    assert [o.expression.name for o in outputs if isinstance(o.expression, Column)] == columns
    assert [o.name for o in outputs] == columns


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a AS hot, b cold FROM S", ["hot", "cold"]),
        ('SELECT a AS "two words" FROM S', ["two words"]),
        ("SELECT a  +  1 , (b) FROM S", ["a  +  1", "b"]),
        ("SELECT a > 5 AS hot FROM S", ["hot"]),
        ("SELECT ABS( a ), 'x', INTERVAL '5' SECOND FROM S", ["ABS( a )", "'x'", "INTERVAL '5' SECOND"]),
        ("SELECT (a + 1) * 2 twice FROM S", ["twice"]),
        ("SELECT a, a FROM S", ["S.a", "S.a_2"]),
        ("SELECT q.a, b, a FROM S q", ["q.a", "b", "q.a_2"]),
        ("SELECT a, b AS a FROM S", ["S.a", "a"]),
        ("SELECT a AS x, b AS x, index AS x FROM S", ["x", "x_2", "x_3"]),
        ("SELECT a AS x, b AS x, index AS x_2 FROM S", ["x", "x_3", "x_2"]),
        ("SELECT a AS x, a AS x_2, b AS x, b AS x FROM S", ["x", "x_2", "x_3", "x_4"]),
        ("SELECT a + 1, a + 1 FROM S", ["a + 1", "a + 1_2"]),
        ('SELECT a, a, b AS "S.a" FROM S', ["S.a", "S.a_2", "S.a_3"]),
        ("SELECT len, network.tcpdump.len FROM network.tcpdump", ["network.tcpdump.len", "network.tcpdump.len_2"]),
    ],
)
def test_outputs_are_named_by_alias_column_or_text_and_are_unique(sql: str, expected: list[str]) -> None:
    assert names(sql) == expected


def test_star_beside_a_column_qualifies_the_column_that_occurs_twice() -> None:
    assert names("SELECT *, len FROM network.tcpdump d") == ["d.len", "src", "d.len_2"]


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("NULL + 1", Arithmetic("+", i(None), i(1), INT)),
        ("NULL IS NULL", IsNull(i(None))),
        ("ok AND NULL", And((ok, truth(None)))),
        ("-0.0", f(-0.0)),
        ("a > 5", Compare(">", a, i(5))),
        ("ts + 1", Arithmetic("+", ts, i(1), TIMESTAMP)),
    ],
)
def test_an_output_may_be_any_expression(text: str, expression: Expression) -> None:
    assert bound(f"SELECT {text} FROM S").outputs == (Output(text, expression),)


def test_twenty_thousand_ors_become_one_node() -> None:
    condition = " OR ".join(f"a = {number}" for number in range(20_000))
    assert where(condition) == Or(tuple(Compare("=", a, i(number)) for number in range(20_000)))


def test_a_hundred_thousand_values_fit_into_a_list() -> None:
    predicate = where(f"a NOT IN ({', '.join(map(str, range(100_000)))})")
    assert predicate == Not(In(a, tuple(i(number) for number in range(100_000))))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(" * 200 + "ok" + ")" * 200, ok),
        ("NOT " * 90 + "ok", None),
        ("- " * 90 + "a = 1", None),
        ("ABS(" * 90 + "a" + ")" * 90 + " = 1", None),
        ("(a + " * 90 + "a" + ")" * 90 + " = 1", None),
        ("NOT (" * 90 + "ok" + ")" * 90, None),
        (" + ".join(["a"] * 90) + " = 1", None),
        ("ok" + " IS NULL" * 90, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_nesting_within_the_limits_is_bound_and_can_be_hashed(condition: str, expected: Expression | None) -> None:
    predicate = where(condition)
    assert predicate == predicate and hash(predicate) is not None
    assert expected is None or predicate == expected


def test_is_true_nested_does_not_grow() -> None:
    text = render(where("(" * 20 + "ok" + " AND a = 1) IS TRUE" * 20))
    assert text.count("a = 1") == 20


def test_binding_restores_the_recursion_limit() -> None:
    limit = sys.getrecursionlimit()
    where("(" * 200 + "ok" + ")" * 200)
    assert sys.getrecursionlimit() == limit


def test_threads_bind_at_the_same_time() -> None:
    deep = "(" * 200 + "ok" + ")" * 200
    found: list[Expression] = []
    threads = [threading.Thread(target=lambda: found.extend(where(deep) for _ in range(5))) for _ in range(8)]
    limit = sys.getrecursionlimit()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [ok] * 40
    assert sys.getrecursionlimit() == limit
