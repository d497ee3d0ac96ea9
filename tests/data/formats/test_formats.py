"""All formats: files as programs write them are read right, or refused with the cure."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
import xlsxwriter
import zstandard
from pyarrow import feather

from c2rf.data.cells import as_numbers, as_text
from c2rf.data.formats import (
    FORMATS,
    PARQUET,
    TEXT,
    find_format,
    format_by_name,
    naming_source,
    read_file,
    text,
)
from c2rf.exceptions import InputError

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


def titled(path: Path) -> None:
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("People")
        sheet.write(0, 0, "People of 2024")
        for row, cells in enumerate([["id", "size", "town"], *people().values.tolist()]):
            sheet.write_row(row + 2, 0, cells)


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
    "the separator told to Excel": ("x.csv", content("sep=;\r\n" + GERMAN), "semicolons, decimal"),
    "spaces around names and gaps": (
        "x.csv", content(PLAIN.replace("id,size,", "id, size ,") ), "commas"
    ),
    "hard blanks at the end": (
        "x.csv", content(PLAIN.replace("-0.25", "-0.25\u00a0")), "commas"
    ),
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
    "Excel, a number as text among numbers": (
        "x.xlsx",
        lambda p: people([1234.5, "-0,25", 12.0]).to_excel(p, index=False),
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


def _damaged(path: Path) -> None:
    """Write a file whose notes for pandas are broken, where readers fail in odd ways."""
    people().to_feather(path)
    path.write_bytes(path.read_bytes().replace(b'"column_indexes"', b'"column\1indexes"'))


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
    "two header lines in a workbook": (
        "x.xlsx",
        lambda p: pd.DataFrame({"id": ["no.", 1, 2, 3], "size": ["kg", 2.5, 3, 4]}).to_excel(
            p, index=False
        ),
        "below 'id' stands 'no.'",
    ),
    "a title in a workbook": (
        "x.xlsx", titled, "or a title is above them"
    ),
    "an empty sheet": ("x.xlsx", lambda p: pd.DataFrame().to_excel(p), "no sheet with cells"),
    "a sheet with a header": (
        "x.xlsx", lambda p: people().iloc[:0].to_excel(p, index=False), "no rows"
    ),
    "Excel, cut": ("x.xlsx", content(b"PK\x03\x04" + b"x" * 99), "not a complete workbook"),
    "SPSS, cut": ("x.sav", content(b"$FL2" + b"x" * 99), "not a complete SPSS file"),
    "Stata, cut": ("x.dta", content(b"x" * 99), "not a complete Stata file"),
    "Feather, damaged notes": ("x.feather", lambda p: _damaged(p), "x.feather cannot be read"),
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


def test_both_readers_read_the_same(tmp_path, monkeypatch):
    for name, write, _ in RIGHT.values():
        if name.startswith("x.csv"):
            write(tmp_path / name)
            found = read_file(tmp_path / name)
            with monkeypatch.context() as patch:
                patch.setattr("c2rf.data.formats.text.find_spec", lambda package: None)
                again = read_file(tmp_path / name)
            assert found.frame.to_numpy().tolist() == again.frame.to_numpy().tolist()


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


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_a_format_is_a_module_with_the_functions_it_promises(kind):
    assert callable(kind.module.read)
    if kind.in_chunks:
        assert callable(kind.module.names)
        assert callable(kind.module.chunks)


def test_a_format_is_known_by_its_content_before_its_name(tmp_path):
    people().to_parquet(tmp_path / "x.csv")
    assert find_format(tmp_path / "x.csv") is PARQUET
    (tmp_path / "x.unknown").write_text("a,b\n1,2\n")
    assert find_format(tmp_path / "x.unknown") is TEXT
    assert format_by_name(tmp_path / "x.unknown") is None


def test_what_needs_a_package_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr("c2rf.data.formats.find_spec", lambda package: None)
    people().to_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r'needs pyarrow; pip install "c2rf\[parquet\]"'):
        read_file(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file"), "people: there is no such file"),
        (PermissionError(13, "Permission denied"), "people cannot be read: Permission denied"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "?"), "people is not UTF-8 text"),
        (RuntimeError("first line\nsecond"), "people cannot be read: first line"),
        (InputError("as it is"), "as it is"),
    ],
)
def test_every_error_in_reading_names_the_source(error, said):
    with pytest.raises(InputError) as caught, naming_source("people"):
        raise error
    assert str(caught.value).startswith(said)


def test_a_file_that_changes_while_it_is_read_into_memory(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    find = text.find_dialect

    def slow(*given):
        found = find(*given)
        os.utime(path, ns=(1, 1))
        return found

    monkeypatch.setattr(text, "find_dialect", slow)
    with pytest.raises(InputError, match="has changed while it was read"):
        read_file(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_refused_by_what_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe or a device, which can be read only once"):
        read_file(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a folder; give the name of a file"):
        read_file(tmp_path)
