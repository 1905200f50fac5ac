"""`selections`: many selection queries over one stream. CACQ figures 4, 6 and 7, tables 1 and 2; and sparse queries.

`dense.py` has the queries of the paper (section 3.2.8), `sparse.py` very many selective ones, `variants.py` several
sources, one eddy a query, and the width of tuples and of their lineage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench import dense, sparse, variants
from bench.measure import Goal, Row
from bench.report import Panel

NAME = "selections"


def measure(quick: bool) -> Iterator[Row]:
    """All figures: dense, sparse, then the variants."""
    yield from dense.measure(quick)
    yield from sparse.measure(quick)
    yield from variants.measure(quick)


def _half(figure: Row) -> str:
    if figure.case.startswith(("masks: ", "rows: ", "dense: ")):
        return "dense"
    return figure.case.partition(": ")[0] if figure.case.startswith("sparse") else "variants"


def target(figure: Row) -> Goal:
    """What the figure should reach."""
    half = _half(figure)
    return (dense if half == "dense" else variants if half == "variants" else sparse).target(figure)


def panels(figures: Sequence[Row]) -> list[Panel]:
    """Dense and sparse throughput over the number of queries, and the variants."""
    rates = [figure for figure in figures if figure.metric == "throughput"]
    drawn = [Panel("dense: the queries of the paper", [r for r in rates if _half(r) == "dense"])]
    for batch in sparse.BATCHES:
        prefix = f"sparse {batch:,}"
        mine = [r for r in rates if _half(r) == prefix]
        drawn.append(Panel(f"sparse: two 1 % ranges a query, batches of {batch:,}", mine, strip=prefix + ": "))
    eddies = [r for r in rates if r.case in (variants.ONE_EDDY, variants.EDDY_EACH)]
    drawn.append(Panel("sharing (figure 6): rows out", eddies))
    drawn.append(Panel("sources (figure 7)", [r for r in rates if " source" in r.case], ""))
    width = [r for r in rates if "columns" in r.params or "slots" in r.params]
    drawn.append(Panel("five queries: width of tuples and of lineage (figure 4)", width, "", False))
    return drawn
