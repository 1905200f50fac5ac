"""What the engine says it stores: the figures that stand beside tables 1 and 2 of the CACQ paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import cacq
from bench.measure import Params, Row, row


def kept_results(engine: cacq.Engine) -> int:
    """Bytes of results that nobody has polled yet."""
    return int(engine.stats()["results"]["bytes"])


def stored_bytes(bench: str, kind: str, engine: cacq.Engine, kept: int, params: Params, checksum: str) -> Iterator[Row]:
    """Bytes that a tuple's results took, and of each kind of table that the engine counts in its statistics."""
    a_tuple = kept / int(params["tuples"])
    yield row(bench, f"{kind}: results kept, a tuple", params, "stored", "bytes", [a_tuple], checksum)
    for name, count in _byte_counts(engine.stats()).items():
        yield row(bench, f"{kind}: {name}", params, "stored", "bytes", [count], checksum)


def _byte_counts(stats: object, path: str = "") -> dict[str, float]:
    """Sums of the numbers whose key speaks of bytes, by the names on the way to them; results are counted apart."""
    if isinstance(stats, list | tuple):
        return _summed(_byte_counts(value, path) for value in stats)
    if not isinstance(stats, dict):
        return {}
    own = {f"{path} {key}".strip(): float(n) for key, n in stats.items() if "bytes" in key and isinstance(n, int)}
    inner = [_byte_counts(value, f"{path} {key}".strip()) for key, value in stats.items() if key != "results"]
    return _summed([own, *inner])


def _summed(counts: Iterable[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for count in counts:
        for name, number in count.items():
            total[name] = total.get(name, 0.0) + number
    return total
