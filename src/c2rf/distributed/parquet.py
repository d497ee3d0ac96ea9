"""Parquet files as a Dask DataFrame: partitions of a good size, errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from c2rf.chunks import ParquetFiles, check_same_columns, naming_source
from c2rf.exceptions import InputError
from c2rf.sources import as_source

MOST_ROWS = 1 << 18
"""Row groups of a file are put together in a partition up to so many rows."""


class Piece(NamedTuple):
    """Some row groups of a file, for one partition."""

    file: Path
    groups: tuple[int, ...]


def read_parquet(path: Path) -> Any:
    """Return a Parquet file, or all in a folder, as a Dask DataFrame of Arrow types.

    Parameters
    ----------
    path : Path
        All files must have the same columns, in any order.

    Returns
    -------
    dask DataFrame
        A partition is a number of row groups of one file; only columns that are used are read.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in "ab":
    ...     pd.DataFrame({"x": [1, 2]}).to_parquet(folder / f"{name}.parquet")
    >>> frame = read_parquet(folder)
    >>> frame.npartitions, frame["x"].compute().tolist()
    (2, [1, 2, 1, 2])
    """
    import dask.dataframe as dd
    from pyarrow.parquet import ParquetFile

    files = as_source(path)
    if not isinstance(files, ParquetFiles):
        raise InputError(f"{path} must be a Parquet file or a folder of them; found other files")
    pieces: list[Piece] = []
    headers: list[pd.DataFrame] = []
    for file in files.paths:
        with naming_source(str(file)), ParquetFile(file) as opened:
            headers.append(_as_frame(opened.schema_arrow.empty_table()))
            sizes = [opened.metadata.row_group(k).num_rows for k in range(opened.num_row_groups)]
        names, first = ([str(name) for name in header] for header in (headers[-1], headers[0]))
        check_same_columns(names, first, file, files.paths[0])
        pieces += _pieces(file.absolute(), sizes)
    if not pieces:
        raise InputError(f"{path} has columns but no rows")
    return dd.from_map(_read, pieces, names=first, meta=headers[0])


def _pieces(file: Path, sizes: Sequence[int]) -> Iterator[Piece]:
    """Put row groups together until they are worth a partition."""
    groups: list[int] = []
    n_rows = 0
    for k, size in enumerate(sizes):
        if groups and n_rows + size > MOST_ROWS:
            yield Piece(file, tuple(groups))
            groups, n_rows = [], 0
        groups.append(k)
        n_rows += size
    if groups:
        yield Piece(file, tuple(groups))


def _read(piece: Piece, names: Sequence[str], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a partition; what cannot be read names the file."""
    from pyarrow.parquet import ParquetFile

    wanted = list(names if columns is None else columns)
    where = f"{piece.file}, row group {piece.groups[0]}"
    with naming_source(where), ParquetFile(piece.file) as file:
        return _as_frame(file.read_row_groups(list(piece.groups), columns=wanted))[wanted]


def _as_frame(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    return frame[[name for name in frame if not str(name).startswith("__index_level_")]]
