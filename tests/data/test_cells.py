"""What cells mean: dates with one reading are days, types of one column are found."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c2rf.data.cells import (
    TypedCells,
    as_numbers,
    as_text,
    distinct,
    plain_numbers,
    read_cells,
    typed_column,
)
from c2rf.data.dialect import Dialect, ReadAs
from c2rf.data.formats import read_file
from c2rf.data.numerals import MISSING, MISSING_NUMBERS, Marks
from c2rf.exceptions import InputError


def text(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "shape", ["%d.%m.%Y", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d"]
)
def test_dates_in_text_are_days(tmp_path, shape):
    days = pd.date_range("1999-12-30", periods=5, freq="37D")
    cells = "\n".join(f"{day:{shape}};x" for day in days)
    path = text(tmp_path / "x.csv", f"day;b\n{cells}\n;y\n")
    numbers = as_numbers(read_file(path).frame["day"])
    assert numbers.tolist()[:-1] == [(day - pd.Timestamp(0)).days for day in days]
    assert np.isnan(numbers.iloc[-1])


@pytest.mark.parametrize("cell", ["02/03/2020", "31.02.2020", "1.2.20", "2020", "12.2020"])
def test_what_is_no_date_beyond_doubt_is_none(cell):
    assert not read_cells(pd.Series([cell])).are_dates


@pytest.mark.parametrize("marks", [Marks(","), Marks(",", ".")])
@pytest.mark.parametrize("dtype", ["str", object])
def test_numbers_are_put_into_plain_form(marks, dtype):
    """Alike by the fast way, where only decimal commas occur, and by the way for all cells."""
    table = pd.DataFrame({"n": ["1,5", "-2", "", "x"], "t": ["1,5", "a", "b", "c"]}, dtype=dtype)
    plain = plain_numbers(table, Dialect(";", decimal=",", marks={"n": marks}), Path("x.csv"))
    assert plain["n"].tolist() == ["1.5", "-2", "", "x"]
    assert plain["t"].tolist() == table["t"].tolist()
    only_numbers = plain_numbers(table[:3], Dialect(";", marks={"n": marks}), Path("x.csv"))
    assert only_numbers["n"].tolist() == ["1.5", "-2", ""]


def test_a_cell_with_two_readings_after_the_sample_is_refused_with_its_row():
    table = pd.DataFrame({"n": ["12", "1.234"]})
    with pytest.raises(InputError, match=r"x.csv, data row 8: in column 'n' '1.234' is 1.234 with"):
        plain_numbers(table, Dialect(), Path("x.csv"), 7)
    assert (
        plain_numbers(table.assign(n=["Ulm", "1.234"]), Dialect(), Path("x.csv"))["n"][1] == "1.234"
    )


def test_marks_of_the_first_rows_hold_for_those_that_follow():
    cells = TypedCells(Path("x.jsonl"), ReadAs())
    assert cells.table({"n": ["1,5", 2]})["n"].tolist() == [1.5, 2]
    assert cells.note == ", decimal comma in text"
    assert cells.table({"n": ["1.234", 2]}, 3)["n"].tolist() == [1234, 2]
    with pytest.raises(InputError, match=r"data row 5: in column 'n' numbers have a decimal comma"):
        cells.table({"n": ["12.5", 2]}, 5)


@pytest.mark.parametrize(
    ("cells", "kind", "found"),
    [
        ([True, None], "boolean", [True, pd.NA]),
        ([True, 2], "Int64", [1, 2]),
        ([1.0, 2.0**60], "float64", [1.0, 2.0**60]),
        ([dt.date(2020, 1, 2), None], "datetime64", [pd.Timestamp(2020, 1, 2), pd.NaT]),
        ([dt.date(1, 1, 1), "x"], "str", ["0001-01-01", "x"]),
        ([None, ""], "str", ["", ""]),
    ],
)
def test_a_column_has_one_type_where_its_cells_have(cells, kind, found):
    column = typed_column(cells)
    assert str(column.dtype).startswith(kind)
    assert [str(cell) for cell in column] == [str(cell) for cell in found]


def test_the_minus_of_word_processors_is_a_minus():
    assert as_numbers(pd.Series(["\u22121.5", "2"])).tolist() == [-1.5, 2]
    path = Path("x.csv")
    dialect = Dialect(marks={"n": Marks(",", ".")})
    plain = plain_numbers(pd.DataFrame({"n": ["\u22121.234,5", "1,5"]}), dialect, path)["n"]
    assert as_numbers(plain).tolist() == [-1234.5, 1.5]
    assert dialect.marks["n"].localised(plain[0]) == "\u22121.234,5"
    assert TypedCells(path, ReadAs()).table({"n": [1.5, "\u22122,5"]})["n"].tolist() == [1.5, -2.5]


@pytest.mark.parametrize("dtype", ["datetime64[s]", "datetime64[us]", "str", "date32", "timestamp"])
def test_dates_that_nanoseconds_do_not_hold_are_in_order(dtype):
    days = ["0001-01-01", "1492-10-12", "1970-01-01", "2262-04-12", "9999-12-31"]
    column = pd.Series(np.array(days, dtype="datetime64[s]"))
    if dtype == "str":
        column = pd.Series(days)
    elif dtype in ("date32", "timestamp"):
        pa = pytest.importorskip("pyarrow")
        kind = pa.date32() if dtype == "date32" else pa.timestamp("s", "Europe/Berlin")
        column = column.astype(pd.ArrowDtype(pa.timestamp("s"))).astype(pd.ArrowDtype(kind))
    else:
        column = column.astype(dtype)
    expected = [(dt.date.fromisoformat(day) - dt.date(1970, 1, 1)).days for day in days]
    assert np.abs(as_numbers(column) - expected).max() < 0.1  # zones have had odd minutes


def test_dates_of_workbooks_that_nanoseconds_do_not_hold():
    column = typed_column([dt.datetime(9999, 12, 31), dt.date(1500, 1, 1), None])
    assert as_numbers(column).tolist()[:2] == [2932896, -171664]


def day_of(cell):
    """Days since 1970 of a date, None of other texts."""
    for shape in ("%Y-%m-%d", "%d.%m.%Y"):
        with suppress(ValueError):
            return float((dt.datetime.strptime(cell, shape) - dt.datetime(1970, 1, 1)).days)
    return None


def plainly(cells):
    """What a column of texts means, cell by cell."""
    given = [None if c is None or c.strip() in MISSING else c for c in cells]
    texts = {c for c in given if c is not None and c.strip() not in MISSING_NUMBERS}
    days = {c: day_of(c) for c in texts if day_of(c) is not None}
    are_dates = 2 * len(days) > len(texts)
    numbers = []
    for cell in given:
        numbers.append(np.nan)
        with suppress(ValueError, TypeError):
            numbers[-1] = days.get(cell, np.nan) if are_dates else float(cell)
    return given, numbers, are_dates


CELL = st.one_of(
    st.sampled_from(["", "NA", " ", "x", "Ulm", "-", "007", "0", "12", "-3.5", "1e3", "+5", " 5"]),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
DATE = st.dates(dt.date(1000, 1, 1), dt.date(9999, 12, 31))
COLUMN = st.one_of(
    st.lists(CELL, min_size=1),
    st.lists(st.floats(-1e9, 1e9).map(repr) | st.just(""), min_size=1),
    st.lists(DATE.map(str) | st.sampled_from(["", "-"]), min_size=1),
    st.lists(DATE.map(lambda day: f"{day:%d.%m.%Y}") | st.just("1.2.2003"), min_size=1),
    st.lists(
        DATE.map(str) | st.sampled_from(["2001-02-30", "0001-00-01", "today", "7"]), min_size=1
    ),
)
KINDS = [object, "str", "string[python]", "string[pyarrow]", "category", "arrow"]


@given(COLUMN, st.sampled_from(KINDS))
def test_cells_mean_what_each_alone_does_in_columns_of_any_type(cells, kind):
    dtype = pd.ArrowDtype(pa.large_string()) if kind == "arrow" else kind
    column = pd.Series(["a", *cells], dtype=dtype)[1:]  # the start of a buffer is elsewhere
    texts, numbers, are_dates = plainly(cells)
    found = read_cells(column)
    np.testing.assert_array_equal(found.numbers, numbers)
    assert found.are_dates == are_dates
    if are_dates:
        assert len(found.odd) == sum(c is not None for c in texts) - sum(
            c is not None and (c.strip() in MISSING_NUMBERS or day_of(c) is not None) for c in texts
        )
    assert as_text(column).tolist() == texts
    own = distinct(column)
    assert np.append(own.values, [None])[own.codes].tolist() == texts
    assert len(set(own.values)) == len(own.values)


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (pa.decimal128(9, 2), [Decimal("1.50"), None]),
        (pa.bool_(), [True, None]),
        (pa.uint8(), [7, None]),
        (pa.date32(), [dt.date(9999, 12, 31), None]),
        (pa.date64(), [dt.date(2000, 1, 1), None]),
        (pa.timestamp("ns", "Asia/Tokyo"), [pd.Timestamp("2000-01-01", tz="Asia/Tokyo"), None]),
        (pa.dictionary(pa.int8(), pa.string()), ["b", None]),
        (pa.null(), [None, None]),
    ],
)
def test_types_of_arrow_mean_what_their_texts_do(kind, cells):
    column = pd.Series(pa.array(cells, kind), dtype=pd.ArrowDtype(kind))
    texts = as_text(column)
    assert texts[1] is None
    np.testing.assert_array_equal(as_numbers(column), as_numbers(texts))


def test_numbers_and_truths_of_one_column_are_different_texts():
    column = pd.Series([1, True, 1.0, "1"], dtype=object)
    assert as_text(column).tolist() == ["1", "True", "1", "1"]


@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        (["01067", 70173, "04109"], ["01067", "70173", "04109"]),
        (["+49", 49, 1.0], ["+49", "49", "1"]),
        ([1, "1", True], ["1", "1", "True"]),
        ([1, "1_5", 2], ["1", "1_5", "2"]),
        ([1, "\u0663", 2], ["1", "\u0663", "2"]),
    ],
)
def test_a_code_among_numbers_makes_them_texts(cells, texts):
    table = TypedCells(Path("x.xlsx"), ReadAs()).table({"plz": cells})
    assert table["plz"].tolist() == texts
