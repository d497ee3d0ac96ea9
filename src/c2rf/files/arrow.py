"""Parquet, Arrow and Feather files, which keep the types of their columns."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.exceptions import InputError
from c2rf.files.cells import check_kinds
from c2rf.files.dialect import ReadAs
from c2rf.files.reading_errors import check_names, reading

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
