"""What is shown of the figures: a table, a file of JSON rows, a plot of several panels."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.measure import Goal, Row

OUT = Path(__file__).parent / "out"
COLUMNS = 2
"""Panels beside each other in a plot."""
COURSE = "course"
"""The metric of a row whose runs are a line over time; it is drawn and not listed."""
TIME = "time"
DECIMALS = {"x": 2, "filters/tuple": 3, "us/tuple": 3}


@dataclass(frozen=True)
class Panel:
    """One chart: lines over the parameter `x`, bars where `x` is empty, or where `x` is "time" the runs of each row one
    after another; a line or bar for each case."""

    title: str
    rows: Sequence[Row]
    x: str = "queries"
    logarithmic: bool = True
    strip: str = ""
    """What all cases begin with and the legend need not repeat."""


def table(rows: Sequence[Row], target: Callable[[Row], Goal]) -> str:
    """The figures as a Markdown table that also reads well on a terminal."""
    lines = [["queries", "case", "median", "min", "max", "unit", "to reach"]]
    for figure in rows:
        if figure.metric == COURSE:
            continue
        values = [_number(value, figure.unit) for value in (figure.value, min(figure.runs), max(figure.runs))]
        queries = figure.params.get("queries", "")
        size = f"{queries:,}" if isinstance(queries, int) else str(queries)
        case = figure.case if figure.metric in ("throughput", "ratio") else f"{figure.case}, {figure.metric}"
        lines.append([size, case, *values, figure.unit, _verdict(figure.value, target(figure))])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(_aligned(line, widths) for line in lines)


def _verdict(value: float, goal: Goal) -> str:
    if goal is None:
        return ""
    sign, bound = goal if isinstance(goal, tuple) else (">=", goal)
    if sign not in ("<=", ">="):
        raise ValueError(f"a goal is reached by <= or >=, not by {sign!r}")
    reached = value <= bound if sign == "<=" else value >= bound
    return f"{sign} {bound:,.10g}: {'reached' if reached else 'NOT REACHED'}"


def _number(value: float, unit: str) -> str:
    return f"{value:,.{DECIMALS.get(unit, 2 if abs(value) < 100 else 0)}f}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    numeric = (0, 2, 3, 4)
    parts = [c.rjust(w) if i in numeric else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
    return f"| {' | '.join(parts)} |"


def describe(figure: Row) -> str:
    """What a figure was measured on, in a few words: its parameters but for the number of tuples."""
    shown = {name: value for name, value in figure.params.items() if name != "tuples"}
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in shown.items()
    )


def write_json(rows: Sequence[Row], path: Path) -> None:
    """One JSON object a line, a line a figure."""
    path.write_text("".join(json.dumps(asdict(figure)) + "\n" for figure in rows), "utf-8")


def plain_panels(rows: Sequence[Row]) -> list[Panel]:
    """A panel for each metric that has a unit of its own: for benchmarks that do not say what to draw."""
    panels = []
    for metric, unit in dict.fromkeys((r.metric, r.unit) for r in rows if r.metric != "ratio"):
        mine = [r for r in rows if (r.metric, r.unit) == (metric, unit)]
        sizes = {r.params.get("queries") for r in mine}
        lines = len(sizes) > 1 and all(isinstance(size, int) for size in sizes)
        x = TIME if metric == COURSE else "queries" if lines else ""
        panels.append(Panel(f"{metric} in {unit}", mine, x, lines))
    return panels


def plot(name: str, panels: Sequence[Panel]) -> Path:
    """Draw the panels, each value with its least and greatest run; returns the file."""
    os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / "cacq-matplotlib"))
    import matplotlib  # noqa: PLC0415 - slow to import, and it reads the variable above when it is

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415 - after the backend is chosen

    panels = [panel for panel in panels if panel.rows]
    columns = min(COLUMNS, len(panels)) or 1
    lines = -(-len(panels) // columns) or 1
    figure, grid = pyplot.subplots(
        lines, columns, figsize=(7.5 * columns, 4.6 * lines), layout="constrained", squeeze=False
    )
    for axes, panel in zip(grid.flat, panels, strict=False):
        {"": _bars, TIME: _courses}.get(panel.x, _lines)(axes, panel)
        axes.set_title(panel.title)
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.png"
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _spread(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    return [max(r.value - min(r.runs), 0) for r in rows], [max(max(r.runs) - r.value, 0) for r in rows]


def _lines(axes: Any, panel: Panel) -> None:
    for case in dict.fromkeys(r.case for r in panel.rows):
        mine = sorted((r for r in panel.rows if r.case == case), key=lambda r: int(r.params[panel.x]))
        sizes, values = [int(r.params[panel.x]) for r in mine], [r.value for r in mine]
        label = case.removeprefix(panel.strip)
        width = 2.4 if "engine" in label else 1.2
        axes.errorbar(sizes, values, _spread(mine), marker="o", markersize=4, linewidth=width, capsize=3, label=label)
    scale = "log" if panel.logarithmic else "linear"
    axes.set(xscale=scale, yscale=scale, xlabel=panel.x, ylabel=panel.rows[0].unit)
    if not panel.logarithmic:
        axes.set_ylim(bottom=0)
    sizes = sorted({int(r.params[panel.x]) for r in panel.rows})
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(_thousands)
    axes.yaxis.set_minor_formatter(lambda _value, _position: "")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _courses(axes: Any, panel: Panel) -> None:
    for r in panel.rows:
        axes.plot(r.runs, label=r.case.removeprefix(panel.strip))
    axes.set(xlabel="time", ylabel=panel.rows[0].unit)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _bars(axes: Any, panel: Panel) -> None:
    rows = list(panel.rows)[::-1]
    places = range(len(rows))
    axes.barh(places, [r.value for r in rows], xerr=_spread(rows), capsize=3, color="tab:blue", alpha=0.8)
    axes.set_yticks(places, [_bar_label(r, panel) for r in rows], fontsize="small")
    for place, r in zip(places, rows, strict=True):
        text = f" {_number(r.value, r.unit)}"
        axes.annotate(text, (max(r.value, *r.runs), place), va="center", fontsize="small")
    axes.margins(x=0.3 if panel.logarithmic else 0.2)
    axes.set(xlabel=rows[0].unit, xscale="log" if panel.logarithmic else "linear")
    axes.xaxis.set_major_formatter(_thousands)
    axes.locator_params(axis="x", **({"numticks": 6} if panel.logarithmic else {"nbins": 5}))
    axes.grid(alpha=0.3, axis="x")


def _thousands(value: float, _position: int) -> str:
    return f"{value:,.10g}"


def _bar_label(figure: Row, panel: Panel) -> str:
    same_metric = len({r.metric for r in panel.rows}) == 1
    sizes = {r.params.get("queries") for r in panel.rows}
    size = figure.params.get("queries")
    parts = [figure.case.removeprefix(panel.strip)]
    parts += [f"{size:,}"] if len(sizes) > 1 and isinstance(size, int) else []
    return ", ".join(parts + ([] if same_metric else [figure.metric]))


def write_table(name: str, text: str) -> None:
    """Keep the table beside the plot."""
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.md").write_text(text + "\n", "utf-8")
