"""Values written in a query: which lexemes form one, and the constant that each stands for."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from cacq.data.iso import microseconds
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.query.ast import Constant
from cacq.query.lex import Kind, Lexeme
from cacq.query.places import error_at, shorten
from cacq.query.words import OTHER_LITERALS

_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
_UNIT_LIST = "units are " + ", ".join(_UNITS)
_CALENDAR = ("MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY")
_AMOUNT = re.compile(r"\s*([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)\s*([A-Za-z]*)\s*")
_CONSTANTS = {"NULL": Kind.NULL, "TRUE": Kind.BOOLEAN, "FALSE": Kind.BOOLEAN}
_MOST_DIGITS = 1_000
_FORM = "an interval is written INTERVAL '5' SECOND"


def fold_literals(sql: str, lexemes: list[Lexeme]) -> list[Lexeme]:
    """The lexemes with every value in one: `TIMESTAMP '...'`, TRUE, FALSE and NULL, and an interval as its number.

    TRUE, FALSE and NULL behind IS stay keywords: they belong to the operator.
    """
    folded: list[Lexeme] = []
    index = 0
    while index < len(lexemes):
        lexeme = lexemes[index]
        following = lexemes[index + 1] if index + 1 < len(lexemes) else None
        taken = 1
        if lexeme.mark in _CONSTANTS:
            lexeme = _constant_word(lexeme, folded)
        elif lexeme.kind is Kind.NAME and following is not None and not lexeme.quoted:
            if following.kind is Kind.STRING:
                lexeme, taken = _timestamp(sql, lexeme, following)
            if lexeme.is_bare("INTERVAL") and following.kind in (Kind.STRING, Kind.NUMBER):
                lexeme, taken = _interval(sql, lexemes[index : index + 3])
        folded.append(lexeme)
        index += taken
    return folded


def _constant_word(lexeme: Lexeme, before: list[Lexeme]) -> Lexeme:
    behind = before[-2] if len(before) > 1 and before[-1].mark == "NOT" else before[-1]
    if behind.mark == "IS":
        return lexeme
    return lexeme._replace(kind=_CONSTANTS[lexeme.mark], mark="")


def _timestamp(sql: str, word: Lexeme, string: Lexeme) -> tuple[Lexeme, int]:
    """`TIMESTAMP '...'` as one lexeme whose text is the string's; other words are left alone."""
    if word.text.upper() in OTHER_LITERALS:
        message = f"{word.text.upper()} '...' is not available"
        raise error_at(sql, word.start, message, "the one type of time is written TIMESTAMP '2026-01-31 12:00'")
    if not word.is_bare("TIMESTAMP"):
        return word, 1
    moment = instant(sql, string)
    return Lexeme(Kind.TIMESTAMP, str(moment), word.start, string.end), 2


def instant(sql: str, string: Lexeme) -> int:
    """The microseconds that a string lexeme names in ISO 8601; an error points at the string."""
    try:
        return microseconds(string.text)
    except ValueError as error:
        raise error_at(sql, string.start, str(error), "times are ISO 8601, in UTC unless they name a zone") from None


def _interval(sql: str, lexemes: list[Lexeme]) -> tuple[Lexeme, int]:
    """`INTERVAL '5' SECOND`, `INTERVAL 5 SECOND` or `INTERVAL '5 seconds'` as a number of microseconds."""
    word, amount = lexemes[:2]
    shape = _AMOUNT.fullmatch(amount.text) if len(amount.text) <= _MOST_DIGITS else None
    if shape is None:
        raise error_at(sql, amount.start, f"{shorten(amount.text)!r} is not the length of an interval", _FORM)
    unit, last = shape[2], amount
    if not unit:
        if len(lexemes) < 3 or lexemes[2].kind is not Kind.NAME:
            raise error_at(sql, amount.end, "the interval has no unit", _FORM)
        unit, last = lexemes[2].text, lexemes[2]
    capitals = unit.upper().removesuffix("S")
    if capitals not in _UNITS:
        hint = _UNIT_LIST
        if capitals in _CALENDAR:
            hint = f"months and years differ in length: use days; {_UNIT_LIST}"
        raise error_at(sql, last.start, f"{shorten(unit)} is not a unit of intervals", hint)
    exact = Fraction(shape[1]) * _UNITS[capitals]
    if exact.denominator != 1:
        raise error_at(sql, amount.start, "the interval is not a whole number of microseconds", _FORM)
    if not INT64_MIN <= exact.numerator <= INT64_MAX:
        raise error_at(sql, amount.start, "the interval is too long", "an interval fits into int64 microseconds")
    return Lexeme(Kind.NUMBER, str(exact.numerator), word.start, last.end), 2 if last is amount else 3


def constant(sql: str, lexeme: Lexeme, *, negative: bool = False, wide: bool = False) -> Constant:
    """The constant that a value lexeme stands for; NULL is an integer until its partner says otherwise.

    `negative` puts a minus before a number; `wide` allows integers outside int64.
    """
    match lexeme.kind:
        case Kind.NUMBER:
            return _number(sql, lexeme, negative, wide)
        case Kind.STRING:
            return Constant(lexeme.text, Type.STRING, lexeme.end)
        case Kind.TIMESTAMP:
            return Constant(int(lexeme.text), Type.TIMESTAMP, lexeme.end)
        case Kind.BOOLEAN:
            return Constant(lexeme.text == "TRUE", Type.BOOL)
        case _:
            return Constant(None, Type.INT64)


def _number(sql: str, lexeme: Lexeme, negative: bool, wide: bool) -> Constant:
    text = lexeme.text
    origin = -lexeme.end if negative else lexeme.end
    if len(text) > _MOST_DIGITS:
        raise error_at(sql, lexeme.start, f"the number has more than {_MOST_DIGITS:,} digits", "round it")
    if not text.lstrip("-").isdigit():
        number = float(text)
        if math.isinf(number):
            raise error_at(sql, lexeme.start, f"{shorten(text)} is beyond float64", "the largest is about 1.8e308")
        return Constant(-number if negative else number, Type.FLOAT64, origin)
    integer = -int(text) if negative else int(text)
    if not wide and not INT64_MIN <= integer <= INT64_MAX:
        hint = "it may only be compared with; as a decimal, 1e20 say, it is a float64"
        raise error_at(sql, lexeme.start, f"{shorten(text)} is beyond int64", hint)
    return Constant(integer, Type.INT64, origin)
