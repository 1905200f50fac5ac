"""The literals of a query's text, lifted out by one scan that neither parses nor binds.

Texts that differ only in these literals have one shape. The scan need not be clever: it is enough that the lexer cuts
two texts of one shape into the same lexemes, but for the values of those literals that are whole lexemes. Whoever
learns a shape checks that by the places of the literals, and keeps those that are something else as they are.
"""

from __future__ import annotations

import math
import re

from cacq.data.types import INT64_MAX

LONGEST = 4096
"""Characters of a text that is lifted; a longer one would make a shape that is too large to keep."""

_NUMBER = r"(?<!\w)(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_STRING = r"'[^']*(?:''[^']*)*'"
_OTHER = r'"[^"]*(?:""[^"]*)*"|--[^\r\n]*|/\*[^*/]*\*/'
_LITERAL = re.compile(f"({_NUMBER}|{_STRING})")
_LITERAL_OR_OTHER = re.compile(f"({_NUMBER}|{_STRING}|{_OTHER})")

MARK = "\0"
"""Stands in a shape before the kind of each literal. Outside of names, strings and comments no query holds it."""
INTEGER, DECIMAL, STRING = MARK + "i", MARK + "d", MARK + "s"

Literal = int | float | str
Lifted = tuple[str, list[str], list[Literal]]
"""The shape, the literals as they are written, and their values."""


def lift(sql: str) -> Lifted | None:
    """The shape of the text and its literals in order, or None for a text that has to be read as a whole.

    Shapes of two texts are equal only if the texts are, but for the literals, whose kinds are in the shape. A number
    that the binder may refuse by its size stays in the shape.
    """
    pieces = cut(sql)
    if pieces is None:
        return None
    marks: list[str] = []
    literals: list[str] = []
    values: list[Literal] = []
    for literal in pieces[1::2]:
        kind, value = _read(literal)
        marks.append(kind)
        if value is not None:
            literals.append(literal)
            values.append(value)
    pieces[1::2] = marks
    return "".join(pieces), literals, values


def ends(sql: str) -> list[int]:
    """Where each of the literals ends that lift() gives for the text."""
    found: list[int] = []
    position = 0
    for index, piece in enumerate(cut(sql) or ()):
        position += len(piece)
        if index % 2 and _read(piece)[1] is not None:
            found.append(position)
    return found


def cut(sql: str) -> list[str] | None:
    """The text in pieces, of which every second one is a number or a string."""
    if len(sql) > LONGEST or MARK in sql:
        return None
    if not sql.isascii() and not _is_unicode(sql):
        return None
    if '"' not in sql and "--" not in sql and "/*" not in sql:
        return _LITERAL.split(sql)
    pieces = _LITERAL_OR_OTHER.split(sql)
    joined = [""]
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            if '"' in piece or "/*" in piece:
                return None
            joined[-1] += piece
        elif piece[0] in '"-/':
            joined[-1] += piece
        else:
            joined += (piece, "")
    return joined


def _is_unicode(sql: str) -> bool:
    try:
        sql.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(literal: str) -> tuple[str, Literal | None]:
    """What stands for the literal in the shape, and its value; itself and None for a number that is too large."""
    if literal[0] == "'":
        return STRING, literal[1:-1].replace("''", "'")
    if literal.isdigit():
        if len(literal) < 19:
            return INTEGER, int(literal)
        integer = int(literal) if len(literal) == 19 else INT64_MAX + 1
        return (INTEGER, integer) if integer <= INT64_MAX else (literal, None)
    number = float(literal) if len(literal) <= 1_000 else math.inf
    return (DECIMAL, number) if number < math.inf else (literal, None)
