"""Tables of people and things: CSV, TSV (plain or .gz) and Parquet, read and written.

Cells of text files stay the text they are, because what is written back must be what was read:
007 is not 7. Parquet keeps its types. What a column means, numbers or text, is asked for with
:func:`as_numbers` and :func:`as_text`, which give the same answer for both.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from c2rf.exceptions import InputError
from c2rf.files import reading

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
"""Cells that say there is no value."""

_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
_PARQUET_ENDINGS = (".parquet", ".pq")
_TAB_ENDINGS = (".tsv", ".tab")
_UNNAMED_INDEX = "__index_level_"
_EPOCH, _DAY = np.datetime64(0, "D"), np.timedelta64(1, "D")


def read_table(path: Path) -> pd.DataFrame:
    r"""Read a table with named columns and at least one row.

    Parquet and gzip are known by their content, tabs by the ending ``.tsv``; all else is CSV.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("id,age\n007,41\n008,\n")
    >>> read_table(path).to_dict("list")
    {'id': ['007', '008'], 'age': ['41', '']}
    """
    if holds_parquet(path):
        return _read_parquet(path)
    zipped = _start(path)[:2] == _GZIP
    return _read_text(path, "\t" if has_tabs(path) else ",", zipped=zipped)


def write_table(table: pd.DataFrame, path: Path) -> None:
    r"""Write a table in the format that the name ends in; CSV if in doubt.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.tsv.gz"
    >>> write_table(pd.DataFrame({"id": ["007"], "age": ["41"]}), path)
    >>> gzip.decompress(path.read_bytes())
    b'id\tage\n007\t41\n'
    """
    with TableWriter(path) as writer:
        writer.write(table)


class TableWriter:
    r"""Writes a table a part at a time; the parts have the same columns.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> with TableWriter(path) as writer:
    ...     writer.write(pd.DataFrame({"id": ["007"]}))
    ...     writer.write(pd.DataFrame({"id": ["008"]}))
    >>> path.read_text()
    'id\n007\n008\n'
    """

    def __init__(self, path: Path) -> None:
        self.path, self._open = path, ExitStack()
        self._file: Any = None

    def write(self, part: pd.DataFrame) -> None:
        """Write some rows."""
        if is_parquet(self.path):
            self._write_parquet(part)
        else:
            self._write_text(part)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.close()

    def _write_parquet(self, part: pd.DataFrame) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        if self._file is None:
            rows = pa.Table.from_pandas(part, preserve_index=False)
            self._file = self._open.enter_context(ParquetWriter(self.path, rows.schema))
        else:
            rows = pa.Table.from_pandas(part, schema=self._file.schema, preserve_index=False)
        self._file.write_table(rows)

    def _write_text(self, part: pd.DataFrame) -> None:
        is_first = self._file is None
        if is_first:
            self._file = self._open.enter_context(self.path.open("wb"))
            if self.path.suffix.lower() == ".gz":
                # Without a name and a time stamp: the same table is the same file.
                zipped = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0)
                self._file = self._open.enter_context(zipped)
        separator = "\t" if has_tabs(self.path) else ","
        text = part.to_csv(index=False, header=is_first, sep=separator, lineterminator="\n")
        self._file.write(text.encode())


def check_writable(path: Path) -> None:
    """Refuse a file that :func:`write_table` could not write for want of a package."""
    if is_parquet(path):
        check_pyarrow(path)


def holds_parquet(path: Path) -> bool:
    """Whether a file that is there is a Parquet file, by its content or its name."""
    return _start(path) == _PARQUET or is_parquet(path)


def _start(path: Path) -> bytes:
    with reading(path), path.open("rb") as file:
        return file.read(4)


def is_parquet(path: Path) -> bool:
    """Whether a file of this name is a Parquet file."""
    return path.suffix.lower() in _PARQUET_ENDINGS


def as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the cells as text, None where there is no value.

    Examples
    --------
    >>> as_text(pd.Series(["7", "NA", "x"])).tolist(), as_text(pd.Series([7.0, None])).tolist()
    (['7', None, 'x'], ['7', None])
    """
    values: Any
    if isinstance(column.dtype, pd.StringDtype):  # what text files are read as
        values = column.astype(object).where(~column.isin(MISSING), None)
    else:
        values = [_cell(value) for value in column.array.to_numpy(dtype=object, na_value=None)]
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


def as_numbers(column: pd.Series[Any]) -> pd.Series[float]:
    """Return the cells as floats, NaN where there is no value or it is not a number.

    Dates of Parquet files are days since 1970.

    Examples
    --------
    >>> as_numbers(pd.Series([" 1e3", "NA", "x"])).tolist()
    [1000.0, nan, nan]
    """
    numbers: Any
    if _is_date(column.dtype):
        moments: Any = pd.to_datetime(column).dt.tz_localize(None)
        numbers = (moments.to_numpy(dtype="datetime64[ns]", na_value=pd.NaT) - _EPOCH) / _DAY
    elif pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        numbers = pd.to_numeric(as_text(column), errors="coerce").to_numpy(dtype=float)
    return pd.Series(numbers, index=column.index, name=column.name)


def _cell(value: Any) -> str | None:
    """Return a cell as text; whole floats are written as integers are."""
    if value is None or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return None if text in MISSING else text


def has_tabs(path: Path) -> bool:
    """Whether a text file of this name has tabs between its values."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return plain.suffix.lower() in _TAB_ENDINGS


def _read_text(path: Path, separator: str, *, zipped: bool) -> pd.DataFrame:
    """Read comma- or tab-separated values."""
    try:
        with reading(path):
            # header=None: with a header, pandas renames equal columns and may take an index.
            cells = pd.read_csv(
                path,
                sep=separator,
                header=None,
                dtype=str,
                na_filter=False,
                encoding="utf-8-sig",
                compression="gzip" if zipped else None,
            )
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path} is a damaged or incomplete gzip file: {error}") from error
    names = [str(name) for name in cells.iloc[0]]
    check_names(path, names, separator)
    if len(cells) == 1:
        raise InputError(f"{path} has a header but no rows")
    table = cells.iloc[1:].reset_index(drop=True).set_axis(names, axis="columns")
    check_cells(path, table)
    return table


def _read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file; an index that pandas wrote without a name is not a column."""
    check_pyarrow(path)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with reading(path), parquet.ParquetFile(path) as file:
            content = file.read()
        names = list(content.column_names)
        check_names(path, names)
        check_kinds(path, content.schema)
        content = content.drop_columns([n for n in names if n.startswith(_UNNAMED_INDEX)])
        table = content.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is not a complete Parquet file: {reason}") from error
    if not len(table):
        raise InputError(f"{path} has columns but no rows")
    return table


def check_kinds(path: Path, schema: Any) -> None:
    """Refuse columns of a Parquet file whose cells are not single values."""
    from pyarrow import types

    for name, kind in zip(schema.names, schema.types, strict=True):
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            raise InputError(
                f"{path}: columns must hold numbers, text, dates or true and false; "
                f"found {name!r} of type {kind}: remove it"
            )


def check_pyarrow(path: Path) -> None:
    """Refuse a Parquet file where nothing can read it."""
    if find_spec("pyarrow") is None:
        raise InputError(f'{path}: Parquet needs pyarrow; pip install "c2rf[parquet]", or use CSV')


def check_names(path: Path, names: Sequence[str], separator: str = ",") -> None:
    """Refuse headers that do not name every column once."""
    word = {",": "commas", "\t": "tabs"}[separator]
    if len(names) == 1 and (found := ({";", "\t", ",", "|"} - {separator}) & set(names[0])):
        hint = "; name the file .tsv" if "\t" in found else ""
        raise InputError(f"{path}: values must be separated by {word}; found {min(found)!r}{hint}")
    if "" in names:
        raise InputError(
            f"{path}: column {names.index('') + 1} has no name; name it in the first line, "
            "or remove it if it only numbers the rows"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path}: column names must differ; found {twice[0]!r} more than once")


def check_cells(path: Path | str, table: pd.DataFrame) -> None:
    """Refuse zero bytes: what holds them is not text but a binary file."""
    for name in table:
        if "\0" in str(name) or table[name].str.contains("\0", regex=False).any():
            raise InputError(f"{path} is not text: it holds zero bytes")


def _is_date(kind: Any) -> bool:
    if isinstance(kind, pd.ArrowDtype):
        from pyarrow import types

        return bool(types.is_date(kind.pyarrow_dtype) or types.is_timestamp(kind.pyarrow_dtype))
    return bool(pd.api.types.is_datetime64_any_dtype(kind))
