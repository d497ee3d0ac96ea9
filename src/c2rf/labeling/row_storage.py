"""Where the unlabeled rows are kept: in memory, in their files, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from c2rf._text import for_user, option_name
from c2rf.exceptions import InputError
from c2rf.files.compressed import compression
from c2rf.files.dialect import AS_FOUND, ReadAs
from c2rf.files.tables import PARQUET, find_format, plain_path, read_file
from c2rf.population import Memory, Population, as_population
from c2rf.population.files import Files, check_parts, find_files

LARGE_FILE = 1 << 29
"""A file with more bytes than this is not taken into memory, unless that is asked for."""
_PACKED = 6  # about as much smaller are compressed tables of text


def find_rows(given: Any, engine: str = "auto", how: ReadAs = AS_FOUND) -> Population:
    """Return the rows of a table, kept where the engine says.

    Parameters
    ----------
    given : data frame, path, or population
        A table in memory, a file or a folder of files, or what :func:`as_population` takes.
    engine : {"auto", "memory", "chunks", "dask"}
        Of a path: read it into memory, leave it in its files and read it in parts, or give its
        Parquet files to Dask. "auto" leaves folders and large files where they are.
    how : ReadAs
        How files are to be read.
    """
    if isinstance(given, (str, os.PathLike)):
        return _of_path(Path(given), engine, how)
    population = as_population(_with_names(given), "the unlabeled table")
    kinds = {"memory": isinstance(population, Memory), "dask": population.is_elsewhere}
    if engine in kinds and not kinds[engine]:
        raise InputError(
            f"engine={engine!r} is not possible for a {type(given).__name__}; leave it out, or "
            "give a path"
        )
    return population


@contextmanager
def at_scheduler(address: str | None, engine: str, n_jobs: int | None = None) -> Iterator[None]:
    """Let Dask compute on the cluster of a scheduler, or on ``n_jobs`` threads of our own.

    A cluster has as many workers as it has: there, ``n_jobs`` is for what is learned here.
    """
    if address is not None and engine != "dask":
        dask = for_user('engine="dask"', "--engine dask")
        asked = option_name("scheduler")
        raise InputError(f"{asked} is an option of {dask}; give both, or neither")
    if engine != "dask":
        yield
        return
    from c2rf.population.cluster import connected, using_threads

    with connected(address), using_threads(None if address else n_jobs):
        yield


def _with_names(given: Any) -> Any:
    """Return a frame whose columns have text as names."""
    if type(given).__module__.partition(".")[0] != "pandas" or not hasattr(given, "columns"):
        return given
    return given.set_axis([str(name) for name in given.columns], axis="columns")


def _of_path(path: Path, engine: str, how: ReadAs) -> Population:
    if engine == "dask":
        from c2rf.population.dask import DaskRows, read_parquet

        rows: Population = DaskRows(read_parquet(path))
        rows.read_as = "Parquet"
        return rows
    kind = None if path.is_dir() else find_format(path)
    if engine == "chunks":
        check_parts(path, kind)
    in_parts = kind in (None, PARQUET) or kind.in_parts
    if engine == "chunks" or (engine == "auto" and in_parts and is_large(path)):
        files = Files(find_files([path], how), as_tables=True)
        if files.n_rows == 0:
            raise InputError(f"{path} has columns but no rows")
        files.name = str(path)
        files.read_as = str(files.dialect or (PARQUET if kind is None else kind).name)
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
