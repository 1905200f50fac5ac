"""The facade: streams, standing queries, pushes. Everything that changes an answer gets the next LSN."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cacq.data.moment import timestamp as as_timestamp
from cacq.data.schema import Schema
from cacq.data.types import Type
from cacq.deliver.log import ResultLog
from cacq.deliver.project import columns_of
from cacq.eddy.eddy import Eddy
from cacq.eddy.routing import Policy, make
from cacq.eddy.standing import Standing
from cacq.eddy.tickets import Ledger
from cacq.errors import CacqError, CatalogError, OptionError
from cacq.explain import explain_query, explain_select, operator_rows
from cacq.filters.fold import fold
from cacq.filters.functions import UserFunction
from cacq.handle import Query
from cacq.query import ast
from cacq.query.bind import bind
from cacq.query.names import nearest
from cacq.query.normalize import normalize
from cacq.stream import Definition, Pushed, Stream

LATER_OPTIONS: dict[str, tuple[Any, ...]] = {
    "memory_bytes": (None,),
    "lineage": ("auto", "dense"),
    "expiration": ("piggybacked",),
    "join_groups": ("auto",),
}
"""Options of the interface of which only these values exist in this version."""


def system_clock() -> int:
    """Microseconds since 1970 by the system's clock."""
    return time.time_ns() // 1000


class Engine:
    """Many standing queries over live streams, evaluated together. Not thread-safe: one thread owns it."""

    def __init__(
        self,
        policy: str | Policy = "tickets",
        seed: int = 0,
        retain_bytes: int = 1 << 30,
        memory_bytes: int | None = None,
        clock: Callable[[], int] | None = None,
        *,
        lineage: str = "auto",
        expiration: str = "piggybacked",
        join_groups: str = "auto",
    ) -> None:
        given = {
            "memory_bytes": memory_bytes, "lineage": lineage, "expiration": expiration, "join_groups": join_groups,
        }  # fmt: skip
        for option, value in given.items():
            if value not in LATER_OPTIONS[option]:
                allowed = ", ".join(repr(choice) for choice in LATER_OPTIONS[option])
                raise OptionError(f"{option}={value!r} is not available in this version", f"leave it at {allowed}")
        if isinstance(retain_bytes, bool) or not isinstance(retain_bytes, int) or retain_bytes < 0:
            raise OptionError(f"retain_bytes={retain_bytes!r} is not a number of bytes", "give an integer from 0 up")
        if clock is not None and not callable(clock):
            raise OptionError("clock must be a function that returns microseconds since 1970 as an integer")
        self._ledger = Ledger()
        self._policy = make(policy, seed, self._ledger)
        self._eddies: dict[str, Eddy] = {}
        self._clock = clock or system_clock
        self._streams: dict[str, Stream] = {}
        self._functions: dict[str, UserFunction] = {}
        self._queries: dict[str, Query] = {}  # by name; an unnamed query's is its id
        self._holders: dict[Standing, dict[str, Query]] = {}
        self._results = ResultLog(retain_bytes)
        self._lsn = 0
        self._registered = 0

    def create_stream(
        self,
        name: str,
        schema: Mapping[str, str],
        timestamp: str | None = None,
        lateness: float = 0.0,
        flow: str = "default",
    ) -> None:
        """Make a stream; a second call with the same definition changes nothing, with another one it is refused."""
        if not isinstance(name, str) or not name:
            raise OptionError(f"a stream's name must be a non-empty string, not {name!r}")
        if not isinstance(lateness, int | float) or not 0 <= lateness < math.inf:
            raise OptionError(f"lateness={lateness!r} is not a number of seconds", "give 0 or more seconds")
        definition = Definition(Schema.of(schema, timestamp), round(lateness * 1_000_000), flow)
        known = self._streams.get(name)
        if known is not None:
            if known.definition != definition:
                raise CatalogError(f"the stream {name!r} exists with another definition", "choose another name")
            return
        self._next_lsn()
        self._eddies.setdefault(flow, Eddy(self._policy, self._ledger))
        self._streams[name] = Stream(name, definition, self._clock, self._functions, self._results)

    def register_function(
        self, name: str, function: Callable[..., Any], args: Iterable[str], returns: str, vectorized: bool = False
    ) -> None:
        """Make a Python function known to SQL. It must be deterministic; names of functions ignore case."""
        if not isinstance(name, str) or not name.isidentifier():
            raise OptionError(f"a function's name must be an identifier, not {name!r}")
        if not callable(function):
            raise OptionError(f"the function {name!r} cannot be called: {function!r}")
        if name.lower() in (known.lower() for known in self._functions) or name.lower() == "abs":
            raise CatalogError(f"the function {name!r} exists already", "choose another name")
        signature = ast.Function(name, tuple(_type(text) for text in args), _type(returns))
        self._functions[name] = UserFunction(signature, function, vectorized)

    def register(self, sql: str, name: str | None = None, materialize: bool = False) -> Query:
        """Make a query stand: it sees every row pushed from now on."""
        if materialize:
            raise OptionError(
                "a query without a window cannot be materialized: its answer only grows", "leave materialize=False"
            )
        self._refuse_name(name)
        return self._install(sql, self._bind(sql), name)

    def register_many(self, texts: Iterable[str]) -> list[Query]:
        """Register all of the queries, or none if one is wrong."""
        texts = list(texts)
        bound = []
        for number, sql in enumerate(texts):
            try:
                bound.append(self._bind(sql))
            except CacqError as error:
                error.message = f"query {number}: {error.message}"
                raise
        return [self._install(sql, select, None) for sql, select in zip(texts, bound, strict=True)]

    def push(self, stream: str, data: object) -> Pushed:
        """Take rows in. When it returns, what follows from them can be polled. Bad data is refused whole."""
        source = self._stream(stream)
        columns, ts = source.check(data)
        pushed, stopped = source.push(columns, ts, self._lsn + 1, self._eddies[source.definition.flow])
        self._next_lsn()
        for standing, error in stopped.items():
            for query in list(self._holders[standing].values()):
                self._leave(query)
                query.end("parked", pushed.lsn + 1, error)
        return pushed

    def advance(self, stream: str, ts: object) -> None:
        """Punctuation: nothing older than `ts` will come."""
        source = self._stream(stream)
        moment = as_timestamp(ts, "advance")
        self._next_lsn()
        source.watermark.raise_to(moment)

    def cancel(self, query: Query) -> None:
        """End a query; cancelling twice does no harm. A parked query gives its name back."""
        if self._queries.get(query.name) is not query:
            return
        if query.state == "active":
            self._leave(query)
            query.end("cancelled", self._next_lsn())
        del self._queries[query.name]

    def explain(self, query: str | Query) -> dict[str, Any]:
        """How a query is evaluated: its terms, the operators they live in, and who shares them."""
        if isinstance(query, Query):
            return explain_query(query)
        select = self._bind(query)
        return explain_select(query, select, self._streams[select.source], normalize(select.predicate))

    def stats(self) -> dict[str, Any]:
        """Counters of operators and sources since the start."""
        rows = [row for stream in self._streams.values() for row in operator_rows(stream, self._ledger)]
        return {
            "lsn": self._lsn,
            "queries": len(self._queries),
            "predicates": len(self._holders),
            "operators": rows,
            "terms_skipped": sum(row["terms_skipped"] for row in rows),
            "sources": {
                stream.name: {"tuples": stream.tuples, "late": stream.late, "watermark": stream.watermark.value}
                for stream in self._streams.values()
            },
            "results": {"bytes": self._results.nbytes},
        }

    def _bind(self, sql: str) -> ast.Select:
        """The query as checked against the catalog, its constants folded."""
        schemas = {name: stream.schema for name, stream in self._streams.items()}
        functions = {name: function.signature for name, function in self._functions.items()}
        select = bind(sql, schemas, functions)
        outputs = tuple(ast.Output(output.name, fold(output.expression)) for output in select.outputs)
        predicate = None if select.predicate is None else fold(select.predicate)
        return ast.Select(select.source, select.schema, outputs, predicate)

    def _install(self, sql: str, select: ast.Select, name: str | None) -> Query:
        stream = self._streams[select.source]
        self._registered += 1
        while f"q{self._registered}" in self._queries:
            self._registered += 1
        identity = f"q{self._registered}"
        name = name or identity
        query = Query(self, stream, identity, name, sql, select, normalize(select.predicate))
        query.begin(self._next_lsn())
        stream.shown.update(columns_of(output.expression for output in select.outputs))
        self._queries[name] = query
        self._holders.setdefault(query.standing, {})[name] = query
        return query

    def _leave(self, query: Query) -> None:
        """Take an active query out of the flow."""
        holders = self._holders[query.standing]
        del holders[query.name]
        if not holders:
            del self._holders[query.standing]
        query.stream.shown.subtract(columns_of(output.expression for output in query.select.outputs))
        query.stream.standing.let_go(query.standing)

    def _refuse_name(self, name: str | None) -> None:
        if name is None:
            return
        if not isinstance(name, str) or not name:
            raise OptionError(f"a query's name must be a non-empty string, not {name!r}")
        if name in self._queries:
            raise CatalogError(f"the query {name!r} exists already", "cancel it first, or choose another name")

    def _stream(self, name: str) -> Stream:
        stream = self._streams.get(name)
        if stream is None:
            raise CatalogError(f"there is no stream {name!r}", nearest(str(name), self._streams, "streams"))
        return stream

    def _next_lsn(self) -> int:
        self._lsn += 1
        return self._lsn


def _type(text: str) -> Type:
    try:
        return Type(text)
    except ValueError:
        allowed = ", ".join(type.value for type in Type)
        raise OptionError(f"{text!r} is no type", f"types are: {allowed}") from None
