"""How pushed data becomes columns: the forms, what is refused, what is copied, and that all forms are alike."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacq.data.column import Column
from cacq.data.convert import convert
from cacq.data.intake import intake
from cacq.data.moment import MAX_TIMESTAMP
from cacq.data.schema import Schema
from cacq.data.types import INT64_MAX, INT64_MIN, Type
from cacq.errors import DataError
from tests.pushing import NAN, NOON, bits, decoded, exporter, label, plain, push, refusal

COLUMNS = {"a": "int64", "price": "float64", "ts": "timestamp"}
EXPECTED = {"a": [1, None], "price": bits(0.5, 2.0), "ts": [7, 8]}
BY_COLUMN: dict[str, Any] = {"ts": [7, 8], "a": [1, None], "price": [0.5, 2.0]}
BY_ROW: list[Any] = [{"price": 0.5, "a": 1, "ts": 7}, {"a": None, "ts": 8, "price": 2.0}]


@pytest.mark.parametrize(
    "data",
    [
        BY_COLUMN,
        OrderedDict(BY_COLUMN),
        {"a": pa.array([1, None]), "price": np.array([0.5, 2.0]), "ts": (7, 8)},
        BY_ROW,
        tuple(BY_ROW),
        [OrderedDict(row) for row in BY_ROW],
        pa.table(BY_COLUMN),
        pa.concat_tables([pa.table(BY_COLUMN)[:1], pa.table(BY_COLUMN)[1:]]),
        pa.record_batch(BY_COLUMN),
        pa.table(BY_COLUMN).to_reader(),
        exporter(pa.table(BY_COLUMN), "__arrow_c_stream__"),
        exporter(pa.record_batch(BY_COLUMN), "__arrow_c_array__"),
    ],
    ids=label,
)
def test_every_form_gives_the_columns_in_schema_order(data: object) -> None:
    assert push(data, COLUMNS, "ts") == EXPECTED


@pytest.mark.parametrize("data", [[], (), {"a": [], "price": [], "ts": []}, pa.table(BY_COLUMN)[:0]], ids=label)
def test_nothing_is_taken_as_no_rows(data: object) -> None:
    assert push(data, COLUMNS, "ts") == {"a": [], "price": [], "ts": []}


def test_the_row_labels_of_a_pandas_frame_are_not_a_column() -> None:
    table = pa.table({**BY_COLUMN, "__index_level_0__": [4, 9]})
    assert push(exporter(table, "__arrow_c_stream__"), COLUMNS, "ts") == EXPECTED


@pytest.mark.parametrize("whole", [True, False], ids=["frame", "series"])
def test_pandas_is_read_as_it_exports_itself_with_nan_as_null(whole: bool) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0, 1, 2], "price": [0.0, 0.5, NAN], "ts": pandas.to_datetime([0, 7, 8], unit="us")})
    part = frame[frame.a > 0]  # its row labels are 1 and 2
    data = part if whole else dict(part.items())
    assert push(data, COLUMNS, "ts") == {"a": [1, 2], "price": bits(0.5, None), "ts": [7, 8]}


@pytest.mark.parametrize("data", [None, 5, "a", b"a", iter([]), {1}, np.zeros(2), pa, object()], ids=label)
def test_any_other_form_is_refused_with_the_forms_named(data: object) -> None:
    with pytest.raises(DataError, match="rows cannot come as") as caught:
        intake(data, Schema.of(COLUMNS, "ts"))
    assert caught.value.hint is not None
    assert all(form in caught.value.hint for form in ("dict of columns", "list of dicts", "RecordBatch", "Table"))


def test_an_arrow_array_that_is_no_table_is_refused() -> None:
    assert "Int64Array cannot be read as an Arrow table" in refusal(pa.array([1]), COLUMNS)


@pytest.mark.parametrize("data", [{}, {"a": [1], "ts": [1]}, pa.table({"a": [1], "ts": [1]})], ids=label)
def test_a_missing_column_is_named(data: dict[str, object]) -> None:
    missing = "price" if len(data) else "a"
    assert refusal(data, COLUMNS, "ts") == f"column {missing!r} is missing"


def test_a_missing_key_is_named_with_its_row() -> None:
    assert refusal([*BY_ROW, {"a": 1, "ts": 9}], COLUMNS, "ts") == "row 2, column 'price' is missing"
    assert refusal([{}], COLUMNS, "ts") == "row 0, column 'a' is missing"


def test_a_defaultdict_does_not_make_up_a_missing_key_and_is_not_changed() -> None:
    row: dict[str, object] = defaultdict(int, {"a": 1, "ts": 9, "x": 1})
    assert refusal([row], COLUMNS, "ts") == "row 0, column 'x' is unknown"
    assert set(row) == {"a", "ts", "x"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({**BY_COLUMN, "pirce": [1, 2]}, "column 'pirce' is unknown"),
        ({"a": [1], "Price": [1.0], "ts": [1]}, "column 'Price' is unknown"),
        (pa.table({"a": [1], "PRICE": [1.0], "ts": [1]}), "column 'PRICE' is unknown"),
        ([*BY_ROW, {"a": 1, "prize": 1.0, "ts": 9}], "row 2, column 'prize' is unknown"),
        ([*BY_ROW, {**BY_ROW[0], "prices": 1.0}], "row 2, column 'prices' is unknown"),
    ],
    ids=label,
)
def test_an_unknown_column_is_named_with_the_nearest_one(data: object, message: str) -> None:
    with pytest.raises(DataError) as caught:
        intake(data, Schema.of(COLUMNS, "ts"))
    assert (caught.value.message, caught.value.hint) == (message, "did you mean 'price'?")


def test_an_unknown_column_that_is_near_to_nothing_gets_the_list_of_columns() -> None:
    with pytest.raises(DataError) as caught:
        intake({**BY_COLUMN, 17: [1, 2]}, Schema.of(COLUMNS, "ts"))
    assert (caught.value.message, caught.value.hint) == ("column 17 is unknown", "columns are: a, price, ts")


def test_a_column_that_occurs_twice_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert refusal(table, {"a": "int64"}) == "column 'a' occurs 2 times"
    assert refusal(exporter(table, "__arrow_c_stream__"), {"a": "int64"}) == "column 'a' occurs 2 times"


def test_ragged_columns_are_refused_with_both_lengths() -> None:
    data = {**BY_COLUMN, "price": np.zeros(3)}
    assert refusal(data, COLUMNS, "ts") == "column 'a' has 2 rows, column 'price' has 3"


def test_a_row_that_is_no_dict_is_refused() -> None:
    assert refusal([*BY_ROW, (1, 0.5, 7)], COLUMNS, "ts") == "row 2 is not a dict but tuple"


def test_a_bad_value_in_a_list_of_dicts_is_named_by_row_and_column() -> None:
    message = refusal([*BY_ROW, {"a": "x", "price": 0.5, "ts": 7}], COLUMNS, "ts")
    assert message == "row 2, column 'a': int64 expected, not str 'x'"


@pytest.mark.parametrize(
    "times",
    [
        [7, None],
        [NOON, None],
        ["2020-01-01", None],
        [7, "2020-01-01", None][1:],
        np.array([7, "NaT"], "M8[s]"),
        np.ma.array([7, 8], mask=[0, 1]),
        pa.array([7, None]),
        pa.array([NOON, None], pa.timestamp("ns")),
        pa.chunked_array([[7], [None]]),
    ],
    ids=label,
)
def test_null_in_the_event_time_column_is_refused_by_row(times: object) -> None:
    assert refusal({**BY_COLUMN, "ts": times}, COLUMNS, "ts") == "row 1, column 'ts': event time is NULL"


def test_arrow_nulls_are_refused_as_event_time() -> None:
    assert refusal({**BY_COLUMN, "ts": pa.nulls(2)}, COLUMNS, "ts") == "row 0, column 'ts': event time is NULL"


def test_null_is_taken_in_a_timestamp_column_that_is_not_event_time() -> None:
    assert push({**BY_COLUMN, "ts": [7, None]}, COLUMNS)["ts"] == [7, None]


UNCOPIED = [
    (pa.array([1, None, 3, 4]), "int64"),
    (pa.array([1.5, None, NAN, 4.0]), "float64"),
    (pa.array([1, None, 3, 4], pa.timestamp("us")), "timestamp"),
    (pa.array([1, None, 3, 4], pa.timestamp("us", "Asia/Tokyo")), "timestamp"),
    (pa.array([1, None, 3, 4]), "timestamp"),
]


@pytest.mark.parametrize(("array", "type"), UNCOPIED, ids=lambda value: str(getattr(value, "type", value)))
@pytest.mark.parametrize(
    "form", [lambda a: {"x": a}, lambda a: pa.table({"x": a}), lambda a: pa.record_batch({"x": a})]
)
def test_arrow_numbers_are_not_copied(array: pa.Array, type: str, form: Any) -> None:
    for start in (0, 1):
        part = array[start:]
        _, columns = intake(form(part), Schema.of({"x": type}))
        column = decoded(columns["x"], Type(type))
        assert column.values.ctypes.data == part.buffers()[1].address + 8 * start


@pytest.mark.parametrize("type", [pa.string(), pa.large_string()], ids=str)
def test_arrow_strings_are_not_copied(type: pa.DataType) -> None:
    array = pa.array(["a", None, "ccc", "d"], type)[1:]
    _, columns = intake(pa.record_batch({"x": array}), Schema.of({"x": "string"}))
    column = decoded(columns["x"], Type.STRING)
    assert [buffer.address for buffer in column.values.buffers()] == [buffer.address for buffer in array.buffers()]
    offsets, data = column.text()
    assert data.ctypes.data == array.buffers()[2].address
    assert type == pa.string() or offsets.ctypes.data == array.buffers()[1].address + 8


@pytest.mark.parametrize("skip", [0, 1, 3])
@pytest.mark.parametrize("excess", [0, 5])
def test_arrow_buffers_that_numpy_cannot_view_are_copied(skip: int, excess: int) -> None:
    memory = pa.py_buffer(bytes(skip) + np.array([5, 6]).tobytes() + bytes(excess)).slice(skip)
    for type in (pa.int64(), pa.timestamp("us")):
        array = pa.Array.from_buffers(type, 2, [None, memory])
        column = decoded(convert(array, Type.TIMESTAMP), Type.TIMESTAMP)
        assert column.values.tolist() == [5, 6]
        assert column.values.flags.aligned


def test_arrow_string_offsets_that_numpy_cannot_view_are_copied() -> None:
    offsets = pa.py_buffer(bytes(1) + np.array([0, 1, 2], "i4").tobytes() + bytes(2)).slice(1)
    array = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    starts, _ = decoded(convert(array, Type.STRING), Type.STRING).text()
    assert starts.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("array", "type"),
    [
        (np.array([1, 2]), "int64"),
        (np.array([1.0, 2.0]), "float64"),
        (np.array([True, True]), "bool"),
        (np.array([1, 2]), "timestamp"),
        (np.array([1, 2], "M8[us]"), "timestamp"),
        (np.array(["1", "2"]), "string"),
        (np.array(["1", "2"], object), "string"),
    ],
    ids=label,
)
def test_numpy_arrays_are_copied(array: Any, type: str) -> None:
    column = convert(array, Type(type))
    before = plain(column, Type(type))
    array[:] = array[1:2] if type != "bool" else False
    assert plain(column, Type(type)) == before


def test_a_mask_is_copied() -> None:
    array = np.ma.array([1, 2], mask=[True, False])
    column = convert(array, Type.INT64)
    array.mask[1] = True
    assert plain(column, Type.INT64) == [None, 2]


@pytest.mark.parametrize("whole", [True, False], ids=["frame", "column"])
def test_memory_that_another_library_lends_is_copied(whole: bool) -> None:
    numbers = np.array([1.0, 2.0])
    lent = pa.array(numbers)
    frame = exporter(pa.table({"x": lent}), "__arrow_c_stream__")
    data = frame if whole else {"x": exporter(lent, "__arrow_c_array__")}
    _, columns = intake(data, Schema.of({"x": "float64"}))
    numbers[:] = 0
    assert plain(columns["x"], Type.FLOAT64) == bits(1.0, 2.0)


def test_strided_and_reversed_numpy_arrays_become_contiguous() -> None:
    column = convert(np.arange(10)[::-3], Type.INT64)
    assert isinstance(column, Column)
    assert column.values.tolist() == [9, 6, 3, 0]
    assert column.values.flags.c_contiguous


VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT64: st.integers(INT64_MIN, INT64_MAX),
    Type.FLOAT64: st.floats(),
    Type.BOOL: st.booleans(),
    Type.STRING: st.text(st.characters(exclude_categories=["Cs"])),
    Type.TIMESTAMP: st.integers(-MAX_TIMESTAMP, MAX_TIMESTAMP),
}


@st.composite
def columns_of_a_type(draw: st.DrawFn) -> tuple[Type, list[Any]]:
    type = draw(st.sampled_from(Type))
    return type, draw(st.lists(st.none() | VALUES[type], max_size=20))


@given(columns_of_a_type(), st.integers(0, 20))
def test_lists_numpy_rows_and_arrow_give_equal_columns(drawn: tuple[Type, list[Any]], cut: int) -> None:
    type, values = drawn
    array = pa.array(values, type.arrow)
    mask = [value is None for value in values]
    filled = [type.dtype.type(0) if value is None else value for value in values]
    masked = np.ma.array(np.array(filled, type.dtype), mask=mask)
    if type is Type.STRING:
        masked = np.ma.array(np.array(values, object), mask=mask)
    forms = {
        "list": {"x": values},
        "rows": [{"x": value} for value in values],
        "numpy": {"x": masked},
        "objects": {"x": np.array(values, object)},
        "arrow": pa.record_batch({"x": array}),
        "slice": {"x": pa.concat_arrays([array, array])[len(array) :]},
        "chunks": pa.table({"x": pa.chunked_array([array[:cut], array[cut:]])}),
    }
    expected = bits(*values) if type is Type.FLOAT64 else values
    for form, data in forms.items():
        assert push(data, {"x": type.value}) == {"x": expected}, form
