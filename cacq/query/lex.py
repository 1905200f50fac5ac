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
MAX_LEXEMES = 1_000_000


class Kind(Enum):
    """What a lexeme is. TIMESTAMP, BOOLEAN and NULL are values like NUMBER and STRING (see literals.py)."""

    NAME = auto()
    KEYWORD = auto()
    SYMBOL = auto()
    NUMBER = auto()
    STRING = auto()
    TIMESTAMP = auto()
    BOOLEAN = auto()
    NULL = auto()


class Lexeme(NamedTuple):
    """`text` is what it means: a keyword in capitals, a name or string without quotes; it fills `[start, end)`."""

    kind: Kind
    text: str
    start: int
    end: int
    quoted: bool = False

    def is_symbol(self, text: str) -> bool:
        """Whether it is this symbol; no other kind of lexeme with the same text is."""
        return self.kind is Kind.SYMBOL and self.text == text

    def is_keyword(self, text: str) -> bool:
        """Whether it is this keyword, given in capitals."""
        return self.kind is Kind.KEYWORD and self.text == text

    def is_bare(self, text: str) -> bool:
        """Whether it is a name that is spelt like this word, given in capitals, without quotes."""
        return self.kind is Kind.NAME and not self.quoted and self.text.upper() == text

    @property
    def ends_value(self) -> bool:
        """Whether an operand can end here, so that an operator may follow."""
        return self.kind not in (Kind.KEYWORD, Kind.SYMBOL) or self.is_symbol(")")


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
            raise error_at(sql, match.start(), message, "split it into several queries")
    if not lexemes:
        raise error_at(sql, 0, "the query is empty", FORM)
    return lexemes


def _check_text(sql: str) -> None:
    hint = "split it into several queries"
    if len(sql) > MAX_LENGTH:
        raise error_at(sql, MAX_LENGTH, f"the query is longer than {MAX_LENGTH >> 20} MiB", hint)
    try:
        size = len(sql.encode())
    except UnicodeEncodeError as error:
        raise error_at(sql, error.start, "the query holds half a character (a lone surrogate)") from None
    if size > MAX_LENGTH:
        raise error_at(sql, len(sql), f"the query is longer than {MAX_LENGTH >> 20} MiB", hint)


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
    """Where the comment that starts here ends; comments nest."""
    depth = 0
    for mark in _COMMENT_MARK.finditer(sql, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    raise error_at(sql, start, "the comment is never closed", "a comment ends with */")


def _lexeme(sql: str, match: re.Match[str], before: list[Lexeme]) -> Lexeme:
    text, start, end = match.group(), match.start(), match.end()
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
        return Lexeme(Kind.SYMBOL, text, start, end)
    raise _unknown_symbol(sql, text, start, before)


def _word(sql: str, text: str, start: int, end: int, previous: Lexeme | None) -> Lexeme:
    """A keyword or a name. Directly behind a dot or in quotes, every word is a name."""
    if previous is not None and previous.end == start:
        if previous.kind is Kind.NUMBER:
            message = f"{shorten(sql[previous.start : end])} is neither a number nor a name"
            raise error_at(sql, previous.start, message, 'a name that begins with a digit is quoted: "5a"')
        if previous.is_symbol("."):
            return Lexeme(Kind.NAME, text, start, end)
    capitals = text.upper() if text.isascii() else text
    if capitals in KEYWORDS:
        return Lexeme(Kind.KEYWORD, capitals, start, end)
    if capitals in UNSUPPORTED_WORDS:
        hint = f'{UNSUPPORTED_WORDS[capitals]} (a name is quoted: "{text}")'
        raise error_at(sql, start, f"{capitals} is not available in this version", hint)
    return Lexeme(Kind.NAME, text, start, end)


def _check_beginning(sql: str, first: Lexeme) -> None:
    if first.is_keyword("SELECT") or first.is_keyword("FROM"):
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
    clauses = [lexeme.text for lexeme in before if lexeme.kind is Kind.KEYWORD and lexeme.text != "AS"]
    return clauses[-1:] == ["FROM"]
