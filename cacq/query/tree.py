"""The parsed tree with its places: which lexeme a leaf is, and where an expression starts."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from cacq.errors import SqlError
from cacq.query.lex import Lexeme
from cacq.query.places import error_at
from cacq.query.syntax import unexpected
from cacq.query.words import FORM

_ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(("expressions", "from_", "where")),
    exp.Where: frozenset(("this",)),
    exp.Alias: frozenset(("this", "alias")),
    exp.Star: frozenset(),
    exp.Column: frozenset(("this", "table", "db", "catalog")),
    exp.Identifier: frozenset(("this", "quoted")),
    exp.Literal: frozenset(("this", "is_string")),
    exp.Paren: frozenset(("this",)),
    exp.Neg: frozenset(("this",)),
    exp.Not: frozenset(("this",)),
    exp.Between: frozenset(("this", "low", "high")),
    exp.In: frozenset(("this", "expressions")),
    exp.Like: frozenset(("this", "expression", "negate")),
    exp.Escape: frozenset(("this", "expression")),
    exp.Is: frozenset(("this", "expression", "negate")),
    exp.Anonymous: frozenset(("this", "expressions")),
    exp.Div: frozenset(("this", "expression", "typed", "safe")),
    exp.DPipe: frozenset(("this", "expression", "safe")),
    **{
        kind: frozenset(("this", "expression"))
        for kind in (
            exp.And, exp.Or, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE,
        )
    },
}  # fmt: skip
"""The kinds of nodes that the language has, each with the arguments that mean something."""

_MISPLACED: dict[type[exp.Expr], tuple[str, str]] = {
    exp.Alias: ("an alias is not possible here", "only an item of the select list has an alias"),
    exp.Star: ("* is not possible here", "* stands for all columns, as an item of the select list"),
    exp.Tuple: ("a list of values is not possible here", "write one value; a list stands behind IN"),
    exp.Dot: ("the name has too many parts", "give the stream an alias and write alias.column"),
}


class Tree:
    """Reads nodes that parse.parse made of these lexemes, and remembers which lexemes have been read."""

    def __init__(self, sql: str, lexemes: list[Lexeme]) -> None:
        self.sql = sql
        self.lexemes = lexemes
        self._index = {lexeme.start: index for index, lexeme in enumerate(lexemes)}
        self._read: set[int] = set()

    def index(self, leaf: exp.Expr) -> int:
        """Which lexeme the leaf is; it counts as read."""
        index = self._index[leaf.meta["start"]]
        self._read.add(index)
        return index

    def lexeme(self, leaf: exp.Expr) -> Lexeme:
        """The lexeme of an identifier, a string, a star or a function's name."""
        return self.lexemes[self.index(leaf)]

    def names(self, column: exp.Column) -> list[Lexeme]:
        """The lexemes of a column reference: qualifier, if any, then column; or the one lexeme of a value."""
        parts = [column.args.get(part) for part in ("catalog", "db", "table", "this")]
        lexemes = [self.lexeme(part) for part in parts if isinstance(part, exp.Identifier | exp.Star)]
        if len(lexemes) != sum(part is not None for part in parts):
            self.refuse(column)
        return lexemes

    def check(self, node: exp.Expr) -> None:
        """Refuses a node that the language does not have, or that carries something it would ignore."""
        allowed = _ARGUMENTS.get(type(node))
        if allowed is None:
            self.refuse(node)
        for name, value in node.args.items():
            if value and name not in allowed:
                self.refuse(node)

    def refuse(self, node: exp.Expr) -> NoReturn:
        """Raises the error for a node that cannot stand where it does."""
        message, hint = _MISPLACED.get(type(node), ("this is not available in this version", FORM))
        raise self.error(node.args["alias"] if isinstance(node, exp.Alias) else node, message, hint)

    def error(self, node: exp.Expr, message: str, hint: str | None = None) -> SqlError:
        """The error to raise for a node: it points at its first character, parentheses aside."""
        return error_at(self.sql, self.start(node), message, hint)

    def start(self, node: exp.Expr) -> int:
        """The offset of the node's first character, parentheses and NOT aside."""
        signs = 0
        leaf: exp.Expr | None = node
        while leaf is not None and "start" not in leaf.meta:
            signs += isinstance(leaf, exp.Neg)
            leaf = _leftmost(leaf)
        if leaf is None:
            return self.lexemes[0].start
        index = self._index[leaf.meta["start"]]
        while signs and index:
            index -= 1
            signs -= self.lexemes[index].mark == "-"
        return self.lexemes[index].start

    def before(self, node: exp.Expr) -> Lexeme:
        """The lexeme before the node, parentheses, minus and NOT aside: the operator whose right side it is."""
        index = self._index[self.start(node)] - 1
        while index and self.lexemes[index].mark in ("(", "-", "NOT"):
            index -= 1
        return self.lexemes[index]

    def check_all_read(self, besides: list[Lexeme]) -> None:
        """Refuses the first name or value that is no part of what has been bound; nothing is silently ignored."""
        known = self._read | {self._index[lexeme.start] for lexeme in besides}
        for index, lexeme in enumerate(self.lexemes):
            if not lexeme.mark and index not in known:
                raise unexpected(self.sql, lexeme)


def _leftmost(node: exp.Expr) -> exp.Expr | None:
    """The child in which the text of the node begins."""
    if isinstance(node, exp.Column):
        return next((node.args[part] for part in ("catalog", "db", "table", "this") if node.args.get(part)), None)
    first = node.args.get("this") or node.args.get("expressions")
    first = first[0] if isinstance(first, list) and first else first
    return first if isinstance(first, exp.Expr) else None


def unwrap(node: exp.Expr) -> exp.Expr:
    """The node without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node
