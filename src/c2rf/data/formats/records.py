"""Files that give one row after another: JSON lines, and tables of SQLite databases.

Of JSON lines each is an object, whose keys are the columns; a key that a line lacks is an empty
cell. A table of a database is ``file.db::table``, or the file alone if it has one table.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf._utils.types import Columns
from c2rf.data.cells import TypedCells
from c2rf.data.dialect import ReadAs, compression, opened, read_blocks
from c2rf.data.formats import (
    SQLITE,
    ReadTable,
    find_format,
    naming_source,
    once_per_file,
    plain_path,
    quoted_name,
    table_name,
)
from c2rf.exceptions import InputError

_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not like ?"

Rows = tuple[str, list[str], Iterable[Sequence[Any]]]
"""What is read, the names of its columns, and rows of their cells."""


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a whole table."""
    cells = TypedCells(path, how)
    with _opened(path, how) as (what, columns, rows):
        frame = cells.table(_by_column(list(rows), columns))
    return ReadTable(frame, f"{what}{cells.note}")


def names(path: Path, how: ReadAs) -> list[str]:
    """Return the names of the columns."""
    with _opened(path, how) as (_, columns, _):
        return columns


def chunks(
    path: Path, how: ReadAs, columns: Sequence[str], n_rows: int
) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield some columns of at most so many rows at a time, and where they are from."""
    cells, start = TypedCells(path, how), 1
    with _opened(path, how, columns) as (_, _, found):
        rows = iter(found)
        while some := list(islice(rows, n_rows)):
            table = cells.table(_by_column(some, columns), start)
            yield table, f"{path}, from data row {start}"
            start += len(some)


def _by_column(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> dict[str, Sequence[Any]]:
    columns: Any = zip(*rows, strict=True) if rows else [()] * len(names)
    return dict(zip(names, columns, strict=True))


@contextmanager
def _opened(path: Path, how: ReadAs, columns: Columns = None) -> Iterator[Rows]:
    """Open a file to read some columns, or all."""
    if find_format(path) is SQLITE:
        with _select(path, columns) as (table, found):
            yield f"SQLite, table {table!r}", [column[0] for column in found.description], found
    else:
        wanted = _keys(path, how) if columns is None else list(columns)
        yield (
            "JSON lines",
            wanted,
            ([row.get(name) for name in wanted] for row in _objects(path, how)),
        )


@once_per_file
def _keys(path: Path, how: ReadAs) -> list[str]:
    """Return the keys of all lines, in the order in which they are first met."""
    found = list(dict.fromkeys(name for row in _objects(path, how) for name in row))
    if not found:
        raise InputError(f"{path} is empty or has no rows")
    return found


def _objects(path: Path, how: ReadAs) -> Iterator[dict[str, Any]]:
    encoding = how.encoding or "utf-8-sig"
    if compression(path) is not None:
        for _ in read_blocks(path):  # one line may be all of it
            pass
    with naming_source(path), opened(path) as file, io.TextIOWrapper(file, encoding) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield _object(line, f"{path}, line {number}")


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        if "\\u" in line:
            str(row).encode()  # half of a character
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise InputError(f'{where} must be an object like {{"age": 41}}; found {line[:40]!r}')
    for name, value in row.items():
        if isinstance(value, (list, dict)):
            raise InputError(
                f"{where}: cells must hold numbers, text, true or false; {name!r} holds a list or "
                "an object: remove it, or make columns of what it holds"
            )
    return row


@contextmanager
def _select(path: Path, columns: Columns) -> Iterator[tuple[str, sqlite3.Cursor]]:
    """Select columns of a table, without changing the database; return its name, too."""
    file = plain_path(path)
    try:
        where = f"{file.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(where, uri=True)) as base:
            for setting in ("trusted_schema = off", "query_only = on", "cell_size_check = on"):
                base.execute(f"pragma {setting}")
            # Gives Ctrl-C a chance, even where a view never ends.
            base.set_progress_handler(lambda: 0, 10_000)
            tables = [row[0] for row in base.execute(_TABLES, ["sqlite_%"])]
            table = table_name(path, tables)
            wanted = ", ".join(map(quoted_name, columns or ())) or "*"
            yield table, base.execute(f"select {wanted} from {quoted_name(table)}")
    except sqlite3.Error as error:
        if str(error) == "interrupted":
            raise KeyboardInterrupt from error
        raise InputError(f"{file} cannot be read as an SQLite database: {error}") from error
