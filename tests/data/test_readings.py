"""What single files say: dialects, types, gaps, and numbers that are never read wrongly."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest
import xlsxwriter

from c2rf.data.cells import as_numbers, as_text, dates_in
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import TEXT, read_file
from c2rf.data.population.files import Files
from c2rf.data.profile import ColumnProfile
from c2rf.exceptions import InputError


def text(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


@pytest.mark.parametrize("last", ["3", "x\ny", "x\n", ""])
def test_line_ends_and_separators_inside_cells(tmp_path, last):
    path = text(tmp_path / "x.csv", f'a;b\n"x\ny";"1;2"\n"p""q";"{last}"\n')
    assert read_file(path).frame.to_numpy().tolist() == [["x\ny", "1;2"], ['p"q', last]]


def test_a_typed_number_is_never_taken_for_text_with_marks(tmp_path):
    """In a workbook 1.234 is a number already, whatever stands as text beside it."""
    frame = pd.DataFrame({"a": [1.234, "12,5", "1.234,5"], "b": [1, 2, 3]})
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    assert read_file(tmp_path / "x.xlsx").frame["a"].tolist() == [1.234, 12.5, 1234.5]
    frame.assign(a=[1.5, "1.234", ""]).to_excel(tmp_path / "y.xlsx", index=False)
    with pytest.raises(InputError, match=r"'1.234' is 1.234 with a decimal point and 1234"):
        read_file(tmp_path / "y.xlsx")


def test_numbers_after_a_long_gap_are_read_with_the_marks_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("c2rf.data.dialect._START", 1000)
    monkeypatch.setattr("c2rf.data.dialect._PLACES", 0)
    rows = ["1,5;"] * 500 + ["2,5;1.234"]
    path = text(tmp_path / "x.csv", "a;b\n" + "\n".join(rows) + "\n")
    assert as_numbers(read_file(path).frame["b"]).iloc[-1] == 1234


def test_a_telephone_number_is_no_number(tmp_path):
    path = text(tmp_path / "x.csv", "a;b\n+49 170 123 456;1,5\n+49 171 654 321;2,5\n")
    assert read_file(path).frame["a"].tolist() == ["+49 170 123 456", "+49 171 654 321"]


@pytest.mark.parametrize(("decimal", "value"), [(".", "1.234"), (",", "1234")])
def test_the_user_decides_between_two_readings(tmp_path, decimal, value):
    path = text(tmp_path / "x.csv", "a;b\n1.234;x\n")
    assert read_file(path, ReadAs(decimal=decimal)).frame["a"].tolist() == [value]


def test_the_user_decides_separator_encoding_and_sheet(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("a:b\n1:Łódź\n".encode("latin2"))
    table = read_file(path, ReadAs(sep=":", encoding="latin2"))
    assert table.frame.to_numpy().tolist() == [["1", "Łódź"]]
    with xlsxwriter.Workbook(str(tmp_path / "x.xlsx")) as book:
        for name, number in (("A", 6), ("B", 7)):
            book.add_worksheet(name).write_column(0, 0, ["n", number])
    assert read_file(tmp_path / "x.xlsx", ReadAs(sheet="B")).frame["n"].tolist() == [7]
    with pytest.raises(InputError, match="there is no sheet 'C'"):
        read_file(tmp_path / "x.xlsx", ReadAs(sheet="C"))


@pytest.mark.parametrize(
    ("option", "said"),
    [({"sep": "ab"}, "one sign"), ({"decimal": ";"}, r"'\.' or ','"), ({"encoding": "?"}, "utf-8")],
)
def test_wrong_options(option, said):
    with pytest.raises(InputError, match=said):
        ReadAs(**option)


def test_value_labels_and_missing_codes_of_spss(tmp_path):
    path = tmp_path / "x.sav"
    frame = pd.DataFrame({"sex": [1.0, 2.0, 9.0], "age": [41.0, 99.0, 14.0]})
    pyreadstat.write_sav(
        frame,
        str(path),
        variable_value_labels={"sex": {1: "f", 2: "m"}},
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 99}]},
    )
    table = read_file(path)
    assert as_text(table.frame["sex"]).tolist() == ["f", "m", None]
    assert as_text(table.frame["age"]).tolist() == ["41", None, "14"]
    assert "value labels of 1 column" in table.read_as
    assert "missing codes of 2 columns" in table.read_as


def test_categories_of_stata(tmp_path):
    frame = pd.DataFrame({"sex": pd.Categorical(["f", "m", None]), "age": [1, 2, 3]})
    frame.to_stata(tmp_path / "x.dta", write_index=False)
    assert as_text(read_file(tmp_path / "x.dta").frame["sex"]).tolist() == ["f", "m", None]


@pytest.mark.parametrize("kind", ["x.xlsx", "x.ods", "x.sav", "x.dta", "x.parquet"])
def test_dates_are_days(tmp_path, kind):
    path = tmp_path / kind
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-02", "2021-03-04"]), "n": [1, 2]})
    if kind.endswith("sav"):
        pyreadstat.write_sav(frame.assign(day=frame["day"].dt.date), str(path))
    elif kind.endswith("dta"):
        frame.to_stata(path, convert_dates={"day": "td"}, write_index=False)
    elif kind.endswith("parquet"):
        frame.to_parquet(path)
    else:
        frame.to_excel(path, index=False, engine="odf" if kind.endswith("ods") else None)
    days = [(day - dt.date(1970, 1, 1)).days for day in (dt.date(2020, 1, 2), dt.date(2021, 3, 4))]
    assert as_numbers(read_file(path).frame["day"]).tolist() == days


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
    assert dates_in(pd.Series([cell])) is None


def test_dates_among_numbers_are_refused():
    profile = ColumnProfile(pd.Series(["2001", "2002"], name="born"))
    with pytest.raises(InputError, match="holds dates in some rows and numbers in others"):
        profile.with_unlabeled(profile.count(pd.Series(["2001-05-06"])))
    profile = ColumnProfile(pd.Series(["06.05.2001", ""], name="born"))
    assert profile.with_unlabeled(profile.count(pd.Series(["2001-05-06"]))).kind == "dates"


def test_ten_thousand_columns(tmp_path):
    names = [f"c{k}" for k in range(10_000)]
    row = ";".join(f"{k},5" for k in range(10_000))
    path = text(tmp_path / "x.csv", ";".join(names) + f"\n{row}\n{row}\n")
    frame = read_file(path).frame
    assert frame.shape == (2, 10_000)
    assert frame.iloc[0, [0, -1]].tolist() == ["0.5", "9999.5"]


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = text(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 50)
    parts = Files([path], TEXT, as_tables=True, rows=10).read()
    next(parts)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="changed while it was read"):
        list(parts)


def test_a_number_that_contradicts_the_sample_is_refused(tmp_path):
    """Far behind the sample a decimal point appears in a column of decimal commas."""
    rows = ["1,5;x"] * 60_000
    rows[50_001] = "12.5;x"
    path = text(tmp_path / "x.csv", "a;b\n" + "\n".join(rows) + "\n")
    with pytest.raises(InputError, match=r"data row 50002: in column 'a' .* but '12.5' has not"):
        read_file(path)
    rows[50_001] = "1.234,25;x"
    text(path, "a;b\n" + "\n".join(rows) + "\n")
    numbers = as_numbers(read_file(path).frame["a"])
    assert numbers[50_001] == 1234.25
    assert np.delete(numbers.to_numpy(), 50_001).tolist() == [1.5] * 59_999
