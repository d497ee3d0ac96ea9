"""Tables of SQLite databases: ``file.db::table``, or the file alone if it has one table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.data.cells import TypedCells
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import ReadTable, plain_path, quoted_name, table_name
from c2rf.exceptions import InputError

_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not like ?"


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a table without changing the database."""
    with _opened(path) as (base, table):
        found, cells = _select(base, table), TypedCells(path, how)
        frame = cells.table(_columns(found.fetchall(), _names(found)))
    return ReadTable(frame, f"SQLite, table {table!r}{cells.note}")


def names(path: Path, how: ReadAs) -> list[str]:
    """Return the columns of a table."""
    with _opened(path) as (base, table):
        return _names(_select(base, table))


def chunks(
    path: Path, how: ReadAs, columns: Sequence[str], n_rows: int
) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield some columns of at most so many rows at a time, and where they are from."""
    cells, start = TypedCells(path, how), 1
    with _opened(path) as (base, table):
        found = _select(base, table, columns)
        while rows := found.fetchmany(n_rows):
            yield cells.table(_columns(rows, columns), start), f"{path}, from data row {start}"
            start += len(rows)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open a database to read one of its tables."""
    file = plain_path(path)
    try:
        where = f"{file.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(where, uri=True)) as base:
            for setting in ("trusted_schema = off", "query_only = on", "cell_size_check = on"):
                base.execute(f"pragma {setting}")
            # Gives Ctrl-C a chance, even where a view never ends.
            base.set_progress_handler(lambda: 0, 10_000)
            names = [row[0] for row in base.execute(_TABLES, ["sqlite_%"])]
            yield base, table_name(path, names)
    except sqlite3.Error as error:
        if str(error) == "interrupted":
            raise KeyboardInterrupt from error
        raise InputError(f"{file} cannot be read as an SQLite database: {error}") from error


def _select(base: sqlite3.Connection, table: str, columns: Sequence[str] = ()) -> sqlite3.Cursor:
    wanted = ", ".join(map(quoted_name, columns)) or "*"
    return base.execute(f"select {wanted} from {quoted_name(table)}")


def _names(found: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in found.description]


def _columns(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    columns: Any = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))
