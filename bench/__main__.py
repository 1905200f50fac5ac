"""`python -m bench NAME [--quick] [--json FILE]`: run one benchmark, or `all` of them.

A benchmark is a module with NAME, `measure(quick)` that yields figures, `target(figure)` that says what a figure should
reach, and where the plain plot will not do `panels(figures)`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from types import ModuleType

from bench import adaptivity, choices, latency, register, report, routing, selections
from bench.measure import RUNS, Row, commit, pin_to_one_core

BENCHMARKS = (selections, latency, register, routing, adaptivity, choices)
BENCHES: dict[str, ModuleType] = {bench.NAME: bench for bench in BENCHMARKS}


def main() -> None:
    """Print a table, write a plot under bench/out/ and, where asked, the JSON rows."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=[*BENCHES, "all"])
    parser.add_argument("--quick", action="store_true", help="the smaller sizes only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write one JSON object a figure and line")
    arguments = parser.parse_args()

    pin_to_one_core()
    figures: list[Row] = []
    for name in BENCHES if arguments.name == "all" else [arguments.name]:
        figures += _run(name, arguments.quick)
        if arguments.json:
            report.write_json(figures, arguments.json)


def _run(name: str, quick: bool) -> list[Row]:
    bench = BENCHES[name]
    start = time.perf_counter()
    print(f"{name}: one core, {RUNS} runs unless said otherwise, commit {commit()}", flush=True)
    figures: list[Row] = []
    for figure in bench.measure(quick):
        if not figures or report.describe(figures[-1]) != report.describe(figure):
            print(f"  {report.describe(figure)}: measured, outputs agree ({figure.checksum})", flush=True)
        figures.append(figure)
    text = report.table(figures, bench.target)
    report.write_table(name, text)
    draw = getattr(bench, "panels", report.plain_panels)
    drawn = report.plot(name, draw(figures))
    print(f"\n{text}\n\nplot: {drawn}; took {time.perf_counter() - start:.0f} s\n", flush=True)
    return figures


if __name__ == "__main__":
    main()
