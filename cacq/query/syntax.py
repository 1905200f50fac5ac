"""What may stand beside what: faults that show in neighbouring lexemes and in parentheses.

sqlglot's parser lets many of them pass (it drops an empty list item, a leading plus, the AND of a BETWEEN), and of
others it does not know the place. Behind these checks every operator has its operands.
"""

from __future__ import annotations

from itertools import pairwise

from cacq.errors import SqlError
from cacq.query.lex import Kind, Lexeme
from cacq.query.places import error_at, shorten
from cacq.query.words import FORM

MAX_NESTING = 200

CLAUSES = frozenset(("SELECT", "FROM", "WHERE"))
_BEFORE_VALUES = CLAUSES - {"FROM"} | set("(,+-*/%=<>") | {"||", "!=", "<>", "<=", ">="}
_BEFORE_VALUES |= {"AND", "OR", "NOT", "IS", "LIKE", "BETWEEN", "ESCAPE"}
_BEGINNING_VALUES = frozenset(("", "(", "-", "NOT", "NULL", "TRUE", "FALSE"))
_BEFORE_STARS = frozenset(("SELECT", ",", "(", "."))
_INFIX = frozenset(("IN", "LIKE", "BETWEEN"))
_ENDING_RANGES = CLAUSES | _INFIX | {"OR", "IS", "AS", ")", ","}
_RANGE = "a range is written x BETWEEN low AND high"
_QUOTE = 'keywords and strings are no names; a keyword in double quotes is one: "from"'


def check_syntax(sql: str, lexemes: list[Lexeme]) -> None:
    """Refuses lexemes in an order that cannot be a query; what passes is balanced and not too deep."""
    _check_nesting(sql, lexemes)
    before = lexemes[0]
    for left, right in pairwise(lexemes):
        if left.mark in _BEFORE_VALUES and right.mark not in _BEGINNING_VALUES:
            _check_missing(sql, before, left, right)
        _check_pair(sql, before, left, right)
        before = left
    last = lexemes[-1]
    if not last.ends_value and last.mark not in ("*", "NULL", "TRUE", "FALSE"):
        raise error_at(sql, last.end, "the query ends too early", FORM)
    _check_ranges(sql, lexemes)


def unexpected(sql: str, lexeme: Lexeme) -> SqlError:
    """The error for a lexeme that cannot stand where it does."""
    return error_at(sql, lexeme.start, f"{written(sql, lexeme)} is not expected here", FORM)


def written(sql: str, lexeme: Lexeme) -> str:
    """The lexeme as its author wrote it, for a message."""
    return shorten(sql[lexeme.start : lexeme.end])


def _check_nesting(sql: str, lexemes: list[Lexeme]) -> None:
    """Parentheses are balanced; they and prefix operators (NOT, minus) together nest at most MAX_NESTING deep."""
    depth = run = 0
    opened: list[tuple[Lexeme, int]] = []
    before = lexemes[0]
    for lexeme in lexemes:
        if lexeme.mark == "(":
            opened.append((lexeme, run + 1))
            depth, run = depth + run + 1, 0
        elif lexeme.mark == ")":
            if not opened:
                raise error_at(sql, lexeme.start, "this parenthesis was never opened", "remove it")
            depth, run = depth - opened.pop()[1], 0
        elif not lexeme.mark:
            run = 0
        elif (lexeme.mark == "-" and not before.ends_value) or (lexeme.mark == "NOT" and before.mark != "IS"):
            run += 1
        if depth + run > MAX_NESTING:
            message = f"the query is nested more than {MAX_NESTING} deep"
            raise error_at(sql, lexeme.start, message, "remove parentheses, or split the query")
        before = lexeme
    if opened:
        raise error_at(sql, opened[-1][0].start, "this parenthesis is never closed", "add the missing )")


def _check_missing(sql: str, before: Lexeme, left: Lexeme, right: Lexeme) -> None:
    """The left mark wants a value and the right one begins none: an error but for stars, `f()` and `x NOT IN`.

    Subqueries are refused elsewhere.
    """
    if (left.mark == "*" and before.mark in _BEFORE_STARS) or (right.mark == "*" and left.mark in _BEFORE_STARS):
        return
    if left.mark == "(" and (right.mark in CLAUSES or (right.mark == ")" and before.kind is Kind.NAME)):
        return
    if left.mark == "NOT" and right.mark in _INFIX and before.ends_value:
        return
    hint = "a leading + is not needed" if right.mark == "+" else FORM
    raise error_at(sql, right.start, f"a value is missing before {written(sql, right)}", hint)


def _check_pair(sql: str, before: Lexeme, left: Lexeme, right: Lexeme) -> None:
    """What a lexeme demands of its neighbours besides values."""
    match left.mark:
        case "":
            if left.kind is Kind.STRING and right.kind is Kind.STRING:
                raise error_at(sql, right.start, "two strings stand side by side", "join strings with ||")
            if before.mark == "." and right.mark == "(":
                raise error_at(sql, left.start, "the name of a function has no dots", "write f(x)")
        case "IN" if right.mark != "(":
            raise error_at(sql, right.start, "IN needs a list of values", "write x IN (1, 2, 3)")
        case "ESCAPE" if right.kind is not Kind.STRING or len(right.text) > 1:
            raise error_at(sql, right.start, "ESCAPE takes one character", "for example ESCAPE '!'")
        case "." if right.kind is not Kind.NAME and right.mark != "*":
            raise error_at(sql, right.start, "the name of a column is expected behind the dot", _QUOTE)
        case "AS" if right.kind is not Kind.NAME:
            raise error_at(sql, right.start, "a name is expected behind AS", _QUOTE)
    if right.mark == "." and left.kind is not Kind.NAME:
        raise unexpected(sql, right)


def _check_ranges(sql: str, lexemes: list[Lexeme]) -> None:
    """Every BETWEEN has its AND, within the same parentheses."""
    waiting = [False]
    for left, right in pairwise(lexemes):
        if waiting[-1] and (right.mark in _ENDING_RANGES or (left.ends_value and not right.mark)):
            raise error_at(sql, right.start, "AND is missing", _RANGE)
        if right.mark == "(":
            waiting.append(False)
        elif right.mark == ")":
            waiting.pop()
        elif right.mark in ("BETWEEN", "AND"):
            waiting[-1] = right.mark == "BETWEEN"
    if waiting[-1]:
        raise error_at(sql, lexemes[-1].end, "AND is missing", _RANGE)
