"""ISO 8601 text as an instant: integer microseconds since 1970 UTC, exact."""

from __future__ import annotations

import re
from datetime import date, timedelta

_SHAPE = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?)?"
    r"(?:(?P<utc>[Zz])|(?P<sign>[+-])(?P<zone_hour>[0-9]{2})(?::?(?P<zone_minute>[0-9]{2}))?)?)?"
)
_EPOCH = date(1970, 1, 1)
_LONGEST = 40


def microseconds(text: str) -> int:
    """The instant that the text names; without a zone it is UTC.

    Accepts `YYYY-MM-DD`, then optionally `HH:MM`, seconds, a fraction of up to six digits, and `Z` or an offset.
    Raises a ValueError that says what is wrong.
    """
    shape = _SHAPE.fullmatch(text) if len(text) <= _LONGEST else None
    if shape is None:
        shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
        raise ValueError(f"{shown!r} is not a timestamp: write it as '2026-01-31 12:34:56.789Z'")
    fraction = shape["fraction"] or ""
    if len(fraction) > 6:
        raise ValueError(f"{text!r} is finer than a microsecond: at most six digits may follow the point")
    year, month, day = (int(shape[part]) for part in ("year", "month", "day"))
    try:
        days = (date(year, month, day) - _EPOCH) // timedelta(days=1)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a date: {error}") from None
    hour, minute, second = (_field(shape, part, most, text) for part, most in _CLOCK)
    zone_hour, zone_minute = (_field(shape, part, most, text) for part, most in _ZONE)
    offset = (zone_hour * 60 + zone_minute) * (-1 if shape["sign"] == "-" else 1)
    minutes = (days * 24 + hour) * 60 + minute - offset
    return (minutes * 60 + second) * 1_000_000 + int(fraction.ljust(6, "0"))


_CLOCK = (("hour", 23), ("minute", 59), ("second", 59))
_ZONE = (("zone_hour", 23), ("zone_minute", 59))


def _field(shape: re.Match[str], part: str, most: int, text: str) -> int:
    value = int(shape[part] or 0)
    if value > most:
        raise ValueError(f"{text!r} is not a timestamp: the {part.replace('_', ' ')} is beyond {most}")
    return value
