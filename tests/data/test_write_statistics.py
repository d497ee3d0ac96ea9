"""Files of SPSS and Stata: what is written is read again, names and empty cells included."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from c2rf.data.dialect import ReadAs
from c2rf.data.formats import read_file
from c2rf.data.write import TableWriter


@pytest.mark.parametrize("ending", [".sav", ".dta"])
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
