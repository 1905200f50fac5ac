"""Everything that may stand for a point in time, exact to the microsecond."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacq.data.moment import MAX_TIMESTAMP, timestamp
from cacq.data.types import INT64_MAX
from cacq.errors import DataError
from tests.pushing import NOON, NOON_US, label, refused, taken


@pytest.mark.parametrize(
    "values",
    [
        [NOON_US, None],
        [np.int64(NOON_US), None],
        [NOON, None],
        [NOON.replace(tzinfo=UTC), None],
        [NOON.replace(hour=14, tzinfo=timezone(timedelta(hours=2))), None],
        [NOON.replace(hour=13, tzinfo=ZoneInfo("Europe/Berlin")), None],
        [np.datetime64(NOON, "s"), None],
        [np.datetime64(NOON, "ns"), np.datetime64("NaT")],
        ["2020-01-01T12:00:00", None],
        ["2020-01-01 12:00:00.000000Z", None],
        ["2020-01-01T14:00:00+02:00", None],
        np.ma.array([NOON_US, 2**63 - 1], mask=[0, 1]),
        np.ma.array([NOON_US, 2**64 - 1], mask=[0, 1], dtype="u8"),
        np.array([NOON, None], object),
        np.array([NOON, "NaT"], "M8[h]"),
        np.array([NOON, "NaT"], ">M8[us]"),
        np.ma.array(np.array([NOON, 2**62], "M8[s]"), mask=[0, 1]),
        np.ma.array(["2020-01-01T12:00:00", "x"], mask=[0, 1]),
        pa.array([NOON_US, None]),
        pa.array([NOON, None], pa.timestamp("s")),
        pa.array([NOON, None], pa.timestamp("ms", "Asia/Tokyo")),
        pa.array([NOON, None], pa.timestamp("us")),
        pa.array([NOON, None], pa.timestamp("us", "Europe/Berlin")),
        pa.array([NOON, None], pa.timestamp("ns")),
        pa.array(["2020-01-01T12:00:00Z", None]),
        pa.array(["2020-01-01T12:00:00Z", None]).dictionary_encode(),
        pa.chunked_array([pa.array([NOON], pa.timestamp("us")), pa.array([None], pa.timestamp("us"))]),
    ],
    ids=label,
)
def test_timestamp_takes_every_form(values: object) -> None:
    assert taken(values, "timestamp") == [NOON_US, None]


def test_timestamps_of_different_kinds_may_stand_in_one_list() -> None:
    mixed = [
        NOON_US,
        NOON,
        np.datetime64(NOON, "s"),
        np.datetime64(NOON, "ns"),
        np.datetime64("NaT"),
        "2020-01-01T12:00:00",
        None,
    ]
    assert taken(mixed, "timestamp") == [NOON_US, NOON_US, NOON_US, NOON_US, None, NOON_US, None]


@pytest.mark.parametrize("units", ["Ds", "sD", "sY"])
def test_datetime64_of_different_units_may_stand_in_one_list(units: str) -> None:
    values = [np.datetime64(NOON, unit) for unit in units]
    day = NOON_US - 12 * 3_600_000_000
    assert taken(values, "timestamp") == [NOON_US if unit == "s" else day for unit in units]


def test_masked_and_not_a_time_are_both_null() -> None:
    values = np.ma.array(np.array([NOON, NOON, "NaT"], "M8[s]"), mask=[0, 1, 0])
    assert taken(values, "timestamp") == [NOON_US, None, None]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_what_stands_under_a_null_may_be_out_of_range(unit: str) -> None:
    memory = pa.py_buffer(np.array([0, INT64_MAX]))
    values = pa.Array.from_buffers(pa.timestamp(unit), 2, [pa.py_buffer(b"\1"), memory])
    assert taken(values, "timestamp") == [0, None]


def test_iso_strings_with_and_without_zone_may_stand_in_one_list() -> None:
    mixed = ["2020-01-01T12:00:00", "2020-01-01T12:00:00Z", "2020-01-01T07:00:00-05:00", "2020-01-01"]
    assert taken(mixed, "timestamp") == [NOON_US] * 3 + [NOON_US - 12 * 3_600_000_000]


@pytest.mark.parametrize("unit", ["ns", "ps", "fs", "as"])
def test_what_is_finer_than_a_microsecond_is_floored_also_before_1970(unit: str) -> None:
    thousandths = 1000 ** ["us", "ns", "ps", "fs", "as"].index(unit)
    ticks = np.array([1, thousandths, -1, -thousandths, -thousandths - 1]).view(f"M8[{unit}]")
    expected = [0, 1, -1, -1, -2]
    assert taken(ticks, "timestamp") == taken(list(ticks), "timestamp") == expected
    assert unit != "ns" or taken(pa.array(ticks), "timestamp") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.datetime64("1972", "Y"), 2 * 365 * 86_400_000_000),
        (np.datetime64("1970-02", "M"), 31 * 86_400_000_000),
        (np.datetime64(-1, "W"), -7 * 86_400_000_000),
        (np.datetime64(2, "D"), 2 * 86_400_000_000),
        (np.datetime64(3, "m"), 180_000_000),
        (np.datetime64(3, "5s"), 15_000_000),
        (np.datetime64(-1, "3ns"), -1),
        (np.datetime64(1001, "3ns"), 3),
    ],
    ids=label,
)
def test_datetime64_of_any_unit_is_exact(value: np.datetime64, expected: int) -> None:
    assert taken(np.array([value]), "timestamp") == taken([value], "timestamp") == [expected]


class OddZone(tzinfo):
    """A zone whose offset has a part of a second, and that cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(hours=1, microseconds=7)


@pytest.mark.parametrize("zone", [OddZone(), timezone(timedelta(hours=1, microseconds=7))], ids=["tzinfo", "timezone"])
def test_offsets_with_a_part_of_a_second_are_exact(zone: tzinfo) -> None:
    assert taken([NOON.replace(tzinfo=zone), NOON], "timestamp") == [NOON_US - 3_600_000_007, NOON_US]


def test_the_ends_of_datetime_are_taken_in_any_zone() -> None:
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))
    expected = [-62_135_596_800_000_000 - 5 * 3_600_000_000, 253_402_300_799_999_999 + 5 * 3_600_000_000]
    assert taken([early, late], "timestamp") == taken([early, late, 0], "timestamp")[:2] == expected


class NotATime(datetime):
    """Behaves as pandas.NaT does: a datetime that equals nothing and has no zone to ask for."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def utcoffset(self) -> timedelta:
        raise ValueError("NaT")


def test_a_datetime_that_is_not_a_time_is_null() -> None:
    assert taken([NOON, NotATime(1, 1, 1)], "timestamp") == [NOON_US, None]


@pytest.mark.parametrize("limit", [MAX_TIMESTAMP, -MAX_TIMESTAMP])
def test_timestamps_are_taken_up_to_the_limit_and_no_further(limit: int) -> None:
    beyond = limit + 1 if limit > 0 else limit - 1
    forms = (list, np.array, pa.array, lambda v: pa.array(v, pa.timestamp("us")), lambda v: np.array(v).view("M8[us]"))
    for form in forms:
        assert taken(form([limit]), "timestamp") == [limit]
        assert "row 1, column 'x'" in refused(form([0, beyond]), "timestamp")


@pytest.mark.parametrize(
    "values",
    [
        ["2020-01-01T00:00:00", None, "2020-13-01T00:00:00"],
        ["2020-01-01T00:00:00Z", None, "2020-01-01T00:61:00Z"],
        ["2020-01-01T00:00:00", None, "yesterday"],
        ["2020-01-01T00:00:00", None, ""],
        [NOON, None, "yesterday"],
        pa.array(["2020-01-01T00:00:00", None, "2020-02-30T00:00:00"]),
        pa.chunked_array([["2020-01-01T00:00:00", None], ["yesterday"]]),
        np.array(["2020-01-01", "2020-01-01", "0000-01-01T00:00:00"]),
    ],
    ids=label,
)
def test_a_string_that_is_no_time_is_refused_by_row(values: object) -> None:
    message = refused(values, "timestamp")
    assert message.startswith("row 2, column 'x': '")
    assert " is not a " in message


@pytest.mark.parametrize(
    "values",
    [
        np.array([0, 0, 2**62], "M8[s]"),
        np.array([0, 0, -(2**62)], "M8[ms]"),
        np.array([0, 0, 146_001], "M8[Y]"),
        np.array([0, 0, 2**62], "M8[M]"),
        np.array([0, 0, 2**62 + 1], "M8[us]"),
        pa.array([0, None, 2**62], pa.timestamp("s")),
        [np.datetime64(0, "s"), None, np.datetime64(2**62, "s")],
        [np.datetime64(0, "s"), None, np.datetime64(2**62, "ms")],
        [np.datetime64(0, "s"), 0, np.datetime64(2**62, "ms")],
    ],
    ids=label,
)
def test_a_time_that_is_out_of_range_in_microseconds_is_refused_by_row(values: object) -> None:
    message = refused(values, "timestamp")
    assert message.startswith("row 2, column 'x': ")
    assert "2**62" in message


MINUTE_ZONES = [None, UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-9))]
SECOND_ZONES = [*MINUTE_ZONES, ZoneInfo("America/New_York"), timezone(timedelta(seconds=-61))]
TEXTS = st.from_regex(
    r"[12][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"([Tt ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?(Z|z|[+-][012][0-9]:?[0-6]0)?)?",
    fullmatch=True,
)


def exact(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    offset = moment.utcoffset() or timedelta()
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1) - offset) // timedelta(microseconds=1)


@given(st.lists(st.none() | st.datetimes(timezones=st.sampled_from(SECOND_ZONES)), max_size=10))
def test_datetimes_give_the_exact_microseconds(moments: list[datetime | None]) -> None:
    assert taken(moments, "timestamp") == [exact(moment) for moment in moments]


@given(st.lists(st.none() | st.datetimes(timezones=st.sampled_from(MINUTE_ZONES)), max_size=10))
def test_iso_text_gives_the_exact_microseconds(moments: list[datetime | None]) -> None:
    texts = [None if moment is None else moment.isoformat() for moment in moments]
    assert taken(texts, "timestamp") == [exact(moment) for moment in moments]


@given(st.lists(TEXTS, max_size=3))
def test_a_column_of_times_is_read_as_each_time_alone(texts: list[str]) -> None:
    def alone(text: str) -> int | None:
        try:
            return timestamp(text, "it")
        except DataError:
            return None

    expected = [alone(text) for text in texts]
    if None in expected:
        assert refused(texts, "timestamp").startswith(f"row {expected.index(None)}, column 'x'")
    else:
        assert taken(texts, "timestamp") == expected


@pytest.mark.parametrize(
    "value",
    [NOON_US, np.int64(NOON_US), NOON, NOON.replace(tzinfo=UTC), np.datetime64(NOON, "s"), "2020-01-01T12:00:00Z"],
    ids=label,
)
def test_one_timestamp_is_taken_in_every_form(value: object) -> None:
    result = timestamp(value, "advance")
    assert (result, type(result)) == (NOON_US, int)


@pytest.mark.parametrize(
    "value",
    [
        None,
        np.datetime64("NaT"),
        True,
        1.0,
        math.inf,
        "x",
        date(2020, 1, 1),
        2**62 + 1,
        -(2**70),
        np.timedelta64(1),
        [],
    ],
    ids=label,
)
def test_one_wrong_timestamp_is_refused_with_what_it_was_for(value: object) -> None:
    with pytest.raises(DataError, match=r"^advance: ") as caught:
        timestamp(value, "advance")
    assert caught.value.hint
