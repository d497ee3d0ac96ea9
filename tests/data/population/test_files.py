"""Files as a population: one format, the same columns, cells as tables or as numbers."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing

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


def replaced(path, content: bytes) -> None:
    """Put another file of the same size and date in its place."""
    status = path.stat()
    other = path.with_name("other")
    other.write_bytes(content)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


def changed_log(path) -> None:
    """Change a database whose log takes the change."""
    with closing(sqlite3.connect(path)) as base:
        base.execute("insert into t values (7)")
        base.commit()


def tables(folder, kind):
    """Return a file of two rows, and what changes it."""
    path = folder / f"x.{kind}"
    frames = [pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"n": [2, 1]})]
    if kind == "db":
        base = sqlite3.connect(path)
        base.execute("pragma journal_mode=wal")
        frames[0].to_sql("t", base, index=False)
        return path, base, lambda: changed_log(path)
    other = folder / f"second.{kind}"
    for frame, place in zip(frames, (path, other), strict=True):
        if kind == "csv":
            frame.to_csv(place, index=False)
        elif kind == "jsonl":
            frame.to_json(place, orient="records", lines=True)
        else:
            frame.to_parquet(place)
    content = other.read_bytes()
    other.unlink()
    return path, ExitStack(), lambda: replaced(path, content)


@pytest.mark.parametrize("when", ["between passes", "during one"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "db"])
def test_a_file_that_is_replaced_is_refused_in_every_pass(tmp_path, kind, when):
    path, base, change = tables(tmp_path, kind)
    with closing(base):
        rows = find_files([path])
        rows.rows = 1
        first = rows.read(["n"])
        next(first)
        if when == "between passes":
            list(first)
            first = rows.read(["n"])
        change()
        with pytest.raises(InputError, match="has changed while it was read"):
            list(first)


def test_a_file_that_comes_into_a_folder_is_refused(folder):
    rows = find_files([folder])
    list(rows.read(["n"]))
    (folder / "2.csv").write_text("id;n\n1;2\n")
    with pytest.raises(InputError, match=r"2\.csv was not there when its folder was first read"):
        list(rows.read(["n"]))
