"""Populations outside of memory: files, datasets, lazy frames, and chunks that the user makes.

Files of formats with types, other than Parquet, read a part at a time, again and again.

Populations outside of memory: files, datasets, lazy frames, and chunks that the user makes.

A population is read more than once, first to count and then to label. Each class here starts
afresh each time. Every part comes with its place, so that an error can say where to look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.text import for_user
from c2rf._utils.types import Columns
from c2rf.data.cells import CellFiles
from c2rf.data.dialect import AS_FOUND, ReadAs, check_names, reading
from c2rf.data.formats.arrow import (
    ROWS_PER_CHUNK,
    ParquetFiles,
    as_frame,
    check_same_columns,
    named,
    naming_source,
    wanted_columns,
)
from c2rf.data.formats.text import TextFiles
from c2rf.data.opening import ENDINGS
from c2rf.data.population.interface import Population
from c2rf.data.read import PARQUET, Format, find_format, is_parquet, plain_path
from c2rf.exceptions import InputError, InputTypeError


@dataclass(frozen=True)
class TypedFiles(CellFiles):
    """Files of one format with the same columns."""

    paths: tuple[Path, ...]
    kind: Format
    how: ReadAs = AS_FOUND
    rows: int = ROWS_PER_CHUNK

    def tables(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Read these columns, in this order, and say where they are."""
        first = self.names
        for path in self.paths:
            names = self._names(path)
            check_same_columns(names, first, path, self.paths[0])
            wanted = wanted_columns(columns, names, str(path))
            for part, start in self.kind.module.parts(path, self.how, wanted, self.rows):
                yield part, f"{path}, from data row {start}"

    n_rows: None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._names(self.paths[0])

    def _names(self, path: Path) -> list[str]:
        self.kind.check_package(path)
        with reading(path):
            status = plain_path(path).stat()
        return list(_find_names(path, self.kind, self.how, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=256)
def _find_names(path: Path, kind: Format, how: ReadAs, size: int, changed: int) -> tuple[str, ...]:
    """Look at a file once, and again if it has changed: JSON lines name columns anywhere."""
    names = kind.module.names(path, how)
    check_names(path, names)
    return tuple(names)


_TEXT_ENDINGS = tuple(
    text + packed for text in (".csv", ".tsv", ".tab") for packed in ("", *ENDINGS)
)
PartFiles = ParquetFiles | TextFiles | TypedFiles
"""Files that are read in parts."""
_ONCE = ("RecordBatchReader", "Scanner")


def outside_memory(given: Any, name: str = "X_unlabeled") -> Population | None:
    """Return what a user has as a population, or None if it is a table in memory.

    Parameters
    ----------
    given : object
        A path or a list of paths (files or folders of Parquet or CSV), a pyarrow dataset or table,
        a Polars LazyFrame, a list or another re-iterable of chunks (arrays or frames), or a
        callable that returns a fresh iterator of chunks.
    name : str
        What the user calls it.

    Returns
    -------
    Population or None

    Examples
    --------
    >>> rows = outside_memory([np.zeros((2, 3)), np.ones((1, 3))])
    >>> [(chunk.where, chunk.data.shape) for chunk in rows.chunks()]
    [('chunk 0', (2, 3)), ('chunk 1', (1, 3))]
    >>> outside_memory(np.zeros((2, 3))) is None
    True
    >>> outside_memory(iter([np.zeros((2, 3))]))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputTypeError: X_unlabeled is read more than once, to count and to label, but \
a list_iterator can be read only once; give a list of chunks, a callable that returns a fresh \
iterator (lambda: ...), or a path
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    if _is_path(given) or (_is_listing(given) and all(map(_is_path, given))):
        return Files(find_files([given] if _is_path(given) else given))
    if package == "pyarrow" and kind.__name__ == "Table":
        return _of_table(given)
    if package == "pyarrow" and hasattr(given, "get_fragments"):
        return ArrowDataset(given)
    if package == "polars" and kind.__name__ == "LazyFrame":
        return LazyFrames(given)
    if isinstance(given, Iterator) or (package == "pyarrow" and kind.__name__ in _ONCE):
        raise InputTypeError(
            f"{name} is read more than once, to count and to label, but a {kind.__name__} can be "
            "read only once; give a list of chunks, a callable that returns a fresh iterator "
            "(lambda: ...), or a path"
        )
    if _is_chunks(given):
        return UserChunks(given, name)
    return None


class Files(Population):
    """Files of one format that is read in parts, with the same columns.

    Parameters
    ----------
    files : ParquetFiles, TextFiles or TypedFiles
        Which ones.
    as_tables : bool
        Whether cells are as ``read_table`` has them, those of text files as text; else columns
        are numbers where all their cells are.
    """

    def __init__(self, files: PartFiles, *, as_tables: bool = False) -> None:
        self.files, self.as_tables = files, as_tables
        self.n_rows = files.n_rows
        if isinstance(files, TextFiles):
            self.dialect = files.layout().dialect

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Read the files in the order of their names."""
        if self.as_tables:
            yield from self.files.tables(self.names if columns is None else columns)
        elif columns is not None:
            yield from self.files.frames(columns)
        else:
            yield from ((frame.to_numpy(), where) for frame, where in self.files.frames())

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.files.names


class UserChunks(Population):
    """Chunks that the user makes: a re-iterable of them, or a callable that returns one."""

    def __init__(
        self,
        made_by: Iterable[Any] | Callable[[], Iterable[Any]],
        name: str = "X_unlabeled",
    ) -> None:
        self.made_by, self.name = made_by, name
        self._last: Any = None

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Ask for fresh chunks."""
        for k, data in enumerate(self._fresh()):
            if not hasattr(data, "shape") or len(data.shape) != 2:
                raise InputTypeError(
                    f"chunk {k} of {self.name} must be a 2-D array or a data frame; found "
                    f"{_description(data)}"
                )
            package = type(data).__module__.partition(".")[0]
            yield as_frame(data) if package == "pyarrow" else data, f"chunk {k}"

    def _fresh(self) -> Iterable[Any]:
        if not callable(self.made_by):
            return self.made_by
        made = self.made_by()
        if not isinstance(made, Iterable):
            raise InputTypeError(
                f"the callable given as {self.name} must return an iterator of chunks; it returned "
                f"{_description(made)}"
            )
        if isinstance(made, Iterator):
            if made is self._last:
                raise InputTypeError(
                    f"the callable given as {self.name} must return a fresh iterator each time; it "
                    "returned the same one again"
                )
            self._last = made
        return made


class ArrowDataset(Population):
    """A pyarrow dataset, read file by file; a filtered one as a whole."""

    def __init__(self, dataset: Any, rows: int = ROWS_PER_CHUNK) -> None:
        self.dataset, self.rows = dataset, rows

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.dataset.schema.names)

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Read it in its own order."""
        wanted = wanted_columns(columns, self.dataset.schema.names, "the dataset")
        for part, where, schema in self._parts():
            batches = part.to_batches(columns=wanted, batch_size=self.rows, **_READ_AHEAD, **schema)
            for batch in named(batches, where):
                yield _data(batch, wanted, columns), where

    def _parts(self) -> Iterator[tuple[Any, str, dict[str, Any]]]:
        """Yield what can be read on its own, and what to call it."""
        try:
            fragments = list(self.dataset.get_fragments())
        except ValueError:  # a filtered dataset does not tell its fragments
            yield self.dataset, "the dataset", {}
            return
        for k, fragment in enumerate(fragments):
            where = getattr(fragment, "path", f"fragment {k} of the dataset")
            yield fragment, where, {"schema": self.dataset.schema}


class LazyFrames(Population):
    """A Polars LazyFrame, collected batch by batch; its rows must have a fixed order."""

    def __init__(self, frame: Any, rows: int = ROWS_PER_CHUNK) -> None:
        self.frame, self.rows = frame, rows

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        with naming_source("the LazyFrame"):
            return list(self.frame.collect_schema().names())

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Run the query."""
        if not hasattr(self.frame, "collect_batches"):
            raise InputError("a LazyFrame needs polars 1.34 or later; pip install -U polars")
        where = "the LazyFrame"
        wanted = wanted_columns(columns, self.names, where)
        batches = self.frame.select(wanted).collect_batches(chunk_size=self.rows)
        start = 0
        for batch in named(batches, where):
            data = batch.to_numpy() if columns is None else batch
            yield data, f"{where}, from row {start}"
            start += len(batch)


# More would be read far ahead, which costs memory.
_READ_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}


def find_files(given: Sequence[Any], how: ReadAs = AS_FOUND) -> PartFiles:
    """Return the files in all these files and folders, which must be of one kind."""
    paths = [path for each in given for path in _files_in(Path(each))]
    kinds = [find_format(path) for path in paths]
    kind = kinds[0]
    if any(other is not kind for other in kinds):
        other = next(path for path, found in zip(paths, kinds, strict=True) if found is not kind)
        raise InputError(
            f"files must be of one format, all Parquet or all CSV; found both {paths[0]} and "
            f"{other}: name the ones to read"
        )
    if kind is None:
        return TextFiles(tuple(paths), how)
    check_parts(paths[0], kind)
    kind.check_package(paths[0])
    return ParquetFiles(tuple(paths)) if kind is PARQUET else TypedFiles(tuple(paths), kind, how)


def check_parts(path: Path, kind: Format | None) -> None:
    """Refuse a format that cannot be read in parts."""
    if kind not in (None, PARQUET) and not kind.in_parts:
        option = for_user("with engine='memory' or as a frame", "with --engine memory")
        raise InputError(
            f"{path}: {kind.name} is not read in parts; read it {option}, or save it as CSV or "
            "Parquet"
        )


def _files_in(path: Path) -> list[Path]:
    """Return a file as it is, and the tables in a folder and its folders, in order."""
    if not path.is_dir():
        with reading(path), plain_path(path).open("rb"):
            return [path]
    found = sorted(each for each in path.rglob("*") if each.is_file() and _is_table(each, path))
    if not found:
        raise InputError(f"the folder {path} holds no Parquet or CSV file")
    return found


def _is_table(file: Path, folder: Path) -> bool:
    """Say whether a file in a folder is a table; dots and underscores mark what is not data."""
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return not hidden and (is_parquet(file) or file.name.lower().endswith(_TEXT_ENDINGS))


def _of_table(table: Any) -> Population:
    from pyarrow import dataset

    return ArrowDataset(dataset.dataset(table))


def _is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


def _is_listing(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and len(given) > 0


def _is_chunks(given: Any) -> bool:
    """Say whether it is a collection of tables, not a table."""
    if any(hasattr(given, sign) for sign in ("shape", "__array__", "__dataframe__")):
        return False
    if isinstance(given, (list, tuple)):  # of rows, or of chunks?
        return _is_listing(given) and all(len(getattr(part, "shape", ())) == 2 for part in given)
    return callable(given) or isinstance(given, Iterable)


def _data(batch: Any, wanted: list[str], columns: Columns) -> Any:
    """Return an Arrow batch as a frame, or as a plain array where no columns were named."""
    frame = as_frame(batch.select(wanted))
    return frame if columns is not None else frame.to_numpy()


def _description(found: Any) -> str:
    shape = np.shape(found) if hasattr(found, "shape") else None
    return f"a {type(found).__name__}" + (f" of shape {shape}" if shape is not None else "")
