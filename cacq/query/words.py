"""The words and symbols of the language, and what to say about those of SQL that it does not have.

A word that stands in none of these tables is a name, also where other SQL dialects reserve it.
"""

from __future__ import annotations

from sqlglot import TokenType

KEYWORDS = {
    "SELECT": TokenType.SELECT,
    "FROM": TokenType.FROM,
    "AS": TokenType.ALIAS,
    "WHERE": TokenType.WHERE,
    "AND": TokenType.AND,
    "OR": TokenType.OR,
    "NOT": TokenType.NOT,
    "BETWEEN": TokenType.BETWEEN,
    "IN": TokenType.IN,
    "LIKE": TokenType.LIKE,
    "ESCAPE": TokenType.ESCAPE,
    "IS": TokenType.IS,
    "NULL": TokenType.NULL,
    "TRUE": TokenType.TRUE,
    "FALSE": TokenType.FALSE,
}

SYMBOLS = {
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    ",": TokenType.COMMA,
    ".": TokenType.DOT,
    ";": TokenType.SEMICOLON,
    "*": TokenType.STAR,
    "+": TokenType.PLUS,
    "-": TokenType.DASH,
    "/": TokenType.SLASH,
    "%": TokenType.MOD,
    "||": TokenType.DPIPE,
    "=": TokenType.EQ,
    "!=": TokenType.NEQ,
    "<>": TokenType.NEQ,
    "<": TokenType.LT,
    "<=": TokenType.LTE,
    ">": TokenType.GT,
    ">=": TokenType.GTE,
}

FORM = "a query has the form SELECT expressions FROM stream [AS alias] [WHERE condition]"

_ONE_STREAM = "a query reads exactly one stream"
_ONE_SELECT = "write one SELECT over the stream itself, or register several queries"
_NO_AGGREGATES = "a query selects and projects rows; grouping and aggregates are not available"
_NO_END = "a standing query has no last row: remove it, and stop reading when you have enough"
_NO_CASE = "write the alternatives with AND and OR"
_NO_MATCH = "use LIKE, or register a function"

UNSUPPORTED_WORDS = {
    "DISTINCT": "remove DISTINCT; IS DISTINCT FROM is written with = and IS NULL",
    "GROUP": _NO_AGGREGATES,
    "HAVING": _NO_AGGREGATES,
    "QUALIFY": _NO_AGGREGATES,
    "OVER": _NO_AGGREGATES,
    "ORDER": "results come in the order in which rows arrive; remove ORDER BY",
    "LIMIT": _NO_END,
    "OFFSET": _NO_END,
    "FETCH": _NO_END,
    "TABLESAMPLE": "every row is looked at; remove TABLESAMPLE",
    "JOIN": _ONE_STREAM,
    "LATERAL": _ONE_STREAM,
    "UNION": _ONE_SELECT,
    "EXCEPT": _ONE_SELECT,
    "INTERSECT": _ONE_SELECT,
    "WITH": _ONE_SELECT,
    "EXISTS": _ONE_SELECT,
    "INTO": "the results are read from the registered query; remove INTO",
    "CASE": _NO_CASE,
    "WHEN": _NO_CASE,
    "CAST": "values are not converted between types; TIMESTAMP '...' makes a timestamp",
    "TRY_CAST": "values are not converted between types; TIMESTAMP '...' makes a timestamp",
    "ILIKE": _NO_MATCH,
    "RLIKE": _NO_MATCH,
    "REGEXP": _NO_MATCH,
    "SIMILAR": _NO_MATCH,
    "GLOB": _NO_MATCH,
    "COLLATE": "strings compare by code point; remove COLLATE",
}
"""Reserved although they do nothing yet: read as names they would lead to misleading errors."""

WINDOW_WORDS = ("RANGE", "ROWS", "NOW", "UNBOUNDED")

_PARAMETER = "parameters are not available in this version: write the value itself"
_OPERATORS = "operators are + - * / % || = != <> < <= > >= AND OR NOT BETWEEN IN LIKE IS"

UNSUPPORTED_SYMBOLS = {
    ":": _PARAMETER,
    "?": _PARAMETER,
    "$": _PARAMETER,
    "@": _PARAMETER,
    "::": "values are not converted between types; TIMESTAMP '...' makes a timestamp",
    "==": "equality is written =",
    "<=>": "compare with = and IS NULL",
    "!": "negation is written NOT, inequality !=",
    "&&": "conjunction is written AND",
    "`": 'names are quoted as in "name"',
    "\u2018": "strings are quoted with straight quotes, as in 'text'",
    "\u2019": "strings are quoted with straight quotes, as in 'text'",
    "\u201c": "names are quoted with straight quotes, as in \"name\"; strings as in 'text'",
    "\u201d": "names are quoted with straight quotes, as in \"name\"; strings as in 'text'",
    "[": "arrays are not available",
    "]": "a bracket was never opened",
}


def symbol_hint(symbol: str) -> str:
    """What to write instead of a symbol that is not in SYMBOLS."""
    return UNSUPPORTED_SYMBOLS.get(symbol, _OPERATORS)


AGGREGATES = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV", "WTIME"))
"""Functions that will come with grouping; no user function may take their names."""

AGGREGATE_HINT = _NO_AGGREGATES

OTHER_LITERALS = frozenset(("DATE", "TIME", "DATETIME", "TIMESTAMPTZ"))
"""Words that make a literal of the string behind them in other dialects."""

STATEMENTS = {
    "CREATE": "streams are created with create_stream",
    "DROP": "queries end with cancel()",
    "INSERT": "rows are added with push",
    "EXPLAIN": "a query is explained with engine.explain(sql)",
}
"""Statements that people try, and what does their work here."""
