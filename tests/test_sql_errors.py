"""Wrong SQL: every error names the place, says what is wrong and what to do; nothing else ever escapes."""

from __future__ import annotations

from random import Random

import pytest

from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.errors import SqlError
from cacq.query.ast import Function
from cacq.query.bind import bind

HERE = "\u00a6"
"""Stands in the tests' SQL before the character that the caret must point at."""

SCHEMAS = {
    "S": Schema.of(
        {"a": "int64", "temperature": "float64", "ok": "bool", "s": "string", "ts": "timestamp"}, timestamp="ts"
    ),
    "network.tcpdump": Schema.of({"len": "int64"}),
}
FUNCTIONS = {
    "is_hot": Function("is_hot", (Type.FLOAT64,), Type.BOOL),
    "alike": Function("alike", (Type.STRING, Type.STRING), Type.BOOL),
}
FORM = "a query has the form"


def refused(sql: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        bind(sql, SCHEMAS, FUNCTIONS)
    return caught.value


BAD: list[tuple[str, str, str]] = [
    # names
    (f"SELECT a FROM {HERE}T", "unknown stream T", "streams are: S, network.tcpdump"),
    (f"SELECT a FROM {HERE}s", "unknown stream s", "names are case-sensitive: did you mean S?"),
    (f"SELECT a FROM {HERE}network.tcpdum", "unknown stream network.tcpdum", "did you mean network.tcpdump?"),
    (f"SELECT a FROM {HERE}weather", "unknown stream weather", "streams are: S, network.tcpdump"),
    (f"SELECT {HERE}temprature FROM S", "unknown column temprature", "did you mean temperature?"),
    (f"SELECT {HERE}TEMPERATURE FROM S", "unknown column TEMPERATURE", "case-sensitive: did you mean temperature?"),
    (f"SELECT S.{HERE}zzz FROM S", "unknown column zzz", "columns of S are: a, temperature, ok, s, ts"),
    (f"SELECT {HERE}T.a FROM S", "T is no stream of this query", "S"),
    (f"SELECT {HERE}S.a FROM S AS q", "S is no stream of this query", "the stream is called q in this query"),
    (f"SELECT {HERE}x.* FROM S", "x is no stream", "S"),
    (f"SELECT {HERE}a.b.c.d.e FROM S", "too many parts", "alias"),
    (f'SELECT a FROM S WHERE s = {HERE}"kitchen"', "unknown column kitchen", "a string is written in single quotes"),
    (f"SELECT a FROM S WHERE {HERE}is_hit(a)", "unknown function is_hit", "did you mean is_hot?"),
    (f"SELECT a FROM S WHERE {HERE}xyz(a)", "unknown function xyz", "functions are: ABS, is_hot, alike"),
    (f"SELECT a FROM S WHERE S.{HERE}is_hot(a)", "the name of a function has no dots", "f(x)"),
    # types
    (f"SELECT a FROM S WHERE {HERE}a", "a condition is expected here, not a value of type int64", "comparison"),
    (f"SELECT a FROM S WHERE ok AND {HERE}s", "a condition is expected here", "comparison"),
    (f"SELECT a FROM S WHERE NOT ({HERE}a + 1)", "a condition is expected here", "comparison"),
    (f"SELECT a FROM S WHERE a = {HERE}'x'", "int64 cannot be compared with string", "single quotes"),
    (f"SELECT a FROM S WHERE {HERE}5 = s", "int64 cannot be compared with string", "single quotes"),
    (f"SELECT a FROM S WHERE {HERE}a = s", "int64 cannot be compared with string", "single quotes"),
    (f"SELECT a FROM S WHERE ts > {HERE}5", "timestamp cannot be compared with int64", "TIMESTAMP '"),
    (f"SELECT a FROM S WHERE {HERE}ts > a", "timestamp cannot be compared with int64", "TIMESTAMP '"),
    (f"SELECT a FROM S WHERE ok = {HERE}1", "bool cannot be compared with int64", "numbers compare with numbers"),
    (f"SELECT a FROM S WHERE 1 < a {HERE}< 5", "comparisons do not chain", "a < b AND b < c"),
    (f"SELECT a FROM S WHERE a = 1 {HERE}= (-ok)", "comparisons do not chain", "parentheses"),
    (f"SELECT a FROM S WHERE a IN (1, {HERE}'x')", "int64 cannot be compared with string", "single quotes"),
    (f"SELECT a FROM S WHERE a BETWEEN 1 AND {HERE}'x'", "int64 cannot be compared with string", "single quotes"),
    (f"SELECT {HERE}s + 1 FROM S", "string + int64 is not possible", "strings are joined with ||"),
    (f"SELECT a + {HERE}ok FROM S", "int64 + bool is not possible", ""),
    (f"SELECT ts + {HERE}ts FROM S", "timestamp + timestamp is not possible", "timestamp - timestamp"),
    (f"SELECT a - {HERE}ts FROM S", "int64 - timestamp is not possible", "timestamp - int64"),
    (f"SELECT ts - {HERE}temperature FROM S", "timestamp - float64 is not possible", "int64"),
    (f"SELECT {HERE}ts * 2 FROM S", "timestamp * int64 is not possible", ""),
    (f"SELECT -{HERE}s FROM S", "a minus needs a number, not a value of type string", "int64 and float64"),
    (f"SELECT ABS({HERE}ts) FROM S", "ABS needs a number, not a value of type timestamp", "int64 and float64"),
    (f"SELECT s || {HERE}a FROM S", "|| needs a string, not a value of type int64", "not converted"),
    (f"SELECT {HERE}-a || s FROM S", "|| needs a string", "not converted"),
    (f"SELECT a FROM S WHERE {HERE}a LIKE 'x'", "LIKE needs a string, not a value of type int64", ""),
    (f"SELECT a FROM S WHERE s LIKE {HERE}s", "the pattern of LIKE must be a string literal", "LIKE 'a%'"),
    (f"SELECT a FROM S WHERE s LIKE {HERE}5", "LIKE needs a string", ""),
    (f"SELECT a FROM S WHERE {HERE}a IS TRUE", "a condition is expected here", ""),
    (f"SELECT a FROM S WHERE is_hot({HERE}s)", "is_hot takes float64 here, not string", "is_hot(float64)"),
    (f"SELECT a FROM S WHERE {HERE}is_hot(a, a)", "is_hot takes 1 arguments, not 2", "is_hot(float64)"),
    (f"SELECT {HERE}ABS(a, a) FROM S", "ABS takes 1 argument, not 2", "ABS(x)"),
    (f"SELECT {HERE}ABS() FROM S", "ABS takes 1 argument, not 0", "ABS(x)"),
    (f"SELECT {HERE}is_hot(a) FROM S", "user functions are not available in the select list", "in WHERE"),
    (f"SELECT {HERE}NULL FROM S", "NULL has no type here", "leave the column out"),
    (f"SELECT ({HERE}NULL) AS nothing FROM S", "NULL has no type here", "leave the column out"),
    # literals
    (f"SELECT {HERE}9223372036854775808 FROM S", "9223372036854775808 is beyond int64", "compared"),
    (f"SELECT a + {HERE}99999999999999999999 FROM S", "is beyond int64", "compared"),
    (f"SELECT a FROM S WHERE a > {HERE}99999999999999999999 + 1", "is beyond int64", "compared"),
    (f"SELECT {HERE}1e309 FROM S", "1e309 is beyond float64", "1.8e308"),
    (f"SELECT {HERE}" + "1" * 2000 + " FROM S", "more than 1,000 digits", "round"),
    (f"SELECT {HERE}5a FROM S", "5a is neither a number nor a name", "quoted"),
    (f"SELECT a FROM S WHERE ts > {HERE}'yesterday'", "'yesterday' is not a timestamp", "ISO 8601"),
    (f"SELECT a FROM S WHERE ts > TIMESTAMP {HERE}'2026-02-30'", "is not a date", "ISO 8601"),
    (f"SELECT a FROM S WHERE ts IN ('2026-01-01', {HERE}'x')", "'x' is not a timestamp", "ISO 8601"),
    (f"SELECT a FROM S WHERE {HERE}DATE '2026-01-01' < ts", "DATE '...' is not available", "TIMESTAMP '"),
    (f"SELECT INTERVAL '1' {HERE}MONTH FROM S", "MONTH is not a unit of intervals", "use days"),
    (f"SELECT INTERVAL '1' {HERE}fortnight FROM S", "fortnight is not a unit of intervals", "WEEK"),
    (f"SELECT INTERVAL '1'{HERE} + 1 FROM S", "the interval has no unit", "INTERVAL '5' SECOND"),
    (f"SELECT INTERVAL {HERE}'x' SECOND FROM S", "'x' is not the length of an interval", "INTERVAL '5' SECOND"),
    (f"SELECT INTERVAL {HERE}'0.1' MICROSECOND FROM S", "not a whole number of microseconds", ""),
    (f"SELECT INTERVAL {HERE}'99999999999999' WEEKS FROM S", "the interval is too long", "int64"),
    (f"SELECT {HERE}'abc FROM S", "the string is never closed", "written twice"),
    (f'SELECT {HERE}"abc FROM S', "the quoted name is never closed", "written twice"),
    (f"SELECT a {HERE}/* FROM S /* */", "the comment is never closed", "*/"),
    (f"SELECT 'a' {HERE}'b' FROM S", "two strings stand side by side", "||"),
    (f"SELECT a FROM S WHERE s LIKE {HERE}'a!' ESCAPE '!'", "ends with its escape character", "twice"),
    (f"SELECT a FROM S WHERE s LIKE 'a' ESCAPE {HERE}'!!'", "ESCAPE takes one character", "ESCAPE '!'"),
    (f"SELECT a FROM S WHERE s LIKE 'a' ESCAPE {HERE}s", "ESCAPE takes one character", "ESCAPE '!'"),
    # syntax
    (f"{HERE}", "the query is empty", FORM),
    (f"{HERE}  -- nothing\n", "the query is empty", FORM),
    (f"SELECT{HERE}", "the query ends too early", FORM),
    (f"SELECT a{HERE}", "FROM is missing", FORM),
    (f"SELECT a FROM{HERE} ", "the query ends too early", FORM),
    (f"SELECT {HERE}FROM S", "a value is missing before FROM", FORM),
    (f"FROM S{HERE}", "SELECT is missing", FORM),
    (f"FROM S {HERE}WHERE ok", "SELECT is missing", FORM),
    (f"SELECT a {HERE}WHERE ok", "FROM is missing", FORM),
    (f"SELECT a FROM S WHERE ok {HERE}FROM S", "a second FROM", FORM),
    (f"FROM S {HERE}WHERE ok SELECT a", "SELECT is missing", FORM),
    (f"SELECT a, {HERE}FROM S", "a value is missing before FROM", FORM),
    (f"SELECT {HERE}, a FROM S", "a value is missing before ,", FORM),
    (f"SELECT a FROM S WHERE a IN (1, {HERE}, 2)", "a value is missing before ,", FORM),
    (f"SELECT a FROM S WHERE a IN (1, {HERE})", "a value is missing before )", FORM),
    (f"SELECT a FROM S WHERE a IN ({HERE})", "a value is missing before )", FORM),
    (f"SELECT a FROM S WHERE a IN {HERE}5", "IN needs a list of values", "x IN (1, 2, 3)"),
    (f"SELECT a FROM S WHERE{HERE}", "the query ends too early", FORM),
    (f"SELECT a FROM S WHERE a >{HERE}  ", "the query ends too early", FORM),
    (f"SELECT a FROM S WHERE a > {HERE}AND ok", "a value is missing before AND", FORM),
    (f"SELECT a FROM S WHERE a = {HERE}+5", "a value is missing before +", "a leading + is not needed"),
    (f"SELECT a FROM S WHERE NOT {HERE}= 5", "a value is missing before =", FORM),
    (f"SELECT a FROM S WHERE (a + {HERE})", "a value is missing before )", FORM),
    (f"SELECT a FROM S WHERE a BETWEEN 1{HERE}", "AND is missing", "BETWEEN low AND high"),
    (f"SELECT a FROM S WHERE a BETWEEN 1 {HERE}2 AND ok", "AND is missing", "BETWEEN low AND high"),
    (f"SELECT a FROM S WHERE (a BETWEEN 1{HERE}) AND ok", "AND is missing", "BETWEEN low AND high"),
    (f"SELECT a FROM S WHERE a BETWEEN 1 {HERE}OR ok", "AND is missing", "BETWEEN low AND high"),
    (f"SELECT a FROM S WHERE a BETWEEN (1) {HERE}2 AND ok", "AND is missing", "BETWEEN low AND high"),
    (f"SELECT a FROM S WHERE a BETWEEN (1) ({HERE}2) AND ok", "AND is missing", "BETWEEN low AND high"),
    (f"SELECT a FROM S WHERE a = 1 {HERE}a = 2", "a is not expected here", FORM),
    (f"SELECT a FROM S WHERE ok{HERE}, a = 1", ", is not expected here", FORM),
    (f"SELECT a FROM S WHERE ok {HERE}5", "5 is not expected here", FORM),
    (f"SELECT a FROM S WHERE {HERE}5(6) = 1", "5 is not a function", "operator"),
    (f"SELECT a FROM S WHERE a {HERE}NOT NULL", "NOT is not expected here", FORM),
    (f"SELECT a FROM S WHERE a {HERE}ISNULL", "ISNULL is not expected here", FORM),
    (f"SELECT a FROM S WHERE a IS {HERE}5", "IS is followed by NULL, TRUE or FALSE", "="),
    (f"SELECT a FROM S WHERE {HERE}(ok", "this parenthesis is never closed", ")"),
    (f"SELECT a FROM S WHERE ok{HERE})", "this parenthesis was never opened", "remove"),
    (f"SELECT S. {HERE}FROM S", "the name of a column is expected behind the dot", "quotes"),
    (f"SELECT S.{HERE}.a FROM S", "the name of a column is expected behind the dot", "quotes"),
    (f"SELECT 'x'{HERE}.a FROM S", ". is not expected here", FORM),
    (f"SELECT {HERE}AS a FROM S", "a value is missing before AS", FORM),
    (f"SELECT a AS {HERE}'x' FROM S", "a name is expected behind AS", "quotes"),
    (f"SELECT a AS {HERE}FROM S", "a name is expected behind AS", "quotes"),
    (f"SELECT a {HERE}'x' FROM S", "'x' is not expected here", FORM),
    (f"SELECT (a {HERE}x) FROM S", "an alias is not possible here", "select list"),
    (f"SELECT a FROM S WHERE ({HERE}a, a) = (1, 2)", "a list of values is not possible here", "IN"),
    (f"SELECT a FROM S q {HERE}r", "r is not expected here", FORM),
    (f"SELECT a FROM S * {HERE}WHERE ok", "a value is missing before WHERE", FORM),
    (f"SELECT a FROM S {HERE}*", "* is not expected here", FORM),
    (f"SELECT a FROM S {HERE}(a)", "( is not expected here", FORM),
    (f"SELECT a FROM {HERE}'S'", "the name of a stream is expected here", FORM),
    (f"SELECT a FROM S; {HERE}SELECT a FROM S", "a query is one statement", "on its own"),
    (f"SELECT a FROM S;{HERE};", "a query is one statement", "on its own"),
    # what other SQL has and this language has not
    (f"SELECT {HERE}DISTINCT a FROM S", "DISTINCT is not available in this version", 'quoted: "DISTINCT"'),
    (f"SELECT a FROM S WHERE a IS {HERE}DISTINCT FROM 5", "DISTINCT is not available", "= and IS NULL"),
    (f"SELECT a FROM S {HERE}GROUP BY a", "GROUP is not available in this version", "aggregates"),
    (f"SELECT a FROM S {HERE}having ok", "HAVING is not available in this version", "aggregates"),
    (f"SELECT a FROM S {HERE}ORDER BY a", "ORDER is not available in this version", "arrive"),
    (f"SELECT a FROM S {HERE}LIMIT 5", "LIMIT is not available in this version", "last row"),
    (f"SELECT a FROM S LEFT {HERE}JOIN T ON ok", "JOIN is not available in this version", "one stream"),
    (f"SELECT a FROM S{HERE}, T", "joins are not available in this version", "one stream"),
    (f"SELECT a FROM ({HERE}SELECT a FROM S)", "SELECT inside parentheses is not available", "subqueries"),
    (f"SELECT a FROM S WHERE a IN ({HERE}SELECT a FROM S)", "SELECT inside parentheses", "subqueries"),
    (f"SELECT a FROM S WHERE {HERE}EXISTS (SELECT a FROM S)", "EXISTS is not available", "one SELECT"),
    (f"{HERE}WITH q AS (SELECT a FROM S) SELECT a FROM q", "WITH is not available in this version", "one SELECT"),
    (f"SELECT a FROM S {HERE}UNION ALL SELECT a FROM S", "UNION is not available in this version", "several queries"),
    (f"SELECT a FROM S {HERE}EXCEPT SELECT a FROM S", "EXCEPT is not available in this version", "several queries"),
    (f"SELECT a FROM S {HERE}INTERSECT SELECT a FROM S", "INTERSECT is not available", "several queries"),
    (f"SELECT a FROM S {HERE}[RANGE 5 MINUTES] WHERE ok", "windows are not available in this version", "brackets"),
    (f"SELECT a FROM S {HERE}[rows 100] q", "windows are not available in this version", "brackets"),
    (f"SELECT a FROM S q {HERE}[5]", "windows are not available in this version", "brackets"),
    (f"SELECT a{HERE}[1] FROM S", "[ is not part of the language", "arrays"),
    (f"SELECT {HERE}count(*) FROM S", "COUNT is not available in this version", "aggregates"),
    (f"SELECT {HERE}Sum(a) FROM S", "SUM is not available in this version", "aggregates"),
    (f"SELECT {HERE}CASE WHEN ok THEN 1 END FROM S", "CASE is not available in this version", "AND and OR"),
    (f"SELECT {HERE}CAST(a AS float64) FROM S", "CAST is not available in this version", "not converted"),
    (f"SELECT a{HERE}::int FROM S", ":: is not part of the language", "not converted"),
    (f"SELECT a FROM S WHERE a = {HERE}:limit", ": is not part of the language", "parameters"),
    (f"SELECT a FROM S WHERE a = {HERE}?", "? is not part of the language", "parameters"),
    (f"SELECT a FROM S WHERE a = {HERE}$1", "$ is not part of the language", "parameters"),
    (f"SELECT a FROM S WHERE a {HERE}== 1", "== is not part of the language", "equality is written ="),
    (f"SELECT a FROM S WHERE {HERE}!ok", "! is not part of the language", "NOT"),
    (f"SELECT a FROM S WHERE a {HERE}^ 2 = 4", "^ is not part of the language", "operators are"),
    (f"SELECT a FROM S WHERE s {HERE}ILIKE 'x'", "ILIKE is not available in this version", "LIKE"),
    (f"SELECT a FROM S WHERE s {HERE}COLLATE x = 'x'", "COLLATE is not available", "code point"),
    (f"SELECT is_hot(a) {HERE}OVER (w) FROM S", "OVER is not available", "aggregates"),
    (f"SELECT a FROM S {HERE}TABLESAMPLE (10)", "TABLESAMPLE is not available", "every row"),
    (f"SELECT a {HERE}INTO t FROM S", "INTO is not available", "registered query"),
    (f"SELECT {HERE}/*+ fast */ a FROM S", "hints are not available", "engine"),
    (f"SELECT {HERE}{{# jinja #}} a FROM S", "{ is not part of the language", "operators are"),
    (f"SELECT {HERE}`a` FROM S", "` is not part of the language", '"name"'),
    (f"SELECT a FROM S WHERE s = {HERE}\u2018x\u2019", "\u2018 is not part of the language", "straight quotes"),
    (f"SELECT a{HERE}\x00 FROM S", "the character U+0000 is not part of the language", ""),
    (f"SELECT a FROM S WHERE s = '{HERE}\ud800'", "half a character", ""),
    (f"SELECT {HERE}* x FROM S", "* is not possible here", "all columns"),
    (f"SELECT S.{HERE}* + 1 FROM S", "* is not possible here", "all columns"),
    (f"SELECT a FROM S WHERE alike(s, {HERE}*)", "* is not possible here", "all columns"),
    (f"SELECT a FROM S WHERE alike(s AS {HERE}x, s)", "an alias is not possible here", "select list"),
    (f"{HERE}INSERT INTO S VALUES (1)", "a query begins with SELECT or FROM", "push"),
    (f"{HERE}CREATE STREAM T (a int64)", "a query begins with SELECT or FROM", "create_stream"),
    (f"{HERE}(SELECT a FROM S)", "a query begins with SELECT or FROM", FORM),
    (f"{HERE}EXPLAIN SELECT a FROM S", "a query begins with SELECT or FROM", "explain"),
    (f"{HERE}Hello", "a query begins with SELECT or FROM", FORM),
    # places beyond the first line
    (f"SELECT a\nFROM S\nWHERE {HERE}b = 1", "unknown column b", "columns of S are"),
    (f"SELECT a -- it's\r\nFROM S\r\n\tWHERE a = {HERE}'x'\r\n AND ok", "int64 cannot be compared with string", ""),
    (f"SELECT '\n\n', {HERE}b FROM S", "unknown column b", ""),
    (f"SELECT '\u00e9\U0001f600', {HERE}b FROM S", "unknown column b", ""),
]


@pytest.mark.parametrize(("marked", "message", "hint"), BAD)
def test_an_error_points_at_the_place_and_says_what_to_do(marked: str, message: str, hint: str) -> None:
    offset = marked.index(HERE)
    sql = marked.replace(HERE, "")
    error = refused(sql)
    before = sql[:offset]
    assert (error.line, error.column) == (before.count("\n") + 1, offset - before.rfind("\n")), str(error)
    assert message in error.message
    assert hint in (error.hint or "")
    assert error.hint
    check_caret(error, sql, offset)


def check_caret(error: SqlError, sql: str, offset: int) -> None:
    """The caret stands under the character at the offset, or behind the end of the line."""
    assert error.caret is not None
    line, pointer = error.caret.split("\n")
    assert pointer.strip() == "^"
    pointed = line[len(pointer) - 1 :][:1]
    meant = sql[offset : offset + 1]
    assert pointed.strip() == (meant.strip() if meant.isprintable() else "")


def test_a_long_line_is_cut_to_a_window_around_the_place() -> None:
    error = refused("SELECT " + "a, " * 1000 + "oops, " + "a, " * 1000 + "a FROM S")
    assert error.caret is not None
    line, pointer = error.caret.split("\n")
    assert (error.line, error.column) == (1, 7 + 3000 + 1)
    assert len(line) <= 106
    assert line.startswith("...") and line.endswith("...")
    assert line[len(pointer) - 1 :].startswith("oops, a")


def test_tabs_do_not_move_the_caret() -> None:
    assert refused("SELECT\ta,\toops FROM S").caret == "SELECT a, oops FROM S\n          ^"


def test_the_text_of_an_error_shows_everything() -> None:
    assert str(refused("SELECT temprature FROM S")) == (
        "unknown column temprature (line 1, column 8)\n"
        "SELECT temprature FROM S\n"
        "       ^\n"
        "hint: did you mean temperature?"
    )


def test_a_hint_lists_at_most_eight_names() -> None:
    schemas = {"S": Schema.of({f"column_{number}": "int64" for number in range(20)})}
    with pytest.raises(SqlError) as caught:
        bind("SELECT zzz FROM S", schemas, {})
    assert (caught.value.hint or "").endswith("column_6, column_7, ...")


def test_without_streams_the_hint_says_so() -> None:
    with pytest.raises(SqlError) as caught:
        bind("SELECT a FROM S", {}, {})
    assert caught.value.hint == "there are no streams"


W = "SELECT a FROM S WHERE "


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (W + "(" * 201 + "ok" + ")" * 201, "nested more than 200 deep"),
        (W + "(" * 10_000 + "ok" + ")" * 10_000, "nested more than 200 deep"),
        (W + "NOT " * 201 + "ok", "nested more than 200 deep"),
        (W + "- " * 201 + "a = 1", "nested more than 200 deep"),
        (W + "NOT (" * 101 + "ok" + ")" * 101, "nested more than 200 deep"),
        (W + "ABS(" * 201 + "a" + ")" * 201 + " = 1", "nested more than 200 deep"),
        (W + " + ".join(["a"] * 5_000) + " = 1", "more than 100 operators deep"),
        (W + " || ".join(["s"] * 5_000) + " = 's'", "more than 100 operators deep"),
        (W + " = ".join(["ok"] * 5_000), "comparisons do not chain"),
        (W + "ok" + " IS NULL" * 5_000, "more than 100 operators deep"),
        (W + "ok" + " IN (TRUE)" * 5_000, "more than 100 operators deep"),
        (W + "(a + a * " * 130 + "a" + ")" * 130 + " = 1", "more than 100 operators deep"),
        (W + "(" * 40 + "ok" + " BETWEEN FALSE AND TRUE)" * 40, "more than 1,000,000 columns and constants"),
        (W + "(" * 20 + "ok" + " IN (ok, ok, TRUE))" * 20, "more than 1,000,000 columns and constants"),
        (W + "s = '" + "x" * (4 << 20) + "'", "longer than 4 MiB"),
        (W + "s = '" + "\u00e9" * (2 << 20) + "'", "longer than 4 MiB"),
        ("SELECT " + "," * 250_001, "more than 250,000 words and symbols"),
        ("SELECT " + "x" * 1_000_000 + " FROM S", "unknown column xxx"),
        ("SELECT a FROM " + "x." * 50_000 + "x", "unknown stream x.x"),
        (W + "a = " + "9" * 100_000, "more than 1,000 digits"),
        ("/*" * 100_000, "the comment is never closed"),
        ("'" * 100_001, "a query begins with SELECT"),
    ],
    ids=lambda value: value[:40],
)
def test_a_limit_is_refused_clearly(sql: str, message: str) -> None:
    error = refused(sql)
    assert message in error.message
    assert len(error.message) < 200
    assert error.hint and len(str(error)) < 1_000
    assert error.line == 1 and error.column is not None and error.caret


VALID = [
    "SELECT a, temperature AS t, s || 'x' FROM S AS q WHERE q.a > 90 AND NOT (ok OR s LIKE 'a!%' ESCAPE '!')",
    "FROM S SELECT S.a, * WHERE a BETWEEN -1 AND 5.5 OR a NOT IN (1, 2, NULL) OR ts > '2026-01-01';",
    "SELECT ABS(a - 3) % 2, ts - TIMESTAMP '2026-01-01 10:00' FROM S WHERE is_hot(temperature) IS NOT TRUE",
    "SELECT \"len\", len + INTERVAL '5' SECOND /* c */ FROM network.tcpdump d WHERE d.len IS NOT NULL -- end",
    "SELECT a FROM S WHERE alike(s, 'b') AND (a = -1 OR 3 < a / 2 * (a + 1)) AND ok = TRUE",
]
PIECES = [
    *"()[]{},.;*+-/%|=!<>'\"`:?@#$&^~\\ \n\t\x000159eE_aSé",
    *(" NULL", " NOT ", " AND ", " IS ", " IN (", " BETWEEN ", " AS ", " FROM ", " SELECT ", " WHERE ", "--", "/*"),
    *("*/", "''", "||", " LIKE ", " ESCAPE ", " TIMESTAMP ", " INTERVAL ", "::", " TRUE", " ABS(", " GROUP BY "),
]


@pytest.mark.parametrize("seed", range(20))
def test_damaged_queries_raise_nothing_but_sql_errors(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        sql = damaged(random.choice(VALID), random)
        try:
            bind(sql, SCHEMAS, FUNCTIONS)
        except SqlError as error:
            check_error(error, sql)
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__} for {sql!r}") from error


def damaged(sql: str, random: Random) -> str:
    """The query with one to four characters deleted, inserted, swapped or moved."""
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(sql) + 1)
        match random.randrange(5):
            case 0:
                sql = sql[:place] + sql[place + random.randint(1, 8) :]
            case 1 | 2:
                sql = sql[:place] + random.choice(PIECES) + sql[place:]
            case 3:
                sql = sql[:place] + sql[place + 1 : place + 2] + sql[place : place + 1] + sql[place + 2 :]
            case 4:
                other = random.randrange(len(sql) + 1)
                sql = sql[:place] + sql[other : other + random.randint(1, 12)] + sql[place:]
    return sql


def check_error(error: SqlError, sql: str) -> None:
    """The error has a place within the text, and does not speak of the machinery."""
    assert error.line is not None and error.column is not None and error.caret, sql
    lines = sql.split("\n")
    assert 1 <= error.line <= len(lines), sql
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1, sql
    assert error.hint, sql
    for word in ("sqlglot", "Token", "class ", "Traceback", "cannot be read"):
        assert word not in error.message, sql
