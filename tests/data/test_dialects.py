"""Random frames in random dialects come back equal, or are refused: never other figures."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.data.cells import as_numbers
from c2rf.data.formats import read_file
from c2rf.data.numerals import MISSING, canonical, parse_number, readings
from c2rf.data.write import write_table
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
    write_table(table.frame, again, table.dialect)
    assert read_file(again).frame.equals(table.frame)


@given(NUMBERS, st.sampled_from([".", ","]), st.integers(0, 3))
def test_a_number_is_what_was_written(number, decimal, places):
    for group in ("", " ", "'", {".": ",", ",": "."}[decimal]):
        text = written(number, decimal, group, places)
        assert float(parse_number(text, decimal)) == float(f"{number:.{places}f}")
        # Without the mark it is the same number, or it is not guessed at.
        if len(readings(text)) == 1:
            assert float(parse_number(text)) == float(f"{number:.{places}f}")
        else:
            with pytest.raises(InputError, match="with a decimal comma"):
                parse_number(text)


@pytest.mark.parametrize("word", [*MISSING, "x", "1.2.3", "1,2,3", "12.03.2020", "1 2", "--1"])
def test_what_is_no_number(word):
    assert canonical(word, ".") is None
    assert canonical(word, ",") is None
