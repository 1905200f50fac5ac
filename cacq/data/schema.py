"""The shape of a stream: its columns in order, and which of them is event time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cacq.data.types import Type
from cacq.errors import OptionError


@dataclass(frozen=True)
class Schema:
    """Columns by name, in order. `timestamp` names the event-time column; without one rows are stamped on arrival."""

    columns: Mapping[str, Type]
    timestamp: str | None = None

    @staticmethod
    def of(columns: Mapping[str, str], timestamp: str | None = None) -> Schema:
        """The schema that `create_stream` was given as text, or an OptionError that names what is wrong."""
        if not isinstance(columns, Mapping):
            raise OptionError(f"a schema is a dict of columns and types, not {columns!r}", 'such as {"a": "int64"}')
        if not columns:
            raise OptionError("a stream needs at least one column", 'give a schema such as {"a": "int64"}')
        types: dict[str, Type] = {}
        for name, text in columns.items():
            if not isinstance(name, str) or not name or not name.isprintable():
                raise OptionError(f"a column's name must be a non-empty, printable string, not {name!r}")
            try:
                types[name] = Type(text)
            except ValueError:
                allowed = " ".join(t.value for t in Type)
                raise OptionError(f"column {name!r} has the unknown type {text!r}", f"types are: {allowed}") from None
        named = isinstance(timestamp, str) and types.get(timestamp) is Type.TIMESTAMP
        if timestamp is not None and not named:
            raise OptionError(
                f"timestamp={timestamp!r} is not a column of type timestamp",
                "name a column of the schema whose type is 'timestamp', or leave it out to stamp rows on arrival",
            )
        return Schema(types, timestamp)
