"""DuckDB: tables of its files are read and written; relations and queries are populations.

A table is ``file.duckdb::table``, or the file alone if it has one table. It is read into memory, or
its rows are read in batches of Arrow. Labels are written to a table in one transaction.

A database has no row numbers: rows are numbered by ascending id, so a column of ids is needed.
Every pass checks that the ids are the ones that were there before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.text import all_of, for_user, nearest
from c2rf._utils.types import Columns
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import (
    DUCKDB,
    ROWS_PER_CHUNK,
    ReadTable,
    naming_source,
    plain_path,
    quoted_name,
    table_name,
    wanted_columns,
)
from c2rf.data.formats.arrow import as_arrow, as_table, check_types
from c2rf.data.population.interface import CHANGED, Population, as_asked
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


def is_relation(given: Any) -> bool:
    """Say whether something is a relation of DuckDB, without importing DuckDB."""
    return type(given).__name__ == "DuckDBPyRelation"


class DuckDBRows(Population):
    """The rows of a relation, by ascending id.

    Parameters
    ----------
    relation : DuckDBPyRelation
        The rows.
    id : str
        The column that names a row; no id is missing or there twice.
    where : str
        What the rows are called in messages.
    opened : callable, optional
        Opens the database again after :meth:`close`: it returns a connection and the relation.

    Examples
    --------
    >>> import duckdb
    >>> rows = DuckDBRows(duckdb.sql("SELECT 3 - i AS id, i * i AS x FROM range(3) t(i)"), "id")
    >>> rows.n_rows, [chunk.data["x"].tolist() for chunk in rows.chunks(["x"])]
    (3, [[4, 1, 0]])
    """

    names: list[str]

    def __init__(
        self,
        relation: Any,
        id: str | None,
        where: str = "the relation",
        opened: Callable[[], tuple[Any, Any]] | None = None,
    ) -> None:
        self.where, self.read_as, self._opened = where, "DuckDB", opened
        self._connection: Any = None
        if opened is not None:
            self._connection, relation = opened()
        self.names = list(relation.columns)
        self.id = check_id(id, self.names, where)
        check_types(relation.limit(0).to_arrow_table().schema, where)
        key = quoted_name(self.id)
        with naming_source(where):
            # Without an order, the window sees the rows as they are stored.
            stored = f"{key}, coalesce({key} > lag({key}) over (), true) AS ascends"
            found = relation.project(stored).aggregate(f"count(*), count({key}), bool_and(ascends)")
            self.n_rows, n_ids, ascends = found.fetchall()[0]
            n_distinct = (
                n_ids if ascends else relation.aggregate(f"count(DISTINCT {key})").fetchall()[0][0]
            )
        check_ids(self.n_rows, n_ids, n_distinct, self.id, where)
        self._relation, self._is_sorted = relation, ascends
        self._checksum: int | None = None

    def close(self) -> None:
        """Close the connection that was opened for the rows; it is opened again when needed."""
        if self._connection is not None:
            self._connection.close()
            self._connection = self._relation = None

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Read all rows in the order of their ids."""
        wanted = wanted_columns(columns, self.names, self.where)
        selected = list(dict.fromkeys([*wanted, self.id]))
        start, last, checksum = 0, None, 0
        with naming_source(self.where):
            if self._relation is None and self._opened is not None:
                self._connection, self._relation = self._opened()
            ordered = (
                self._relation if self._is_sorted else self._relation.order(quoted_name(self.id))
            )
            rows = ordered.project(", ".join(map(quoted_name, selected)))
            for batch in rows.to_arrow_reader(ROWS_PER_CHUNK):
                table = as_table(batch)
                ids = table[self.id].to_numpy()
                ascends = (ids[1:] > ids[:-1]).all() and (last is None or ids[0] > last)
                checksum += int(pd.util.hash_array(ids).sum(dtype=np.uint64))
                if not ascends:
                    raise InputError(f"{self.where} gave its ids in another order: {CHANGED}")
                last, table = ids[-1], table[wanted]
                yield as_asked(table, columns), f"{self.where}, row {start}"
                start += len(table)
        if self._checksum not in (None, checksum):
            raise InputError(f"{self.where} has other ids than before: {CHANGED}")
        self._checksum = checksum


def check_id(id: str | None, columns: Sequence[str], where: str) -> str:
    """Refuse rows without numbers of their own if no column, or an unknown one, names them."""
    if id is None:
        option = for_user("id (in a fit, unlabeled_id)", "--id")
        raise InputError(
            f"{where} has no row numbers: name the column whose values name the rows with "
            f"{option}; the columns are {all_of(columns)}"
        )
    if id not in columns:
        raise InputError(
            f"{where} has no column {id!r}; it has {all_of(columns)}{nearest(id, columns)}"
        )
    return id


def check_ids(n_rows: int, n_ids: int, n_distinct: int, id: str, where: str) -> None:
    """Refuse no rows, rows without an id, and ids that are there twice."""
    if not n_rows:
        raise InputError(f"{where} has columns but no rows")
    if n_ids < n_rows:
        raise InputError(f"{where}: {n_rows - n_ids:,} rows have no {id!r}; every row needs an id")
    if n_distinct < n_ids:
        raise InputError(
            f"{where}: {n_ids - n_distinct:,} values of {id!r} are there more than once; every "
            "row needs an id of its own"
        )


def find_table(path: Path, id: str | None, query: str | None = None) -> DuckDBRows:
    """Return the rows of ``file.duckdb::table``, or of a query; the database is opened to read.

    Parameters
    ----------
    path : Path
        The file; with one table, its name is enough.
    id : str
        The column that names a row.
    query : str, optional
        One SELECT, in place of the table.
    """
    if query is not None:
        _check_query(query)

    def opened() -> tuple[Any, Any]:
        connection = connected(plain_path(path))
        connection.execute("BEGIN TRANSACTION")  # all passes see the same rows
        if query is not None:
            with naming_source("the query"):
                return connection, connection.sql(query)
        return connection, named_table(connection, path)

    return DuckDBRows(None, id, str(path) if query is None else "the query", opened)


def as_relation(frames: Iterable[pd.DataFrame]) -> Any:
    """Return frames that follow each other as one relation."""
    import duckdb

    return duckdb.from_arrow(as_arrow(frames))


def _check_query(query: str) -> None:
    """Refuse anything but one SELECT."""
    import duckdb

    with naming_source("the query"):
        statements = duckdb.extract_statements(query)
    if len(statements) != 1 or statements[0].type.name != "SELECT":
        kinds = " and ".join(each.type.name for each in statements) or "nothing"
        raise InputError(f"the query must be one SELECT; found {kinds}")
