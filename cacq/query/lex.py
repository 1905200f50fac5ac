"""The text of a query as lexemes: words, values and symbols, each with its place.

sqlglot's own tokenizer is not used: it takes some text for comments or commands silently, does not say where a string
was left open, and has no limits. Only its parser sees the lexemes (see parse.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from cacq.errors import SqlError
from cacq.query.places import error_at, shorten
from cacq.query.words import FORM, KEYWORDS, STATEMENTS, SYMBOLS, UNSUPPORTED_WORDS, WINDOW_WORDS, symbol_hint

MAX_LENGTH = 4 << 20
MAX_LEXEMES = 250_000


class Kind(Enum):
    """What a lexeme is: a keyword or symbol (MARK), a NAME of whatever, or a value of some type.

    TRUE, FALSE and NULL are marks behind IS and values elsewhere; that and timestamps are found by literals.py.
    """

    NAME = auto()
    MARK = auto()
    NUMBER = auto()
    STRING = auto()
    TIMESTAMP = auto()
    BOOLEAN = auto()
    NULL = auto()


class Lexeme(NamedTuple):
    """`text` is what it means: a name or string without its quotes, a keyword in capitals; it fills `[start, end)`.

    `mark` is the text of a keyword or symbol, and empty for names and values.
    """

    kind: Kind
    text: str
    start: int
    end: int
    mark: str = ""
    quoted: bool = False

    def is_bare(self, text: str) -> bool:
        """Whether it is a name that is spelt like this word, given in capitals, without quotes."""
        return self.kind is Kind.NAME and not self.quoted and self.text.upper() == text

    @property
    def ends_value(self) -> bool:
        """Whether an operand can end here, so that an operator may follow."""
        return self.mark in _VALUE_ENDS


_SPLIT = "split it into several queries"
_VALUE_ENDS = ("", ")")
_PATTERN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<line_comment>--[^\r\n]*)
  | (?P<comment>/\*)
  | (?P<word>[^\W\d]\w*)
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<string>'[^']*(?:''[^']*)*')
  | (?P<name>"[^"]*(?:""[^"]*)*")
  | (?P<symbol><=>|->>|::|==|=>|:=|->|<<|>>|&&|\?\?|\|\||<>|!=|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARK = re.compile(r"/\*|\*/")
_WINDOW = re.compile(rf"\[\s*(?:{'|'.join(WINDOW_WORDS)})\b", re.IGNORECASE)


def lex(sql: str) -> list[Lexeme]:
    """The lexemes of the text, without comments; there is at least one, and the first begins a query.

    Refuses text beyond the limits, and every word and symbol of SQL that this language does not have.
    """
    _check_text(sql)
    lexemes: list[Lexeme] = []
    for match in _matches(sql):
        lexemes.append(_lexeme(sql, match, lexemes))
        if len(lexemes) == 1:
            _check_beginning(sql, lexemes[0])
        if len(lexemes) > MAX_LEXEMES:
            message = f"the query has more than {MAX_LEXEMES:,} words and symbols"
            raise error_at(sql, match.start(), message, _SPLIT)
    if not lexemes:
        raise error_at(sql, 0, "the query is empty", FORM)
    return lexemes


def _check_text(sql: str) -> None:
    if len(sql) > MAX_LENGTH:
        raise error_at(sql, MAX_LENGTH, f"the query is longer than {MAX_LENGTH >> 20} MiB", _SPLIT)
    try:
        size = len(sql.encode())
    except UnicodeEncodeError as error:
        raise error_at(
            sql, error.start, "the query holds half a character (a lone surrogate)", "decode it as UTF-8"
        ) from None
    if size > MAX_LENGTH:
        raise error_at(sql, len(sql), f"the query is longer than {MAX_LENGTH >> 20} MiB", _SPLIT)


def _matches(sql: str) -> Iterator[re.Match[str]]:
    """The pieces of the text in order, without blanks and comments."""
    position = 0
    while position < len(sql):
        match = _PATTERN.match(sql, position)
        assert match is not None, "the last alternative of the pattern takes any character"
        position = match.end()
        if match.lastgroup == "comment":
            position = _comment_end(sql, match.start())
        elif match.lastgroup not in ("space", "line_comment"):
            yield match


def _comment_end(sql: str, start: int) -> int:
    """Where the comment that starts here ends; comments nest. Hints look like comments and would mean something."""
    if sql.startswith("/*+", start):
        raise error_at(sql, start, "hints are not available", "how a query is evaluated is the engine's choice")
    depth = 0
    for mark in _COMMENT_MARK.finditer(sql, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    raise error_at(sql, start, "the comment is never closed", "a comment ends with */")


def _lexeme(sql: str, match: re.Match[str], before: list[Lexeme]) -> Lexeme:
    text, (start, end) = match.group(), match.span()
    match match.lastgroup:
        case "word":
            return _word(sql, text, start, end, before[-1] if before else None)
        case "number":
            return Lexeme(Kind.NUMBER, text, start, end)
        case "string":
            return Lexeme(Kind.STRING, text[1:-1].replace("''", "'"), start, end)
        case "name":
            return Lexeme(Kind.NAME, text[1:-1].replace('""', '"'), start, end, quoted=True)
    if text in SYMBOLS:
        return Lexeme(Kind.MARK, text, start, end, text)
    raise _unknown_symbol(sql, text, start, before)


def _word(sql: str, text: str, start: int, end: int, previous: Lexeme | None) -> Lexeme:
    """A keyword or a name. Directly behind a dot or in quotes, every word is a name."""
    if previous is not None and previous.end == start:
        if previous.kind is Kind.NUMBER:
            message = f"{shorten(sql[previous.start : end])} is neither a number nor a name"
            raise error_at(sql, previous.start, message, 'a name that begins with a digit is quoted: "5a"')
        if previous.mark == ".":
            return Lexeme(Kind.NAME, text, start, end)
    capitals = text.upper() if text.isascii() else text
    if capitals in KEYWORDS:
        return Lexeme(Kind.MARK, capitals, start, end, capitals)
    if capitals in UNSUPPORTED_WORDS:
        hint = f'{UNSUPPORTED_WORDS[capitals]} (a name is quoted: "{text}")'
        raise error_at(sql, start, f"{capitals} is not available in this version", hint)
    return Lexeme(Kind.NAME, text, start, end)


def _check_beginning(sql: str, first: Lexeme) -> None:
    if first.mark in ("SELECT", "FROM"):
        return
    raise error_at(sql, first.start, "a query begins with SELECT or FROM", STATEMENTS.get(first.text.upper(), FORM))


def _unknown_symbol(sql: str, text: str, start: int, before: list[Lexeme]) -> SqlError:
    if text == "'":
        return error_at(sql, start, "the string is never closed", "a quote inside a string is written twice: 'it''s'")
    if text == '"':
        return error_at(sql, start, "the quoted name is never closed", "a quote inside a name is written twice")
    if text == "[" and (_WINDOW.match(sql, start) or _in_source(before)):
        hint = "remove the brackets: the query then sees every row of the stream"
        return error_at(sql, start, "windows are not available in this version", hint)
    shown = text if text.isprintable() else f"the character U+{ord(text):04X}"
    return error_at(sql, start, f"{shown} is not part of the language", symbol_hint(text))


def _in_source(before: list[Lexeme]) -> bool:
    """Whether what comes next belongs to the FROM clause."""
    clauses = [lexeme.mark for lexeme in before if lexeme.mark in KEYWORDS and lexeme.mark != "AS"]
    return clauses[-1:] == ["FROM"]
