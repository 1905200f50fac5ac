"""A predicate in the form that operators take: conjunctions of clauses of terms, each term at home in one operator.

NOT is pushed down to the leaves. What remains is monotone, so a leaf that is unknown counts as false. Then, in this
order (DESIGN 5): conjunctive normal form if it needs at most 16 clauses of more than one term; else at most 64
disjuncts, which get a slot each; else the conjuncts that are too wide stay whole, as residual predicates behind
what they imply for single keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.query import ast, value_sets
from cacq.query.like_patterns import exact, prefix
from cacq.query.rewrite import rebuild
from cacq.query.value_sets import NOT_NULL, ONLY_NULL, ValueSet

MAX_CLAUSES = 16
MAX_DISJUNCTS = 64
MAX_PRODUCT = 256
"""Clauses that may arise on the way to a normal form before it counts as too wide."""


@dataclass(frozen=True)
class Indexed:
    """True where `key` lies in `values`. The key holds no constants, so one grouped filter serves all queries on it."""

    key: ast.Expression
    values: ValueSet


@dataclass(frozen=True)
class Residual:
    """True where `shape` is, with its parameters set to `constants`. Predicates of one shape share an operator."""

    shape: ast.Expression
    constants: tuple[ast.Constant, ...]


Term = Indexed | Residual
Clause = tuple[Term, ...]
"""A disjunction with at most one Indexed term for each key."""
Conjunction = tuple[Clause, ...]


@dataclass(frozen=True)
class _All:
    parts: tuple[_Node, ...]


@dataclass(frozen=True)
class _Any:
    parts: tuple[_Node, ...]


_Node = Indexed | Residual | _All | _Any
_TRUE, _FALSE = _All(()), _Any(())
_Combine = Callable[[Sequence[ValueSet]], ValueSet]
_Drop = Callable[[ValueSet], bool]


class _TooWide(Exception):
    """A normal form would exceed its limit."""


def normalize(predicate: ast.Expression | None) -> tuple[Conjunction, ...]:
    """The disjuncts of a folded predicate: one as a rule; none where no row can satisfy it."""
    clauses: list[Clause] = []
    wide: list[tuple[_Node, Term]] = []
    room = MAX_CLAUSES
    for expression, negated in conjuncts(predicate):
        node = _monotone(expression, negated)
        found = _clauses_if_few(node, room)
        if found is None:
            wide.append((node, _leaf(expression, negated)))
        else:
            clauses += found
            room -= sum(len(clause) > 1 for clause in found)
    try:
        disjuncts = _disjuncts(_All(tuple(node for node, _ in wide)))
    except _TooWide:
        disjuncts = [tuple(term for node, whole in wide for term in (*_necessary(node), whole))]
    conjunctions = [_conjunction([*clauses, *((term,) for term in terms)]) for terms in disjuncts]
    return tuple(conjunction for conjunction in conjunctions if conjunction is not None)


def conjuncts(predicate: ast.Expression | None) -> list[tuple[ast.Expression, bool]]:
    """Expressions that must all hold, or not hold where the flag says so."""
    found: list[tuple[ast.Expression, bool]] = []
    waiting = [] if predicate is None else [(predicate, False)]
    while waiting:
        expression, negated = waiting.pop()
        if isinstance(expression, ast.Not):
            waiting.append((expression.operand, not negated))
        elif isinstance(expression, ast.Or if negated else ast.And):
            waiting += [(part, negated) for part in reversed(expression.parts)]
        else:
            found.append((expression, negated))
    return found


def conjoin(terms: Sequence[Indexed]) -> tuple[Conjunction, ...]:
    """What normalize() gives for the conjunction of these terms."""
    conjunction = _conjunction([(term,) for term in terms])
    return () if conjunction is None else (conjunction,)


def _clauses_if_few(node: _Node, room: int) -> list[Clause] | None:
    """The clauses of a node, if they are few enough and need at most so many clause slots."""
    try:
        found = _clauses(node)
    except _TooWide:
        return None
    return found if sum(len(clause) > 1 for clause in found) <= room else None


def _monotone(expression: ast.Expression, negated: bool) -> _Node:
    """The same predicate over All, Any and terms, true exactly where it (or its negation) is true."""
    match expression:
        case ast.Not(operand):
            return _monotone(operand, not negated)
        case ast.And(parts) | ast.Or(parts):
            nodes = tuple(_monotone(part, negated) for part in parts)
            return _All(nodes) if isinstance(expression, ast.And) != negated else _Any(nodes)
        case ast.Constant(value):
            return _TRUE if value is not None and value != negated else _FALSE
        case ast.Compare(operator, left, ast.Constant(value)):
            if value is None:
                return _FALSE
            if indexable(left):
                operator = ast.NEGATED[operator] if negated else operator
                return Indexed(left, value_sets.of_comparison(operator, value, left.type))
        case ast.In(operand, values):
            return _membership(operand, values, negated)
        case ast.IsNull(operand) if indexable(operand):
            return Indexed(operand, NOT_NULL if negated else ONLY_NULL)
        case ast.Like(operand, ast.Constant(pattern), escape) if isinstance(pattern, str) and indexable(operand):
            matched = _like_range(pattern, escape)
            if matched is not None:
                return Indexed(operand, value_sets.complement(matched) if negated else matched)
        case _:
            pass
    return _leaf(expression, negated)


def _membership(operand: ast.Expression, values: Sequence[ast.Constant], negated: bool) -> _Node:
    known = [constant.value for constant in values if constant.value is not None]
    if negated and len(known) < len(values):
        return _FALSE
    if not indexable(operand):
        return _leaf(ast.In(operand, tuple(values)), negated)
    members = value_sets.of_members(known, operand.type)
    return Indexed(operand, value_sets.complement(members) if negated else members)


def _like_range(pattern: str, escape: str) -> ValueSet | None:
    """The strings that a pattern without inner wildcards matches."""
    text = exact(pattern, escape)
    if text is not None:
        return value_sets.of_comparison("=", text, Type.STRING)
    start = prefix(pattern, escape)
    return None if start is None else value_sets.of_prefix(start)


def _leaf(expression: ast.Expression, negated: bool) -> Term:
    """A boolean expression that is taken as it is."""
    if indexable(expression):
        return Indexed(expression, value_sets.of_comparison("=", not negated, Type.BOOL))
    return _lift(ast.Not(expression) if negated else expression)


def indexable(expression: ast.Expression) -> bool:
    """Whether it holds a column or call and no constant, so that it can be the key of a grouped filter."""
    if isinstance(expression, ast.Column):
        return True
    if isinstance(expression, ast.Constant | ast.Parameter | ast.In):
        return False
    operands = ast.children(expression)
    return all(indexable(operand) for operand in operands) and (bool(operands) or isinstance(expression, ast.Call))


def _lift(expression: ast.Expression) -> Residual:
    """The shape of a predicate and the constants taken out of it. NULLs, IN lists and huge integers stay inside."""
    constants: list[ast.Constant] = []

    def lift(node: ast.Expression) -> ast.Expression:
        if isinstance(node, ast.In):
            return replace(node, operand=lift(node.operand))
        if not isinstance(node, ast.Constant):
            return rebuild(node, lift)
        if node.value is None or (isinstance(node.value, int) and not INT64_MIN <= node.value <= INT64_MAX):
            return node
        constants.append(node)
        return ast.Parameter(len(constants) - 1, node.type)

    return Residual(lift(expression), tuple(constants))


def _clauses(node: _Node) -> list[Clause]:
    """Conjunctive normal form. Tautologies are gone; an empty clause means that nothing satisfies the node."""
    if isinstance(node, _All):
        found = [clause for part in node.parts for clause in _clauses(part)]
        if len(found) > MAX_PRODUCT:
            raise _TooWide
        return found
    if not isinstance(node, _Any):
        return _clause([node])
    terms = [part for part in node.parts if isinstance(part, Indexed | Residual)]
    product: list[list[Term]] = [list(_merged(terms))]
    for part in node.parts:
        if isinstance(part, _All | _Any):
            factors = _clauses(part)
            if len(product) * len(factors) > MAX_PRODUCT:
                raise _TooWide
            product = [[*left, *right] for left in product for right in factors]
    return list(dict.fromkeys(clause for terms in product for clause in _clause(terms)))


def _clause(terms: Sequence[Term]) -> list[Clause]:
    """The clause of these terms as a list of one, or of none where it is always true."""
    merged = _merged(terms)
    return [] if any(isinstance(term, Indexed) and term.values.everything for term in merged) else [merged]


def _merged(terms: Sequence[Term]) -> Clause:
    """The same disjunction with one term for each key, in order of first appearance, and nothing that is never true."""
    if len(terms) == 1 and not (isinstance(terms[0], Indexed) and terms[0].values.nothing):
        return (terms[0],)
    return _by_key(terms, value_sets.union, lambda values: values.nothing)


def _by_key(terms: Sequence[Term], combine: _Combine, drop: _Drop) -> tuple[Term, ...]:
    sets: dict[ast.Expression, list[ValueSet]] = {}
    residuals: dict[Residual, None] = {}
    for term in terms:
        if isinstance(term, Indexed):
            sets.setdefault(term.key, []).append(term.values)
        else:
            residuals[term] = None
    indexed = [Indexed(key, combine(values)) for key, values in sets.items()]
    return (*(term for term in indexed if not drop(term.values)), *residuals)


def _conjunction(clauses: Sequence[Clause]) -> Conjunction | None:
    """The clauses with one unit clause for each key and none twice; None where nothing can satisfy them."""
    if any(not clause for clause in clauses):
        return None
    units = [clause[0] for clause in clauses if len(clause) == 1]
    merged = _by_key(units, value_sets.intersection, lambda values: values.everything)
    if any(isinstance(term, Indexed) and term.values.nothing for term in merged):
        return None
    return (*((term,) for term in merged), *dict.fromkeys(clause for clause in clauses if len(clause) > 1))


def _disjuncts(node: _Node) -> list[tuple[Term, ...]]:
    """Disjunctive normal form: the terms of each disjunct."""
    if isinstance(node, _Any):
        found = [terms for part in node.parts for terms in _disjuncts(part)]
    elif isinstance(node, _All):
        found = [_conjoined([part for part in node.parts if isinstance(part, Indexed | Residual)])]
        for part in node.parts:
            if isinstance(part, _All | _Any):
                factors = _disjuncts(part)
                if len(found) * len(factors) > MAX_PRODUCT:
                    raise _TooWide
                found = list(dict.fromkeys(_conjoined((*left, *right)) for left in found for right in factors))
        found = [terms for terms in found if not _impossible(terms)]
    else:
        found = [(node,)]
    if len(found) > MAX_DISJUNCTS:
        raise _TooWide
    return found


def _conjoined(terms: Sequence[Term]) -> tuple[Term, ...]:
    return _by_key(terms, value_sets.intersection, lambda values: values.everything)


def _impossible(terms: Iterable[Term]) -> bool:
    return any(isinstance(term, Indexed) and term.values.nothing for term in terms)


def _necessary(node: _Node) -> list[Term]:
    """What the node implies for single keys: rows outside of these sets cannot satisfy it."""
    covers = _covers(node)
    return [] if covers is None else [Indexed(key, values) for key, values in covers.items() if not values.everything]


def _covers(node: _Node) -> dict[ast.Expression, ValueSet] | None:
    """For each key that the node restricts, the values for which it may be true; None if it never is."""
    if not isinstance(node, _All | _Any):
        return {node.key: node.values} if isinstance(node, Indexed) else {}
    below = [_covers(part) for part in node.parts]
    known = [covers for covers in below if covers is not None]
    if len(known) < len(below) if isinstance(node, _All) else not known:
        return None
    sets: dict[ast.Expression, list[ValueSet]] = {}
    for covers in known:
        for key, values in covers.items():
            sets.setdefault(key, []).append(values)
    if isinstance(node, _All):
        return {key: value_sets.intersection(values) for key, values in sets.items()}
    return {key: value_sets.union(values) for key, values in sets.items() if len(values) == len(known)}
