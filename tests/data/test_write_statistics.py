"""Files of SPSS and Stata: what is written is read again, names and empty cells included."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from c2rf.cli.terminal import warn_of_cells
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import read_file
from c2rf.data.write import TableWriter
from c2rf.exceptions import InputError

ENDINGS = pytest.mark.parametrize("ending", [".sav", ".dta"])


def written(table: pd.DataFrame, path: Path) -> tuple[pd.DataFrame, dict[str, int], list[str]]:
    """Write a table; return it as it is read, the cautions, and the labels of columns."""
    with TableWriter(path) as writer:
        writer.write(table)
    found, about = (pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta)(path)
    return found, dict(writer.cautions), about.column_labels


@ENDINGS
def test_what_is_written_is_read(tmp_path: Path, ending: str) -> None:
    table = pd.DataFrame(
        {
            "id": ["007", "b"], "Straße": ["Köln", None], "1st": [1.5, None], "a b": [3, 4],
            "a_b": [True, False], "x" * 80: [1, 2], "X" * 80: [3, 4],
        }
    )  # fmt: skip
    path = tmp_path / f"labels{ending}"
    with TableWriter(path) as writer:
        writer.write(table[:1])
        writer.write(table[1:])
    read = pyreadstat.read_sav if ending == ".sav" else pyreadstat.read_dta
    found, about = read(str(path))
    assert list(about.column_labels) == [str(name) for name in table]
    assert found.iloc[:, 0].tolist() == ["007", "b"]
    assert found.iloc[0, 1] == "Köln"
    assert found.iloc[0, 2] == 1.5
    assert pd.isna(found.iloc[1, 2])
    assert found.iloc[:, 3:5].to_numpy().tolist() == [[3, 1], [4, 0]]
    assert len(set(map(str.casefold, found))) == 7
    assert len(read_file(path, ReadAs()).frame) == 2


def test_nothing_is_written_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "labels.sav"
    writer = TableWriter(path)
    writer.write(pd.DataFrame({"a": [1]}))
    writer.__exit__(KeyError, KeyError(), None)
    assert not path.exists()


RESERVED = [
    "long", "Double", "str5", "strL", "byte", "using", "_n", "_all", "all", "WITH", "to", "If", "ge"
]  # fmt: skip


@ENDINGS
def test_names_that_a_package_keeps_for_itself_become_labels(tmp_path: Path, ending: str) -> None:
    names = [*RESERVED, "a_b_2", "a b", "a_b", "a-b", "x" * 64, "x" * 64 + "y", "é" * 90]
    table = pd.DataFrame([range(len(names))], columns=names)
    found, _, labels = written(table, tmp_path / f"x{ending}")
    assert found.iloc[0].tolist() == list(range(len(names)))
    assert labels == [name[:80] if ending == ".dta" else name for name in names]
    assert len({name.casefold() for name in found}) == len(names)
    assert max(map(len, found)) == (32 if ending == ".dta" else 64)


@ENDINGS
def test_numbers_and_dates_that_become_text_are_counted(tmp_path: Path, ending: str) -> None:
    table = pd.DataFrame(
        {
            "whole": [1, None, 2**53 + 1],
            "money": [Decimal("1.10"), None, Decimal("12345678901234567.89")],
            "size": [0.5, None, float("inf")],
            "day": [dt.date(2024, 5, 6), None, dt.date(99, 1, 1)],
            "mixed": [1, None, "x"],
            "flag": [True, None, 7],
            "free": [None, None, None],
        },
        dtype=object,
    )
    found, cautions, _ = written(table, tmp_path / f"x{ending}")
    assert cautions == {"texts": 11, "changed": 0}
    assert found["free"].isna().all()
    for name in table.columns[:-1]:
        assert found[name].tolist() == ["" if x is None else str(x) for x in table[name]]


@ENDINGS
def test_dates_are_dates(tmp_path: Path, ending: str) -> None:
    days = [dt.date(1960, 1, 1), None, dt.date(1959, 12, 31)]
    moments = [dt.datetime(2024, 2, 29, 23, 59, 59), None, dt.datetime(1600, 1, 1)]
    table = pd.DataFrame({"day": days, "moment": moments}, dtype=object)
    found, cautions, _ = written(table, tmp_path / f"x{ending}")
    assert not cautions
    assert found["day"].tolist()[::2] == days[::2]
    assert found["moment"].tolist()[::2] == moments[::2]
    assert found.iloc[1].isna().all()


@ENDINGS
def test_text_that_is_not_kept_is_counted(tmp_path: Path, ending: str) -> None:
    cells = ["a\0b", "\0", "c ", " d\t", "\ud800", "e"]
    found, cautions, _ = written(pd.DataFrame({"x": cells}, dtype=object), tmp_path / f"x{ending}")
    assert cautions["changed"] == (4 if ending == ".sav" else 3)
    third = "c" if ending == ".sav" else "c "
    if ending == ".dta":  # older versions of pyreadstat drop blanks when they read
        found = pd.read_stata(tmp_path / "x.dta")
    assert found["x"].tolist() == ["a\ufffdb", "\ufffd", third, " d\t", "\ufffd", "e"]


def test_what_is_not_kept_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.DataFrame({"id": [2**53 + 1, 7], "text": ["a", "b "]})
    with TableWriter(tmp_path / "x.sav") as writer:
        writer.write(table)
    warn_of_cells(writer.cautions, False)
    said = capsys.readouterr().err
    assert "2 cells with numbers or dates that the format does not hold exactly are text" in said
    assert "1 text of the output lost blanks at the end" in said


def test_text_that_is_too_long_for_spss(tmp_path: Path) -> None:
    texts = pd.DataFrame({"id": [1, 2], "life story": ["é" * 16_383, "x"]})
    assert written(texts, tmp_path / "x.sav")[0].iloc[0, 1] == "é" * 16_383
    texts["life story"] += "éé"
    assert written(texts, tmp_path / "x.dta")[0].iloc[0, 1] == "é" * 16_385
    with pytest.raises(InputError, match="32,767 bytes; a text in column 'life story' has more"):
        written(texts, tmp_path / "y.sav")


def test_files_of_stata_are_those_that_every_edition_reads(tmp_path: Path) -> None:
    written(pd.DataFrame({"a": [1]}), tmp_path / "x.dta")
    assert b"<release>118</release>" in (tmp_path / "x.dta").read_bytes()
