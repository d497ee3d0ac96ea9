"""Parquet, Arrow and Feather files, which keep the types of their columns."""

from __future__ import annotations

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
    import pyarrow as pa

    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1" or path.suffix.lower() in (".parquet", ".pq")
    name = "Parquet" if is_parquet else "Arrow"
    try:
        with reading(path):
            content = _parquet(path) if is_parquet else _arrow(path)
        names = list(content.column_names)
        check_names(path, names)
        check_kinds(path, content.schema)
        content = content.drop_columns([n for n in names if n.startswith(_UNNAMED_INDEX)])
        return content.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True), name
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is not a complete {name} file: {reason}") from error


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
