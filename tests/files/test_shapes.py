"""Shapes of files as programs write them: read right, or refused with the cure."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
import xlsxwriter
import zstandard
from pyarrow import feather

from c2rf.exceptions import InputError
from c2rf.files.cells import as_numbers, as_text
from c2rf.files.dialect import ReadAs
from c2rf.files.tables import read_file
from c2rf.files.text import TextFiles

NUMBERS = [1234.5, -0.25, 12.0]
TOWNS = ["Köln", "Bad Ems", 'say "hi"']
PLAIN = 'id,size,town\n1,1234.5,Köln\n2,-0.25,Bad Ems\n3,12.0,"say ""hi"""\n'
GERMAN = 'id;size;town\n1;1234,5;Köln\n2;-0,25;Bad Ems\n3;12,0;"say ""hi"""\n'

Write = Callable[[Path], object]


def content(text: str | bytes, encoding: str = "utf-8") -> Write:
    data = text if isinstance(text, bytes) else text.encode(encoding)
    return lambda path: path.write_bytes(data)


def zipped(**members: str) -> Write:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in members.items():
                archive.writestr(name.replace("_csv", ".csv"), text)

    return write


def people(size: list[object] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"id": [1, 2, 3], "size": size or NUMBERS, "town": TOWNS})


def database(*names: str) -> Write:
    def write(path: Path) -> None:
        with closing(sqlite3.connect(str(path).partition("::")[0])) as base:
            for name in names:
                people().to_sql(name, base, index=False)

    return write


def workbook(fill: Callable[[object, object], None]) -> Write:
    def write(path: Path) -> None:
        with xlsxwriter.Workbook(str(path)) as book:
            sheet = book.add_worksheet("People")
            for row, cells in enumerate([["id", "size", "town"], *people().values.tolist()]):
                sheet.write_row(row, 0, cells)
            fill(book, sheet)

    return write


def hidden_first(path: Path) -> None:
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("old").write_row(0, 0, ["id", "size", "town"])
        sheet = book.add_worksheet("People")
        for row, cells in enumerate([["id", "size", "town"], *people().values.tolist()]):
            sheet.write_row(row, 0, cells)
        sheet.activate()
        sheet.set_first_sheet()
        book.get_worksheet_by_name("old").hide()


def lines(rows: list[dict[str, object]]) -> Write:
    return content("\n".join(json.dumps(row) for row in rows))


RIGHT: dict[str, tuple[str, Write, str]] = {
    "commas": ("x.csv", content(PLAIN), "commas, decimal point, UTF-8"),
    "a mark": ("x.csv", content(PLAIN, "utf-8-sig"), "UTF-8 with a mark"),
    "utf-16": ("x.csv", content(PLAIN, "utf-16"), "UTF-16"),
    "utf-16, big end first": ("x.csv", content("\ufeff" + PLAIN, "utf-16-be"), "UTF-16"),
    "utf-16 without a mark": ("x.csv", content(PLAIN, "utf-16-le"), "UTF-16"),
    "utf-32": ("x.csv", content(PLAIN, "utf-32"), "UTF-32"),
    "cp1252": ("x.csv", content(PLAIN, "cp1252"), "Windows-1252"),
    "German Excel": (
        "x.csv",
        content(GERMAN.replace("\n", "\r\n"), "cp1252"),
        "semicolons, decimal comma, Windows-1252",
    ),
    "unicode text of Excel": ("x.txt", content(PLAIN.replace(",", "\t"), "utf-16"), "tabs"),
    "semicolons": ("x.csv", content(PLAIN.replace(",", ";")), "semicolons, decimal point"),
    "tabs": ("x.csv", content(PLAIN.replace(",", "\t")), "tabs"),
    "tabs by name": ("x.tsv", content(GERMAN.replace(";", "\t")), "tabs, decimal comma"),
    "bars": ("x.txt", content(PLAIN.replace(",", "|")), "bars"),
    "decimal commas in quotes": (
        "x.csv",
        content('id,size,town\n1,"1234,5",Köln\n2,"-0,25",Bad Ems\n3,12,"say ""hi"""\n'),
        "commas, decimal comma",
    ),
    "points between thousands": (
        "x.csv", content(GERMAN.replace("1234,5", "1.234,5")), "marks between thousands"
    ),
    "commas between thousands": (
        "x.csv", content(PLAIN.replace("1234.5", '"1,234.5"')), "marks between thousands"
    ),
    "blanks in thousands": ("x.csv", content(GERMAN.replace("1234,5", "1 234,5")), "thousands"),
    "hard blanks": ("x.csv", content(GERMAN.replace("1234,5", "1\u00a0234,5")), "thousands"),
    "Swiss thousands": ("x.csv", content(PLAIN.replace("1234.5", "1'234.5")), "thousands"),
    "old Macintosh lines": ("x.csv", content(PLAIN.replace("\n", "\r")), "commas"),
    "all in quotes": (
        "x.csv",
        lambda path: people().to_csv(path, index=False, quoting=1),
        "commas",
    ),
    "single quotes": (
        "x.csv",
        content("id,size,town\n1,1234.5,'Köln'\n2,-0.25,'Bad Ems'\n3,12.0,'say hi'\n"),
        "single quotes",
    ),
    "escaped quotes": ("x.csv", content(PLAIN.replace('""', '\\"')), "commas"),
    "trailing empty columns": (
        "x.csv", content(GERMAN.replace("\n", ";;\n")), "semicolons"
    ),
    "blank lines": ("x.csv", content(PLAIN.replace("\n", "\n\n")), "commas"),
    "no line end at the end": ("x.csv", content(PLAIN.rstrip()), "commas"),
    "gzip": ("x.csv.gz", content(gzip.compress(PLAIN.encode())), "commas"),
    "gzip by another name": ("x.csv", content(gzip.compress(GERMAN.encode())), "decimal comma"),
    "zip": ("x.zip", zipped(people_csv=GERMAN), "decimal comma"),
    "zip of a Macintosh": (
        "x.csv.zip", zipped(people_csv=PLAIN, **{"__MACOSX/x": "?"}) , "commas"
    ),
    "zst": ("x.csv.zst", content(zstandard.compress(PLAIN.encode())), "commas"),
    "Excel": ("x.xlsx", workbook(lambda book, sheet: None), "Excel, sheet 'People'"),
    "Excel by openpyxl": ("x.xlsx", lambda p: people().to_excel(p, index=False), "Excel"),
    "Excel named csv": (
        "x.csv", lambda p: _renamed(p, ".xlsx"), "Excel"
    ),
    "Excel, a second sheet": (
        "x.xlsx",
        workbook(lambda book, sheet: book.add_worksheet("Notes").write(0, 0, "see")),
        "not read: 'Notes'",
    ),
    "Excel, a hidden sheet first": ("x.xlsx", hidden_first, "sheet 'People'"),
    "Excel, numbers as text": (
        "x.xlsx",
        lambda p: people(["1.234,5", "-0,25", "12"]).to_excel(p, index=False),
        "decimal comma in text",
    ),
    "OpenDocument": (
        "x.ods", lambda p: people().to_excel(p, index=False, engine="odf"), "OpenDocument"
    ),
    "SPSS": ("x.sav", lambda p: pyreadstat.write_sav(people(), str(p)), "SPSS"),
    "SPSS, packed": (
        "x.zsav", lambda p: pyreadstat.write_sav(people(), str(p), compress=True), "SPSS"
    ),
    "Stata": ("x.dta", lambda p: people().to_stata(p, write_index=False, version=118), "Stata"),
    "SAS": (
        "x.xpt", lambda p: pyreadstat.write_xport(people(), str(p), file_format_version=8), "SAS"
    ),
    "Parquet": ("x.parquet", lambda p: people().to_parquet(p), "Parquet"),
    "Feather": ("x.feather", lambda p: feather.write_feather(people(), str(p)), "Arrow"),
    "Arrow stream": (
        "x.arrow",
        lambda p: _stream(p, pa.Table.from_pandas(people(), preserve_index=False)),
        "Arrow",
    ),
    "JSON lines": ("x.jsonl", lines(people().to_dict("records")), "JSON lines"),
    "SQLite": ("x.db", database("people"), "table 'people'"),
    "SQLite, a table of two": ("x.db::people", database("people", "other"), "table 'people'"),
}  # fmt: skip


def _renamed(path: Path, ending: str) -> None:
    people().to_excel(path.with_suffix(ending), index=False)
    path.with_suffix(ending).rename(path)


def _stream(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


@pytest.mark.parametrize("shape", RIGHT)
def test_read_right(tmp_path, shape):
    name, write, said = RIGHT[shape]
    write(tmp_path / name)
    table = read_file(tmp_path / name)
    assert list(table.frame) == ["id", "size", "town"]
    assert as_numbers(table.frame["id"]).tolist() == [1, 2, 3]
    assert as_numbers(table.frame["size"]).tolist() == NUMBERS
    towns = [town.replace('"', "") if shape == "single quotes" else town for town in TOWNS]
    assert as_text(table.frame["town"]).tolist() == towns
    assert said in table.read_as


REFUSED: dict[str, tuple[str, Write, str]] = {
    "nothing": ("x.csv", content(""), "is empty"),
    "only a header": ("x.csv", content("a,b\n"), "has a header but no rows"),
    "two readings, points": ("x.csv", content("a;b\n1.234;x\n5.678;y\n"), "and 1234 with a"),
    "two readings, commas": ("x.csv", content("a;b\n1,234;x\n"), "'1,234' is 1234 with a"),
    "both marks": ("x.csv", content("a;b\n1,5;x\n2.5;y\n"), "with a decimal point, '2.5', and"),
    "a title": ("x.csv", content("People\n\nid;size\n1;2\n"), "If there is a title"),
    "two header lines": ("x.csv", content("id;size\nno.;kg\n1;2\n2;3\n3;4\n"), "two header lines"),
    "a merged header": ("x.csv", content("a;;b\nx;y;z\n1;2;3\n"), "If the names take two lines"),
    "a long row": ("x.csv", content(PLAIN + "4,5,6,7\n"), "line 5 has 4 cells"),
    "a short row": ("x.csv", content(PLAIN + "4,5\n"), "line 5 has 2 cells"),
    "an open quote": ("x.csv", content(PLAIN + '4,5,"x\n6,7,y\n'), "never closed"),
    "no encoding": ("x.csv", content(b"a,b\n1,\x81\x8d\n"), "name its encoding"),
    "binary": ("x.csv", content(bytes(range(256))), "zero bytes"),
    "a name twice": ("x.csv", content("a,a\n1,2\n"), "more than once"),
    "gzip, cut": ("x.gz", content(gzip.compress(PLAIN.encode() * 9)[:-9]), "incomplete gzip"),
    "zip of two": ("x.zip", zipped(a_csv=PLAIN, b_csv=PLAIN), "must hold one file"),
    "zst, cut": ("x.zst", content(zstandard.compress(PLAIN.encode())[:-9]), ""),
    "merged cells": (
        "x.xlsx", workbook(lambda book, sheet: sheet.merge_range("C2:C3", "Ulm")), "Unmerge them"
    ),
    "an empty sheet": ("x.xlsx", lambda p: pd.DataFrame().to_excel(p), "no sheet with cells"),
    "a sheet with a header": (
        "x.xlsx", lambda p: people().iloc[:0].to_excel(p, index=False), "no rows"
    ),
    "Excel, cut": ("x.xlsx", content(b"PK\x03\x04" + b"x" * 99), "not a complete workbook"),
    "SPSS, cut": ("x.sav", content(b"$FL2" + b"x" * 99), "not a complete SPSS file"),
    "Stata, cut": ("x.dta", content(b"x" * 99), "not a complete Stata file"),
    "not JSON": ("x.jsonl", content('{"a": 1}\n{"a": \n'), "line 2 is not JSON"),
    "lists in JSON": ("x.jsonl", content('{"a": [1]}\n'), "'a' holds a list"),
    "two tables": ("x.db", database("a", "b"), "name one, like"),
    "no such table": ("x.db::c", database("a", "b"), "has no table 'c'"),
    "no database": ("x.db", content(b"x" * 99), "cannot be read as an SQLite"),
    "no file": ("absent.csv", lambda path: None, "there is no such file"),
}  # fmt: skip


@pytest.mark.parametrize("shape", REFUSED)
def test_refused_with_the_cure(tmp_path, shape):
    name, write, said = REFUSED[shape]
    write(tmp_path / name)
    with pytest.raises(InputError) as caught:
        read_file(tmp_path / name)
    assert said in str(caught.value)
    assert name.partition("::")[0] in str(caught.value)


def test_there_are_sixty():
    assert len(RIGHT) + len(REFUSED) >= 60


def text(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_line_ends_and_separators_inside_cells(tmp_path):
    path = text(tmp_path / "x.csv", 'a;b\n"x\ny";"1;2"\n"p""q";3\n')
    assert read_file(path).frame.to_numpy().tolist() == [["x\ny", "1;2"], ['p"q', "3"]]


@pytest.mark.parametrize(("decimal", "value"), [(".", "1.234"), (",", "1234")])
def test_the_user_decides_between_two_readings(tmp_path, decimal, value):
    path = text(tmp_path / "x.csv", "a;b\n1.234;x\n")
    assert read_file(path, ReadAs(decimal=decimal)).frame["a"].tolist() == [value]


def test_the_user_decides_separator_encoding_and_sheet(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("a:b\n1:Łódź\n".encode("latin2"))
    table = read_file(path, ReadAs(sep=":", encoding="latin2"))
    assert table.frame.to_numpy().tolist() == [["1", "Łódź"]]
    workbook(lambda book, sheet: book.add_worksheet("B").write_column(0, 0, ["n", 7]))(
        tmp_path / "x.xlsx"
    )
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


def test_thousands_of_columns(tmp_path):
    names = [f"c{k}" for k in range(4_000)]
    row = ";".join(f"{k},5" for k in range(4_000))
    path = text(tmp_path / "x.csv", ";".join(names) + f"\n{row}\n{row}\n")
    frame = read_file(path).frame
    assert frame.shape == (2, 4_000)
    assert frame.iloc[0, [0, -1]].tolist() == ["0.5", "3999.5"]


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = text(tmp_path / "x.csv", "a,b\n" + "1,2\n" * 50)
    parts = TextFiles((path,), rows=10).tables()
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


def test_both_readers_read_the_same(tmp_path, monkeypatch):
    for name, write, _ in RIGHT.values():
        if name.startswith("x.csv"):
            write(tmp_path / name)
            found = read_file(tmp_path / name)
            with monkeypatch.context() as patch:
                patch.setattr("c2rf.files.text.find_spec", lambda package: None)
                again = read_file(tmp_path / name)
            assert found.frame.to_numpy().tolist() == again.frame.to_numpy().tolist()
