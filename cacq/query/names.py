"""What to say about a name that does not exist: the nearest one, or those there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

_MOST_LISTED = 8
_MOST_COMPARED = 10_000
_LONGEST_COMPARED = 100


def nearest(name: str, known: Iterable[str], plural: str) -> str:
    """A hint for the unknown `name`: the name that was probably meant, else the known ones (`plural` says of what)."""
    candidates = list(islice(known, _MOST_COMPARED))
    if not candidates:
        return f"there are no {plural}"
    folded = name.casefold()
    for candidate in candidates:
        if candidate.casefold() == folded:
            return f"names are case-sensitive: did you mean {candidate}?"
    close = _close(folded, candidates)
    if close is not None:
        return f"did you mean {close}?"
    shown = ", ".join(candidates[:_MOST_LISTED])
    more = ", ..." if len(candidates) > _MOST_LISTED else ""
    return f"{plural} are: {shown}{more}"


def _close(folded: str, candidates: list[str]) -> str | None:
    if len(folded) > _LONGEST_COMPARED:
        return None
    by_folded = {candidate.casefold(): candidate for candidate in reversed(candidates)}
    matches = difflib.get_close_matches(folded, by_folded, n=1)
    return by_folded[matches[0]] if matches else None
