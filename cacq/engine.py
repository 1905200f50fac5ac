"""The facade: streams, standing queries, pushes. Everything that changes an answer gets the next LSN."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cacq.arguments import (
    check_function_name,
    check_later_options,
    check_name,
    check_query_text,
    check_query_texts,
    check_seconds,
    check_type,
    check_types,
    check_whole_number,
    checked_clock,
)
from cacq.data.moment import timestamp as as_timestamp
from cacq.data.schema import Schema
from cacq.deliver.log import ResultLog
from cacq.eddy.eddy import Eddy
from cacq.eddy.pool import PooledEddy, Workers
from cacq.eddy.routing import Policy, make
from cacq.eddy.standing import Standing
from cacq.errors import CacqError, CatalogError, OptionError
from cacq.explain import explain, operator_rows, source_row
from cacq.filters.functions import UserFunction
from cacq.handle import Query
from cacq.plan import Plan, Planner
from cacq.query import ast
from cacq.query.names import nearest
from cacq.stream import Definition, Pushed, Stream


def system_clock() -> int:
    """Microseconds since 1970 by the system's clock."""
    return time.time_ns() // 1000


PLANS = 2048
"""Plans that are made into queries at a time."""


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
        function_workers: int = 0,
    ) -> None:
        """`function_workers` threads run expensive user functions while the eddy goes on; 0: none. They help where a
        function waits or releases the interpreter's lock (I/O, numpy), not one in plain Python; a function must bear
        to be called from several threads at once. Answers do not depend on it."""
        given = {
            "memory_bytes": memory_bytes, "lineage": lineage, "expiration": expiration, "join_groups": join_groups,
        }  # fmt: skip
        check_later_options(given)
        self._lineage = lineage
        self._policy = make(policy, check_whole_number(seed, "seed"))
        self._workers = Workers(check_whole_number(function_workers, "function_workers", 0))
        self._eddies: dict[str, Eddy] = {}
        self._clock = checked_clock(system_clock if clock is None else clock)
        self._streams: dict[str, Stream] = {}
        self._functions: dict[str, UserFunction] = {}
        self._schemas: dict[str, Schema] = {}
        self._signatures: dict[str, ast.Function] = {}
        self._planner = Planner(self._schemas, self._signatures)
        self._queries: dict[int, Query] = {}
        self._named: dict[str, Query] = {}
        self._results = ResultLog(check_whole_number(retain_bytes, "retain_bytes", 0))
        self._lsn = 0
        self._registered = 0
        self._query_bytes = 0
        self._pushing = False

    def create_stream(
        self,
        name: str,
        schema: Mapping[str, str],
        timestamp: str | None = None,
        lateness: float = 0.0,
        flow: str = "default",
    ) -> None:
        """Make a stream; a second call with the same definition changes nothing, with another one it is refused."""
        name, flow = check_name(name, "a stream's name"), check_name(flow, "a flow's name")
        definition = Definition(Schema.of(schema, timestamp), check_seconds(lateness, "lateness"), flow)
        known = self._streams.get(name)
        if known is not None:
            if known.definition != definition or list(known.schema.columns) != list(definition.schema.columns):
                raise CatalogError(f"the stream {name!r} exists with another definition", "choose another name")
            return
        self._next_lsn()
        if flow not in self._eddies:
            self._eddies[flow] = PooledEddy(self._policy, self._workers) if self._workers else Eddy(self._policy)
        stream = Stream(name, definition, self._clock, self._functions, self._results, self._lineage)
        stream.cancel = self.cancel
        self._streams[name] = stream
        self._schemas[name] = definition.schema

    def register_function(
        self, name: str, function: Callable[..., Any], args: Sequence[str], returns: str, vectorized: bool = False
    ) -> None:
        """Make a Python function known to SQL. It must be deterministic; names of functions ignore case."""
        name = check_function_name(name)
        if not callable(function):
            raise OptionError(f"the function {name!r} cannot be called: {function!r}")
        if not isinstance(vectorized, bool):
            raise OptionError(f"vectorized={vectorized!r} is neither True nor False")
        if name.lower() in (known.lower() for known in self._functions):
            raise CatalogError(f"the function {name!r} exists already", "choose another name")
        signature = ast.Function(name, check_types(args, "args"), check_type(returns))
        self._functions[name] = UserFunction(signature, function, vectorized)
        self._signatures[name] = signature

    def register(self, sql: str, name: str | None = None, materialize: bool = False) -> Query:
        """Make a query stand: it sees every row pushed from now on."""
        if materialize:
            raise OptionError(
                "a query without a window cannot be materialized: its answer only grows", "leave materialize=False"
            )
        self._refuse_name(name)
        return self._install([self._planner.plan(check_query_text(sql))], name)[0]

    def register_many(self, texts: Iterable[str]) -> list[Query]:
        """Register all of the queries, or none if one is wrong."""
        plans = []
        for number, sql in enumerate(check_query_texts(texts)):
            try:
                plans.append(self._planner.plan(sql))
            except CacqError as error:
                error.message = f"query {number}: {error.message}"
                raise
        return self._install(plans)

    def push(self, stream: str, data: object) -> Pushed:
        """Take rows in. When it returns, what follows from them can be polled. Bad data is refused whole."""
        source = self._stream(stream)
        self._refuse_reentry()
        columns, ts = source.check(data)
        self._pushing = True
        try:
            pushed, stopped = source.push(columns, ts, self._lsn + 1, self._eddies[source.definition.flow])
        finally:
            self._pushing = False
        self._next_lsn()
        for standing, error in stopped.items():
            for query in standing.holders:
                assert isinstance(query, Query)
                self._leave(query)
                query._end(pushed.lsn + 1, error)
        return pushed

    def advance(self, stream: str, ts: object) -> None:
        """Punctuation: nothing older than `ts` will come."""
        source = self._stream(stream)
        moment = as_timestamp(ts, "advance")
        self._next_lsn()
        source.watermark.raise_to(moment)

    def cancel(self, query: Query) -> None:
        """End a query; cancelling twice does no harm. A parked query gives its name back."""
        if not isinstance(query, Query):
            raise OptionError(f"only a query can be cancelled, not {query!r}", "give what register returned")
        if self._queries.get(query._number) is not query:
            return
        self._refuse_reentry()
        if query.state == "active":
            self._leave(query)
            query._end(self._next_lsn())
        del self._queries[query._number]
        self._query_bytes -= query.nbytes
        self._named.pop(query.name, None)

    def explain(self, query: str | Query) -> dict[str, Any]:
        """How a query is evaluated: its terms, the operators they live in, and who shares them."""
        sql = query.sql if isinstance(query, Query) else check_query_text(query)
        select, disjuncts = self._planner.read(sql)
        stream = self._streams[select.source]
        return explain(sql, select, disjuncts, stream, query if isinstance(query, Query) else None)

    def stats(self) -> dict[str, Any]:
        """Counters of operators and sources since the start."""
        rows = [row for stream in self._streams.values() for row in operator_rows(stream)]
        return {
            "lsn": self._lsn,
            "queries": len(self._queries),
            "predicates": sum(len(stream.standing) for stream in self._streams.values()),
            "operators": rows,
            "terms_skipped": sum(row["terms_skipped"] for row in rows),
            "sources": {stream.name: source_row(stream) for stream in self._streams.values()},
            "query_bytes": self._query_bytes,
            "results": {"bytes": self._results.nbytes},
        }

    def _install(self, plans: list[Plan], name: str | None = None) -> list[Query]:
        """Make queries of plans, at one LSN each; nothing of this can fail. A name is for the only one of them."""
        self._refuse_reentry()
        queries: list[Query] = []
        while plans:
            # Some at a time: what planning leaves behind is memory that the queries to come take up.
            some, plans[:PLANS] = plans[:PLANS], []
            queries += [self._make(plan, name, standing) for plan, standing in zip(some, self._hold(some), strict=True)]
        for stream in {query._stream.name: query._stream for query in queries}.values():
            stream.standing.install()
        shown = Counter(id(query._select) for query in queries)
        for query in {id(query._select): query for query in queries}.values():
            query._stream.show(query._select, shown[id(query._select)])
        for query in queries:
            query._begin(self._next_lsn())
        return queries

    def _hold(self, plans: Sequence[Plan]) -> list[Standing]:
        """The predicates of plans, which may be over several streams."""
        by_stream: dict[str, list[int]] = {}
        for number, plan in enumerate(plans):
            by_stream.setdefault(plan.template.source, []).append(number)
        found: dict[int, Standing] = {}
        for source, numbers in by_stream.items():
            found |= zip(numbers, self._streams[source].hold([plans[number] for number in numbers]), strict=True)
        return [found[number] for number in range(len(plans))]

    def _make(self, plan: Plan, name: str | None, standing: Standing) -> Query:
        """One more query."""
        self._registered += 1
        while self._named and f"id-{self._registered}" in self._named:
            self._registered += 1
        query = Query(self._streams[plan.template.source], self._registered, name, plan, standing)
        self._queries[query._number] = query
        self._query_bytes += query.nbytes
        if name is not None:
            self._named[name] = query
        return query

    def _leave(self, query: Query) -> None:
        """Take an active query out of the flow."""
        stream = query._stream
        stream.show(query._select, -1)
        query._pack()
        stream.standing.let_go(query._standing, query)

    def _refuse_name(self, name: str | None) -> None:
        if name is None:
            return
        check_name(name, "a query's name")
        number = name.removeprefix("id-")
        identity = name != number and number.isascii() and number.isdigit() and str(int(number)) == number
        if name in self._named or (identity and int(number) in self._queries):
            raise CatalogError(f"the query {name!r} exists already", "cancel it first, or choose another name")

    def _stream(self, name: str) -> Stream:
        stream = self._streams.get(name) if isinstance(name, str) else None
        if stream is None:
            raise CatalogError(f"there is no stream {name!r}", nearest(str(name), self._streams, "streams"))
        return stream

    def _refuse_reentry(self) -> None:
        """A user function that calls its engine back would change it in the middle of a push."""
        if self._pushing:
            raise OptionError("the engine is in the middle of a push", "do not call it from inside a user function")

    def _next_lsn(self) -> int:
        self._lsn += 1
        return self._lsn
