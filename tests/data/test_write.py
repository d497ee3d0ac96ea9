"""Tables written in the format that a name ends in: what is read back is what was written."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from c2rf.data.cells import as_numbers, as_text
from c2rf.data.dialect import Dialect
from c2rf.data.formats import read_file
from c2rf.data.numerals import Marks
from c2rf.data.write import TableWriter, check_writable
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
    assert writer.n_formulas == 2
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
