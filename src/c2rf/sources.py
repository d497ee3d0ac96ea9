"""Populations too large for memory: sources of chunks that can be read again and again.

A population is read more than once, first to count and then to label. :func:`as_source` turns what
a user has, files, datasets, lazy frames or chunks of his own, into a source that starts afresh each
time. Every chunk knows where it comes from, so that an error can say where to look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from c2rf.exceptions import C2RFError, InputError, InputTypeError
from c2rf.files import reading
from c2rf.members import listed
from c2rf.tables import (
    as_numbers,
    as_text,
    check_cells,
    check_kinds,
    check_names,
    check_pyarrow,
    has_tabs,
    is_parquet,
)

ROWS_PER_CHUNK = 1 << 16
"""Rows that are read at a time, unless the user makes the chunks."""

_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".csv.gz", ".tsv.gz", ".tab.gz")
_ONCE = ("RecordBatchReader", "Scanner")
Columns = Sequence[str] | None


class Chunk(NamedTuple):
    """Some rows of a population, as an array or frame, and where they come from."""

    data: Any
    where: str


class Source(Protocol):
    """A population that can be read again and again."""

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read it from the start: only these columns, in this order, as frames.

        Without columns, all of them as plain arrays. What has no names of its own ignores this.
        """


def as_source(given: Any, name: str = "X_unlabeled") -> Source | None:
    """Return a population as a source of chunks, or None if it is a table in memory.

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
    Source or None

    Examples
    --------
    >>> source = as_source([np.zeros((2, 3)), np.ones((1, 3))])
    >>> [(chunk.where, chunk.data.shape) for chunk in source.chunks()]
    [('chunk 0', (2, 3)), ('chunk 1', (1, 3))]
    >>> as_source(np.zeros((2, 3))) is None
    True
    >>> as_source(iter([np.zeros((2, 3))]))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputTypeError: X_unlabeled is read more than once, to count and to label, but \
a list_iterator can be read only once; give a list of chunks, a callable that returns a fresh \
iterator (lambda: ...), or a path
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    if _is_path(given) or (_is_listing(given) and all(map(_is_path, given))):
        return _of_files([given] if _is_path(given) else given)
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
        return Chunks(given, name)
    return None


@dataclass(frozen=True)
class Chunks:
    """Chunks that the user makes: a re-iterable of them, or a callable that returns one."""

    made_by: Iterable[Any] | Callable[[], Iterable[Any]]
    name: str = "X_unlabeled"
    _seen: list[Any] = field(default_factory=list, repr=False, compare=False)

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read them from the start."""
        for k, data in enumerate(self._fresh()):
            if not hasattr(data, "shape") or len(data.shape) != 2:
                raise InputTypeError(
                    f"chunk {k} of {self.name} must be a 2-D array or a data frame; found "
                    f"{_description(data)}"
                )
            package = type(data).__module__.partition(".")[0]
            yield Chunk(_as_frame(data) if package == "pyarrow" else data, f"chunk {k}")

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
            if any(made is seen for seen in self._seen):
                raise InputTypeError(
                    f"the callable given as {self.name} must return a fresh iterator each time; it "
                    "returned the same one again"
                )
            self._seen[:] = [made]
        return made


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with the same columns, read a part of a row group at a time."""

    paths: tuple[Path, ...]
    rows: int = ROWS_PER_CHUNK

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read the files from the start, in the order of their names."""
        for batch, where in self._batches(columns):
            frame = _as_frame(batch)
            yield Chunk(frame if columns is not None else frame.to_numpy(), where)

    def tables(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read the files as ``read_table`` does: all columns have the types of the schema."""
        schema = pick(self.schema, columns)
        for batch, where in self._batches(columns):
            with naming_source(where):
                same = batch if batch.schema.equals(schema) else batch.cast(schema)
            yield Chunk(same.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True), where)

    @cached_property
    def schema(self) -> Any:
        """The columns and their types, with room for the numbers of all files."""
        import pyarrow as pa

        found: Any = None
        for path, schema in zip(self.paths, (f.schema_arrow for f in self._footers), strict=True):
            schema = pick(schema, [name for name in schema.names if name not in _INDEX])
            check_kinds(path, schema)
            if found is None:
                found = first = schema.remove_metadata()
                continue
            check_same_columns(schema.names, first.names, path, self.paths[0])
            _check_same_types(schema, found, path, self.paths[0])
            with naming_source(str(path)):
                found = pa.unify_schemas(
                    [found, schema.remove_metadata()], promote_options="permissive"
                )
        return found

    @property
    def n_rows(self) -> int:
        """Number of rows in all files."""
        return sum(file.metadata.num_rows for file in self._footers)

    @property
    def _footers(self) -> Iterator[Any]:
        for path in self.paths:
            with _opened(path) as file:
                yield file

    def _batches(self, columns: Columns) -> Iterator[tuple[Any, str]]:
        """Read these columns, in this order, and say where they are."""
        first: list[str] | None = None
        for path in self.paths:
            with _opened(path) as file:
                names = [name for name in file.schema_arrow.names if name not in _INDEX]
                first = first or names
                check_same_columns(names, first, path, self.paths[0])
                wanted = wanted_columns(columns, names, str(path))
                for group in range(file.num_row_groups):
                    where = f"{path}, row group {group}"
                    batches = file.iter_batches(self.rows, row_groups=[group], columns=wanted)
                    for batch in _named(batches, where):
                        yield batch.select(wanted), where


@dataclass(frozen=True)
class TextFiles:
    """CSV or TSV files with the same columns; a cell means what it means to ``read_table``."""

    paths: tuple[Path, ...]
    rows: int = ROWS_PER_CHUNK

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read the files from the start, in the order of their names."""
        for cells, where in self._cells(columns):
            frame = cells.apply(_numbers_or_text)
            yield Chunk(frame if columns is not None else frame.to_numpy(), where)

    def tables(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Read the files as ``read_table`` does: cells are text."""
        for cells, where in self._cells(columns):
            with naming_source(where):
                check_cells(where, cells)
            yield Chunk(cells, where)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._header(self.paths[0])

    def _cells(self, columns: Columns) -> Iterator[tuple[pd.DataFrame, str]]:
        """Read these columns, in this order, and say where they are."""
        first: list[str] | None = None
        for path in self.paths:
            names = self._header(path)
            first = first or names
            check_same_columns(names, first, path, self.paths[0])
            wanted = wanted_columns(columns, names, str(path))
            # All columns: else pandas overlooks lines with too many cells.
            with self._read(path, chunksize=self.rows) as parts:
                start = 1  # the header
                for cells in _named(parts, str(path)):
                    frame = cells.iloc[start:].set_axis(names, axis="columns")
                    yield frame[wanted], f"{path}, from data row {cells.index[0]}"
                    start = 0

    def _header(self, path: Path) -> list[str]:
        names = [str(name) for name in self._read(path, nrows=1).iloc[0]]
        check_names(path, names, _separator(path))
        return names

    def _read(self, path: Path, **options: Any) -> Any:
        options |= {"header": None, "dtype": str, "na_filter": False, "encoding": "utf-8-sig"}
        with reading(path):
            return pd.read_csv(path, sep=_separator(path), **options)


@dataclass(frozen=True)
class ArrowDataset:
    """A pyarrow dataset, read file by file; a filtered one as a whole."""

    dataset: Any
    rows: int = ROWS_PER_CHUNK

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read it from the start, in its own order."""
        wanted = wanted_columns(columns, self.dataset.schema.names, "the dataset")
        for part, where, schema in self._parts():
            batches = part.to_batches(columns=wanted, batch_size=self.rows, **_READ_AHEAD, **schema)
            for batch in _named(batches, where):
                yield Chunk(_data(batch, wanted, columns), where)

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


@dataclass(frozen=True)
class LazyFrames:
    """A Polars LazyFrame, collected batch by batch; its rows must have a fixed order."""

    frame: Any
    rows: int = ROWS_PER_CHUNK

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Run the query from the start."""
        if not hasattr(self.frame, "collect_batches"):
            raise InputError("a LazyFrame needs polars 1.34 or later; pip install -U polars")
        where = "the LazyFrame"
        with naming_source(where):
            names = self.frame.collect_schema().names()
        wanted = wanted_columns(columns, names, where)
        batches = self.frame.select(wanted).collect_batches(chunk_size=self.rows)
        start = 0
        for batch in _named(batches, where):
            data = batch.to_numpy() if columns is None else batch
            yield Chunk(data, f"{where}, from row {start}")
            start += len(batch)


_INDEX = ("__index_level_0__",)  # what pandas adds for an index without a name
# More would be read far ahead, which costs memory.
_READ_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}


def _of_files(given: Sequence[Any]) -> Source:
    """Return the files in all these files and folders, which must be of one kind."""
    paths = [path for each in given for path in _files_in(Path(each))]
    parquet = [path for path in paths if is_parquet(path)]
    if not parquet:
        return TextFiles(tuple(paths))
    if len(parquet) < len(paths):
        other = next(path for path in paths if not is_parquet(path))
        raise InputError(
            f"files must be all Parquet or all CSV; found both {parquet[0]} and {other}: name the "
            "ones to read"
        )
    check_pyarrow(parquet[0])
    return ParquetFiles(tuple(parquet))


def _files_in(path: Path) -> list[Path]:
    """Return a file as it is, and the tables in a folder and its folders, in order."""
    if not path.is_dir():
        with reading(path), path.open("rb"):
            return [path]
    found = sorted(each for each in path.rglob("*") if each.is_file() and _is_table(each, path))
    if not found:
        raise InputError(f"the folder {path} holds no Parquet or CSV file")
    return found


def _is_table(file: Path, folder: Path) -> bool:
    """Say whether a file in a folder is a table; dots and underscores mark what is not data."""
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return not hidden and (is_parquet(file) or file.name.lower().endswith(_TEXT_ENDINGS))


def _of_table(table: Any) -> Source:
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


def wanted_columns(columns: Columns, names: Sequence[str], where: str) -> list[str]:
    """Return the columns to read, or say which are not there."""
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InputError(f"{where}: column names must differ; found {twice[0]!r} more than once")
    missing = [name for name in columns or [] if name not in names]
    if missing:
        raise InputError(
            f"{where} lacks columns of X: {listed(missing)}; it has {listed(list(names))}"
        )
    return list(names if columns is None else columns)


def check_same_columns(names: list[str], first: list[str], path: Path, first_path: Path) -> None:
    """Refuse a file with other columns than the first; their order is free."""
    missing = [name for name in first if name not in names]
    added = [name for name in names if name not in first]
    if missing or added:
        differs = f"lacks {listed(missing)}" if missing else f"also has {listed(added)}"
        raise InputError(f"{path} must have the columns of {first_path}; it {differs}")


def _check_same_types(schema: Any, first: Any, path: Path, first_path: Path) -> None:
    """Refuse a file that holds text, say, where the first one holds numbers."""
    for column in schema:
        here, there = _type_class(column.type), _type_class(first.field(column.name).type)
        if here != there and "null" not in (here, there):
            raise InputError(
                f"{path} must have the types of {first_path}; column {column.name!r} holds "
                f"{here} ({column.type}), there {there} ({first.field(column.name).type})"
            )


def _type_class(kind: Any) -> str:
    """Return what all types have in common that a column may have in different files."""
    from pyarrow import types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
        return "text"
    return "dates" if types.is_date(kind) or types.is_timestamp(kind) else str(kind)


def pick(schema: Any, names: Sequence[str]) -> Any:
    """Return the schema of some columns."""
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    with naming_source(str(path)):
        file = ParquetFile(path)
    with file:
        yield file


def _separator(path: Path) -> str:
    return "\t" if has_tabs(path) else ","


def _numbers_or_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of cells as numbers if all of them are, else as text."""
    numbers, text = as_numbers(column), as_text(column)
    return text if (numbers.isna() & text.notna()).any() else numbers


def _data(batch: Any, wanted: list[str], columns: Columns) -> Any:
    """Return an Arrow batch as a frame, or as a plain array where no columns were named."""
    frame = _as_frame(batch.select(wanted))
    return frame if columns is not None else frame.to_numpy()


def _as_frame(batch: Any) -> pd.DataFrame:
    return batch.to_pandas(ignore_metadata=True)


@contextmanager
def naming_source(where: str) -> Iterator[None]:
    """Turn whatever a reader raises into an error that names what was read."""
    try:
        yield
    except C2RFError:
        raise
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"{where} cannot be read: {reason}") from error


def _named(items: Iterable[Any], where: str) -> Iterator[Any]:
    """Yield the items; an error in reading them, not in using them, names where it was."""
    iterator, end = iter(items), object()
    while True:
        with naming_source(where):
            item = next(iterator, end)
        if item is end:
            return
        yield item


def _description(found: Any) -> str:
    shape = np.shape(found) if hasattr(found, "shape") else None
    return f"a {type(found).__name__}" + (f" of shape {shape}" if shape is not None else "")
