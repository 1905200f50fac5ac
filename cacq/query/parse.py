"""Lexemes -> the tree that stock sqlglot makes of them.

sqlglot decides what binds how tightly, and nothing else. It sees names and values as quoted identifiers with invented
text, so none of the words that its dialects know can be taken for something else. Every leaf of the tree carries the
offset of its lexeme; what the leaf is, the lexeme says.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, ParseError

from cacq.query.lex import Kind, Lexeme
from cacq.query.places import error_at
from cacq.query.syntax import MAX_NESTING, unexpected
from cacq.query.words import FORM, KEYWORDS, SYMBOLS

_FRAMES_A_LEVEL = 100
"""More than sqlglot (about 25) and the binder (about 20) need for one parenthesis."""

_TYPES = KEYWORDS | SYMBOLS
_DIALECT = DuckDB()
_RECURSION = threading.Lock()


@contextmanager
def room_for_recursion() -> Iterator[None]:
    """Lets the block recurse as deep as MAX_NESTING asks for, on top of what the caller has used up.

    Safe because calls between Python functions do not use the C stack (since Python 3.11), and because the nesting
    of the text is bounded before. The limit belongs to the whole process, hence the lock: no thread may restore it
    while another is deep inside.
    """
    with _RECURSION:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + MAX_NESTING * _FRAMES_A_LEVEL)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


def parse(sql: str, lexemes: list[Lexeme]) -> exp.Select:
    """The tree of the query; the `start` in the meta of a leaf is where its lexeme starts.

    Precedence is DuckDB's, which is PostgreSQL's: `a = b IS NULL` means `(a = b) IS NULL`.
    """
    tokens = [_token(index, lexeme) for index, lexeme in enumerate(lexemes)]
    parser = _DIALECT.parser(error_level=ErrorLevel.IMMEDIATE)
    try:
        [tree] = parser.parse(tokens, sql)
    except ParseError as error:
        raise unexpected(sql, lexemes[error.errors[0]["col"]]) from None
    except Exception:  # on text that it does not foresee sqlglot fails in many ways, and none may leak
        tree = None
    if not isinstance(tree, exp.Select):
        raise error_at(sql, lexemes[0].start, "the query cannot be read", FORM)
    return tree


def _token(index: int, lexeme: Lexeme) -> Token:
    """The lexeme as sqlglot sees it. Its `col` is the index, so that a ParseError leads back to the lexeme."""
    match lexeme.kind:
        case Kind.MARK:
            type, text = _TYPES[lexeme.text], lexeme.text
        case Kind.STRING:
            type, text = TokenType.STRING, lexeme.text
        case _:
            type, text = TokenType.IDENTIFIER, f"_{index}"
    return Token(type, text, line=1, col=index, start=lexeme.start, end=lexeme.end - 1)
