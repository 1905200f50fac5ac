"""What the names in a query mean: the columns of its stream, and the functions there are."""

from __future__ import annotations

from collections.abc import Mapping

from cacq.data.schema import Schema
from cacq.errors import SqlError
from cacq.query.ast import Column, Function
from cacq.query.lex import Lexeme
from cacq.query.names import nearest
from cacq.query.places import error_at, shorten
from cacq.query.shape import Shape
from cacq.query.words import AGGREGATE_HINT, AGGREGATES


class Scope:
    """One stream under its name or alias, and the registered functions."""

    def __init__(
        self, sql: str, shape: Shape, schemas: Mapping[str, Schema], functions: Mapping[str, Function]
    ) -> None:
        self.sql = sql
        self.stream = ".".join(part.text for part in shape.source)
        if self.stream not in schemas:
            hint = nearest(self.stream, schemas, "streams")
            raise error_at(sql, shape.source[0].start, f"unknown stream {shorten(self.stream)}", hint)
        self.schema = schemas[self.stream]
        self.qualifier = shape.alias.text if shape.alias else self.stream
        """What qualifies a column of the stream: its alias, else its name."""
        self._qualifiers = {self.qualifier} if shape.alias else {self.stream, shape.source[-1].text}
        self._functions = functions

    def column(self, names: list[Lexeme]) -> Column:
        """The column that `column` or `qualifier.column` names."""
        self.check_qualifier(names)
        last = names[-1]
        if last.text not in self.schema.columns:
            hint = nearest(last.text, self.schema.columns, f"columns of {shorten(self.stream)}")
            if last.quoted:
                hint += " (a string is written in single quotes)"
            raise error_at(self.sql, last.start, f"unknown column {shorten(last.text)}", hint)
        return Column(last.text, self.schema.columns[last.text])

    def columns(self) -> list[Column]:
        """All columns, in the order of the schema."""
        return [Column(name, type) for name, type in self.schema.columns.items()]

    def check_qualifier(self, names: list[Lexeme]) -> None:
        """Refuses all but the stream's qualifier before the last name."""
        qualifier = ".".join(name.text for name in names[:-1])
        if len(names) == 1 or qualifier in self._qualifiers:
            return
        hint = nearest(qualifier, [self.qualifier], "qualifiers of columns")
        if qualifier == self.stream:
            hint = f"the stream is called {shorten(self.qualifier)} in this query"
        raise error_at(self.sql, names[0].start, f"{shorten(qualifier)} is no stream of this query", hint)

    def function(self, name: Lexeme) -> Function:
        """The registered function of that name, in any case."""
        folded = name.text.casefold()
        if name.text.upper() in AGGREGATES:
            raise self._error(name, f"{name.text.upper()} is not available in this version", AGGREGATE_HINT)
        function = self._functions.get(name.text) or next(
            (function for known, function in self._functions.items() if known.casefold() == folded), None
        )
        if function is None:
            hint = nearest(name.text, ["ABS", *self._functions], "functions")
            raise self._error(name, f"unknown function {shorten(name.text)}", hint)
        return function

    def _error(self, name: Lexeme, message: str, hint: str) -> SqlError:
        return error_at(self.sql, name.start, message, hint)
