"""Tables written in the format that a name ends in: what is read back is what was written."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import feather

from c2rf.data.cells import as_numbers, as_text
from c2rf.data.dialect import Dialect, ReadAs
from c2rf.data.formats import read_file
from c2rf.data.numerals import Marks
from c2rf.data.write import TableWriter, check_writable, unescaped
from c2rf.exceptions import InputError

TABLE = pd.DataFrame(
    {
        "id": ["007", "008", ""],
        "size": [1.5, -2.0, None],
        "n": ["12", "-3", ""],
        "town": ["Köln", "Bad Ems", None],
        "day": pd.to_datetime(["2020-01-02", None, "2021-03-04"]),
    }
)


def write_table(table, path):
    with TableWriter(path) as writer:
        writer.write(table)


@pytest.mark.parametrize("chunk", [1, 2, 3])
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "xlsx", "jsonl"])
def test_comes_back_however_it_is_cut(tmp_path, ending, chunk):
    path = tmp_path / f"x.{ending}"
    with TableWriter(path) as writer:
        for start in range(0, len(TABLE), chunk):
            writer.write(TABLE[start : start + chunk])
    found = read_file(path).frame
    assert list(found) == list(TABLE)
    for name in ("id", "town"):
        assert as_text(found[name]).tolist() == as_text(TABLE[name]).tolist()
    for name in ("size", "n", "day"):
        pd.testing.assert_series_equal(as_numbers(found[name]), as_numbers(TABLE[name]))


def test_the_same_table_is_the_same_file(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(TABLE, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_text_is_written_like_the_input_was(tmp_path, encoding):
    like = Dialect(";", encoding=encoding, decimal=",", marks={"pay": Marks(",", ".")})
    path = tmp_path / "x.csv"
    with TableWriter(path, like) as writer:
        for pay in ("1234.5", "2"):
            writer.write(pd.DataFrame({"town": ["Köln"], "pay": [pay], "score": [0.5]}))
    assert path.read_bytes() == ("town;pay;score\nKöln;1.234,5;0,5\nKöln;2;0,5\n".encode(encoding))


@pytest.mark.parametrize("safe", [True, False])
def test_text_that_a_spreadsheet_would_run(tmp_path, safe):
    path = tmp_path / "x.csv"
    with TableWriter(path, spreadsheet_safe=safe) as writer:
        writer.write(pd.DataFrame({"a": ["=1+1", "-5", "+", "@x", "b"]}))
    assert writer.cautions == {"formulas": 2}
    kept = ["'=1+1", "-5", "+", "'@x", "b"] if safe else ["=1+1", "-5", "+", "@x", "b"]
    assert read_file(path).frame["a"].tolist() == kept


def test_text_in_a_workbook_is_never_run(tmp_path):
    write_table(pd.DataFrame({"a": ["=1+1", "http://x.org", "007"]}), tmp_path / "x.xlsx")
    assert read_file(tmp_path / "x.xlsx").frame["a"].tolist() == ["=1+1", "http://x.org", "007"]


def test_numbers_in_text_become_numbers_of_json(tmp_path):
    write_table(pd.DataFrame({"n": ["12", ""], "id": ["007", "8"]}), tmp_path / "x.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert rows == [{"n": 12, "id": "007"}, {"n": None, "id": "8"}]


def test_a_sheet_that_is_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr("c2rf.data.write._XLSX_ROWS", 3)
    with pytest.raises(InputError, match="at most 3 rows"):
        write_table(pd.DataFrame({"a": range(3)}), tmp_path / "x.xlsx")


@pytest.mark.parametrize("name", ["x", "x.pdf", "x.xlsx.gz", "x.ods", "x.csv.zip"])
def test_names_that_no_format_has(tmp_path, name):
    with pytest.raises(InputError, match=r"labels are written as .csv"):
        check_writable(tmp_path / name)


DAY, MOMENT = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4, 5)
KINDS = {
    "bool": (pa.bool_(), [True, False]),
    "int8": (pa.int8(), [1, -128]),
    "int64": (pa.int64(), [2**53 + 1, -(2**63)]),
    "whole": (pa.int64(), [2**53, -(2**53)]),
    "uint8": (pa.uint8(), [255, 0]),
    "uint64": (pa.uint64(), [2**64 - 1, 0]),
    "float32": (pa.float32(), [1.5, float("inf")]),
    "float64": (pa.float64(), [0.1, -2.5e300]),
    "nan": (pa.float64(), [0.1, float("nan")]),
    "infinite": (pa.float64(), [-0.1, float("-inf")]),
    "largest": (pa.float64(), [1.7976931348623157e308, -1.7976931348623157e308]),
    "decimal": (pa.decimal128(30, 4), [Decimal("12345678901234567890.1234"), Decimal("-0.5000")]),
    "short decimal": (pa.decimal128(30, 2), [Decimal("1234567890123.45"), Decimal("-0.10")]),
    "string": (pa.string(), ["007", 'a\rb\n"c",\\"d\\']),
    "large_string": (pa.large_string(), ["1e5", " x"]),
    "string_view": (pa.string_view(), ["x" * 40, "é"]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["u", "v"]),
    "dictionary of numbers": (pa.dictionary(pa.int8(), pa.int64()), [7, -5]),
    "date32": (pa.date32(), [DAY, dt.date(9999, 12, 31)]),
    "date64": (pa.date64(), [DAY, dt.date(1850, 1, 1)]),
    "timestamp": (pa.timestamp("us"), [MOMENT, dt.datetime(1500, 1, 1, 0, 0, 0, 7)]),
    "early date": (pa.date32(), [dt.date(99, 12, 31), dt.date(1582, 10, 14)]),
    "usual dates": (pa.date32(), [DAY, dt.date(1582, 10, 15)]),
    "seconds": (pa.timestamp("s"), [MOMENT, dt.datetime(9999, 12, 31, 23, 59, 59)]),
    "milliseconds": (pa.timestamp("ms"), [MOMENT, dt.datetime(2024, 1, 1, 0, 0, 0, 123_000)]),
    "nanoseconds": (pa.timestamp("ns"), [MOMENT, pd.Timestamp(123_456_789)]),
    "timestamp with zone": (pa.timestamp("ms", "Europe/Berlin"), [MOMENT, MOMENT]),
    "time": (pa.time64("us"), [dt.time(1, 2, 3, 4), dt.time(23)]),
    "duration": (pa.duration("ms"), [dt.timedelta(1, 0, 5000), dt.timedelta(0)]),
    "null": (pa.null(), [None, None]),
}


def by_pandas(path):
    """Read the cells of a column with pandas."""
    options = {
        "csv": {"dtype": str, "keep_default_na": False},
        "xlsx": {"dtype": object, "engine": "openpyxl"},
    }
    options["jsonl"] = {"lines": True, "dtype": False, "precise_float": True}
    kind = path.suffix[1:]
    read = {"csv": pd.read_csv, "xlsx": pd.read_excel, "jsonl": pd.read_json}
    read["parquet"] = pd.read_parquet
    return read[kind](path, **options.get(kind, {}))["x"].astype(object).tolist()


def by_pyreadstat(path):
    """Read the cells of a column of SPSS or Stata; empty text is no value there."""
    read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    cells = read(str(path))[0]["x"].astype(object)
    return cells.where(cells.notna() & (cells != ""), None).tolist()


def by_stata_reader(path):
    """Read the cells of a column with pandas's own reader of Stata's files."""
    return pd.read_stata(path)["x"].astype(object).tolist()


def by_polars(path):
    """Read the cells of a column with Polars."""
    read = {"csv": pl.read_csv, "xlsx": pl.read_excel, "jsonl": pl.read_ndjson}
    options = {"csv": {"infer_schema": False}, "xlsx": {"engine": "openpyxl"}}
    read["parquet"] = pl.read_parquet
    kind = path.suffix[1:]
    return read[kind](path, **options.get(kind, {}))["x"].to_list()


def alike(cell, given):
    """Whether a cell says what was given, be it as text."""
    if given is None or pd.isna(cell):
        return given is None and (pd.isna(cell) or cell in ("", "nan"))
    if isinstance(cell, str):  # Excel writes a line end as x000D
        given = pd.Timedelta(given) if isinstance(given, dt.timedelta) else given
        texts = {str(given), str(given).removesuffix(" 00:00:00")}
        return cell.replace("_x000D_", "\r") in texts
    if isinstance(cell, float) and isinstance(given, Decimal):
        return Decimal(repr(cell)) == given
    if isinstance(cell, float) and isinstance(given, int):
        return abs(given) <= 2**53 and cell == given
    if isinstance(given, dt.date) and not isinstance(given, dt.datetime):
        return str(cell)[:10] == str(given)
    return bool(cell == given)


READERS = [
    (read, end) for end in ("csv", "parquet", "xlsx", "jsonl") for read in (by_pandas, by_polars)
]
READERS += [(by_pyreadstat, "sav"), (by_pyreadstat, "dta"), (by_stata_reader, "dta")]


@pytest.mark.parametrize(("read", "ending"), READERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_cells_comes_back(tmp_path, kind, ending, read):
    cells = pa.array([*KINDS[kind][1], None], KINDS[kind][0])
    feather.write_feather(pa.table({"id": ["a", "b", "c"], "x": cells}), tmp_path / "x.arrow")
    path = tmp_path / f"x.{ending}"
    table = read_file(tmp_path / "x.arrow").frame
    write_table(table, path)
    given = table["x"].astype(object).where(table["x"].astype(object).notna(), None).tolist()
    is_float = ending == "jsonl" and read is by_pandas and "int64" in kind  # of pandas's reader
    is_cut = ending == "parquet" and read is by_polars and kind == "nanoseconds"  # of Python's
    found = [] if is_float or is_cut else read(path)
    assert all(map(alike, found, given)), (found, given)
    texts = [as_text(column).tolist() for column in (read_file(path).frame["x"], table["x"])]
    if kind in NUMBERS:  # text keeps their exponents and zeros
        texts = [[text and float(text) for text in column] for column in texts]
    if kind == "bool" and ending in ("sav", "dta"):
        texts[1] = ["1", "0", None]
    assert texts[0] == texts[1]


NUMBERS = {"float64", "decimal", "short decimal", "nan", "infinite", "largest"}


def test_line_ends_of_any_kind_stay_in_their_cells(tmp_path):
    table = pd.DataFrame({"a\rb": ["1\r2", "3\r\n4", "x"], "n": ["1", "", "2"]})
    write_table(table, tmp_path / "x.csv")
    found = read_file(tmp_path / "x.csv").frame
    assert found.to_dict("list") == table.to_dict("list")


@pytest.mark.parametrize("start", ["", " ", "\t", "\u00a0", "\u3000", "\ufeff"])
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff20"])
@pytest.mark.parametrize("kind", ["str", "category", object])
def test_what_a_spreadsheet_runs_after_blanks_and_in_names(tmp_path, start, sign, kind):
    cell = f"{start}{sign}SUM(A1)"
    path = tmp_path / "x.csv"
    with TableWriter(path, spreadsheet_safe=True) as writer:
        writer.write(pd.DataFrame({cell: [cell, "b"]}, dtype=kind))
        writer.write(pd.DataFrame({cell: ["b", "-5 "]}, dtype=kind))
    assert writer.cautions == {"formulas": 2}
    assert path.read_text().replace('"', "") == f"'{cell}\n'{cell}\nb\nb\n-5 \n"


def test_what_no_sheet_holds_exactly_is_text_there_and_counted(tmp_path):
    dates = pd.Series(["1850-01-01", "2020-01-01"], dtype="datetime64[s]")
    table = pd.DataFrame({"id": [10**15, 7], "day": dates, "x": [0.5, float("inf")]})
    with TableWriter(tmp_path / "x.xlsx") as writer:
        writer.write(table)
    assert writer.cautions == {"texts": 4}
    with pytest.raises(InputError, match="a text in column 'a' has more"):
        write_table(pd.DataFrame({"a": ["x" * 32_768]}), tmp_path / "y.xlsx")


def test_columns_of_mixed_values_are_no_parquet(tmp_path):
    with pytest.raises(InputError, match="holds values of several types"):
        write_table(pd.DataFrame({"a": [1, "x"]}), tmp_path / "x.parquet")


def test_decimals_of_few_digits_are_numbers_of_sheets_and_json(tmp_path):
    cells = pa.array([Decimal("12.50"), None], pa.decimal128(10, 2)).to_pandas(
        types_mapper=pd.ArrowDtype
    )
    write_table(pd.DataFrame({"pay": cells}), tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_text() == '{"pay": 12.5}\n{"pay": null}\n'


def test_a_formula_behind_the_separator_of_another_country_is_made_safe(tmp_path):
    """A spreadsheet may take the semicolon for what separates cells."""
    cells = ["a;=1+1", 'b;"@SUM(1)', "=1;=2", "Ulm; Bonn", "a=1", ";=1"]
    path = tmp_path / "x.csv"
    with TableWriter(path, spreadsheet_safe=True) as writer:
        writer.write(pd.DataFrame({"a": cells}))
    assert writer.cautions["formulas"] == 4
    written = read_file(path, ReadAs(sep=",", text=("a",))).frame["a"]
    assert written.tolist() == ["a;'=1+1", "b;\"'@SUM(1)", "'=1;'=2", "Ulm; Bonn", "a=1", ";'=1"]
    assert unescaped(written).tolist() == cells


def test_texts_that_differ_stay_different_in_formats_with_numbers(tmp_path):
    path = tmp_path / "labels.jsonl"
    codes = ["1.1", "1.10", "1.2"]
    with TableWriter(path) as writer:
        writer.write(
            pd.DataFrame(
                {
                    "id": codes,
                    "dial": ["+49", "49", "1"],
                    "size": ["1.50", "2.25", "-3.00"],
                    "zero": ["-0", "0", "1"],
                }
            )
        )
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["id"] for row in found] == codes
    assert [row["dial"] for row in found] == ["+49", "49", "1"]
    assert [row["size"] for row in found] == [1.5, 2.25, -3.0]
    assert [row["zero"] for row in found] == ["-0", "0", "1"]


def test_numbers_among_signs_of_a_text_file_are_numbers_in_a_sheet(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id;income\n007;1180,10\n008;k.A.\n009;12,5\n", encoding="utf-8")
    table = read_file(path)
    with TableWriter(tmp_path / "out.xlsx", table.dialect) as writer:
        writer.write(table.frame)
    found = pd.read_excel(tmp_path / "out.xlsx", dtype=object, engine="openpyxl")
    assert found["income"].tolist() == [1180.1, "k.A.", 12.5]
    assert found["id"].tolist() == ["007", "008", "009"]


def test_texts_of_typed_files_stay_texts(tmp_path):
    table = pd.DataFrame({"id": pd.Series(["1", "2"], dtype=pd.ArrowDtype(pa.string()))})
    with TableWriter(tmp_path / "x.jsonl") as writer:
        writer.write(table)
    assert (tmp_path / "x.jsonl").read_text() == '{"id": "1"}\n{"id": "2"}\n'


def test_formulas_after_line_breaks_and_in_names_are_made_harmless(tmp_path):
    path = tmp_path / "x.csv"
    with TableWriter(path, spreadsheet_safe=True) as writer:
        writer.write(pd.DataFrame({"a;=1+1": ["b\n=cmd"], "=2": ["plain"]}))
    text = path.read_text()
    assert "a;'=1+1" in text
    assert "b\n'=cmd" in text
    assert "'=2" in text
    assert writer.cautions["formulas"] == 3
