"""From the text of a query to its bound, typed form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from sqlglot import exp

from cacq.data.schema import Schema
from cacq.query import ast
from cacq.query.bind_expressions import Binder
from cacq.query.lex import Kind, Lexeme, lex
from cacq.query.literals import fold_literals
from cacq.query.parse import parse, room_for_recursion
from cacq.query.places import error_at
from cacq.query.scope import Scope
from cacq.query.shape import Shape, find_shape, without_semicolon
from cacq.query.syntax import check_syntax, unexpected
from cacq.query.tree import Tree, unwrap
from cacq.query.type_rules import is_null
from cacq.query.words import FORM


class _Item(NamedTuple):
    """An output that has no final name yet: `plain` ones are columns that may be qualified."""

    name: str
    expression: ast.Expression
    plain: bool


class Bound(NamedTuple):
    """A bound query, and the places `[start, end)` in its text that became names of its outputs."""

    select: ast.Select
    titles: list[tuple[int, int]]


def bind(sql: str, schemas: Mapping[str, Schema], functions: Mapping[str, ast.Function]) -> ast.Select:
    """The query with its names resolved and its types checked, or an SqlError that points at what is wrong."""
    return bind_with_titles(sql, schemas, functions).select


def bind_with_titles(sql: str, schemas: Mapping[str, Schema], functions: Mapping[str, ast.Function]) -> Bound:
    """What bind() gives, and which parts of the text show in it besides the values of its constants."""
    lexemes = fold_literals(sql, without_semicolon(sql, lex(sql)))
    check_syntax(sql, lexemes)
    shape = find_shape(sql, lexemes)
    scope = Scope(sql, shape, schemas, functions)
    with room_for_recursion():
        return _Selection(Tree(sql, lexemes), shape, scope).bind(parse(sql, lexemes))


class _Selection:
    """Binds the one SELECT of a query."""

    def __init__(self, tree: Tree, shape: Shape, scope: Scope) -> None:
        self.tree = tree
        self.shape = shape
        self.scope = scope
        self.binder = Binder(tree, scope)
        self.titles: list[tuple[int, int]] = []

    def bind(self, select: exp.Select) -> Bound:
        """The whole query; every name and value in its text has been used for something."""
        self.tree.check(select)
        nodes: list[exp.Expr] = select.expressions
        if len(nodes) != len(self.shape.items):
            raise error_at(self.tree.sql, self.tree.lexemes[0].start, "the query cannot be read", FORM)
        items: list[_Item] = []
        for node, (start, end) in zip(nodes, self.shape.items, strict=True):
            items += self._item(node, start, end)
        predicate = None
        where = select.args.get("where")
        if where is not None:
            self.tree.check(where)
            self.binder.may_call = True
            predicate = self.binder.condition(where.this)
        self.tree.check_all_read([*self.shape.source, *([self.shape.alias] if self.shape.alias else [])])
        names = _unique_names(items, self.scope.qualifier)
        outputs = tuple(ast.Output(name, item.expression) for name, item in zip(names, items, strict=True))
        return Bound(ast.Select(self.scope.stream, self.scope.schema, outputs, predicate), self.titles)

    def _item(self, node: exp.Expr, start: int, end: int) -> list[_Item]:
        """The outputs of one item of the select list, which fills the lexemes `[start, end)`."""
        alias = None
        if isinstance(node, exp.Alias):
            self.tree.check(node)
            alias, end = self._alias(node.args["alias"], end)
            node = node.this
        star = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
        if star and alias is None:
            return self._star(node)
        expression = self.binder.expression(node)
        if is_null(expression) and self._is_null_literal(node):
            raise self.tree.error(node, "NULL has no type here", "leave the column out")
        plain = alias is None and isinstance(expression, ast.Column)
        if plain and isinstance(expression, ast.Column):
            name = expression.name
        else:
            name = alias.text if alias else self._title(start, end)
        return [_Item(name, expression, plain)]

    def _alias(self, node: exp.Expr, end: int) -> tuple[Lexeme, int]:
        """The alias of an item, and the end of the item without it."""
        index = self.tree.index(node)
        alias = self.tree.lexemes[index]
        if alias.kind is not Kind.NAME or index != end - 1:
            raise unexpected(self.tree.sql, alias)
        return alias, index - (self.tree.lexemes[index - 1].mark == "AS")

    def _star(self, node: exp.Expr) -> list[_Item]:
        """`*` or `qualifier.*` as all columns of the stream."""
        self.tree.check(node)
        if isinstance(node, exp.Column):
            self.tree.check(node.this)
            self.scope.check_qualifier(self.tree.names(node))
        columns = self.scope.columns()
        self.binder.count(len(columns), node)
        return [_Item(column.name, column, plain=True) for column in columns]

    def _is_null_literal(self, node: exp.Expr) -> bool:
        return isinstance(unwrap(node), exp.Column)

    def _title(self, start: int, end: int) -> str:
        """The text of an item, which is the name of its output."""
        place = self.tree.lexemes[start].start, self.tree.lexemes[end - 1].end
        self.titles.append(place)
        return self.tree.sql[slice(*place)]


def _unique_names(items: list[_Item], qualifier: str) -> list[str]:
    """A name for each output: plain columns whose names occur twice are qualified, then repetitions are numbered."""
    uses = Counter(item.name for item in items)
    names = [f"{qualifier}.{item.name}" if item.plain and uses[item.name] > 1 else item.name for item in items]
    taken = set(names)
    seen: set[str] = set()
    numbers: Counter[str] = Counter()
    unique: list[str] = []
    for name in names:
        chosen = name
        if name in seen:
            number = max(numbers[name], 1) + 1
            while f"{name}_{number}" in taken:
                number += 1
            numbers[name] = number
            chosen = f"{name}_{number}"
            taken.add(chosen)
        seen.add(name)
        unique.append(chosen)
    return unique
