"""Random queries over one stream: constants near the values that rows have, so that predicates often touch them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.oracle.functions import FUNCTIONS
from tests.oracle.language import (
    INT64_MAX,
    INT64_MIN,
    UNITS,
    Absolute,
    And,
    Arithmetic,
    Between,
    Call,
    Column,
    Compare,
    Concat,
    Expression,
    In,
    Interval,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Output,
    Query,
    Stream,
    calls_function,
)  # fmt: skip

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
HUGE = (2**63, -(2**63) - 1, 10**19, -(10**19), 99999999999999999999999, INT64_MAX, INT64_MIN)
HUGE_FLOATS = (1e300, -1e300, 9.223372036854775807e18, -9.223372036854775808e18, 9007199254740992.0, 1e19)
Domains = dict[str, list[Any]]
"""The values each column takes, None among them where it may be NULL."""


class QueryMaker:
    """Makes queries over one stream. Where `extreme` is False all integers stay far below 2**53."""

    def __init__(self, random: Random, stream: Stream, domains: Domains, extreme: bool) -> None:
        self.random = random
        self.stream = stream
        self.domains = domains
        self.extreme = extreme
        self.by_type: dict[str, list[Column]] = {}
        for column in stream.columns:
            self.by_type.setdefault(column.type, []).append(column)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def query(self, earlier: Sequence[Query] = ()) -> Query:
        """A query; sometimes identical to an earlier one, or with its predicate or its outputs."""
        dice = self.random.random()
        if earlier and dice < 0.1:
            return self.random.choice(earlier)
        predicate = self.random.choice(earlier).predicate if earlier and dice < 0.15 else self.where()
        alias = self.random.choice((None, None, None, "s", "T", "r1"))
        return Query(self.stream, self.outputs(), predicate, alias)

    # -------------------------------------------------------------------------------------------------- predicates

    def where(self) -> Expression | None:
        dice = self.random.random()
        if dice < 0.04:
            return None
        if dice < 0.5:
            return self.joined(And, [self.simple() for _ in range(self.random.randint(1, 3))])
        if dice < 0.95:
            return self.tree(self.random.choice((1, 2, 2, 3)))
        special = self.random.choices(
            (self.contradiction, self.tautology, self.wide_or, self.wide_normal_form, self.deep, self.long_in),
            (3, 3, 1, 1, 1, 1),
        )
        return special[0]()

    def joined(self, kind: type[And] | type[Or], parts: list[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def tree(self, depth: int) -> Expression:
        """Any nesting of AND, OR and NOT."""
        if depth == 0:
            return self.leaf()
        dice = self.random.random()
        if dice < 0.2:
            return Not(self.tree(depth - 1))
        parts = [self.tree(depth - 1) for _ in range(self.random.choice((2, 2, 2, 3)))]
        return self.joined(And if dice < 0.6 else Or, parts)

    def leaf(self) -> Expression:
        makers = (
            self.simple, self.simple, self.simple, self.between, self.membership, self.pattern, self.null_test,
            self.columns, self.arithmetic_comparison, self.arithmetic_comparison, self.boolean, self.time, self.strings,
            self.call,
        )  # fmt: skip
        return self.random.choice(makers)()

    def simple(self) -> Expression:
        """A column beside a constant."""
        column = self.random.choice(self.stream.columns)
        constant: Expression = self.constant(column)
        if self.chance(0.02):
            constant = Literal(None, column.type)
        sides = (constant, column) if self.chance(0.15) else (column, constant)
        return Compare(self.random.choice(COMPARISONS), *sides)

    def between(self) -> Expression:
        column = self.random.choice(self.stream.columns)
        operand: Expression = column
        if column.type in ("int64", "float64") and self.chance(0.2):
            operand = self.number(1)
        return Between(operand, self.constant(column), self.constant(column), self.chance(0.3))

    def membership(self, count: int | None = None) -> Expression:
        column = self.random.choice(self.stream.columns)
        items = [self.constant(column) for _ in range(count or self.random.randint(1, 5))]
        if self.chance(0.15):
            items.insert(self.random.randint(0, len(items)), Literal(None, column.type))
        return In(column, tuple(items), self.chance(0.4))

    def pattern(self) -> Expression:
        if "string" not in self.by_type:
            return self.simple()
        operand = self.text(1 if self.chance(0.2) else 0)
        letters = list(self.some_string())
        for position in range(len(letters)):
            if self.chance(0.3):
                letters[position] = self.random.choice(("%", "_", "_"))
        if self.chance(0.4):
            letters.append("%")
        if self.chance(0.3):
            letters.insert(0, "%")
        negated = self.chance(0.25)
        if self.chance(0.2):
            escaped = ["!" + c if c == "!" or (c in "%_" and self.chance(0.5)) else c for c in letters]
            return Like(operand, "".join(escaped), "!", negated)
        return Like(operand, "".join(letters), "", negated)

    def null_test(self) -> Expression:
        dice = self.random.random()
        operand: Expression = self.random.choice(self.stream.columns)
        if dice < 0.25:
            operand = self.number(1)
        elif dice < 0.35:
            operand = self.simple()
        return IsNull(operand, self.chance(0.5))

    def columns(self) -> Expression:
        """Two columns side by side; an int64 and a float64 may meet."""
        left = self.random.choice(self.stream.columns)
        numbers = ("int64", "float64")
        alike = [c for c in self.stream.columns if c.type == left.type or (c.type in numbers and left.type in numbers)]
        return Compare(self.random.choice(COMPARISONS), left, self.random.choice(alike))

    def arithmetic_comparison(self) -> Expression:
        left, right = self.number(self.random.choice((1, 1, 2))), self.number(self.random.choice((0, 0, 1)))
        sides = (right, left) if self.chance(0.3) else (left, right)
        return Compare(self.random.choice(COMPARISONS), *sides)

    def boolean(self) -> Expression:
        columns = self.by_type.get("bool", [])
        dice = self.random.random()
        if columns and dice < 0.6:
            return self.random.choice(columns)
        if columns and dice < 0.75:
            return Compare(self.random.choice(COMPARISONS), self.random.choice(columns), self.simple())
        if dice < 0.9:
            return Compare(self.random.choice(COMPARISONS), self.small_constant(), self.small_constant())
        return Literal(self.chance(0.5), "bool")

    def time(self) -> Expression:
        """Instants and spans of time."""
        columns = self.by_type.get("timestamp", [])
        if not columns:
            return self.simple()
        left, right = self.random.choice(columns), self.random.choice(columns)
        span = Interval(self.random.choice((-2, 1, 1, 2, 5, 60)), self.random.choice(tuple(UNITS)[:5]))
        operator = self.random.choice(COMPARISONS)
        if self.chance(0.5):
            return Compare(operator, Arithmetic("-", left, right, "int64"), span)
        moved = Arithmetic(self.random.choice("+-"), left, span, "timestamp")
        return Compare(operator, moved, right if self.chance(0.5) else self.constant(right))

    def strings(self) -> Expression:
        if "string" not in self.by_type:
            return self.simple()
        return Compare(self.random.choice(COMPARISONS), self.text(1), self.text(0))

    def call(self) -> Expression:
        """A predicate by a user-defined function."""
        fitting = [
            function for function in FUNCTIONS.values() if all(type in self.by_type for type in function.arguments)
        ]
        if not fitting or self.chance(0.5):
            return self.simple()
        function = self.random.choice(fitting)
        arguments = tuple(self.random.choice(self.by_type[type]) for type in function.arguments)
        call = Call(function.name, arguments, function.returns)
        return call if function.returns == "bool" else Compare(self.random.choice(COMPARISONS), call, self.number(0))

    def contradiction(self) -> Expression:
        column = self.random.choice(self.stream.columns)
        constant = self.constant(column)
        return And((Compare("<", column, constant), Compare(">", column, constant)))

    def tautology(self) -> Expression:
        """True for every value, unknown for NULL."""
        column = self.random.choice(self.stream.columns)
        constant = self.constant(column)
        return Or((Compare("<=", column, constant), Compare(">", column, constant)))

    def wide_or(self) -> Expression:
        """More terms in one clause than the engine's limits for clauses."""
        return Or(tuple(self.leaf() for _ in range(self.random.choice((17, 20, 33, 70)))))

    def wide_normal_form(self) -> Expression:
        """A disjunction of conjunctions, whose conjunctive normal form has far more than 16 clauses."""
        terms = [And((self.simple(), self.simple())) for _ in range(self.random.choice((5, 8, 17, 40)))]
        return Or((*terms, self.leaf()))

    def deep(self) -> Expression:
        """Nested one level for each step, down to twenty."""
        expression = self.leaf()
        for _ in range(self.random.randint(8, 20)):
            dice = self.random.random()
            expression = Not(expression) if dice < 0.3 else (And if dice < 0.65 else Or)((self.leaf(), expression))
        return expression

    def long_in(self) -> Expression:
        return self.membership(self.random.randint(50, 200))

    # ------------------------------------------------------------------------------------------------- expressions

    def number(self, depth: int) -> Expression:
        """An int64 or float64 expression."""
        numbers = self.by_type.get("int64", []) + self.by_type.get("float64", [])
        if depth == 0:
            return self.random.choice(numbers) if numbers and self.chance(0.7) else self.small_constant()
        dice = self.random.random()
        if dice < 0.1:
            operand = self.number(depth - 1)
            return Negate(operand, operand.type)
        if dice < 0.22:
            operand = self.number(depth - 1)
            return Absolute(operand, operand.type)
        left, right = self.number(depth - 1), self.number(depth - 1)
        operator = self.random.choice("++--**/%")
        whole = operator != "/" and left.type == right.type == "int64"
        return Arithmetic(operator, left, right, "int64" if whole else "float64")

    def small_constant(self) -> Literal:
        if self.extreme and self.chance(0.05):
            return Literal(self.random.choice((INT64_MAX, INT64_MAX - 1, 2**53 + 1)), "int64")
        if self.chance(0.7):
            return Literal(self.random.choice((0, 1, 2, 3, 5, 10, -1, -2, -7)), "int64")
        return Literal(self.random.choice((0.0, 0.5, 1.0, 1.5, 2.25, -0.5, -3.0, 0.1)), "float64")

    def text(self, depth: int) -> Expression:
        columns = self.by_type["string"]
        if depth == 0:
            return self.random.choice(columns) if self.chance(0.8) else Literal(self.some_string(), "string")
        return Concat(self.text(depth - 1), self.text(depth - 1))

    def some_string(self) -> str:
        known = [value for column in self.by_type["string"] for value in self.domains[column.name] if value is not None]
        return self.random.choice([text for text in known if "\x00" not in text] or [""])

    def constant(self, column: Column) -> Literal:
        """A constant that can stand beside the column, most often one of its values or a neighbour of one."""
        values = [value for value in self.domains[column.name] if value is not None]
        value = self.random.choice(values) if values else None
        if column.type == "int64":
            return self.near_integer(0 if value is None else value)
        if column.type == "float64":
            return self.near_float(value if value is not None and math.isfinite(value) else 0.0)
        if column.type == "bool":
            return Literal(self.chance(0.5), "bool")
        if column.type == "string":
            return Literal(self.some_string() + self.random.choice(("", "", "", "a", "z")), "string")
        return Literal((0 if value is None else value) + self.random.choice((0, 0, 0, -1, 1, 1_000_000)), "timestamp")

    def near_integer(self, value: int) -> Literal:
        dice = self.random.random()
        if dice < 0.08:
            return Literal(self.random.choice(HUGE), "int64")
        if dice < 0.12:
            return Literal(self.random.choice(HUGE_FLOATS), "float64")
        if dice < 0.3:
            return Literal(float(value) + self.random.choice((0.0, 0.5, -0.5)), "float64")
        return Literal(value + self.random.choice((0, 0, 0, -1, 1)), "int64")

    def near_float(self, value: float) -> Literal:
        dice = self.random.random()
        if dice < 0.06:
            return Literal(self.random.choice(HUGE), "int64")
        if dice < 0.1:
            return Literal(self.random.choice(HUGE_FLOATS), "float64")
        if dice < 0.25:
            return Literal(math.floor(value) if abs(value) < 1e20 else 1, "int64")
        if dice < 0.35:
            return Literal(math.nextafter(value, self.random.choice((-1e9, 1e9))), "float64")
        return Literal(value, "float64")

    # ------------------------------------------------------------------------------------------------- projections

    def outputs(self) -> tuple[Output, ...] | None:
        if self.chance(0.2):
            return None
        if self.chance(0.4):
            return tuple(Output(column) for column in self.random.sample(self.stream.columns, 1))
        return tuple(self.output(position) for position in range(self.random.randint(1, 4)))

    def output(self, position: int) -> Output:
        dice = self.random.random()
        if dice < 0.55:
            column = self.random.choice(self.stream.columns)
            return Output(column, f"out_{position}" if self.chance(0.3) else None)
        expression = self.shown_expression(dice)
        return Output(expression, f"Out{position}" if self.chance(0.8) else None)

    def shown_expression(self, dice: float) -> Expression:
        if dice < 0.75:
            return self.number(self.random.choice((1, 2)))
        if dice < 0.83 and "string" in self.by_type:
            return self.text(1)
        if dice < 0.9:
            leaf = self.leaf()
            return self.simple() if calls_function(leaf) else leaf  # functions are predicates only
        if dice < 0.95 and "timestamp" in self.by_type:
            columns = self.by_type["timestamp"]
            return Arithmetic("-", self.random.choice(columns), self.random.choice(columns), "int64")
        shown = self.constant(self.random.choice(self.stream.columns))
        return self.small_constant() if shown.type in ("int64", "float64") else shown
