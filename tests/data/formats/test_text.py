"""CSV and TSV files: cells stay text, numbers are read with the marks of the file or refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from c2rf.data.cells import as_numbers
from c2rf.data.dialect import ReadAs
from c2rf.data.forest_files import read_votes
from c2rf.data.formats import TEXT, read_file
from c2rf.data.population.files import Files
from c2rf.exceptions import InputError
from people import read_table


def text(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


@pytest.mark.parametrize("last", ["3", "x\ny", "x\n", ""])
def test_line_ends_and_separators_inside_cells(tmp_path, last):
    path = text(tmp_path / "x.csv", f'a;b\n"x\ny";"1;2"\n"p""q";"{last}"\n')
    assert read_file(path).frame.to_numpy().tolist() == [["x\ny", "1;2"], ['p"q', last]]


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


def write(folder: Path, content: str | bytes, name: str = "file.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class TestTable:
    def test_cells_stay_the_text_they_are(self, tmp_path):
        text = 'id,"a, b",c\n007,1.10,NA\n1e400,"say ""x""",\n'
        table = read_table(write(tmp_path, text))
        assert list(table) == ["id", "a, b", "c"]
        assert table.to_numpy().tolist() == [["007", "1.10", "NA"], ["1e400", 'say "x"', ""]]
        back = tmp_path / "back.csv"
        table.to_csv(back, index=False)
        assert read_table(back).equals(table)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("", "is empty"),
            ("a,b\n", "header but no rows"),
            ("a,b,a\n1,2,3\n", "found 'a' more than once"),
            (",a\n0,1\n", "column 1 has no name"),
            ("a,b\n1,2,3\n", "line 2 has 3 cells, but the header has 2"),
            (b"a,b\n1,\x81\xff\n", "not UTF-8 text, nor Windows-1252"),
        ],
    )
    def test_unusable_files_are_named(self, tmp_path, content, said):
        with pytest.raises(InputError, match=said) as caught:
            read_table(write(tmp_path, content, "some.csv"))
        assert "some.csv" in str(caught.value)

    def test_missing_files_and_folders_are_named(self, tmp_path):
        with pytest.raises(InputError, match=r"absent\.csv: there is no such file"):
            read_table(tmp_path / "absent.csv")
        with pytest.raises(InputError, match="cannot be read"):
            read_votes(tmp_path)


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        ('"C:\\dir\\","x"', ["C:\\dir\\", "x"]),  # backslashes are text
        ('"say \\"hi\\" now","x"', ['say "hi" now', "x"]),  # they mark quotes
        ('"a ""b\\"" c","x"', ['a "b\\" c', "x"]),  # text beside doubled quotes
        ('"a ""b""","say \\"hi\\""', ['a "b"', 'say "hi"']),  # both ways in one file
        ('"x","end\\"', ["x", "end\\"]),
        ('"x","\\\\ and \\""', ["x", '\\ and "']),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_backslashes_before_quotes(tmp_path, content, cells, encoding, ending):
    path = tmp_path / f"x.csv{ending}"
    data = f'a,b\n"1","2"\n{content}\n"3","4"\n'.encode(encoding)
    path.write_bytes(gzip.compress(data) if ending else data)
    assert read_file(path).frame.iloc[1].tolist() == cells


def test_backslashes_before_quotes_far_into_a_file(tmp_path):
    path = tmp_path / "x.csv"
    rows = '"1","2"\n' * 60_000
    path.write_text(f'a,b\n{rows}"say \\"hi\\"","x"\n')
    table = read_file(path)
    assert table.frame.iloc[-1].tolist() == ['say "hi"', "x"]
    assert "backslashes before quotes" in table.read_as


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('5\\",x', r"is '5\\\\\"' if its backslash is text, and '5\"' if it marks a quote"),
        ('"C:\\dir \\"x\\"",x', "not clear whether they are text"),
        ('"a \\"b\\" c","x","y"', r"line 2 has 3 cells"),
    ],
)
def test_backslashes_with_two_readings_or_none_are_refused(tmp_path, row, said):
    path = tmp_path / "x.csv"
    path.write_text(f"a,b\n{row}\n1,2\n")
    with pytest.raises(InputError, match=said):
        read_file(path)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_packed_files_that_would_fill_the_memory(tmp_path, monkeypatch, kind):
    path = tmp_path / f"x.{kind}.gz" if kind == "csv" else tmp_path / "x.jsonl"
    line = "a,b\n" if kind == "csv" else '{"a": 1, "b": 2}\n'
    path.write_bytes(gzip.compress(line.encode() * 1000))
    assert len(read_file(path).frame) >= 999
    monkeypatch.setenv("C2RF_MOST_BYTES", "1000")
    (copy := path.with_name(f"y{path.name}")).write_bytes(path.read_bytes())
    with pytest.raises(InputError, match=r"more than 1,000 bytes when unpacked.*C2RF_MOST_BYTES"):
        read_file(copy)
