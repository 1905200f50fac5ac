"""One column at a time: every form that each type takes, and every refusal by row and column."""

from __future__ import annotations

from datetime import date, timedelta
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pytest

from cacq.data.types import INT64_MAX, INT64_MIN, Type
from tests.pushing import NAN, NOON, bits, exporter, label, refusal, refused, taken


class Level(IntEnum):
    LOW = 1


INTEGERS = [[1, None, -5], (1, None, -5), [Level.LOW, None, np.int8(-5)], [np.uint64(1), None, np.int64(-5)]]
INTEGERS += [
    np.ma.array(np.array([1, 7, -5], dtype), mask=[False, True, False]) for dtype in ("i1", "i2", "i4", "i8", ">i8")
]
INTEGERS += [pa.array([1, None, -5], type) for type in (pa.int8(), pa.int16(), pa.int32(), pa.int64())]
INTEGERS += [
    np.array([1, None, -5], object),
    pa.chunked_array([[1], [None, -5]]),
    pa.chunked_array([pa.array([1, None, -5], pa.int16())]),
    exporter(pa.array([1, None, -5]), "__arrow_c_array__"),
    exporter(pa.chunked_array([[1], [None, -5]]), "__arrow_c_stream__"),
]


@pytest.mark.parametrize("values", INTEGERS, ids=label)
def test_int64_takes_every_integer_form(values: object) -> None:
    assert taken(values, "int64") == [1, None, -5]


@pytest.mark.parametrize("values", [np.array([1, 255], "u1"), pa.array([1, 255], pa.uint8()), range(1, 256, 254)])
def test_int64_takes_unsigned_integers_and_ranges(values: object) -> None:
    assert taken(values, "int64") == [1, 255]


def test_int64_takes_both_ends_of_its_range() -> None:
    ends = [INT64_MIN, INT64_MAX]
    assert taken(ends, "int64") == taken(np.array(ends), "int64") == taken(pa.array(ends), "int64") == ends
    assert taken(pa.array([INT64_MAX], pa.uint64()), "int64") == taken(np.array([INT64_MAX], "u8"), "int64") == ends[1:]


@pytest.mark.parametrize(
    "values",
    [
        [1.5, None, NAN, -0.0, 2.0],
        [1.5, None, NAN, -0.0, 2],
        [np.float64(1.5), None, np.float32("nan"), np.float16(-0.0), np.int8(2)],
        np.ma.array([1.5, 7, NAN, -0.0, 2], mask=[0, 1, 0, 0, 0]),
        np.ma.array([1.5, 7, NAN, -0.0, 2], mask=[0, 1, 0, 0, 0], dtype=">f4"),
        np.ma.array([1.5, 7, NAN, -0.0, 2], mask=[0, 1, 0, 0, 0], dtype="f2"),
        np.array([1.5, None, NAN, -0.0, 2], object),
        pa.array([1.5, None, NAN, -0.0, 2.0]),
        pa.array([1.5, None, NAN, -0.0, 2.0], pa.float32()),
        pa.array([1.5, None, NAN, -0.0, 2.0], pa.float16()),
        pa.chunked_array([[1.5, None], [NAN, -0.0, 2.0]]),
    ],
    ids=label,
)
def test_float64_keeps_nan_apart_from_null_and_the_sign_of_zero(values: object) -> None:
    assert taken(values, "float64") == bits(1.5, None, NAN, -0.0, 2.0)


@pytest.mark.parametrize("values", [[2**53 + 1, 3], np.array([2**53 + 1, 3]), pa.array([2**53 + 1, 3])], ids=label)
def test_float64_takes_integers_and_rounds_to_the_nearest(values: object) -> None:
    assert taken(values, "float64") == bits(2.0**53, 3.0)


def test_float64_takes_integers_beyond_int64() -> None:
    assert taken([2**80, None], "float64") == bits(2.0**80, None)
    unsigned = np.array([2**64 - 1], "u8")
    assert taken(unsigned, "float64") == taken(pa.array(unsigned), "float64") == bits(2.0**64)


@pytest.mark.parametrize(
    "values",
    [
        [True, None, False],
        [np.True_, None, False],
        np.ma.array([True, True, False], mask=[0, 1, 0]),
        np.array([True, None, False], object),
        pa.array([True, None, False]),
        pa.array([True, True, None, False])[1:],
        pa.chunked_array([[True], [None, False]]),
    ],
    ids=label,
)
def test_bool_takes_every_form(values: object) -> None:
    assert taken(values, "bool") == [True, None, False]


@pytest.mark.parametrize(
    "values",
    [
        ["a\0b", None, "é"],
        [np.str_("a\0b"), None, "é"],
        np.array(["a\0b", None, "é"], object),
        np.ma.array(["a\0b", "x", "é"], mask=[0, 1, 0]),
        np.ma.array(np.array(["a\0b", "x", "é"], np.dtypes.StringDType()), mask=[0, 1, 0]),
        pa.array(["a\0b", None, "é"]),
        pa.array(["a\0b", None, "é"], pa.large_string()),
        pa.array(["a\0b", None, "é"], pa.string_view()),
        pa.array(["a\0b", None, "é"]).dictionary_encode(),
        pa.DictionaryArray.from_arrays([0, 1, 2], pa.array(["a\0b", None, "é"], pa.large_string())),
        pa.chunked_array([["a\0b"], [None, "é"]]),
        pa.chunked_array([pa.array(["a\0b"]).dictionary_encode(), pa.array([None, "é"]).dictionary_encode()]),
    ],
    ids=label,
)
def test_string_takes_every_form(values: object) -> None:
    assert taken(values, "string") == ["a\0b", None, "é"]


@pytest.mark.parametrize("type", Type)
def test_arrow_nulls_and_lists_of_none_are_null_in_every_type(type: Type) -> None:
    assert taken(pa.nulls(2), type.value) == taken([None, None], type.value) == [None, None]
    assert taken(np.array([None, None]), type.value) == [None, None]


@pytest.mark.parametrize("type", Type)
@pytest.mark.parametrize("values", [[], (), np.array([]), pa.nulls(0), pa.chunked_array([], pa.null())], ids=label)
def test_an_empty_column_fits_every_type(values: object, type: Type) -> None:
    assert taken(values, type.value) == []


@pytest.mark.parametrize("type", Type)
def test_empty_arrow_columns_of_the_type_are_taken(type: Type) -> None:
    assert taken(pa.array([], type.arrow), type.value) == taken(pa.chunked_array([], type.arrow), type.value) == []


WRONG: dict[str, list[object]] = {
    "int64": [True, np.True_, 1.0, NAN, np.float64(1), "1", b"1", np.timedelta64(1), 1j, [1], NOON, pa.scalar(1)],
    "float64": [True, np.True_, "NaN", "Infinity", "1.5", b"1", np.longdouble(1), np.timedelta64(1), 1j, NOON],
    "bool": [0, 1, 1.0, np.int8(1), "true", b"1"],
    "string": [b"a", np.bytes_(b"a"), 1, True, 1.0, NOON, ["a"]],
    "timestamp": [True, 1.0, NAN, date(2020, 1, 1), timedelta(1), np.timedelta64(1, "s"), b"2020-01-01", [NOON]],
}
GOOD: dict[str, object] = {"int64": 1, "float64": 1.5, "bool": True, "string": "a", "timestamp": NOON}


@pytest.mark.parametrize(
    ("type", "wrong"), [(type, wrong) for type, values in WRONG.items() for wrong in values], ids=label
)
def test_a_value_of_another_kind_is_refused_by_row_and_column(type: str, wrong: object) -> None:
    message = refused([GOOD[type], None, wrong, GOOD[type]], type)
    assert message.startswith(f"row 2, column 'x': {type} expected, not ")
    as_objects = np.empty(2, object)
    as_objects[:] = [GOOD[type], wrong]
    assert refused(as_objects, type).startswith("row 1, column 'x'")


@pytest.mark.parametrize(
    ("type", "wrong"),
    [
        ("int64", np.array([1.0])),
        ("int64", np.array([True])),
        ("int64", np.array(["1"])),
        ("int64", np.array([1], "m8[s]")),
        ("int64", np.array([1], "M8[s]")),
        ("int64", np.array([(1, 2)], "i4,i4")),
        ("float64", np.array([True])),
        ("float64", np.array([1], np.longdouble)),
        ("float64", np.array([1j])),
        ("float64", np.array(["NaN"])),
        ("bool", np.array([1])),
        ("string", np.array([1])),
        ("string", np.array([b"a"])),
        ("timestamp", np.array([1.0])),
        ("timestamp", np.array([1], "m8[s]")),
        ("timestamp", np.array([1]).view("M8")),
        ("timestamp", np.array([b"2020-01-01"])),
    ],
    ids=label,
)
def test_a_numpy_array_of_another_dtype_is_refused(type: str, wrong: object) -> None:
    assert refused(wrong, type).startswith(f"row 0, column 'x': {type} expected, not ")


@pytest.mark.parametrize(
    ("type", "wrong"),
    [
        ("int64", pa.array([1.0])),
        ("int64", pa.array([True])),
        ("int64", pa.array(["1"])),
        ("int64", pa.array([1]).dictionary_encode()),
        ("int64", pa.array([NOON])),
        ("float64", pa.array([True])),
        ("float64", pa.array([1], pa.decimal128(5))),
        ("float64", pa.array(["NaN"])),
        ("bool", pa.array([1])),
        ("string", pa.array([b"a"])),
        ("string", pa.array([1]).dictionary_encode()),
        ("string", pa.array([["a"]])),
        ("timestamp", pa.array([date(2020, 1, 1)])),
        ("timestamp", pa.array([1.0])),
        ("timestamp", pa.array([1], pa.duration("us"))),
        ("timestamp", pa.array([1], pa.time64("us"))),
    ],
    ids=label,
)
def test_an_arrow_array_of_another_type_is_refused_by_the_name_of_its_type(type: str, wrong: pa.Array) -> None:
    assert refused(wrong, type) == f"row 0, column 'x': {type} expected, not Arrow {wrong.type}"
    assert refused(wrong[:0], type) == f"column 'x': {type} expected, not Arrow {wrong.type}"


@pytest.mark.parametrize(
    "values",
    [
        [0, None, 2**63],
        [0, None, -(2**63) - 1],
        [0, None, np.uint64(2**63)],
        [0, None, 10**5000],
        np.array([0, 1, 2**63], "u8"),
        np.ma.array([0, 2**63, 2**63], mask=[0, 1, 0], dtype="u8"),
        pa.array([0, None, 2**63], pa.uint64()),
        pa.chunked_array([pa.array([0, None], pa.uint64()), pa.array([2**63], pa.uint64())]),
    ],
    ids=label,
)
@pytest.mark.parametrize("type", ["int64", "timestamp"])
def test_an_integer_beyond_int64_is_refused_by_row(values: object, type: str) -> None:
    message = refused(values, type)
    assert message.startswith("row 2, column 'x': ")
    assert message.endswith("is out of the range of int64")


def test_an_integer_beyond_float64_is_refused_by_row() -> None:
    assert refused([1, None, 10**400], "float64").startswith("row 2, column 'x': int of 1329 bits is out of the range")


@pytest.mark.parametrize(
    "values", [["a", None, "x\ud800"], np.array(["a", "b", "x\ud800"]), np.array(["a", None, "x\ud800"], object)]
)
def test_a_lone_surrogate_is_refused_by_row(values: object) -> None:
    assert refused(values, "string").startswith("row 2, column 'x': str 'x\\ud800'")
    assert refused(values, "timestamp").startswith("row ")


def test_text_that_is_not_utf8_is_refused_by_row() -> None:
    data = pa.py_buffer(b"ab\xff")
    text = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], "i4")), data])
    assert "row 2, column 'x': not valid Arrow data" in refused(text, "string")
    assert "row 3, column 'x'" in refused(pa.chunked_array([pa.array(["ok"]), text]), "string")
    assert "row 2, column 'x'" in refusal(pa.record_batch({"x": text}), {"x": "string"})


def test_offsets_out_of_bounds_are_refused() -> None:
    offsets = pa.py_buffer(np.array([0, 9, 1], "i4"))
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a")])
    assert "column 'x': not valid Arrow data" in refused(text, "string")


def test_dictionary_indices_out_of_bounds_are_refused_by_row() -> None:
    text = pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array(["a"]), safe=False)
    assert "row 1, column 'x': not valid Arrow data" in refused(text, "string")


@pytest.mark.parametrize("values", [5, "abc", b"abc", {"a": 1}, {1, 2}, None, iter([1]), object()], ids=label)
def test_what_is_no_column_is_refused(values: object) -> None:
    kind = type(values).__name__
    assert refused(values, "int64") == f"column 'x': {kind} is not a column of values"


@pytest.mark.parametrize("values", [np.array(5), np.zeros((2, 2), np.int64)], ids=["0-d", "2-d"])
def test_an_array_that_is_not_one_dimensional_is_refused(values: object) -> None:
    assert refused(values, "int64").startswith("column 'x': the array has ")


def test_a_foreign_column_that_cannot_be_exported_is_refused() -> None:
    class Broken:
        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            raise RuntimeError("no")

    assert refused(Broken(), "int64") == "column 'x': Broken cannot be read as an Arrow array: no"
