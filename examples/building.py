"""A building full of sensors: the scenario of the CACQ paper (sections 1 and 2), on the embedded engine.

Five streams, one for each kind of sensor; a few hundred standing queries of employees, the building manager, structural
engineers and devices. A day passes in 72 seconds. Run: python examples/building.py [--for SECONDS]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import cycle

import numpy as np
import numpy.typing as npt

import cacq

FLOORS, ROOMS_A_FLOOR = 4, 24
ROOMS = [f"F{floor}-R{room:02}" for floor in range(1, FLOORS + 1) for room in range(1, ROOMS_A_FLOOR + 1)]
UNITS = {"light": "lux", "temperature": "C", "sound": "dB", "vibration": "mm/s", "magnetic": "uT"}
SCHEMA = {"sensor": "int64", "location": "string", "value": "float64", "ts": "timestamp"}
SHOWN = "SELECT location, value, ts FROM"

MORNING = datetime(2026, 1, 5, 7, tzinfo=UTC)
TICKS_A_SECOND = 20
SIMULATED_SECONDS_A_TICK = 60
READINGS_A_TICK = 1_000
WIDTH = 100

Floats = npt.NDArray[np.float64]
Reading = tuple[str, float, int]


class Building:
    """Makes the readings. The same seed gives the same readings, whatever the speed of the machine."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._locations = np.array(ROOMS)
        self._sunny = self._rng.random(len(ROOMS)) < 0.5
        self._setpoint = self._rng.normal(21.5, 0.7, len(ROOMS))
        self._quake_until = -1
        self.tick = 0

    @property
    def now(self) -> datetime:
        """The time in the building."""
        return MORNING + timedelta(seconds=self.tick * SIMULATED_SECONDS_A_TICK)

    def readings(self) -> Iterator[tuple[str, dict[str, object]]]:
        """One minute in the building: for each kind of sensor a batch of readings, in order of time."""
        if self._rng.random() < 0.002:
            self._quake_until = self.tick + 10
        start = int(self.now.timestamp()) * 1_000_000
        for number, kind in enumerate(UNITS):
            rooms = self._rng.integers(0, len(ROOMS), READINGS_A_TICK)
            moments = np.sort(self._rng.integers(0, SIMULATED_SECONDS_A_TICK * 1_000_000, READINGS_A_TICK))
            yield (
                kind,
                {
                    "sensor": number * len(ROOMS) + rooms,
                    "location": self._locations[rooms].tolist(),
                    "value": np.round(self._values(kind, rooms), 2),
                    "ts": start + moments,
                },
            )
        self.tick += 1

    def _values(self, kind: str, rooms: npt.NDArray[np.int64]) -> Floats:
        hour = self.now.hour + self.now.minute / 60
        daylight = max(0.0, np.sin((hour - 7) / 11 * np.pi)) if 7 <= hour <= 18 else 0.0
        busy = np.exp(-(((hour - 13) / 4.5) ** 4))
        occupied = self._rng.random(len(rooms)) < 0.03 + 0.8 * busy
        noise = self._rng.normal(0, 1, len(rooms))
        match kind:
            case "light":
                return np.maximum(0, 5 + 380 * occupied + 700 * daylight * self._sunny[rooms] + 25 * noise)
            case "temperature":
                return self._setpoint[rooms] - 2.5 * (1 - busy) + 3 * daylight * self._sunny[rooms] + 0.4 * noise
            case "sound":
                return np.maximum(20, 31 + 22 * occupied + 5 * noise)
            case "vibration":
                return np.abs((0.15 if self.tick >= self._quake_until else 4.0) * noise)
            case _:
                return 48 + 6 * occupied * noise


def standing_queries(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Name and text of everything that people and devices want to know."""
    for room in ROOMS:
        comfort = rng.choice([19.5, 20.0, 20.5, 21.0])
        yield f"heat_{room}", f"{SHOWN} temperature WHERE location = '{room}' AND value < {comfort}"
        yield f"blind_{room}", f"{SHOWN} light WHERE location = '{room}' AND value > {rng.integers(700, 1000)}"
        yield f"lock_{room}", f"{SHOWN} magnetic WHERE location = '{room}' AND NOT value BETWEEN 35 AND 61"
    for employee in range(60):
        office = rng.choice(ROOMS)
        yield f"boss_of_employee_{employee}", f"{SHOWN} light WHERE location = '{office}' AND value > 250"
    for floor in range(1, FLOORS + 1):
        here = f"location LIKE 'F{floor}-%'"
        yield f"climate_floor_{floor}", f"{SHOWN} temperature WHERE {here} AND (value < 17.5 OR value > 25.5)"
        yield f"noise_floor_{floor}", f"{SHOWN} sound WHERE {here} AND value > 66"
        yield f"strain_floor_{floor}", f"{SHOWN} vibration WHERE {here} AND value >= 6.5"
    yield "earthquake", f"{SHOWN} vibration WHERE value > 9"
    yield "sprinkler", f"{SHOWN} temperature WHERE value > 60"
    yield "night_watch", f"{SHOWN} sound WHERE value > 60 AND location IN ('F1-R01', 'F1-R02', 'F1-R03')"


EXAMPLES = ("heat_F1-R05", "boss_of_employee_7", "blind_F2-R11", "climate_floor_3", "earthquake", "night_watch")

VISITORS = (
    f"{SHOWN} light WHERE location = 'F2-R11' AND value > 300",
    f"{SHOWN} sound WHERE location LIKE 'F4-%' AND value > 60",
    f"{SHOWN} temperature WHERE value > 24 OR value IS NULL",
)


@dataclass
class Monitor:
    """The engine, its queries by name, and what the screen shows of them."""

    engine: cacq.Engine
    queries: dict[str, cacq.Query]
    tuples: int = 0
    results: int = 0
    arrived: dict[str, int] = field(default_factory=dict)
    latest: dict[str, tuple[int, Reading | None]] = field(default_factory=dict)
    news: list[str] = field(default_factory=list)
    visitors: Iterator[tuple[int, str]] = field(
        default_factory=lambda: zip(range(1, 10**9), cycle(VISITORS), strict=False)
    )

    def push(self, kind: str, batch: dict[str, object]) -> None:
        """Hand a batch to the engine."""
        rows = self.engine.push(kind, batch).rows
        self.arrived[kind] = self.arrived.get(kind, 0) + rows
        self.tuples += rows

    def poll(self) -> int:
        """Take every query's new results, as its client would; returns how many there were."""
        found = 0
        for name, query in self.queries.items():
            deltas = query.poll()
            found += len(deltas)
            if name in EXAMPLES or name.startswith("visitor"):
                _, before = self.latest.get(name, (0, None))
                last = tuple(column[-1] for column in deltas.columns.values()) if len(deltas) else before
                self.latest[name] = (len(deltas), last)
        self.results += found
        return found

    def come_and_go(self, second: int) -> None:
        """Let a visitor's query join in the second second of every six, and leave in the fifth."""
        if second % 6 == 2:
            number, sql = next(self.visitors)
            name = f"visitor_{number}"
            self.queries[name] = self.engine.register(sql, name=name)
            self.news.append(f"+ {name} joins: {sql}")
        elif second % 6 == 5:
            name = next(name for name in self.queries if name.startswith("visitor"))
            query = self.queries.pop(name)
            self.latest.pop(name, None)
            self.news.append(f"- {name} leaves after {query.results:,} results")
            query.cancel()

    def show(self, now: datetime, second: int, seconds: float) -> None:
        """Print what happened since the last time, which was so many seconds ago."""
        found = self.poll()
        pushed = sum(self.arrived.values())
        title = f" {now:%A %H:%M} in the building, second {second} "
        print(f"--{title}{'-' * (WIDTH - 2 - len(title))}")
        print(" arrived    " + "  ".join(f"{kind} {count:,}" for kind, count in self.arrived.items()))
        print(f" rates      {pushed / seconds:>12,.0f} tuples/s  {found / seconds:>12,.0f} results/s", end="")
        print(f"  {len(self.queries):>8,} standing queries")
        for line in self.news:
            print(f" {line}"[:WIDTH])
        operators = sorted(self.engine.stats()["operators"], key=lambda operator: -operator["tickets"])[:4]
        print(f" {'hottest operators':<34}{'tickets':>12}{'visits':>12}{'tuples in':>16}{'tuples out':>16}")
        for operator in operators:
            figures = f"{operator['tickets']:>12,.0f}{operator['visits']:>12,}"
            print(f"   {operator['name']:<32.32}{figures}{operator['tuples_in']:>16,}{operator['tuples_out']:>16,}")
        print(f" {'some queries':<34}{'results':>12}   the latest of them")
        for name, (count, latest) in self.latest.items():
            print(f"   {name:<32.32}{count:>12,}   {self._reading(name, latest)}")
        print(flush=True)
        self.arrived.clear()
        self.news.clear()

    def _reading(self, name: str, row: Reading | None) -> str:
        if row is None:
            return "-"
        location, value, ts = row
        unit = next(unit for kind, unit in UNITS.items() if f"FROM {kind}" in self.queries[name].sql)
        moment = datetime.fromtimestamp(ts / 1_000_000, UTC)
        return f"{location}  {value:>8.2f} {unit:<5}at {moment:%H:%M:%S}"


def warm_up() -> None:
    """Make the kernels ready: at once if they are on disk, else with one line that says how far it is."""
    started = False

    def show(ready: int, kernels: int, name: str) -> None:
        nonlocal started
        if sys.stdout.isatty() or not started:
            started = True
            print(f"\rcompiling kernels for this machine (once): {ready} of {kernels} ...", end="", flush=True)

    cacq.warm_up(show)
    if started:
        print(" done")


def open_building(seed: int) -> Monitor:
    """Streams and queries."""
    engine = cacq.Engine(seed=seed)
    for kind in UNITS:
        engine.create_stream(kind, SCHEMA, timestamp="ts")
    named = list(standing_queries(np.random.default_rng(seed)))
    print(f"registering {len(named)} standing queries over {len(UNITS)} streams", flush=True)
    return Monitor(engine, {name: engine.register(sql, name=name) for name, sql in named})


def watch(building: Building, monitor: Monitor, duration: float) -> None:
    """Push readings tick by tick and print a section every second, for so many seconds."""
    start = shown = time.monotonic()
    ticks, second = 0, 0
    while time.monotonic() - start < duration:
        for kind, batch in building.readings():
            monitor.push(kind, batch)
        ticks += 1
        now = time.monotonic()
        if now - shown >= 1:
            second += 1
            monitor.come_and_go(second)
            monitor.show(building.now, second, now - shown)
            shown = now
        time.sleep(max(0.0, start + ticks / TICKS_A_SECOND - time.monotonic()))


def main() -> None:
    """Watch the building until the time is up or Ctrl-C is pressed; both end with a summary and status 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--for", dest="duration", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    building = Building(arguments.seed)
    start = time.monotonic()
    monitor = None
    try:
        warm_up()
        monitor = open_building(arguments.seed)
        start = time.monotonic()
        watch(building, monitor, arguments.duration)
    except KeyboardInterrupt:
        print()
    if monitor:
        elapsed = time.monotonic() - start
        print(f"{monitor.tuples:,} readings and {monitor.results:,} results in {elapsed:.1f} s; all queries closed")


if __name__ == "__main__":
    main()
