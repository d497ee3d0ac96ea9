"""How text files are written: found in random dialects, and never silently wrong."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.data.cells import as_numbers
from c2rf.data.dialect import Dialect, ReadAs, find_dialect, find_encoding
from c2rf.data.formats import read_file
from c2rf.data.write import TableWriter
from c2rf.exceptions import InputError

NUMBERS = st.decimals(-10_000_000, 10_000_000, places=3, allow_nan=False)


WORDS = st.text(st.sampled_from("abcäöß\"';,| \n-"), max_size=6)


@st.composite
def dialects(draw):
    decimal = draw(st.sampled_from([".", ","]))
    separator = draw(st.sampled_from([";", "\t", "|", ","]))
    group = draw(st.sampled_from(["", " ", "'", "\u00a0", {".": ",", ",": "."}[decimal]]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    return separator, decimal, group, encoding


def written(number, decimal: str, group: str, places: int) -> str:
    text = f"{number:,.{places}f}"
    return text.replace(",", "\0").replace(".", decimal).replace("\0", group)


@settings(max_examples=60, deadline=None)
@given(
    dialects(),
    st.lists(st.tuples(NUMBERS, NUMBERS, WORDS), min_size=1, max_size=8),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_figures_are_never_silently_wrong(tmp_path_factory, dialect, rows, first, second):
    separator, decimal, group, encoding = dialect
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(["a", "b", "words"])
    for a, b, words in rows:
        cells = written(a, decimal, group, first), written(b, decimal, group, second)
        writer.writerow([*cells, words])
    path = tmp_path_factory.mktemp("dialect") / "x.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    try:
        table = read_file(path)
    except InputError:
        return
    assert list(table.frame) == ["a", "b", "words"]
    for name, places, k in (("a", first, 0), ("b", second, 1)):
        expected = [float(f"{row[k]:.{places}f}") for row in rows]
        assert as_numbers(table.frame[name]).tolist() == expected
    again = path.with_name("again.csv")
    with TableWriter(again, table.dialect) as writer:
        writer.write(table.frame)
    assert read_file(again).frame.equals(table.frame)


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
    [
        ({"sep": "ab"}, "between cells"),
        ({"decimal": ";"}, r"'\.' or ','"),
        ({"encoding": "?"}, "utf-8"),
    ],
)
def test_wrong_options(option, said):
    with pytest.raises(InputError, match=said):
        ReadAs(**option)


PLACES = "Köln;1\nÉvreux;2\nMálaga;3\n"


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32"),
        ("cp1252", "cp1252"),
        ("latin-1", "cp1252"),  # the same for all that is printed
    ],
)
def test_encodings_are_found(tmp_path, encoding, found):
    path = tmp_path / "x.csv"
    path.write_bytes(PLACES.encode(encoding))
    assert find_encoding(path) == found
    assert path.read_text(find_encoding(path)) == PLACES


@pytest.mark.parametrize("block", [3, 4, 5])
def test_characters_may_lie_across_two_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr("c2rf.data.dialect.BLOCK", block)
    path = tmp_path / "x.csv"
    path.write_bytes(PLACES.encode())
    assert find_encoding(path) == "utf-8"
    path.write_bytes(PLACES.encode()[:-1] + "ö".encode()[:1])  # a character is cut
    assert find_encoding(path) == "cp1252"


def test_encodings_that_are_not_found_are_named_by_the_user(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("Łódź;\u0165".encode("cp1250"))
    with pytest.raises(
        InputError, match="nor Windows-1252; save it as UTF-8, or name its encoding"
    ):
        find_encoding(path)
    path.write_bytes(b"a,b\n1,2\n\0,3\n")
    with pytest.raises(InputError, match="it holds zero bytes"):
        find_encoding(path)


def test_a_first_line_may_name_the_separator(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("sep=|\na,b|c\n1|2\n")
    found = find_dialect(path)
    assert (found.separator, found.names, found.n_above) == ("|", ("a,b", "c"), 1)


@pytest.mark.parametrize("name", ["idna", "punycode", "unicode_escape", "base64", "no such", "zip"])
def test_what_is_no_encoding_of_files(name):
    with pytest.raises(InputError, match="must be the name of an encoding"):
        ReadAs(encoding=name)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_quotes_stand_around_whole_cells(tmp_path, separator):
    """With semicolons, too, both rows have two cells."""
    path = tmp_path / "x.csv"
    table = pd.DataFrame({"a": ["x"], '";b': ["y;z"], "c": ["\t,"], "d": [""]}, dtype="str")
    with TableWriter(path, Dialect(separator)) as writer:
        writer.write(table)
    assert read_file(path, ReadAs(text=tuple(table))).frame.equals(table)


def test_two_separators_that_both_fit_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,a;b\nr0,x;y\nr1,z;w\n")
    with pytest.raises(InputError, match=r"each of ';', ',' between them; say which it is"):
        read_file(path)
    assert list(read_file(path, ReadAs(sep=",")).frame) == ["id", "a;b"]
    path.write_text("region;share, %\nnorth;12,5\nsouth;7,5\n")
    assert read_file(path).frame["share, %"].tolist() == ["12.5", "7.5"]
    (tmp_path / "x.tsv").write_text("name,first\ttown\nMeier,Anna\tUlm\n")
    assert list(read_file(tmp_path / "x.tsv").frame) == ["name,first", "town"]


@pytest.mark.parametrize(
    ("line", "cell"), [("r0,''", "''"), ("'r0',''", ""), ("r0,'a b'", "a b"), ("r0,'", "'")]
)
def test_two_single_quotes_alone_are_a_cell(tmp_path, line, cell):
    path = tmp_path / "rows.csv"
    path.write_text(f"id,text\n{line}\n")
    assert read_file(path, ReadAs(text=("id", "text"))).frame["text"].fillna("").tolist() == [cell]
