"""The plain oracle: SEMANTICS 1, 2, 19, 21 and 23 to 25 for selections, row by row, slowly and obviously."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracle import language as sql
from tests.oracle.functions import FUNCTIONS
from tests.oracle.language import INT64_MAX, INT64_MIN, Query, Stream

NEVER = INT64_MAX
Row = tuple[Any, ...]
Delta = tuple[int, int, int, int, Row]
"""(seq, op, ts, exp, row)"""
Evaluate = Callable[[Row], Any]


@dataclass
class Standing:
    """A registered query: it sees the rows with positions `[start, stop)` of its stream."""

    query: Query
    start: int
    stop: int | None
    predicate: Evaluate | None
    outputs: list[Evaluate]
    looked_at: int
    deltas: list[Delta] = field(default_factory=list)
    polled: int = 0


@dataclass
class Flowing:
    """A stream: every row ever accepted with its event time, and the watermark."""

    stream: Stream
    rows: list[Row] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    watermark: int | None = None
    late: int = 0


class Model:
    """The engine as SEMANTICS has it: a log of rows, and queries that are looked up in it from scratch."""

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        self.clock = clock
        self.streams: dict[str, Flowing] = {}
        self.standing: list[Standing] = []

    def create_stream(self, stream: Stream) -> None:
        self.streams[stream.name] = Flowing(stream)

    def register(self, query: Query) -> int:
        """The handle of a query that sees the rows pushed from now on."""
        index = {column.name: position for position, column in enumerate(query.stream.columns)}
        start = len(self.streams[query.stream.name].rows)
        predicate = None if query.predicate is None else evaluator(query.predicate, index)
        outputs = [evaluator(output.expression, index) for output in query.shown]
        self.standing.append(Standing(query, start, None, predicate, outputs, start))
        return len(self.standing) - 1

    def cancel(self, handle: int) -> None:
        standing = self.standing[handle]
        if standing.stop is None:
            standing.stop = len(self.streams[standing.query.stream.name].rows)

    def push(self, name: str, rows: Sequence[Row]) -> tuple[int, int]:
        """Takes the rows as one record; how many there were and how many were late."""
        flowing = self.streams[name]
        times = self._times(flowing, rows)
        late = 0 if flowing.watermark is None else sum(ts < flowing.watermark for ts in times)
        flowing.rows.extend(rows)
        flowing.times.extend(times)
        flowing.late += late
        if times:
            self.advance(name, max(times) - round(flowing.stream.lateness * 1_000_000))
        return len(rows), late

    def _times(self, flowing: Flowing, rows: Sequence[Row]) -> list[int]:
        names = [column.name for column in flowing.stream.columns]
        if flowing.stream.timestamp is not None:
            position = names.index(flowing.stream.timestamp)
            return [row[position] for row in rows]
        assert self.clock is not None, "a stream without a timestamp column needs a clock"
        stamp = max([self.clock(), *flowing.times[-1:]])
        return [stamp] * len(rows)

    def advance(self, name: str, ts: int) -> None:
        flowing = self.streams[name]
        flowing.watermark = ts if flowing.watermark is None else max(flowing.watermark, ts)

    def answer(self, handle: int) -> list[Delta]:
        """All deltas of a query up to now. Rows are evaluated once: a row's verdict never changes."""
        standing = self.standing[handle]
        flowing = self.streams[standing.query.stream.name]
        stop = len(flowing.rows) if standing.stop is None else standing.stop
        for position in range(standing.looked_at, stop):
            row = flowing.rows[position]
            if standing.predicate is None or standing.predicate(row) is True:
                shown = tuple(output(row) for output in standing.outputs)
                standing.deltas.append((len(standing.deltas), 1, flowing.times[position], NEVER, shown))
        standing.looked_at = max(standing.looked_at, stop)
        return standing.deltas

    def poll(self, handle: int) -> list[Delta]:
        """The deltas not polled yet."""
        standing = self.standing[handle]
        fresh = self.answer(handle)[standing.polled :]
        standing.polled += len(fresh)
        return fresh


# ------------------------------------------------------------------------------------------------------- expressions


def evaluator(expression: sql.Expression, index: dict[str, int]) -> Evaluate:
    """A function from a row to the expression's value; None is NULL."""
    inner = [evaluator(operand, index) for operand in sql.children(expression)]
    match expression:
        case sql.Column(name=name):
            position = index[name]
            return lambda row: row[position]
        case sql.Literal(value=value) | sql.Interval(value=value):
            return lambda row: value
        case sql.Arithmetic(operator=operator, type=type):
            return _strict(_arithmetic(operator, type), *inner)
        case sql.Negate(type=type):
            return _strict(lambda value: _fits(-value, type), *inner)
        case sql.Absolute(type=type):
            return _strict(lambda value: _fits(abs(value), type), *inner)
        case sql.Call(function=name):
            function = FUNCTIONS[name].function
            return lambda row: function(*(argument(row) for argument in inner))
        case sql.Concat():
            return _strict(lambda left, right: left + right, *inner)
        case sql.Compare(operator=operator):
            return _strict(COMPARE[operator], *inner)
        case sql.Between(negated=negated):
            value, low, high = inner
            both = _all([_strict(COMPARE[">="], value, low), _strict(COMPARE["<="], value, high)])
            return _not(both) if negated else both
        case sql.In(negated=negated):
            value, *items = inner
            some = _any([_strict(COMPARE["="], value, item) for item in items])
            return _not(some) if negated else some
        case sql.Like(pattern=pattern, escape=escape, negated=negated):
            matches = re.compile(_regular(pattern, escape), re.DOTALL).fullmatch
            return _strict(lambda text: (matches(text) is not None) is not negated, *inner)
        case sql.IsNull(negated=negated):
            (value,) = inner
            return lambda row: (value(row) is None) is not negated
        case sql.Not():
            return _not(*inner)
        case sql.And():
            return _all(inner)
        case sql.Or():
            return _any(inner)


def _strict(function: Callable[..., Any], *operands: Evaluate) -> Evaluate:
    """NULL if an operand is NULL, else the function of the operands."""
    if len(operands) == 1:
        (only,) = operands
        return lambda row: None if (value := only(row)) is None else function(value)
    left, right = operands

    def evaluate(row: Row) -> Any:
        first, second = left(row), right(row)
        return None if first is None or second is None else function(first, second)

    return evaluate


def _not(operand: Evaluate) -> Evaluate:
    return lambda row: None if (value := operand(row)) is None else not value


def _all(parts: Sequence[Evaluate]) -> Evaluate:
    """AND: false if a part is false, else NULL if a part is NULL, else true."""

    def evaluate(row: Row) -> Any:
        unknown = False
        for part in parts:
            value = part(row)
            if value is False:
                return False
            unknown |= value is None
        return None if unknown else True

    return evaluate


def _any(parts: Sequence[Evaluate]) -> Evaluate:
    """OR: true if a part is true, else NULL if a part is NULL, else false."""

    def evaluate(row: Row) -> Any:
        unknown = False
        for part in parts:
            value = part(row)
            if value is True:
                return True
            unknown |= value is None
        return None if unknown else False

    return evaluate


def _equal(left: Any, right: Any) -> bool:
    """NaN equals NaN; Python compares int with float exactly, -0.0 with 0.0 as equal and strings by code point."""
    return left == right or (left != left and right != right)


def _less(left: Any, right: Any) -> bool:
    """NaN is larger than every number."""
    return left < right or (right != right and left == left)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _less,
    "<=": lambda left, right: not _less(right, left),
    ">": lambda left, right: _less(right, left),
    ">=": lambda left, right: not _less(left, right),
}


def _fits(value: Any, type: str) -> Any:
    """An integer outside int64 is NULL; floats overflow to infinity as IEEE says."""
    return None if type != "float64" and not INT64_MIN <= value <= INT64_MAX else value


def _arithmetic(operator: str, type: str) -> Callable[[Any, Any], Any]:
    if operator == "/":
        return lambda left, right: None if right == 0 else float(left) / float(right)
    if operator == "%":
        return _float_remainder if type == "float64" else _integer_remainder
    whole = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}[operator]
    if type == "float64":
        return lambda left, right: whole(float(left), float(right))
    return lambda left, right: _fits(whole(left, right), type)


def _integer_remainder(left: int, right: int) -> int | None:
    """The remainder of division truncated towards zero: it has the sign of the dividend."""
    if right == 0:
        return None
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _float_remainder(left: float, right: float) -> float | None:
    if right == 0:
        return None
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _regular(pattern: str, escape: str) -> str:
    """A LIKE pattern as a regular expression over code points."""
    parts, letters = [], iter(pattern)
    for letter in letters:
        if letter == escape:
            parts.append(re.escape(next(letters)))
        else:
            parts.append({"%": ".*", "_": "."}.get(letter) or re.escape(letter))
    return "".join(parts)
