"""The clauses of a query, found in its lexemes: what is selected, and from where."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from cacq.query.lex import Kind, Lexeme
from cacq.query.places import error_at
from cacq.query.syntax import CLAUSES, unexpected
from cacq.query.words import FORM


class Shape(NamedTuple):
    """The items of the select list as ranges of lexemes, the source's name in parts, and its alias."""

    items: list[tuple[int, int]]
    source: list[Lexeme]
    alias: Lexeme | None


def find_shape(sql: str, lexemes: list[Lexeme]) -> Shape:
    """The shape of a query whose syntax has been checked, or the error that says where it has none."""
    starts = _clause_starts(sql, lexemes)
    ends = dict(pairwise([*sorted(starts.values()), len(lexemes)]))
    select, source = starts["SELECT"], starts["FROM"]
    name, alias = _source(sql, lexemes, source + 1, ends[source])
    return Shape(_items(lexemes, select + 1, ends[select]), name, alias)


def without_semicolon(sql: str, lexemes: list[Lexeme]) -> list[Lexeme]:
    """The lexemes of the one statement that the text may hold."""
    for index, lexeme in enumerate(lexemes):
        if lexeme.mark == ";":
            if index + 1 < len(lexemes):
                hint = "register each query on its own"
                raise error_at(sql, lexemes[index + 1].start, "a query is one statement", hint)
            return lexemes[:index]
    return lexemes


def _clause_starts(sql: str, lexemes: list[Lexeme]) -> dict[str, int]:
    """Where SELECT, FROM and perhaps WHERE stand: each once, WHERE last."""
    starts: dict[str, int] = {}
    depth = 0
    for index, lexeme in enumerate(lexemes):
        depth += (lexeme.mark == "(") - (lexeme.mark == ")")
        if lexeme.mark in CLAUSES:
            if depth:
                message = f"{lexeme.text} inside parentheses is not available in this version"
                raise error_at(sql, lexeme.start, message, "a query has no subqueries")
            if lexeme.text in starts:
                raise error_at(sql, lexeme.start, f"a second {lexeme.text}", FORM)
            if lexeme.mark == "WHERE" and len(starts) < 2:
                missing = "FROM" if "SELECT" in starts else "SELECT"
                raise error_at(sql, lexeme.start, f"{missing} is missing", FORM)
            starts[lexeme.text] = index
        elif lexeme.mark == "," and depth == 0 and "WHERE" in starts:
            raise unexpected(sql, lexeme)
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
        depth += (lexeme.mark == "(") - (lexeme.mark == ")")
        if lexeme.mark == "," and depth == 0:
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
        if start == end or lexemes[start].mark != ".":
            break
        start += 1
    alias = None
    explicit = start < end and lexemes[start].mark == "AS"
    start += explicit
    if start < end and lexemes[start].kind is Kind.NAME:
        alias = lexemes[start]
        start += 1
    if start < end:
        if lexemes[start].mark == ",":
            raise error_at(sql, lexemes[start].start, "joins are not available in this version", "name one stream")
        raise unexpected(sql, lexemes[start])
    return name, alias
