"""The clauses of a query, found in its lexemes: what is selected, and from where.

Everything is checked here that sqlglot's parser would let pass or silently drop: empty list items, a second clause of
a kind, what follows a source, nesting without bound.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from cacq.errors import SqlError
from cacq.query.lex import Kind, Lexeme
from cacq.query.places import error_at, shorten
from cacq.query.words import FORM

MAX_NESTING = 200

_CLAUSES = ("SELECT", "FROM", "WHERE")
_QUOTE = 'keywords and strings are no names; a keyword in double quotes is one: "from"'


class Shape(NamedTuple):
    """The items of the select list as ranges of lexemes, the source's name in parts, and its alias."""

    items: list[tuple[int, int]]
    source: list[Lexeme]
    alias: Lexeme | None


def find_shape(sql: str, lexemes: list[Lexeme]) -> Shape:
    """The shape of a single query, without semicolon, or the error that says where it has none."""
    _check_nesting(sql, lexemes)
    _check_neighbours(sql, lexemes)
    starts = _clause_starts(sql, lexemes)
    ends = dict(pairwise([*sorted(starts.values()), len(lexemes)]))
    select, source = starts["SELECT"], starts["FROM"]
    name, alias = _source(sql, lexemes, source + 1, ends[source])
    if select + 1 == ends[select]:
        place = lexemes[select + 1].start if select + 1 < len(lexemes) else lexemes[-1].end
        raise error_at(sql, place, "nothing is selected", "SELECT * shows all columns")
    return Shape(_items(lexemes, select + 1, ends[select]), name, alias)


def without_semicolon(sql: str, lexemes: list[Lexeme]) -> list[Lexeme]:
    """The lexemes of the one statement that the text may hold."""
    for index, lexeme in enumerate(lexemes):
        if lexeme.is_symbol(";"):
            if index + 1 < len(lexemes):
                hint = "register each query on its own"
                raise error_at(sql, lexemes[index + 1].start, "a query is one statement", hint)
            return lexemes[:index]
    return lexemes


def unexpected(sql: str, lexeme: Lexeme) -> SqlError:
    """The error for a lexeme that cannot stand where it does."""
    return error_at(sql, lexeme.start, f"{shorten(sql[lexeme.start : lexeme.end])} is not expected here", FORM)


def _check_nesting(sql: str, lexemes: list[Lexeme]) -> None:
    """Parentheses are balanced; they and prefix operators (NOT, minus) together nest at most MAX_NESTING deep."""
    depth = run = 0
    open_: list[tuple[Lexeme, int]] = []
    previous = None
    for index, lexeme in enumerate(lexemes):
        if lexeme.is_symbol("("):
            open_.append((lexeme, run + 1))
            depth, run = depth + run + 1, 0
        elif lexeme.is_symbol(")"):
            if not open_:
                raise error_at(sql, lexeme.start, "this parenthesis was never opened", "remove it")
            depth, run = depth - open_.pop()[1], 0
        elif lexeme.ends_value:
            run = 0
        elif _is_prefix(lexemes, index):
            run += 1
        if depth + run > MAX_NESTING:
            message = f"the query is nested more than {MAX_NESTING} deep"
            raise error_at(sql, lexeme.start, message, "remove parentheses, or split the query")
        if lexeme.is_symbol("+") and (previous is None or not previous.ends_value):
            raise error_at(sql, lexeme.start, "a value is missing before +", "a leading + is not needed")
        previous = lexeme
    if open_:
        raise error_at(sql, open_[-1][0].start, "this parenthesis is never closed", "add the missing )")


def _is_prefix(lexemes: list[Lexeme], index: int) -> bool:
    """Whether the lexeme is a NOT or a minus before its operand."""
    lexeme = lexemes[index]
    if lexeme.is_keyword("NOT"):
        return not (index and (lexemes[index - 1].ends_value or lexemes[index - 1].is_keyword("IS")))
    return lexeme.is_symbol("-") and not (index and lexemes[index - 1].ends_value)


def _check_neighbours(sql: str, lexemes: list[Lexeme]) -> None:
    """No list item is empty, dots and AS have their names, and the end is the end of something."""
    for left, right in pairwise(lexemes):
        if left.kind is Kind.STRING and right.kind is Kind.STRING:
            raise error_at(sql, right.start, "two strings stand side by side", "join strings with ||")
        if left.is_symbol(",") and (right.is_symbol(",") or right.is_symbol(")") or _is_clause(right)):
            raise error_at(sql, right.start, "a value is missing behind the comma", "remove the comma")
        if right.is_symbol(",") and (left.is_symbol("(") or left.is_keyword("SELECT")):
            raise error_at(sql, right.start, "a value is missing before the comma", "remove the comma")
        if left.is_symbol(".") and right.kind is not Kind.NAME and not right.is_symbol("*"):
            raise error_at(sql, right.start, "the name of a column is expected behind the dot", _QUOTE)
        if left.is_keyword("AS") and right.kind is not Kind.NAME:
            raise error_at(sql, right.start, "a name is expected behind AS", _QUOTE)
        misplaced = right.is_symbol(".") and left.kind is not Kind.NAME
        if misplaced or (right.is_keyword("AS") and not left.ends_value and not left.is_symbol("*")):
            raise unexpected(sql, right)
    last = lexemes[-1]
    if not last.ends_value and not last.is_symbol("*") and last.text not in ("NULL", "TRUE", "FALSE"):
        raise error_at(sql, last.end, "the query ends too early", FORM)


def _is_clause(lexeme: Lexeme) -> bool:
    return lexeme.kind is Kind.KEYWORD and lexeme.text in _CLAUSES


def _clause_starts(sql: str, lexemes: list[Lexeme]) -> dict[str, int]:
    """Where SELECT, FROM and perhaps WHERE stand: each once, WHERE last."""
    starts: dict[str, int] = {}
    depth = 0
    for index, lexeme in enumerate(lexemes):
        if lexeme.kind is Kind.SYMBOL:
            depth += (lexeme.text == "(") - (lexeme.text == ")")
        elif _is_clause(lexeme):
            if depth:
                message = f"{lexeme.text} inside parentheses is not available in this version"
                raise error_at(sql, lexeme.start, message, "a query has no subqueries")
            if lexeme.text in starts:
                raise error_at(sql, lexeme.start, f"a second {lexeme.text}", FORM)
            if "WHERE" in starts or (lexeme.text == "WHERE" and len(starts) < 2):
                missing = "SELECT" if "SELECT" not in starts else "FROM"
                message = f"{lexeme.text} stands behind WHERE" if "WHERE" in starts else f"{missing} is missing"
                raise error_at(sql, lexeme.start, message, FORM)
            starts[lexeme.text] = index
    for clause in ("SELECT", "FROM"):
        if clause not in starts:
            raise error_at(sql, lexemes[-1].end, f"{clause} is missing", FORM)
    return starts


def _items(lexemes: list[Lexeme], start: int, end: int) -> list[tuple[int, int]]:
    """The ranges of lexemes between the commas of the select list."""
    items: list[tuple[int, int]] = []
    depth = 0
    for index in range(start, end):
        lexeme = lexemes[index]
        if lexeme.kind is Kind.SYMBOL:
            depth += (lexeme.text == "(") - (lexeme.text == ")")
            if lexeme.text == "," and depth == 0:
                items.append((start, index))
                start = index + 1
    items.append((start, end))
    return items


def _source(sql: str, lexemes: list[Lexeme], start: int, end: int) -> tuple[list[Lexeme], Lexeme | None]:
    """The parts of the stream's name, and its alias: `name [. name]* [[AS] alias]` and nothing else."""
    name: list[Lexeme] = []
    while True:
        if start == end or lexemes[start].kind is not Kind.NAME:
            place = lexemes[start].start if start < len(lexemes) else lexemes[-1].end
            raise error_at(sql, place, "the name of a stream is expected here", FORM)
        name.append(lexemes[start])
        start += 1
        if start == end or not lexemes[start].is_symbol("."):
            break
        start += 1
    alias = None
    explicit = start < end and lexemes[start].is_keyword("AS")
    start += explicit
    if start < end and lexemes[start].kind is Kind.NAME:
        alias = lexemes[start]
        start += 1
    if start < end:
        if lexemes[start].is_symbol(","):
            raise error_at(sql, lexemes[start].start, "joins are not available in this version", "name one stream")
        raise unexpected(sql, lexemes[start])
    return name, alias
