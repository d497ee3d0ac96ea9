"""Tables written in the format that a name ends in, some rows at a time.

Text files are written like the input was, unless their names say otherwise: its separator, its
decimal mark, its encoding.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from c2rf.data.dialect import Dialect, has_tabs, plain_name, without_mark
from c2rf.data.formats import PARQUET, TEXT
from c2rf.data.numerals import Marks
from c2rf.exceptions import InputError

_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_FORMULA = ("=", "+", "-", "@")
_NO_FORMULA = r"[+-]|[+-]?[\d.,' ]*\d(?:[eE][+-]?\d+)?"  # a sign, or a number
_XLSX_ROWS = 1_048_576
_XLSX_OPTIONS = {  # text stays text: it is never run, nor made a link or a number
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd",
}


class TableWriter:
    r"""Writes a table, some rows at a time; all have the same columns.

    Parameters
    ----------
    path : Path
        Where to; the ending decides the format.
    like : Dialect, optional
        How a text file is to be written.
    spreadsheet_safe : bool
        Whether text that a spreadsheet would run as a formula gets an apostrophe before it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> with TableWriter(path, Dialect(";", decimal=",")) as writer:
    ...     writer.write(pd.DataFrame({"id": ["007"], "size": [1.5]}))
    ...     writer.write(pd.DataFrame({"id": ["=1+1"], "size": [2.0]}))
    >>> path.read_text(), writer.n_formulas
    ('id;size\n007;1,5\n=1+1;2,0\n', 1)
    """

    def __init__(
        self, path: Path, like: Dialect | None = None, *, spreadsheet_safe: bool = False
    ) -> None:
        self.path, self.spreadsheet_safe = path, spreadsheet_safe
        self.dialect = like or Dialect()
        if has_tabs(path):
            self.dialect = replace(self.dialect, separator="\t")
        self.n_formulas = 0
        self._open = ExitStack()
        self._file: Any = None
        self._write = _WRITERS.get(plain_name(path).suffix.lower(), TableWriter._write_text)

    def write(self, rows: pd.DataFrame) -> None:
        """Write some rows."""
        self._write(self, rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.close()

    def _binary(self) -> Any:
        file: Any = self._open.enter_context(self.path.open("wb"))
        if self.path.suffix.lower() == ".gz":
            # Without a name and a time stamp: the same table is the same file.
            file = self._open.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        return file

    def _write_parquet(self, rows: pd.DataFrame) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        schema = None if self._file is None else self._file.schema
        table = pa.Table.from_pandas(rows, schema=schema, preserve_index=False)
        if self._file is None:
            self._file = self._open.enter_context(ParquetWriter(self.path, table.schema))
        self._file.write_table(table)

    def _write_text(self, rows: pd.DataFrame) -> None:
        is_first = self._file is None
        if is_first:
            self._file = self._binary()
        dialect = self.dialect
        text = self._safe(self._localised(rows)).to_csv(
            index=False,
            header=is_first,
            sep=dialect.separator,
            decimal=dialect.decimal or ".",
            lineterminator="\n",
        )
        # Only the start of the file may have a byte order mark.
        encoding = dialect.encoding if is_first else without_mark(dialect.encoding)
        self._file.write(text.encode(encoding))

    def _localised(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return numbers as the input had them."""
        marks = {name: mark for name, mark in self.dialect.marks.items() if mark != Marks()}
        changed = {
            name: rows[name].map({cell: mark.localised(cell) for cell in rows[name].unique()})
            for name, mark in marks.items()
            if name in rows and _is_text(rows[name])
        }
        return rows.assign(**changed) if changed else rows

    def _safe(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Count text that a spreadsheet would run as a formula, and escape it if asked to."""
        changed: dict[str, Any] = {}
        for name in rows:
            if not _is_text(rows[name]):
                continue
            cells = rows[name].astype("str")
            suspect = cells[cells.str.startswith(_FORMULA, na=False)]
            runs = suspect[~suspect.str.fullmatch(_NO_FORMULA)]
            self.n_formulas += len(runs)
            if self.spreadsheet_safe and len(runs):
                changed[str(name)] = cells.where(~cells.index.isin(runs.index), "'" + cells)
        return rows.assign(**changed) if changed else rows

    def _write_lines(self, rows: pd.DataFrame) -> None:
        if self._file is None:
            self._file = self._binary()
        columns = [_values(rows[name]) for name in rows]
        for cells in zip(*columns, strict=True):
            line = json.dumps(dict(zip(rows, cells, strict=True)), ensure_ascii=False)
            self._file.write(line.encode() + b"\n")

    def _write_sheet(self, rows: pd.DataFrame) -> None:
        if self._file is None:
            import xlsxwriter

            book = self._open.enter_context(xlsxwriter.Workbook(str(self.path), _XLSX_OPTIONS))
            self._file = book.add_worksheet("labels")
            self._file.write_row(0, 0, [str(name) for name in rows])
            self._n_written = 1
        if self._n_written + len(rows) > _XLSX_ROWS:
            raise InputError(
                f"{self.path}: a sheet holds at most {_XLSX_ROWS:,} rows; write .csv or .parquet"
            )
        for row in zip(*(_values(rows[name], dates=True) for name in rows), strict=True):
            self._file.write_row(self._n_written, 0, row)
            self._n_written += 1


_WIDEST = 40  # letters of a column of a formatted sheet


def write_formatted(path: Path, table: pd.DataFrame, like: Dialect | None = None) -> None:
    """Write a table to be read: in a workbook with shares as percentages, a fixed header, a note.

    Columns of floats between 0 and 1 are shares, others are counts. ``table.attrs["note"]`` goes
    below the rows. Files of other formats are written as by :class:`TableWriter`.
    """
    if path.suffix.lower() != ".xlsx":
        with TableWriter(path, like) as writer:
            writer.write(table)
        return
    import xlsxwriter

    with xlsxwriter.Workbook(str(path), _XLSX_OPTIONS | {"constant_memory": False}) as book:
        sheet = book.add_worksheet("table")
        head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        shares, counts = (book.add_format({"num_format": f}) for f in ("0.0%", "#,##0"))
        sheet.write_row(0, 0, [str(name) for name in table], head)
        for place, name in enumerate(table):
            cells, look = _values(table[name], dates=True), None
            if pd.api.types.is_numeric_dtype(table[name]) and table[name].dtype != "boolean":
                look = (
                    shares if table[name].dtype.kind == "f" and _are_shares(table[name]) else counts
                )
            longest = max([len(str(name)), *(len(str(c)) for c in cells if look is None)])
            sheet.set_column(place, place, min(longest if look is None else 12, _WIDEST) + 1, look)
            sheet.write_column(1, place, cells)
        sheet.freeze_panes(1, 0)
        if len(table):
            sheet.autofilter(0, 0, len(table), len(table.columns) - 1)
        if table.attrs.get("note"):
            sheet.write_string(len(table) + 2, 0, table.attrs["note"])


def _are_shares(column: pd.Series[Any]) -> bool:
    return bool(((column >= 0) & (column <= 1) | column.isna()).all())


_WRITERS: dict[str, Callable[[TableWriter, pd.DataFrame], None]] = {
    ".parquet": TableWriter._write_parquet,
    ".pq": TableWriter._write_parquet,
    ".xlsx": TableWriter._write_sheet,
    ".jsonl": TableWriter._write_lines,
}


def check_writable(path: Path) -> None:
    """Refuse a name whose ending is no format that is written, or whose package is missing."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain.suffix.lower()
    zipped = plain != path
    if ending not in (*TEXT.endings, *_WRITERS) or (zipped and ending in (".xlsx", ".parquet")):
        raise InputError(
            f"{path}: labels are written as .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .xlsx or "
            ".jsonl; give the output a name that ends so"
        )
    if ending in PARQUET.endings:
        PARQUET.check_package(path)
    if ending == ".xlsx" and find_spec("xlsxwriter") is None:
        raise InputError(f'{path}: Excel needs XlsxWriter; pip install "c2rf[files]", or use CSV')


def _values(column: pd.Series[Any], dates: bool = False) -> list[Any]:
    """Return the cells of a column as Python's values, None where empty.

    Text of which every cell is a number, and written as numbers are, becomes numbers: 007 is not.
    """
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        moments = column.dt.tz_localize(None) if dates else column.astype(str)
        return [None if moment is pd.NaT else moment for moment in moments]
    cells = column.astype(object).where(column.notna(), None).tolist()
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    if not _is_text(column):
        plain = (bool, int, float, str) if not dates else (bool, int, float)
        return [cell if cell is None or isinstance(cell, plain) else str(cell) for cell in cells]
    cells = [None if cell == "" else cell for cell in cells]
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, str) and _NUMBER.fullmatch(cell) for cell in given):
        numbers = {cell: float(cell) if "." in cell else int(cell) for cell in given}
        return [None if cell is None else numbers[cell] for cell in cells]
    return [cell if cell is None else str(cell) for cell in cells]


def _is_text(column: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_string_dtype(column.dtype) or column.dtype == object)
