"""Parquet, Arrow and Feather files, which keep the types of their columns.

Parquet files read a part at a time, again and again.

Every part comes with the place it is from, so that an error can say where to look.

Parquet, Arrow and Feather files, which keep the types of their columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from c2rf._utils.text import listed
from c2rf._utils.types import Columns
from c2rf.data.cells import check_kinds
from c2rf.data.dialect import ReadAs, check_names, reading
from c2rf.exceptions import C2RFError, InputError

ROWS_PER_CHUNK = 1 << 16
"""Rows that are read at a time."""

_INDEX = ("__index_level_0__",)  # what pandas adds for an index without a name


class Piece(NamedTuple):
    """Some row groups of a Parquet file."""

    file: Path
    groups: tuple[int, ...]


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with the same columns, read a part of a row group at a time."""

    paths: tuple[Path, ...]
    rows: int = ROWS_PER_CHUNK

    def frames(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Read the files from the start, as frames of plain types."""
        for batch, where in self._batches(columns):
            yield as_frame(batch), where

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[pd.DataFrame, str]]:
        """Read the files as ``read_table`` does: all columns have the types of the schema."""
        schema = pick(self.schema, columns)
        for batch, where in self._batches(columns):
            with naming_source(where):
                yield as_table(batch, schema), where

    def pieces(self, most_rows: int) -> Iterator[Piece]:
        """Yield row groups that are read at once, several of a file up to a number of rows."""
        for path, file in zip(self.paths, self._footers, strict=True):
            groups: list[int] = []
            n_rows = 0
            for k in range(file.num_row_groups):
                size = file.metadata.row_group(k).num_rows
                if groups and n_rows + size > most_rows:
                    yield Piece(path.absolute(), tuple(groups))
                    groups, n_rows = [], 0
                groups.append(k)
                n_rows += size
            if groups:
                yield Piece(path.absolute(), tuple(groups))

    def read_piece(self, piece: Piece, columns: Sequence[str]) -> pd.DataFrame:
        """Read a piece as :meth:`tables` does."""
        with (
            naming_source(f"{piece.file}, row group {piece.groups[0]}"),
            _opened(piece.file) as file,
        ):
            rows = file.read_row_groups(list(piece.groups), columns=list(columns))
            return as_table(rows.select(list(columns)), pick(self.schema, columns))

    @property
    def header(self) -> pd.DataFrame:
        """A table without rows that has all columns, with their types."""
        return as_table(self.schema.empty_table(), self.schema)

    @property
    def names(self) -> list[str]:
        """The names of the columns, by the first file."""
        with _opened(self.paths[0]) as file:
            return [name for name in file.schema_arrow.names if name not in _INDEX]

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


def wanted_columns(columns: Columns, names: Sequence[str], where: str) -> list[str]:
    """Return the columns to read, or say which are not there."""
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise InputError(f"{where}: column names must differ; found {twice[0]!r} more than once")
    there = set(names)
    missing = [name for name in columns or [] if name not in there]
    if missing:
        raise InputError(
            f"{where} lacks columns of X: {listed(missing)}; it has {listed(list(names))}"
        )
    return list(names if columns is None else columns)


def check_same_columns(names: list[str], first: list[str], path: Path, first_path: Path) -> None:
    """Refuse a file with other columns than the first; their order is free."""
    here, there = set(names), set(first)
    missing = [name for name in first if name not in here]
    added = [name for name in names if name not in there]
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


def as_frame(batch: Any) -> pd.DataFrame:
    """Return an Arrow batch as a frame of plain types."""
    return batch.to_pandas(ignore_metadata=True)


def as_table(batch: Any, schema: Any) -> pd.DataFrame:
    """Return an Arrow batch as a frame of Arrow's types, cast to those of a schema."""
    same = batch if batch.schema.equals(schema) else batch.cast(schema)
    return same.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)


@contextmanager
def naming_source(where: str) -> Iterator[None]:
    """Turn whatever a reader raises into an error that names what was read."""
    try:
        yield
    except (C2RFError, MemoryError):
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


_UNNAMED_INDEX = "__index_level_"


def read(path: Path, how: ReadAs) -> tuple[pd.DataFrame, str]:
    """Read a file; an index that pandas wrote without a name is not a column."""
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1" or path.suffix.lower() in (".parquet", ".pq")
    name = "Parquet" if is_parquet else "Arrow"
    with _naming(path, name):
        content = _parquet(path) if is_parquet else _arrow(path)
        return _frame(content, _named_columns(path, content.schema)), name


def names(path: Path, how: ReadAs) -> list[str]:
    """Return the columns of an Arrow file."""
    with _naming(path, "Arrow"), closing(_batches(path)) as batches:
        return _named_columns(path, next(batches).schema)


def parts(
    path: Path, how: ReadAs, columns: Sequence[str], n_rows: int
) -> Iterator[tuple[pd.DataFrame, int]]:
    """Yield some columns of an Arrow file, a number of rows at a time, and that of the first."""
    start = 1
    with _naming(path, "Arrow"), closing(_batches(path)) as batches:
        for batch in batches:
            for k in range(0, batch.num_rows, n_rows):
                yield _frame(batch.slice(k, n_rows), columns), start + k
            start += batch.num_rows


@contextmanager
def _naming(path: Path, name: str) -> Iterator[None]:
    """Turn what Arrow says about a file into an error that names it."""
    import pyarrow as pa

    try:
        with reading(path):
            yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is not a complete {name} file: {reason}") from error


def _named_columns(path: Path, schema: Any) -> list[str]:
    check_names(path, schema.names)
    check_kinds(path, schema)
    return [name for name in schema.names if not name.startswith(_UNNAMED_INDEX)]


def _frame(content: Any, columns: Sequence[str]) -> pd.DataFrame:
    content = content.select(list(columns))
    return content.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)


def _batches(path: Path) -> Generator[Any, None, None]:
    """Yield the parts in which a file was written, after an empty one for the names."""
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        with (ipc.open_file if is_file else ipc.open_stream)(file) as content:
            yield content.schema.empty_table()
            if is_file:
                yield from map(content.get_batch, range(content.num_record_batches))
            else:
                yield from content


def _parquet(path: Path) -> Any:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return file.read()


def _arrow(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import feather, ipc

    try:
        return feather.read_table(path)
    except pa.ArrowInvalid:
        with path.open("rb") as file, ipc.open_stream(file) as stream:
            return stream.read_all()
