"""Tables of SQLite databases: ``file.db::table``, or the file alone if it has one table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd

from c2rf._text import all_of, nearest
from c2rf.exceptions import InputError
from c2rf.files.dialect import ReadAs
from c2rf.files.typed import typed_column

_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not like ?"


def read(path: Path, how: ReadAs) -> tuple[pd.DataFrame, str]:
    """Read a table without changing the database."""
    file, _, wanted = (str(path), "", "") if path.exists() else str(path).partition("::")
    try:
        where = f"{Path(file).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(where, uri=True)) as base:
            name = _table(file, [row[0] for row in base.execute(_TABLES, ["sqlite_%"])], wanted)
            quoted = name.replace('"', '""')
            found = base.execute(f'select * from "{quoted}"')
            names = [column[0] for column in found.description]
            rows = found.fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{file} cannot be read as an SQLite database: {error}") from error
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    table = {name: typed_column(list(cells)) for name, cells in zip(names, columns, strict=True)}
    return pd.DataFrame(table), f"SQLite, table {name!r}"


def _table(file: str, names: list[str], wanted: str) -> str:
    """Return the table to read, or say which there are."""
    if wanted in names:
        return wanted
    if not names:
        raise InputError(f"{file} is a database without tables")
    if wanted:
        raise InputError(
            f"{file} has no table {wanted!r}; it has {all_of(names)}{nearest(wanted, names)}"
        )
    if len(names) > 1:
        raise InputError(
            f"{file} has several tables, {all_of(names)}; name one, like {file}::{names[0]}"
        )
    return names[0]
