"""A query as text for the engine, and as text for DuckDB."""

from __future__ import annotations

from random import Random

from tests.oracle.language import (
    INT64_MAX,
    INT64_MIN,
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
    iso,
    quoted,
)  # fmt: skip

OR, AND, NOT, PREDICATE, PIPE, SUM, PRODUCT, UNARY, PRIMARY = range(9)


def to_sql(query: Query, random: Random) -> str:
    """A spelling of the query: parentheses only where precedence asks for them, and sometimes elsewhere."""
    return _Speller(query, random).query()


class _Speller:
    """Writes expressions with randomly chosen but equivalent text."""

    def __init__(self, query: Query, random: Random) -> None:
        self.asked = query
        self.random = random
        self.shouting = random.choice((str.upper, str.lower, self._mixed))
        self.qualifier = query.alias or ("" if "." in query.stream.name else query.stream.name)

    def _mixed(self, word: str) -> str:
        return "".join(self.random.choice((letter.upper(), letter.lower())) for letter in word)

    def word(self, text: str) -> str:
        return self.shouting(text)

    def space(self) -> str:
        rare = ("\n", "\t ", "  ", " /* note */ ", " -- x\n")
        return " " if self.random.random() < 0.95 else self.random.choice(rare)

    def query(self) -> str:
        asked = self.asked
        outputs = "*" if asked.outputs is None else ", ".join(self.output(output) for output in asked.outputs)
        text = f"{self.word('SELECT')}{self.space()}{outputs}{self.space()}{self.word('FROM')} {asked.stream.name}"
        if asked.alias:
            text += (f" {self.word('AS')} " if self.random.random() < 0.5 else " ") + asked.alias
        if asked.predicate is not None:
            text += f"{self.space()}{self.word('WHERE')}{self.space()}{self.text(asked.predicate, OR)}"
        return text

    def output(self, output: Output) -> str:
        text = self.text(output.expression, OR)
        if output.alias is None:
            return text
        return f"{text} {self.word('AS')} {output.alias}" if self.random.random() < 0.8 else f"{text} {output.alias}"

    def text(self, expression: Expression, least: int) -> str:
        """The expression as an operand that must bind at least as tightly as `least`."""
        text, level = self.spell(expression)
        if level < least or (level != PRIMARY and self.random.random() < 0.08):
            return f"({text})"
        return text

    def spell(self, expression: Expression) -> tuple[str, int]:
        word, text = self.word, self.text
        match expression:
            case Column(name=name):
                return self.column(name), PRIMARY
            case Literal() | Interval():
                return self.literal(expression)
            case Arithmetic(operator=operator, left=left, right=right):
                level = SUM if operator in "+-" else PRODUCT
                return f"{text(left, level)} {operator} {text(right, level + 1)}", level
            case Negate(operand=operand):
                inner = text(operand, UNARY)
                return ("- " if inner.startswith("-") else "-") + inner, UNARY
            case Absolute(operand=operand):
                return f"{word('ABS')}({text(operand, OR)})", PRIMARY
            case Call(function=function, arguments=arguments):
                return f"{word(function)}({', '.join(text(argument, OR) for argument in arguments)})", PRIMARY
            case Concat(left=left, right=right):
                return f"{text(left, PIPE)} || {text(right, PIPE + 1)}", PIPE
            case Not(operand=operand):
                return f"{word('NOT')} {text(operand, NOT)}", NOT
            case And(parts=parts):
                return f" {word('AND')}{self.space()}".join(text(part, NOT) for part in parts), AND
            case Or(parts=parts):
                return f"{self.space()}{word('OR')} ".join(text(part, AND) for part in parts), OR
            case _:
                return self.predicate(expression), PREDICATE

    def predicate(self, expression: Expression) -> str:
        word, text = self.word, self.text
        negation = f"{word('NOT')} " if getattr(expression, "negated", False) else ""
        match expression:
            case Compare(operator=operator, left=left, right=right):
                sign = self.random.choice(("!=", "<>")) if operator == "!=" else operator
                return f"{self.operand(left, right)} {sign} {self.operand(right, left)}"
            case Between(operand=operand, low=low, high=high):
                ends = f"{self.operand(low, operand)} {word('AND')} {self.operand(high, operand)}"
                return f"{text(operand, PIPE)} {negation}{word('BETWEEN')} {ends}"
            case In(operand=operand, items=items):
                listed = ", ".join(self.operand(item, operand) for item in items)
                return f"{text(operand, PIPE)} {negation}{word('IN')} ({listed})"
            case Like(operand=operand, pattern=pattern, escape=escape):
                ending = f" {word('ESCAPE')} {quoted(escape)}" if escape else ""
                return f"{text(operand, PIPE)} {negation}{word('LIKE')} {quoted(pattern)}{ending}"
            case IsNull(operand=operand):
                return f"{text(operand, PIPE)} {word('IS')} {negation}{word('NULL')}"
        raise TypeError(expression)

    def operand(self, expression: Expression, other: Expression) -> str:
        """One side of a comparison; an instant beside a timestamp column may be a bare ISO string."""
        bare = isinstance(expression, Literal) and expression.type == "timestamp" and isinstance(other, Column)
        if bare and expression.value is not None and self.random.random() < 0.5:
            moment = iso(expression.value).replace(tzinfo=None)
            return quoted(moment.isoformat(sep=self.random.choice(" T")) + self.random.choice(("", "", "Z")))
        return self.text(expression, PIPE)

    def column(self, name: str) -> str:
        dice = self.random.random()
        spelled = f'"{name}"' if dice < 0.05 else name
        return f"{self.qualifier}.{spelled}" if self.qualifier and self.random.random() < 0.25 else spelled

    def literal(self, literal: Literal | Interval) -> tuple[str, int]:
        if isinstance(literal, Interval):
            plural = "S" if self.random.random() < 0.5 else ""
            sign = "-" if literal.count < 0 else ""
            text = f"{sign}{self.word('INTERVAL')} '{abs(literal.count)}' {self.word(literal.unit + plural)}"
            return text, UNARY if sign else PRIMARY
        value = literal.value
        if value is None or isinstance(value, bool):
            return self.word({None: "NULL", True: "TRUE", False: "FALSE"}[value]), PRIMARY
        if literal.type == "string":
            return quoted(value), PRIMARY
        if literal.type == "timestamp":
            return f"{self.word('TIMESTAMP')} {quoted(iso(value).replace(tzinfo=None).isoformat(sep=' '))}", PRIMARY
        text = repr(value)
        if isinstance(value, float) and float(f"{value:.3f}") == value and self.random.random() < 0.3:
            text = f"{value:.3f}"
        return text, UNARY if text.startswith("-") else PRIMARY


def to_duckdb(query: Query, table: str, order: str) -> str:
    """The query for DuckDB over `table`: column `order` first, then the outputs, rows in that order."""
    outputs = ", ".join([order, *(_duck(output.expression) for output in query.shown)])
    where = "" if query.predicate is None else f" WHERE {_duck(query.predicate)}"
    return f"SELECT {outputs} FROM {table}{where} ORDER BY {order}"


def _duck(expression: Expression) -> str:
    """Fully parenthesised; TRY gives NULL where DuckDB would raise, NULLIF where it would divide by zero."""
    match expression:
        case Column(name=name):
            return f'"{name}"'
        case Literal() | Interval():
            return _duck_literal(expression)
        case Arithmetic():
            return _duck_arithmetic(expression)
        case Negate(operand=operand):
            return f"TRY(-({_duck(operand)}))"
        case Absolute(operand=operand):
            return f"TRY(abs({_duck(operand)}))"
        case Concat(left=left, right=right):
            return f"({_duck(left)} || {_duck(right)})"
        case Compare(operator=operator, left=left, right=right):
            return f"({_duck(left)} {operator} {_duck(right)})"
        case Between(operand=operand, low=low, high=high, negated=negated):
            return f"({_duck(operand)} {'NOT ' * negated}BETWEEN {_duck(low)} AND {_duck(high)})"
        case In(operand=operand, items=items, negated=negated):
            return f"({_duck(operand)} {'NOT ' * negated}IN ({', '.join(map(_duck, items))}))"
        case Like(operand=operand, pattern=pattern, escape=escape, negated=negated):
            ending = f" ESCAPE {quoted(escape)}" if escape else ""
            return f"({_duck(operand)} {'NOT ' * negated}LIKE {quoted(pattern)}{ending})"
        case IsNull(operand=operand, negated=negated):
            return f"({_duck(operand)} IS {'NOT ' * negated}NULL)"
        case Not(operand=operand):
            return f"(NOT {_duck(operand)})"
        case And(parts=parts):
            return "(" + " AND ".join(map(_duck, parts)) + ")"
        case Or(parts=parts):
            return "(" + " OR ".join(map(_duck, parts)) + ")"
    raise TypeError(f"DuckDB cannot be asked for {expression}")


DUCK_TYPES = {"int64": "BIGINT", "float64": "DOUBLE", "bool": "BOOLEAN", "string": "VARCHAR", "timestamp": "BIGINT"}


def _duck_literal(literal: Literal | Interval) -> str:
    value = literal.value
    if value is None:
        return f"CAST(NULL AS {DUCK_TYPES[literal.type]})"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    return f"CAST({value} AS BIGINT)" if INT64_MIN <= value <= INT64_MAX else f"({value})"


def _duck_arithmetic(expression: Arithmetic) -> str:
    left, right = _duck(expression.left), _duck(expression.right)
    if expression.operator == "/":
        return f"(CAST({left} AS DOUBLE) / NULLIF(CAST({right} AS DOUBLE), 0))"
    if expression.type == "float64":
        left, right = f"CAST({left} AS DOUBLE)", f"CAST({right} AS DOUBLE)"
        right = f"NULLIF({right}, 0)" if expression.operator == "%" else right
        return f"({left} {expression.operator} {right})"
    if expression.operator == "%":
        # DuckDB raises on INT64_MIN % -1; the remainder is 0.
        return f"(CASE WHEN {right} = -1 THEN TRY({left} * 0) ELSE TRY({left} % NULLIF({right}, 0)) END)"
    return f"TRY({left} {expression.operator} {right})"
