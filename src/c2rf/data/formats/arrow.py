"""Parquet, Arrow and Feather files, which keep the types of their columns.

Files of one population may store a column in different types of numbers: they are cast to a common
schema. Dask reads row groups of Parquet files on its own, see :func:`row_groups`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.data.dialect import ReadAs
from c2rf.data.formats import (
    PARQUET,
    Identity,
    ReadTable,
    check_names,
    check_same_columns,
    check_unchanged,
    file_identity,
    find_format,
    naming_source,
)
from c2rf.exceptions import InputError

_UNNAMED_INDEX = "__index_level_"  # what pandas writes for an index without a name

RowGroups = tuple[Path, tuple[int, ...], Identity]
"""A Parquet file, some of its row groups, and what it was when they were listed."""


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a file; an index that pandas wrote without a name is not a column."""
    schema = common_schema([path])
    if find_format(path) is PARQUET:
        with _parquet(path) as file:
            return ReadTable(as_table(file.read().select(schema.names), schema), "Parquet")
    import pyarrow as pa

    with _arrow(path) as (found, batches):
        content = pa.Table.from_batches(batches, found)
        content.validate(full=True)
        return ReadTable(as_table(content.select(schema.names), schema), "Arrow")


def names(path: Path, how: ReadAs) -> list[str]:
    """Return the columns of a file."""
    return list(_schema(path).names)


def chunks(
    path: Path, how: ReadAs, columns: Sequence[str], n_rows: int, schema: Any = None
) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield some columns of at most so many rows at a time, and where they are from.

    Parameters
    ----------
    path, how : Path, ReadAs
        The file; there is nothing to say about it.
    columns : sequence of str
        The columns to read.
    n_rows : int
        The most rows of a chunk.
    schema : pyarrow.Schema, optional
        Types of Arrow to cast to, as :func:`common_schema` returns them; else the types of the
        frames are those of numpy.
    """
    batches = _row_group_batches if find_format(path) is PARQUET else _arrow_batches
    for batch, where in batches(path, columns, n_rows):
        rows = batch.select(list(columns))
        with naming_source(where):
            if schema is None:
                table = rows.to_pandas(ignore_metadata=True)
            else:
                table = as_table(rows, _pick(schema, columns))
        yield table, where


def _schema(path: Path) -> Any:
    """Return the columns of a file and their types."""
    if find_format(path) is PARQUET:
        with _parquet(path) as file:
            found = file.schema_arrow
    else:
        with _arrow(path) as (found, _):
            pass
    import pyarrow as pa

    named = [each for each in found if not each.name.startswith(_UNNAMED_INDEX)]
    # Many functions of Arrow do not know views yet.
    views = {pa.string_view(): pa.string()}
    return pa.schema([each.with_type(views.get(each.type, each.type)) for each in named])


def common_schema(paths: Sequence[Path]) -> Any:
    """Return the columns of files and their types, wide enough for the numbers of all files."""
    import pyarrow as pa

    found: Any = None
    for path in paths:
        schema = _schema(path)
        check_types(schema, path)
        if found is None:
            found = schema
            continue
        check_same_columns(schema.names, found.names, path, paths[0])
        try:
            found = pa.unify_schemas([found, schema], promote_options="permissive")
        except pa.ArrowException as error:  # text where the first one holds numbers, say
            raise InputError(f"{path} must have the types of {paths[0]}: {error}") from error
    return found


def as_arrow(frames: Iterable[pd.DataFrame]) -> Any:
    """Return frames that follow each other as one table of Arrow."""
    import pyarrow as pa

    tables = (pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)
    return pa.concat_tables(tables)


def check_types(schema: Any, path: object) -> None:
    """Refuse columns whose cells are not single values."""
    from pyarrow import types

    check_names(path, schema.names)
    for name, kind in zip(schema.names, schema.types, strict=True):
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            raise InputError(
                f"{path}: columns must hold numbers, text, dates or true and false; "
                f"found {name!r} of type {kind}: remove it"
            )


def _pick(schema: Any, names: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names])


def as_table(batch: Any, schema: Any = None) -> pd.DataFrame:
    """Return an Arrow batch as a frame of Arrow's types, cast to those of a schema."""
    if schema is not None and not batch.schema.equals(schema):
        batch = batch.cast(schema)
    return batch.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)


def n_rows(path: Path) -> int:
    """Return the number of rows of a Parquet file, as its footer has it."""
    with _parquet(path) as file:
        return int(file.metadata.num_rows)


def row_groups(paths: Sequence[Path], most_rows: int) -> Iterator[RowGroups]:
    """Yield row groups to be read at once: neighbours of a Parquet file, up to so many rows."""
    for path in paths:
        identity = file_identity(path)
        with _parquet(path) as file:
            sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
        groups: list[int] = []
        for k, size in enumerate(sizes):
            if groups and sum(sizes[g] for g in groups) + size > most_rows:
                yield path.absolute(), tuple(groups), identity
                groups = []
            groups.append(k)
        if groups:
            yield path.absolute(), tuple(groups), identity


def read_row_groups(
    source: RowGroups, schema: Any, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Read some columns of row groups, cast to a schema."""
    path, groups, identity = source
    wanted = list(schema.names if columns is None else columns)
    with _parquet(path, f"{path}, row group {groups[0]}") as file:
        rows = file.read_row_groups(list(groups), columns=wanted)
        check_unchanged(path, identity)
        return as_table(rows.select(wanted), _pick(schema, wanted))


def _row_group_batches(
    path: Path, columns: Sequence[str], n_rows: int
) -> Iterator[tuple[Any, str]]:
    with _parquet(path) as file:
        for group in range(file.num_row_groups):
            where = f"{path}, row group {group}"
            with naming_source(where):
                options = {"row_groups": [group], "columns": list(columns)}
                for batch in file.iter_batches(n_rows, **options):
                    yield batch, where


def _arrow_batches(path: Path, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Any, str]]:
    start = 1
    with _arrow(path) as (_, batches):
        for batch in batches:
            batch.validate(full=True)  # else lengths and places may lead out of its memory
            for k in range(0, batch.num_rows, n_rows):
                yield batch.slice(k, n_rows), f"{path}, from data row {start + k}"
            start += batch.num_rows


@contextmanager
def _parquet(path: Path, where: object = None) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    with naming_source(where or path), ParquetFile(path) as file:
        yield file


@contextmanager
def _arrow(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open an Arrow file: the types of its columns, and the batches in which it was written."""
    import pyarrow as pa
    from pyarrow import ipc

    with naming_source(path), pa.OSFile(str(path)) as file:
        start = file.read(6)
        file.seek(0)
        is_file = start == b"ARROW1"
        with (ipc.open_file if is_file else ipc.open_stream)(file) as content:
            if is_file:
                yield content.schema, map(content.get_batch, range(content.num_record_batches))
            else:
                yield content.schema, iter(content)
