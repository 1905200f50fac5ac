"""ISO 8601 text -> microseconds since 1970 UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest

from cacq.data.iso import microseconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:00", 0),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01 00:00:00.1", 100_000),
        ("1970-01-01 00:00:00.000001", 1),
        ("1970-01-01t00:00:00.5z", 500_000),
        ("1970-01-01 01:00+01:00", 0),
        ("1970-01-01 01:00+0100", 0),
        ("1970-01-01 01:00:00.25+01", 250_000),
        ("1969-12-31 23:30-00:30", 0),
        ("1969-12-31 23:59:59.999999", -1),
        ("2026-01-01", 1_767_225_600_000_000),
        ("2024-02-29", 1_709_164_800_000_000),
        ("0001-01-01", -62_135_596_800_000_000),
        ("9999-12-31 23:59:59.999999", 253_402_300_799_999_999),
    ],
)
def test_a_time_is_read(text: str, expected: int) -> None:
    assert microseconds(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not a timestamp"),
        ("yesterday", "is not a timestamp"),
        ("2026", "is not a timestamp"),
        ("2026-1-1", "is not a timestamp"),
        ("26-01-01", "is not a timestamp"),
        ("2026-01-01 ", "is not a timestamp"),
        ("2026-01-01\n", "is not a timestamp"),
        ("2026-01-01 10", "is not a timestamp"),
        ("2026-01-01Z", "is not a timestamp"),
        ("2026-01-01 10:00 UTC", "is not a timestamp"),
        ("2026-01-01 10:00:00.", "is not a timestamp"),
        ("\u0662\u0660\u0662\u0666-01-01", "is not a timestamp"),
        ("x" * 1_000_000, "is not a timestamp"),
        ("2026-13-01", "month must be in 1..12"),
        ("2026-02-29", "is not a date"),
        ("0000-01-01", "is not a date"),
        ("2026-01-01 24:00", "the hour is beyond 23"),
        ("2026-01-01 10:60", "the minute is beyond 59"),
        ("2026-01-01 10:00:60", "the second is beyond 59"),
        ("2026-01-01 10:00+24:00", "the zone hour is beyond 23"),
        ("2026-01-01 10:00:00.1234567", "finer than a microsecond"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_no_time_is_refused_in_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        microseconds(text)
    assert len(str(caught.value)) < 200


def test_every_spelling_of_python_is_read_as_python_does() -> None:
    random = Random(7)
    for _ in range(1_000):
        offset = timezone(timedelta(minutes=random.randint(-1439, 1439)))
        moment = EPOCH + timedelta(microseconds=random.randint(-62_000_000_000_000_000, 253_000_000_000_000_000))
        text = moment.astimezone(offset).isoformat(sep=random.choice(" T"))
        assert microseconds(text) == (moment - EPOCH) // timedelta(microseconds=1), f"seed 7: {text}"
