"""Tables of DuckDB files: ``file.duckdb::table``, or the file alone if it has one table.

A table is read into memory here, and labels are written to one, in one transaction. Rows to label
are read in batches, see :mod:`c2rf.data.population.duckdb`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from c2rf._utils.text import for_user
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import (
    DUCKDB,
    ReadTable,
    naming_source,
    plain_path,
    quoted_name,
    table_name,
)
from c2rf.data.formats.arrow import as_table, check_types
from c2rf.exceptions import InputError


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a table without changing the database."""
    with connected(plain_path(path)) as connection:
        table = named_table(connection, path).to_arrow_table()
    check_types(table.schema, path)
    return ReadTable(as_table(table), "DuckDB")


def connected(file: Path, *, to_write: bool = False) -> Any:
    """Open a database, to read unless told otherwise."""
    DUCKDB.check_package(file)
    import duckdb

    with naming_source(file):
        connection = duckdb.connect(str(file), read_only=not to_write)
        # A view of somebody else's database must not fetch what reaches into the network.
        for what in ("install", "load"):
            connection.execute(f"SET auto{what}_known_extensions = false")
    return connection


def named_table(connection: Any, path: Path) -> Any:
    """Return the table that a path names, or the only one."""
    found = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
    return connection.table(quoted_name(table_name(path, [row[0] for row in found])))


def is_database_table(path: Path) -> bool:
    """Say whether labels go to a table of a database: ``file.duckdb::table``."""
    file, colons, table = str(path).partition("::")
    return bool(colons and table) and Path(file).suffix.lower() in DUCKDB.endings


def check_table(path: Path, *, force: bool = False) -> None:
    """Refuse a table that is there, unless it may be replaced, and a file that is no database."""
    file, _, table = str(path).partition("::")
    DUCKDB.check_package(path)
    if not Path(file).exists():
        if not Path(file).absolute().parent.is_dir():
            raise InputError(f"{path} cannot be written: its folder does not exist")
        return
    with connected(Path(file)) as connection:
        query = "SELECT count(*) FROM information_schema.tables WHERE table_name = ?"
        if connection.execute(query, [table]).fetchone()[0] and not force:
            option = for_user("force=True", "--force")
            raise InputError(f"{path} is there already; use {option} to replace it")


def store_table(path: Path, parquet: Path, *, force: bool = False) -> None:
    """Put the rows of a Parquet file into a table, all in one transaction."""
    file, _, table = str(path).partition("::")
    made = "CREATE OR REPLACE TABLE" if force else "CREATE TABLE"
    with connected(Path(file), to_write=True) as connection, naming_source(path):
        connection.execute(
            f"{made} {quoted_name(table)} AS SELECT * FROM read_parquet(?)", [str(parquet)]
        )
