"""Tables as a user gives them: frames, files, folders, databases and clusters, read or left there.

:func:`find_rows` finds the rows of one table, :func:`read_frame` reads one into memory, and
:func:`read_tables` does what a classification needs: the labeled rows in memory, the others where
they are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import for_user, option_name, short
from c2rf._utils.types import Floats
from c2rf.data.cells import as_text
from c2rf.data.dialect import AS_FOUND, ReadAs, compression
from c2rf.data.formats import DUCKDB, PARQUET, find_format, naming_source, plain_path, read_file
from c2rf.data.population import as_population
from c2rf.data.population.duckdb import find_table
from c2rf.data.population.files import find_files
from c2rf.data.population.interface import Population
from c2rf.data.population.memory import Memory
from c2rf.data.population.spark import SparkRows, start_session
from c2rf.data.population.spark import read_parquet as read_parquet_by_spark
from c2rf.exceptions import InputError
from c2rf.workflow.known_rows import FILE, with_checked
from c2rf.workflow.options import Options

LARGE_FILE = 1 << 29
"""A file with more bytes than this is read into memory only with ``engine="memory"``."""
READ_AS = "read as"
"""Where a table keeps how its file was understood."""

_PACKED = 6  # about as much smaller are compressed tables of text


def find_rows(
    given: Any,
    engine: str = "auto",
    how: ReadAs = AS_FOUND,
    id: str | None = None,
    query: str | None = None,
) -> Population:
    """Return the rows of a table, kept where the engine says.

    Parameters
    ----------
    given : data frame, path, or population
        A table in memory, a file or a folder of files, or what :func:`as_population` takes.
    engine : {"auto", "memory", "chunks", "dask", "spark"}
        Of a path: read it into memory, leave it in its files and read it in parts, or give its
        Parquet files to Dask or Spark. "auto" leaves folders and large files where they are.
    how : ReadAs
        How files are to be read.
    id : str, optional
        The column that names the rows; a database needs it.
    query : str, optional
        Of a DuckDB file: one SELECT whose rows are meant.
    """
    if isinstance(given, (str, os.PathLike)):
        with naming_source(given):
            return _of_path(Path(given), engine, how, id, query)
    if query is not None:
        raise InputError(
            f"{option_name('query')} needs a DuckDB file; found {_called(given, 'rows')}"
        )
    population = as_population(_with_names(given), "the unlabeled table", id)
    kinds = {
        "memory": isinstance(population, Memory),
        "dask": population.is_distributed,
        "spark": isinstance(population, SparkRows),
    }
    if engine in kinds and not kinds[engine]:
        raise InputError(
            f"engine={engine!r} is not possible for a {type(given).__name__}; leave it out, or "
            "give a path"
        )
    return population


def _with_names(given: Any) -> Any:
    """Return a frame whose columns have text as names."""
    if type(given).__module__.partition(".")[0] != "pandas" or not hasattr(given, "columns"):
        return given
    return given.set_axis([str(name) for name in given.columns], axis="columns")


def _of_path(path: Path, engine: str, how: ReadAs, id: str | None, query: str | None) -> Population:
    is_database = not path.is_dir() and find_format(path) is DUCKDB
    if query is not None and not is_database:
        raise InputError(f"{option_name('query')} needs a DuckDB file; found {path}")
    if is_database and engine in ("auto", "chunks"):
        return find_table(path, id, query)
    if engine == "dask":
        from c2rf.data.population.dask import DaskRows, read_parquet

        rows: Population = DaskRows(read_parquet(path))
        rows.read_as = "Parquet"
        return rows
    if engine == "spark":
        if find_files([path]).kind is not PARQUET:
            raise InputError(
                f"{path} must be a Parquet file or a folder of them; found other files"
            )
        return SparkRows(read_parquet_by_spark(path), id, str(path))
    in_chunks = path.is_dir() or find_format(path).in_chunks
    if engine == "chunks" or (engine == "auto" and in_chunks and is_large(path)):
        files = find_files([path], how, as_tables=True)
        if files.n_rows == 0:
            raise InputError(f"{path} has columns but no rows")
        files.name = str(path)
        return files
    table = read_file(path, how)
    memory = Memory(table.frame)
    memory.dialect, memory.read_as = table.dialect, table.read_as
    return memory


def is_large(path: Path, limit: int = LARGE_FILE) -> bool:
    """Whether a file is too large to be read into memory unasked; a folder always is."""
    if path.is_dir():
        return True
    file = plain_path(path)
    packed = _PACKED if compression(file) is not None else 1
    return file.stat().st_size * packed > limit


@contextmanager
def at_scheduler(
    address: str | None, engine: str, n_jobs: int | None = None, master: str | None = None
) -> Iterator[None]:
    """Let Dask compute on the cluster of a scheduler, or on ``n_jobs`` threads of our own.

    A cluster has as many workers as it has: there, ``n_jobs`` is for what is learned here.
    """
    for name, given, needed in (("scheduler", address, "dask"), ("master", master, "spark")):
        if given is not None and engine != needed:
            option = for_user(f'engine="{needed}"', f"--engine {needed}")
            raise InputError(f"{option_name(name)} is an option of {option}; give both, or neither")
    if engine == "spark":
        start_session(master)
    if engine != "dask":
        yield
        return
    from c2rf.data.population.dask import connected, using_threads

    with connected(address), using_threads(None if address else n_jobs):
        yield


def column_names(rows: Population) -> list[str]:
    """Return the names of the columns of a population, which it must have."""
    if rows.names is None:
        raise InputError(
            "the unlabeled rows must have columns with names: give a data frame, a path, a "
            "dataset, a lazy frame or a Dask DataFrame"
        )
    return rows.names


class Tables(NamedTuple):
    """Both tables of a classification, as they were read.

    Parameters
    ----------
    names : tuple of str
        What the labeled and the unlabeled table are called, and the check file if there is one.
    labeled : DataFrame
        The labeled rows.
    rows : Population
        The unlabeled rows.
    read_as : tuple of str
        How these files were understood; empty for tables in memory.
    decimal : str or None
        The decimal mark of the files.
    drawn_with : ndarray, optional
        With which probability each of the last labeled rows, which were checked, was drawn.
    """

    names: tuple[str, ...]
    labeled: pd.DataFrame
    rows: Population
    read_as: tuple[str, ...]
    decimal: str | None = None
    drawn_with: Floats | None = None


def read_tables(labeled: Any, unlabeled: Any, options: Options) -> Tables:
    """Read the labeled rows, and those that were checked, and find the unlabeled ones.

    Without an unlabeled table they are the labeled rows whose target is empty.
    """
    how, target = options.read_as, options.target
    names = [_called(labeled, "the labeled table"), _called(unlabeled, "the unlabeled table")]
    table, read = _read_labeled(labeled, how)
    if options.missing and target in table:
        known = as_text(table[target], options.missing).notna()
        table = table.assign(**{target: table[target].where(known)})
    if unlabeled is None:
        table, rest = _by_target(table, target)
        names, rows = [names[0]] * 2, find_rows(rest, options.engine)
        rows.dialect = read.dialect
    else:
        rows = find_rows(unlabeled, options.engine, how, options.id, options.query)
    drawn_with, read_as = None, [read.read_as, rows.read_as]
    if options.checked is not None and target in table:
        sheet = read_frame(options.checked, "the check file", how)
        table, drawn_with = with_checked(table, rows, sheet, target, options.id)
        names.append(_called(options.checked, "the check file"))
        read_as.append(sheet.attrs.get(READ_AS, ""))
    marks = (each.dialect.decimal for each in (read, rows) if each.dialect is not None)
    decimal = next(filter(None, marks), None)
    return Tables(tuple(names), table, rows, tuple(read_as), decimal, drawn_with)


def _read_labeled(given: Any, how: ReadAs) -> tuple[pd.DataFrame, Population]:
    """Return the labeled table as a frame of pandas, and as what was read."""
    if not isinstance(given, (str, os.PathLike)) and not hasattr(given, "columns"):
        raise InputError(
            f"the labeled table must be a data frame or a path; found a {type(given).__name__}"
        )
    rows = find_rows(given, "memory", how)
    if not rows.n_rows:
        raise InputError("the labeled table has no rows")
    return as_pandas(next(rows.read())[0]), rows


def read_frame(given: Any, what: str, how: ReadAs = AS_FOUND) -> pd.DataFrame:
    """Return a table in memory, whatever it was given as; it keeps the name of its file."""
    if hasattr(given, "frame") and not hasattr(given, "columns"):  # predictions, in chunks
        return given.frame()
    found = find_rows(given, "memory", how)
    parts = [as_pandas(part) for part, _ in found.read(found.names)]
    if not parts or not sum(map(len, parts)):
        raise InputError(f"there are no rows in {what}")
    table = pd.concat(parts, ignore_index=True)
    name = getattr(given, "attrs", {}).get(FILE)
    if isinstance(given, (str, Path)):
        name = Path(given).name
    table.attrs = {READ_AS: found.read_as} | ({} if name is None else {FILE: name})
    return table


def _called(given: Any, otherwise: str) -> str:
    return short(Path(given).name, 80) if isinstance(given, (str, os.PathLike)) else otherwise


def _by_target(table: pd.DataFrame, target: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split one table into the rows whose target is known and the others."""
    if target not in table:
        return table, table  # the check of the target says so
    known = as_text(table[target]).notna()
    rest = table[~known].drop(columns=target).reset_index(drop=True)
    if not len(rest):
        raise InputError(
            f"there are no rows to label: no cell of the target {target!r} is empty, and no "
            "unlabeled table was given"
        )
    return table[known].reset_index(drop=True), rest
