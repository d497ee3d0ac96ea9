"""Files of a population, read a part at a time, again and again.

Every chunk knows where it comes from, so that an error can say where to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from c2rf.exceptions import C2RFError, InputError
from c2rf.files import reading
from c2rf.members import listed
from c2rf.tables import as_numbers, as_text, check_cells, check_kinds, check_names, has_tabs

ROWS_PER_CHUNK = 1 << 16
"""Rows that are read at a time, unless the user makes the chunks."""

_INDEX = ("__index_level_0__",)  # what pandas adds for an index without a name
Columns = Sequence[str] | None


class Chunk(NamedTuple):
    """Some rows of a population, as an array or frame, and where they come from."""

    data: Any
    where: str


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with the same columns, read a part of a row group at a time."""

    paths: tuple[Path, ...]
    rows: int = ROWS_PER_CHUNK

    def chunks(self, columns: Columns = None) -> Iterator[Chunk]:
        """Read the files from the start, in the order of their names."""
        for batch, where in self._batches(columns):
            frame = as_frame(batch)
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
                    for batch in named(batches, where):
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
                for cells in named(parts, str(path)):
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


def as_frame(batch: Any) -> pd.DataFrame:
    """Return an Arrow batch as a frame of plain types."""
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


def named(items: Iterable[Any], where: str) -> Iterator[Any]:
    """Yield the items; an error in reading them, not in using them, names where it was."""
    iterator, end = iter(items), object()
    while True:
        with naming_source(where):
            item = next(iterator, end)
        if item is end:
            return
        yield item
