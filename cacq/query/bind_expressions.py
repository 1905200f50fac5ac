"""Expressions of the tree, bound: names resolved, types checked, every construct reduced to the nodes of ast.py."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NoReturn

from sqlglot import exp

from cacq.data.types import Type
from cacq.query import ast
from cacq.query.lex import Kind
from cacq.query.literals import constant, instant
from cacq.query.places import error_at, shorten
from cacq.query.scope import Scope
from cacq.query.tree import Tree, unwrap
from cacq.query.type_rules import arithmetic_type, comparable, comparison, fits, is_null, retyped

MAX_DEPTH = 100
"""Of a bound expression; chains of AND and OR count once. Whoever walks the result may recurse."""

MAX_LEAVES = 1_000_000
"""Columns and constants of a bound query, counting those that BETWEEN and IN repeat."""

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_DIRECTED = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_BINARY = {exp.DPipe, *_COMPARISONS, *_ARITHMETIC}
_NULL = ast.Constant(None, Type.BOOL)


class Binder:
    """Binds the expressions of one query. User functions may be called while `may_call` is set."""

    def __init__(self, tree: Tree, scope: Scope) -> None:
        self.tree = tree
        self.scope = scope
        self.may_call = False
        self._leaves = 0
        self._copies = 1

    def condition(self, node: exp.Expr, depth: int = 1) -> ast.Expression:
        """A boolean expression."""
        bound = retyped(self.expression(node, depth), Type.BOOL)
        if bound.type is not Type.BOOL:
            hint = "a condition is a comparison or a column of type bool"
            raise self.tree.error(node, f"a condition is expected here, not a value of type {bound.type.value}", hint)
        return bound

    def expression(self, node: exp.Expr, depth: int = 1, *, wide: bool = False) -> ast.Expression:
        """Any expression. Its type is open if it is NULL; `wide` allows it to be an integer outside int64.

        Recurses with the depth of the result only, never with the length of a chain.
        """
        node = unwrap(node)
        self.tree.check(node)
        if depth > MAX_DEPTH:
            self._too_deep(node)
        kind = type(node)
        if isinstance(node, exp.Column | exp.Literal):
            return self._leaf(node, wide)
        if isinstance(node, exp.Neg):
            return self._negate(node, depth, wide)
        if kind in _BINARY:
            return self._chain(node, depth)
        if kind not in _OTHERS:
            self.tree.refuse(node)
        return _OTHERS[kind](self, node, depth)

    def count(self, leaves: int, node: exp.Expr) -> None:
        """Notes that so many columns or constants were bound at the node."""
        self._leaves += leaves * self._copies
        if self._leaves > MAX_LEAVES:
            message = f"the query uses more than {MAX_LEAVES:,} columns and constants"
            raise self.tree.error(node, message, "BETWEEN and IN repeat their left side; split the query")

    def _too_deep(self, node: exp.Expr) -> NoReturn:
        hint = "split the query, or use a shorter chain of operators; only AND and OR may be repeated at will"
        raise self.tree.error(node, f"the expression is more than {MAX_DEPTH} operators deep", hint)

    def _leaf(self, node: exp.Column | exp.Literal, wide: bool) -> ast.Expression:
        self.count(1, node)
        lexemes = self.tree.names(node) if isinstance(node, exp.Column) else [self.tree.lexeme(node)]
        if all(lexeme.kind is Kind.NAME for lexeme in lexemes):
            return self.scope.column(lexemes)
        if len(lexemes) > 1:
            self.tree.refuse(node.this)
        return constant(self.tree.sql, lexemes[0], wide=wide)

    def _negate(self, node: exp.Neg, depth: int, wide: bool) -> ast.Expression:
        if isinstance(node.this, exp.Column):
            lexemes = self.tree.names(node.this)
            if lexemes[0].kind is Kind.NUMBER and len(lexemes) == 1:
                self.count(1, node)
                return constant(self.tree.sql, lexemes[0], negative=True, wide=wide)
        operand = self._number(node.this, depth, "a minus")
        return ast.Negate(operand, operand.type)

    def _number(self, node: exp.Expr, depth: int, what: str) -> ast.Expression:
        """The operand of an operator on one number, which keeps its type."""
        operand = self.expression(node, depth + 1)
        if not operand.type.numeric:
            message = f"{what} needs a number, not a value of type {operand.type.value}"
            raise self.tree.error(node, message, "numbers are int64 and float64")
        return operand

    def _connective(self, node: exp.Expr, depth: int) -> ast.Expression:
        """A chain of AND or of OR as one node, however long and however parenthesised."""
        kind = type(node)
        parts: list[ast.Expression] = []
        target = ast.And if kind is exp.And else ast.Or
        pending = [node]
        while pending:
            part = unwrap(pending.pop())
            if type(part) is kind:
                self.tree.check(part)
                pending += (part.args["expression"], part.args["this"])
                continue
            bound = self.condition(part, depth + 1)
            parts += bound.parts if isinstance(bound, target) else (bound,)
        return target(tuple(parts))

    def _not(self, node: exp.Expr, depth: int) -> ast.Expression:
        return ast.Not(self.condition(node.this, depth + 1))

    def _chain(self, node: exp.Expr, depth: int) -> ast.Expression:
        """Binary operators from left to right: `a + b - c`. The leftmost operand is the deepest."""
        chain = [node]
        while type(chain[-1].this) in _BINARY:
            chain.append(chain[-1].this)
            self.tree.check(chain[-1])
        chain.reverse()
        for inner, outer in pairwise(chain):
            if type(inner) in _COMPARISONS and type(outer) in _COMPARISONS:
                place = self.tree.before(outer.args["expression"]).start
                hint = "write a < b AND b < c, or put parentheses around the first comparison"
                raise error_at(self.tree.sql, place, "comparisons do not chain", hint)
        if depth + len(chain) > MAX_DEPTH:
            self._too_deep(chain[max(0, MAX_DEPTH - depth)].args["expression"])
        left_node = chain[0].this
        left = self.expression(left_node, depth + len(chain), wide=type(chain[0]) in _COMPARISONS)
        for done, step in enumerate(chain):
            right_node = step.args["expression"]
            right = self.expression(right_node, depth + len(chain) - done, wide=type(step) in _COMPARISONS)
            if type(step) in _COMPARISONS:
                sides = self._comparands(left_node, left, right_node, right)
                left = comparison(_COMPARISONS[type(step)], *sides, self._place_of(step))
            elif type(step) in _ARITHMETIC:
                left = self._arithmetic(_ARITHMETIC[type(step)], left_node, left, right_node, right)
            else:
                left = ast.Concat(self._string(left_node, left, "||"), self._string(right_node, right, "||"))
            left_node = step
        return left

    def _place_of(self, step: exp.Expr) -> int:
        """Where < <= > or >= ends in the text; 0 for other comparisons."""
        if type(step) not in _DIRECTED:
            return 0
        lexeme = self.tree.before(step.args["expression"])
        return lexeme.end if lexeme.mark == _COMPARISONS[type(step)] else 0

    def _arithmetic(
        self, operator: str, left_node: exp.Expr, left: ast.Expression, right_node: exp.Expr, right: ast.Expression
    ) -> ast.Expression:
        if is_null(left) and arithmetic_type(operator, right.type, right.type):
            left = retyped(left, right.type)
        if is_null(right) and arithmetic_type(operator, left.type, left.type):
            right = retyped(right, left.type)
        type = arithmetic_type(operator, left.type, right.type)
        if type is not None:
            return ast.Arithmetic(operator, left, right, type)
        usable = left.type.numeric or (left.type is Type.TIMESTAMP and operator in "+-")
        blamed = right_node if usable else left_node
        hint = "times: timestamp - timestamp, timestamp + int64, timestamp - int64; strings are joined with ||"
        raise self.tree.error(blamed, f"{left.type.value} {operator} {right.type.value} is not possible", hint)

    def _string(self, node: exp.Expr, bound: ast.Expression, what: str) -> ast.Expression:
        bound = retyped(bound, Type.STRING)
        if bound.type is not Type.STRING:
            message = f"{what} needs a string, not a value of type {bound.type.value}"
            raise self.tree.error(node, message, "values are not converted to strings")
        return bound

    def _compare(
        self, operator: str, left_node: exp.Expr, left: ast.Expression, right_node: exp.Expr, right: ast.Expression
    ) -> ast.Compare:
        return comparison(operator, *self._comparands(left_node, left, right_node, right))

    def _comparands(
        self, left_node: exp.Expr, left: ast.Expression, right_node: exp.Expr, right: ast.Expression
    ) -> tuple[ast.Expression, ast.Expression]:
        """Both sides of a comparison, of types that compare."""
        left = self._adapted(left_node, left, right.type)
        right = self._adapted(right_node, right, left.type)
        if not comparable(left.type, right.type):
            literal = isinstance(right, ast.Constant) and not isinstance(left, ast.Constant)
            blamed = right_node if literal else left_node
            message = f"{left.type.value} cannot be compared with {right.type.value}"
            raise self.tree.error(blamed, message, _comparison_hint(left.type, right.type))
        return left, right

    def _adapted(self, node: exp.Expr, bound: ast.Expression, partner: Type) -> ast.Expression:
        """NULL takes its partner's type, and a string literal beside a timestamp is one."""
        if partner is Type.TIMESTAMP and isinstance(bound, ast.Constant) and bound.type is Type.STRING:
            moment = instant(self.tree.sql, self.tree.lexeme(unwrap(node)))
            return ast.Constant(moment, Type.TIMESTAMP, bound.origin)
        return retyped(bound, partner)

    def _between(self, node: exp.Expr, depth: int) -> ast.Expression:
        low_node, high_node = node.args["low"], node.args["high"]
        if self.tree.before(high_node).mark != "AND":
            raise self.tree.error(high_node, "AND is missing", "a range is written x BETWEEN low AND high")
        operand = self._repeated(node.this, depth + 2, 2)
        low = self.expression(low_node, depth + 2, wide=True)
        high = self.expression(high_node, depth + 2, wide=True)
        at_least = self._compare(">=", node.this, operand, low_node, low)
        at_most = self._compare("<=", node.this, operand, high_node, high)
        return ast.And((at_least, at_most))

    def _repeated(self, node: exp.Expr, depth: int, times: int) -> ast.Expression:
        """An operand that will stand in the result several times; sharing it does not make it smaller to walk."""
        self._copies *= times
        operand = self.expression(node, depth, wide=True)
        self._copies //= times
        return operand

    def _in(self, node: exp.Expr, depth: int) -> ast.Expression:
        value_nodes: list[exp.Expr] = node.args["expressions"]
        constants = all(self._is_literal(value) for value in value_nodes)
        operand = self._repeated(node.this, depth + 2, 1 if constants else len(value_nodes))
        values = [self.expression(value, depth + 2, wide=True) for value in value_nodes]
        if not constants:
            pairs = zip(value_nodes, values, strict=True)
            compares = tuple(self._compare("=", node.this, operand, value_node, value) for value_node, value in pairs)
            return ast.Or(compares) if len(compares) > 1 else compares[0]
        typed = next((value for value in values if not is_null(value)), operand)
        operand = self._adapted(node.this, operand, typed.type)
        found = []
        for value_node, value in zip(value_nodes, values, strict=True):
            _, right = self._comparands(node.this, operand, value_node, value)
            assert isinstance(right, ast.Constant), "literals are bound to constants"
            found.append(right)
        return ast.In(operand, tuple(found))

    def _is_literal(self, node: exp.Expr) -> bool:
        """Whether the node will be a constant: a value, or a minus before a number."""
        node = unwrap(node)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Column):
            return self.tree.lexeme(node.this.this).kind is Kind.NUMBER
        if isinstance(node, exp.Column):
            return self.tree.lexeme(node.this).kind is not Kind.NAME
        return isinstance(node, exp.Literal)

    def _is(self, node: exp.Expr, depth: int) -> ast.Expression:
        negated = bool(node.args.get("negate"))
        match node.args["expression"]:
            case exp.Null():
                test: ast.Expression = ast.IsNull(self.expression(node.this, depth + 1 + negated))
            case exp.Boolean(this=truth):
                test = _is_truth(self.condition(node.this, depth + 3 + negated), bool(truth))
            case other:
                raise self.tree.error(other, "IS is followed by NULL, TRUE or FALSE", "compare values with =")
        return ast.Not(test) if negated else test

    def _escape(self, node: exp.Expr, depth: int) -> ast.Expression:
        like, escape = node.this, self.tree.lexeme(node.args["expression"])
        if not isinstance(like, exp.Like):
            self.tree.refuse(node)
        self.tree.check(like)
        return self._like(like, depth, escape.text)

    def _like(self, node: exp.Expr, depth: int, escape: str = "") -> ast.Expression:
        negated = bool(node.args.get("negate"))
        operand = self._string(node.this, self.expression(node.this, depth + 1 + negated), "LIKE")
        pattern_node = unwrap(node.args["expression"])
        pattern = self.expression(pattern_node, depth + 1 + negated)
        if not isinstance(pattern, ast.Constant):
            raise self.tree.error(pattern_node, "the pattern of LIKE must be a string literal", "write LIKE 'a%'")
        text = self._string(pattern_node, pattern, "LIKE")
        if pattern.value is None:
            return _NULL
        if escape and _ends_escaped(str(pattern.value), escape):
            raise self.tree.error(pattern_node, "the pattern ends with its escape character", "write it twice")
        like = ast.Like(operand, text, escape)
        return ast.Not(like) if negated else like

    def _call(self, node: exp.Expr, depth: int) -> ast.Expression:
        name = self.tree.lexeme(node)
        arguments: list[exp.Expr] = node.args.get("expressions") or []
        if name.is_bare("ABS"):
            if len(arguments) != 1:
                raise self.tree.error(node, f"ABS takes 1 argument, not {len(arguments)}", "write ABS(x)")
            operand = self._number(arguments[0], depth, "ABS")
            return ast.Absolute(operand, operand.type)
        if name.kind is not Kind.NAME:
            raise self.tree.error(node, f"{shorten(name.text)} is not a function", "an operator is missing")
        function = self.scope.function(name)
        signature = f"{function.name}({', '.join(type.value for type in function.arguments)})"
        if not self.may_call:
            hint = f"{signature} may be called in WHERE"
            raise self.tree.error(node, "user functions are not available in the select list", hint)
        if len(arguments) != len(function.arguments):
            message = f"{function.name} takes {len(function.arguments)} arguments, not {len(arguments)}"
            raise self.tree.error(node, message, f"its signature is {signature}")
        bound: list[ast.Expression] = []
        for argument, declared in zip(arguments, function.arguments, strict=True):
            value = retyped(self.expression(argument, depth + 1), declared)
            if not fits(value.type, declared):
                message = f"{function.name} takes {declared.value} here, not {value.type.value}"
                raise self.tree.error(argument, message, f"its signature is {signature}")
            bound.append(value)
        return ast.Call(function.name, tuple(bound), function.returns)


_OTHERS: dict[type[exp.Expr], Callable[[Binder, exp.Expr, int], ast.Expression]] = {
    exp.And: Binder._connective,
    exp.Or: Binder._connective,
    exp.Not: Binder._not,
    exp.Between: Binder._between,
    exp.In: Binder._in,
    exp.Is: Binder._is,
    exp.Like: Binder._like,
    exp.Escape: Binder._escape,
    exp.Anonymous: Binder._call,
}


def _is_truth(condition: ast.Expression, truth: bool) -> ast.Expression:
    """`condition IS TRUE` or `IS FALSE`: never NULL.

    `x OR NULL` is TRUE where x is and NULL elsewhere, `x AND NULL` is FALSE where x is and NULL elsewhere. So the
    condition occurs once; twice would grow exponentially when nested. A column is cheap, and better to index.
    """
    if isinstance(condition, ast.Column):
        return ast.And((condition if truth else ast.Not(condition), ast.Not(ast.IsNull(condition))))
    connective = ast.Or if truth else ast.And
    return ast.Not(ast.IsNull(connective((condition, _NULL))))


def _ends_escaped(pattern: str, escape: str) -> bool:
    """Whether the last character is an escape that escapes nothing."""
    trailing = len(pattern) - len(pattern.rstrip(escape))
    return trailing % 2 == 1


def _comparison_hint(left: Type, right: Type) -> str:
    if Type.TIMESTAMP in (left, right):
        return "a timestamp compares with TIMESTAMP '2026-01-31 12:00' or such a string; intervals are int64"
    if Type.STRING in (left, right):
        return "a string compares with a string, written in single quotes"
    return "numbers compare with numbers, every other type with itself"
