"""Files as a population: one format, the same columns, cells as tables or as numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from c2rf.data.population.files import find_files
from c2rf.exceptions import InputError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "0.csv").write_text("id;n\n007;1,5\n")
    (tmp_path / "1.csv").write_text("n;id\n2,5;x\n")
    return tmp_path


def test_cells_as_tables_have_them_or_as_numbers(folder):
    tables = [table for table, _ in find_files([folder], as_tables=True).read(["id", "n"])]
    assert [table.to_numpy().tolist() for table in tables] == [[["007", "1.5"]], [["x", "2.5"]]]
    numbers = [table for table, _ in find_files([folder]).read(["id", "n"])]
    assert [table.to_numpy().tolist() for table in numbers] == [[[7, 1.5]], [["x", 2.5]]]


def test_all_columns_come_in_the_order_of_the_first_file(folder):
    rows = find_files([folder], as_tables=True)
    assert rows.names == ["id", "n"]
    assert rows.n_rows is None
    assert str(rows.dialect) == rows.read_as == "semicolons, decimal comma, UTF-8"
    assert all(list(table) == ["id", "n"] for table, _ in rows.read())


def test_parquet_files_know_their_rows_and_keep_text(tmp_path):
    pd.DataFrame({"id": ["007", "008"], "n": [1, 2]}).to_parquet(tmp_path / "x.parquet")
    rows = find_files([tmp_path])
    assert rows.n_rows == 2
    ((table, where),) = rows.read(["id", "n"])
    assert table.to_numpy().tolist() == [["007", 1], ["008", 2]]
    assert where == f"{tmp_path / 'x.parquet'}, row group 0"


def test_files_of_two_formats_or_none(folder, tmp_path_factory):
    pd.DataFrame({"id": ["x"], "n": [1]}).to_parquet(folder / "2.parquet")
    with pytest.raises(InputError, match="files must be of one format"):
        find_files([folder])
    with pytest.raises(InputError, match="holds no Parquet or CSV file"):
        find_files([tmp_path_factory.mktemp("empty")])
