"""What is shown of the figures: a table, a file of JSON rows, a plot."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.measure import Row

Target = float | tuple[str, float] | None
"""The least value that a figure should have, or ("<=", the greatest)."""

OUT = Path(__file__).parent / "out"


def table(rows: Sequence[Row], target: Callable[[Row], Target]) -> str:
    """The figures as a Markdown table that also reads well on a terminal."""
    lines = [["queries", "case", "median", "min", "max", "unit", "to reach"]]
    for figure in rows:
        if figure.metric == "course":  # a line of the plot
            continue
        values = [_number(value, figure.unit) for value in (figure.value, min(figure.runs), max(figure.runs))]
        lines.append([f"{figure.params['queries']:,}", figure.case, *values, figure.unit, _reached(figure, target)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(_aligned(line, widths) for line in lines)


def _reached(figure: Row, target: Callable[[Row], Target]) -> str:
    goal = target(figure)
    if goal is None:
        return ""
    if isinstance(goal, tuple):
        return f"{goal[0]} {goal[1]:g}: {'reached' if figure.value <= goal[1] else 'NOT REACHED'}"
    return f"{goal:g}: {'reached' if figure.value >= goal else 'NOT REACHED'}"


def _number(value: float, unit: str) -> str:
    decimals = {"x": 2, "filters/tuple": 3, "us/tuple": 3}.get(unit, 0)
    return f"{value:,.{decimals}f}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    numeric = (0, 2, 3, 4)
    parts = [c.rjust(w) if i in numeric else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
    return f"| {' | '.join(parts)} |"


def write_json(rows: Sequence[Row], path: Path) -> None:
    """One JSON object a line, a line a figure."""
    path.write_text("".join(json.dumps(asdict(figure)) + "\n" for figure in rows), "utf-8")


def plot(name: str, rows: Sequence[Row]) -> Path:
    """Throughput over the number of queries, a line a contender with its least and greatest run; returns the file."""
    os.environ.setdefault("MPLCONFIGDIR", str(Path(tempfile.gettempdir()) / "cacq-matplotlib"))
    import matplotlib  # noqa: PLC0415 - slow to import, and it reads the variable above when it is

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415 - after the backend is chosen

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    throughput = [r for r in rows if r.metric == "throughput"]
    for case in dict.fromkeys(r.case for r in throughput):
        mine = [r for r in throughput if r.case == case]
        below = [r.value - min(r.runs) for r in mine]
        above = [max(r.runs) - r.value for r in mine]
        sizes = [int(r.params["queries"]) for r in mine]
        axes.errorbar(sizes, [r.value for r in mine], yerr=(below, above), marker="o", capsize=3, label=case)
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel="tuples/s on one core", title=name)
    courses = [r for r in rows if r.metric == "course"]
    if courses:
        axes.clear()
        for r in courses:
            axes.plot(r.runs, label=r.case)
        axes.set(xlabel="time", ylabel=courses[0].unit, title=name)
    axes.grid(alpha=0.3)
    axes.legend()
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{name}.png"
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path


def write_table(name: str, text: str) -> None:
    """Keep the table beside the plot."""
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.md").write_text(text + "\n", "utf-8")
