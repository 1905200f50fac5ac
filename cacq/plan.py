"""Planning by templates: texts that differ in their literals only are read once, and then recognised by one scan.

Observation: of 100,000 standing queries few have a shape of their own. What parsing, binding, folding and normalizing
find out depends on the values of the literals in a few known ways only. A template keeps what does not depend on
them, at one of three levels:

- the predicate is a conjunction of comparisons of keys with constants: the literals go straight into value sets;
- else they are put into the bound predicate, which is folded and normalized again;
- a literal that shows elsewhere (in the name of an output, in an interval, behind ESCAPE) is part of the shape.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from cacq.data.arrays import Ints
from cacq.data.iso import microseconds
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.filters.fold import fold
from cacq.query import ast
from cacq.query.bind import Bound, bind, bind_with_titles
from cacq.query.lift import MARK, Lifted, Literal, ends, lift
from cacq.query.normalize import Conjunction, normalize
from cacq.query.parameters import exchangeable, numbered, placed, substituted
from cacq.query.parse import room_for_recursion
from cacq.query.ranges import RangeTerm, bounds_of, disjuncts_of, has_ranges, terms_of
from cacq.query.render import render
from cacq.query.skeleton import ranks, skeleton, turned_all

MOST_SHAPES = 20_000
"""Shapes that are remembered; the least recently used ones are forgotten beyond."""

_CHARACTERS = 200
"""Of a shape on average, beyond which fewer are remembered: a long list of IN makes a large template."""

_Part = TypeVar("_Part")


class Template:
    """What all texts of one shape have in common. `values` are always the lifted literals of a text, as in its Plan.

    `ranged` are the keys of the predicate in canonical order if it is a conjunction of ranges of numbers, one or more
    for each key; () if there is no predicate; None if the predicate is of another form.
    """

    __slots__ = (
        "_columns",
        "_disjuncts",
        "_outputs",
        "_predicate",
        "_select",
        "_taken",
        "_terms",
        "ranged",
        "schema",
        "source",
    )

    def __init__(self, bound: ast.Select, taken: _Taken | None, parts: _Parts) -> None:
        """Of a bound query whose lifted constants are numbered."""
        self.source = bound.source
        self.schema = bound.schema
        self._taken = taken
        self._select: ast.Select | None = None
        self._outputs = bound.outputs
        if not any(True for output in bound.outputs for _ in placed(output.expression)):
            self._select, self._outputs = parts.share_select(bound), ()
        self._terms: tuple[RangeTerm, ...] | None = None
        self._columns: tuple[int, ...] = ()
        self.ranged: tuple[ast.Expression, ...] | None = None
        self._predicate: ast.Expression | None = None
        self._disjuncts: tuple[Conjunction, ...] | None = None
        predicate = None if bound.predicate is None else fold(bound.predicate)
        lifted = 0 if bound.predicate is None else sum(1 for _ in placed(bound.predicate))
        terms = terms_of(predicate)
        if terms is not None and sum(term.place != 0 for term in terms) == lifted:
            self._terms = parts.share_terms(terms)
            if has_ranges(terms):
                self.ranged, self._columns = parts.share_keys(self._terms)
        elif lifted:
            self._predicate = bound.predicate
        else:
            self._disjuncts = normalize(predicate)

    def bounds(self, values: Sequence[Sequence[Literal]]) -> tuple[Ints, Ints]:
        """The least and the greatest key that each text accepts, inclusive, as arrays of texts x `ranged`.

        Keys as in value_sets. INT64_MIN and INT64_MAX where the range is open; least > greatest where no key is in it.
        """
        assert self._terms is not None and self.ranged is not None, "only a ranged template has bounds"
        return bounds_of(self._terms, self._columns, len(self.ranged), values)

    def select(self, values: Sequence[Literal]) -> ast.Select:
        """The folded outputs, without the predicate; one object for all texts where no output depends on a literal."""
        if self._select is not None:
            return self._select
        with room_for_recursion():
            outputs = tuple(
                ast.Output(output.name, fold(substituted(output.expression, values))) for output in self._outputs
            )
        return ast.Select(self.source, self.schema, outputs, None)

    def disjuncts(self, values: Sequence[Literal]) -> tuple[Conjunction, ...]:
        """The normal form of the predicate, as normalize gives it for the text."""
        if self._disjuncts is not None:
            return self._disjuncts
        with room_for_recursion():
            if self._terms is not None:
                return disjuncts_of(self._terms, values)
            assert self._predicate is not None
            return normalize(fold(substituted(self._predicate, values)))

    def turned(self, operators: Sequence[str], parts: _Parts) -> Template:
        """The template with other directed comparisons in its terms."""
        assert self._terms is not None, "only terms have operators of their own"
        other = Template.__new__(Template)
        for name in Template.__slots__:
            setattr(other, name, getattr(self, name))
        pairs = zip(self._terms, operators, strict=True)
        other._terms = parts.share_terms([term._replace(operator=operator) for term, operator in pairs])
        return other

    def take(self, literals: Sequence[Literal]) -> tuple[Literal, ...]:
        """The literals of a text that are lifted, with instants as integers; a ValueError if one is no instant."""
        if self._taken is None:
            return tuple(literals)
        return tuple(
            microseconds(str(literals[index])) if instant else literals[index]
            for index, instant in zip(self._taken.literals, self._taken.instants, strict=True)
        )


class _Taken(NamedTuple):
    """Which of the literals of a text are lifted, and which of these are instants written as strings."""

    literals: tuple[int, ...]
    instants: tuple[bool, ...]


class _Skeleton(NamedTuple):
    """A template from which those of shapes with other directed comparisons are made: its own, and its terms' ranks."""

    template: Template
    operators: list[str]
    ranks: list[int]


class _Parts:
    """Parts of templates, each of them once: most templates over one stream have few of their own."""

    def __init__(self) -> None:
        self._known: dict[object, Any] = {}

    def share_select(self, bound: ast.Select) -> ast.Select:
        """The query with folded outputs and without its predicate."""
        outputs = tuple(ast.Output(output.name, fold(output.expression)) for output in bound.outputs)
        select = ast.Select(bound.source, bound.schema, outputs, None)
        return self._share((bound.source, outputs), select)

    def share_terms(self, terms: Sequence[RangeTerm]) -> tuple[RangeTerm, ...]:
        """The terms, which are many, with keys that are few. Equal values may differ in type: those terms stay."""
        keyed = [term._replace(key=self._share(term.key, term.key)) for term in terms]
        return tuple(self._share(term, term) if term.place else term for term in keyed)

    def share_keys(self, terms: Sequence[RangeTerm]) -> tuple[tuple[ast.Expression, ...], tuple[int, ...]]:
        """The keys of the terms in the order of their texts, and which of them each term has."""
        keys = tuple(sorted({term.key for term in terms}, key=render))
        columns = tuple(keys.index(term.key) for term in terms)
        return self._share(keys, keys), self._share(columns, columns)

    def _share(self, content: Hashable, part: _Part) -> _Part:
        shared: _Part = self._known.setdefault(content, part)
        return shared


class _Fixed(NamedTuple):
    """Literals that are part of the shape: what stands in the cache where their text has to be added to the key."""

    literals: tuple[int, ...]

    def key(self, shape: str, literals: Sequence[str]) -> str:
        """The shape with these literals in it. No literal holds the mark, so no two of them give the same key."""
        return MARK.join((shape, "", *(literals[index] for index in self.literals)))


class Plan:
    """A text that was checked in full: its template, and the lifted literals in text order."""

    __slots__ = ("sql", "template", "values")

    def __init__(self, sql: str, template: Template, values: tuple[Literal, ...]) -> None:
        self.sql = sql
        self.template = template
        self.values = values

    @property
    def select(self) -> ast.Select:
        """The outputs, without the predicate."""
        return self.template.select(self.values)

    @property
    def disjuncts(self) -> tuple[Conjunction, ...]:
        """The predicate in normal form."""
        return self.template.disjuncts(self.values)


class Planner:
    """Plans texts, and remembers their shapes.

    The mappings are live: streams and functions may be added to them, which makes no known template wrong, as names
    are never given a second meaning. Texts with an error are not remembered: each is read in full.
    """

    def __init__(
        self,
        schemas: Mapping[str, Schema],
        functions: Mapping[str, ast.Function],
        most_shapes: int = MOST_SHAPES,
    ) -> None:
        self._schemas = schemas
        self._functions = functions
        self._generation = max(1, most_shapes // 2)
        self._young: dict[str, Template | _Fixed] = {}
        self._old: dict[str, Template | _Fixed] = {}
        self._characters = 0
        self._parts = _Parts()
        self._skeletons: dict[str, _Skeleton] = {}

    def plan(self, sql: str) -> Plan:
        """The text checked against the catalog, or the SqlError that says what is wrong with it and where."""
        lifted = lift(sql)
        if lifted is None:
            return Plan(sql, self._template(bind(sql, self._schemas, self._functions), {}, None, _Parts()), ())
        shape, texts, literals = lifted
        entry = self._young.get(shape) or self._recall(shape)
        if isinstance(entry, _Fixed):
            entry = self._recall(entry.key(shape, texts))
        if isinstance(entry, Template):
            try:
                return Plan(sql, entry, entry.take(literals))
            except ValueError:  # reading the text in full says where
                return self._learn(sql, lifted)
        return self._turn(sql, lifted) or self._learn(sql, lifted)

    def plan_many(self, texts: Sequence[str]) -> list[Plan]:
        """A plan for each text; raises for the first that is wrong."""
        return [self.plan(sql) for sql in texts]

    def read(self, sql: str) -> tuple[ast.Select, tuple[Conjunction, ...]]:
        """The text read in full, without templates: the folded query with its predicate, and its normal form."""
        select = bind(sql, self._schemas, self._functions)
        with room_for_recursion():
            outputs = tuple(ast.Output(output.name, fold(output.expression)) for output in select.outputs)
            predicate = None if select.predicate is None else fold(select.predicate)
            return ast.Select(select.source, select.schema, outputs, predicate), normalize(predicate)

    def _turn(self, sql: str, lifted: Lifted) -> Plan | None:
        """The plan by the template of a shape that differs in the direction of comparisons, if one is known."""
        shape, _, literals = lifted
        bones = skeleton(shape)
        known = None if bones is None else self._skeletons.get(bones[0])
        if bones is None or known is None:
            return None
        template = known.template
        try:
            values = template.take(literals)
        except ValueError:
            return None
        assert template._terms is not None
        operators = [term.operator for term in template._terms]
        operators = turned_all(operators, known.ranks, known.operators, bones[1])
        with room_for_recursion():
            template = template.turned(operators, self._parts)
        self._remember(shape, template)
        return Plan(sql, template, values)

    def _learn(self, sql: str, lifted: Lifted) -> Plan:
        """Reads the text in full and remembers its template."""
        shape, texts, literals = lifted
        bound = bind_with_titles(sql, self._schemas, self._functions)
        places = ends(sql)
        types = _exchangeable(bound, places, literals)
        known = self._recall(shape)
        if isinstance(known, _Fixed):
            types = {index: type for index, type in types.items() if index not in known.literals}
        fixed = _Fixed(tuple(index for index in range(len(literals)) if index not in types))
        taken = _Taken(tuple(types), tuple(type is Type.TIMESTAMP for type in types.values()))
        plain = not fixed.literals and not any(taken.instants)
        numbers = {places[index]: rank for rank, index in enumerate(types, 1)}
        template = self._template(bound.select, numbers, None if plain else taken, self._parts)
        if fixed.literals:
            self._remember(shape, fixed)
            shape = fixed.key(shape, texts)
        self._remember(shape, template)
        if template._terms is not None and not fixed.literals:
            self._learn_skeleton(shape, bound.select.predicate, template)
        return Plan(sql, template, template.take(literals))

    def _learn_skeleton(self, shape: str, predicate: ast.Expression | None, template: Template) -> None:
        bones = skeleton(shape)
        if bones is not None and bones[1] and predicate is not None:
            with room_for_recursion():
                found = ranks(fold(predicate), len(bones[1]))
            if found is not None:
                self._skeletons[bones[0]] = _Skeleton(template, bones[1], found)

    def _template(
        self, select: ast.Select, numbers: Mapping[int, int], taken: _Taken | None, parts: _Parts
    ) -> Template:
        """The template of a bound text whose constants that end at these places are lifted."""
        with room_for_recursion():
            outputs = tuple(ast.Output(output.name, numbered(output.expression, numbers)) for output in select.outputs)
            predicate = None if select.predicate is None else numbered(select.predicate, numbers)
            return Template(ast.Select(select.source, select.schema, outputs, predicate), taken, parts)

    def _recall(self, key: str) -> Template | _Fixed | None:
        """What is known under the key; from the older half it comes back into the younger one."""
        entry = self._young.get(key)
        if entry is None:
            entry = self._old.pop(key, None)
            if entry is not None:
                self._remember(key, entry)
        return entry

    def _remember(self, key: str, entry: Template | _Fixed) -> None:
        """When the younger half is full, what was not used since it began is forgotten."""
        if len(self._young) >= self._generation or self._characters > _CHARACTERS * self._generation:
            self._old, self._young, self._parts = self._young, {}, _Parts()
            self._skeletons = {}
            self._characters = 0
        self._young[key] = entry
        self._characters += len(key)


def _exchangeable(bound: Bound, places: Sequence[int], literals: Sequence[Literal]) -> dict[int, Type]:
    """The literals of the text that are lifted, in order, each with the one type its constants have."""
    expressions = [output.expression for output in bound.select.outputs]
    if bound.select.predicate is not None:
        expressions.append(bound.select.predicate)
    index_of = {end: index for index, end in enumerate(places)}
    found: dict[int, Type] = {}
    refused = _named_by_text(places, bound.titles)
    for expression in expressions:
        for constant in placed(expression):
            index = index_of.get(abs(constant.origin))
            if index is None:
                continue
            if not exchangeable(literals[index], constant) or found.setdefault(index, constant.type) != constant.type:
                refused.add(index)
    return {index: found[index] for index in sorted(found) if index not in refused}


def _named_by_text(places: Sequence[int], titles: Sequence[tuple[int, int]]) -> set[int]:
    """The literals whose text is part of the name of an output."""
    return {index for index, end in enumerate(places) if any(start < end <= stop for start, stop in titles)}
