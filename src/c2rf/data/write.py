"""Tables written in the format that a name ends in, some rows at a time.

Text files are written like the input was, unless their names say otherwise: its separator, its
decimal mark, its encoding.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from c2rf.data.atomic import scratch_folder
from c2rf.data.cells import is_date
from c2rf.data.dialect import Dialect, has_tabs, plain_name, without_mark
from c2rf.data.formats import EXCEL, TEXT, format_by_name, statistics_packages
from c2rf.data.numerals import Marks
from c2rf.exceptions import InputError

_NUMBER = re.compile(r"(?!-0$)-?(?=[\d.]{1,16}$)(?:0|[1-9]\d*)(?:\.\d+)?")
_FORMULA = r"[\s\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]"  # full-width signs are run, too
_NO_FORMULA = r"\s*(?:[+-]|[+-]?[\d.,' ]*\d(?:[eE][+-]?\d+)?)\s*"  # a sign, or a number
_LATER = r'(?:^[;,]|\S\s*[;,\t]|[\r\n])["\s]*'  # where a cell begins with other separators
_LATER_FORMULA = r"[=@\uff1d\uff20]"
_RUNS = re.compile(  # up to a formula that a spreadsheet would run
    rf"\A(?!{_NO_FORMULA}\Z)(?={_FORMULA})|{_LATER}(?={_LATER_FORMULA})"
)
_LONGEST = 32_767  # text of a cell, in letters in .xlsx and in bytes in .sav
_XLSX_ROWS, _XLSX_COLUMNS = 1_048_576, 16_384
_XLSX_DIGITS = 10**15  # whole numbers with more digits would be rounded
_XLSX_LARGEST = 1e308
_XLSX_FIRST_DAY = datetime.date(1900, 3, 1)  # before, there is a day that never was
_XLSX_OPTIONS = {  # text stays text: it is never run, nor made a link or a number
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd",
}


def unescaped(texts: pd.Series[Any]) -> pd.Series[Any]:
    """Return text without the apostrophes that ``spreadsheet_safe`` has put before formulas.

    Examples
    --------
    >>> unescaped(pd.Series(["'=A1", "'s-Gravenhage"])).tolist()
    ['=A1', "'s-Gravenhage"]
    """
    plain = texts.astype(object)  # Arrow's regular expressions are not those of Python
    plain = plain.str.replace(rf"^'(?={_FORMULA})", "", regex=True)
    plain = plain.str.replace(rf"({_LATER})'(?={_LATER_FORMULA})", r"\1", regex=True)
    return plain.astype(texts.dtype)


def _escaped(texts: pd.Series[Any]) -> pd.Series[Any]:
    """Return texts with an apostrophe before each formula."""
    return texts.str.replace(_RUNS, lambda found: f"{found[0]}'", regex=True)


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

    Attributes
    ----------
    cautions : Counter
        How many cells and names of a text file are ``"formulas"`` that a spreadsheet would run;
        how many numbers and dates are ``"texts"``, as the format does not hold them exactly; how
        many texts were ``"changed"`` because it does not hold their blanks or control characters.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> with TableWriter(path, Dialect(";", decimal=",")) as writer:
    ...     writer.write(pd.DataFrame({"id": ["007"], "size": [1.5]}))
    ...     writer.write(pd.DataFrame({"id": ["=1+1"], "size": [2.0]}))
    >>> path.read_text(), writer.cautions["formulas"]
    ('id;size\n007;1,5\n=1+1;2,0\n', 1)
    """

    def __init__(
        self, path: Path, like: Dialect | None = None, *, spreadsheet_safe: bool = False
    ) -> None:
        self.path, self.spreadsheet_safe = path, spreadsheet_safe
        self.dialect = like or Dialect()
        if has_tabs(path):
            self.dialect = replace(self.dialect, separator="\t")
        self.cautions: Counter[str] = Counter()
        self._open = ExitStack()
        self._file: Any = None
        self._parts: list[pd.DataFrame] = []
        self._write = _WRITERS.get(plain_name(path).suffix.lower(), TableWriter._write_text)

    def write(self, rows: pd.DataFrame) -> None:
        """Write some rows."""
        self._write(self, rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._parts and error[0] is None:
            table = pd.concat(self._parts, ignore_index=True)
            self.cautions.update(statistics_packages.write(self.path, table))
        self._open.close()

    def _keep(self, rows: pd.DataFrame) -> None:
        """Keep rows for a format that is written at once."""
        check_texts(self.path, [rows])
        self._parts.append(rows)

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
        try:
            table = pa.Table.from_pandas(rows, schema=schema, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(
                f"{self.path}: a column holds values of several types, which Parquet has not "
                f"({error}); write .csv or .jsonl"
            ) from error
        if self._file is None:
            plain = rows.loc[:, [_pandas_knows(kind) for kind in rows.dtypes]]
            notes = pa.Schema.from_pandas(plain, preserve_index=False).metadata
            schema = table.schema.with_metadata(notes)
            self._file = self._open.enter_context(ParquetWriter(self.path, schema))
        self._file.write_table(table.replace_schema_metadata(self._file.schema.metadata))

    def _write_text(self, rows: pd.DataFrame) -> None:
        is_first = self._file is None
        if is_first:
            self._file = self._binary()
        dialect = self.dialect
        table = self._safe(self._localised(rows), is_first)
        write = partial(
            table.to_csv,
            index=False,
            header=is_first,
            sep=dialect.separator,
            decimal=dialect.decimal or ".",
            lineterminator="\n",
        )
        text = str(write())
        if "\r" in text:  # which ends a line where it is not in quotes
            text = str(write(quoting=csv.QUOTE_ALL))
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

    def _safe(self, rows: pd.DataFrame, with_names: bool) -> pd.DataFrame:
        """Count text that a spreadsheet would run as a formula, and escape it if asked to."""
        changed: dict[Any, Any] = {}
        for name in [each for each in rows if _is_text(rows[each])]:
            cells = rows[name].astype(object)
            texts = cells.map(str, na_action="ignore").astype(object)
            runs = texts.str.contains(_RUNS, na=False)
            self.cautions["formulas"] += int(runs.sum())
            if self.spreadsheet_safe and runs.any():
                changed[name] = cells.where(~runs, _escaped(texts))
        names = pd.Series([str(name) for name in rows], dtype=object)
        self.cautions["formulas"] += with_names * int(names.str.contains(_RUNS).sum())
        if not self.spreadsheet_safe:
            return rows
        return rows.assign(**changed).set_axis(_escaped(names), axis=1)

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

            # Rows are kept in temporary files until the end.
            folder = self._open.enter_context(scratch_folder())
            options = {**_XLSX_OPTIONS, "tmpdir": str(folder)}
            self._open.enter_context(_disk_errors())
            book = self._open.enter_context(xlsxwriter.Workbook(str(self.path), options))
            self._file = book.add_worksheet("labels")
            self._file.write_row(0, 0, [str(name) for name in rows])
            self._n_written = 1
        check_size(self.path, self._n_written - 1 + len(rows), rows.shape[1])
        check_texts(self.path, [rows])
        columns = [_values(rows[name], True, _has_marks(self.dialect, name)) for name in rows]
        for name, cells in zip(rows, columns, strict=True):
            if not _is_text(rows[name]):
                self.cautions["texts"] += sum(isinstance(cell, str) for cell in cells)
        for row in zip(*columns, strict=True):
            self._file.write_row(self._n_written, 0, row)
            self._n_written += 1


_WIDEST = 40  # letters of a column of a formatted sheet


def write_formatted(
    path: Path, table: pd.DataFrame, like: Dialect | None = None, *, spreadsheet_safe: bool = False
) -> Counter[str]:
    """Write a table to be read: in a workbook with shares as percentages, a fixed header, a note.

    Columns of floats between 0 and 1 are shares, others are counts. The lines of
    ``table.attrs["note"]`` go below the rows. Files of other formats are written as by
    :class:`TableWriter`, whose ``cautions`` are returned.
    """
    if path.suffix.lower() != ".xlsx":
        with TableWriter(path, like, spreadsheet_safe=spreadsheet_safe) as writer:
            writer.write(table)
        return writer.cautions
    import xlsxwriter

    with xlsxwriter.Workbook(str(path), _XLSX_OPTIONS | {"constant_memory": False}) as book:
        sheet = book.add_worksheet("table")
        head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        shares, counts = (book.add_format({"num_format": f}) for f in ("0.0%", "#,##0"))
        sheet.write_row(0, 0, [str(name) for name in table], head)
        for place, name in enumerate(table):
            cells, look = _values(table[name], True, _has_marks(like, name)), None
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
        for place, line in enumerate(table.attrs.get("note", "").splitlines()):
            sheet.write_string(len(table) + 2 + place, 0, line)
    return Counter()


def _are_shares(column: pd.Series[Any]) -> bool:
    return bool(((column >= 0) & (column <= 1) | column.isna()).all())


_WRITERS: dict[str, Callable[[TableWriter, pd.DataFrame], None]] = {
    ".parquet": TableWriter._write_parquet,
    ".pq": TableWriter._write_parquet,
    ".xlsx": TableWriter._write_sheet,
    ".jsonl": TableWriter._write_lines,
    ".sav": TableWriter._keep,
    ".dta": TableWriter._keep,
}


def check_size(path: Path, n_rows: int, n_columns: int) -> None:
    """Refuse a workbook for more rows or columns than a sheet holds."""
    if path.suffix.lower() == ".xlsx" and (n_rows >= _XLSX_ROWS or n_columns > _XLSX_COLUMNS):
        raise InputError(
            f"{path}: a sheet holds at most {_XLSX_ROWS:,} rows, with that of the names, and "
            f"{_XLSX_COLUMNS:,} columns; write .csv or .parquet"
        )


def check_texts(path: Path, tables: Iterable[pd.DataFrame]) -> None:
    """Refuse texts that are longer than a cell of the format holds."""
    ending = path.suffix.lower()
    if ending not in (".xlsx", ".sav"):
        return
    for rows in tables:
        for name in rows:
            texts = [str(cell) for cell in rows[name].dropna()] if _is_text(rows[name]) else []
            held = texts if ending == ".xlsx" else [text.encode(errors="replace") for text in texts]
            if max(map(len, held), default=0) > _LONGEST:
                unit = "letters" if ending == ".xlsx" else "bytes"
                raise InputError(
                    f"{path}: a cell holds at most {_LONGEST:,} {unit}; a text in column "
                    f"{str(name)!r} has more: write .csv or .parquet"
                )


def check_writable(path: Path) -> None:
    """Refuse a name whose ending is no format that is written, or whose package is missing."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain.suffix.lower()
    zipped = plain != path
    if ending not in (*TEXT.endings, *_WRITERS) or (
        zipped and ending in _WRITERS and ending != ".jsonl"
    ):
        raise InputError(
            f"{path}: labels are written as .csv, .tsv, .csv.gz, .tsv.gz, .parquet, .xlsx, .jsonl, "
            ".sav or .dta; give the output a name that ends so"
        )
    kind = format_by_name(plain)
    assert kind is not None
    if kind is not EXCEL:
        kind.check_package(path)
    elif find_spec("xlsxwriter") is None:
        raise InputError(f'{path}: Excel needs XlsxWriter; pip install "c2rf[files]", or use CSV')


def _values(column: pd.Series[Any], in_sheet: bool = False, are_numbers: bool = False) -> list[Any]:
    """Return the cells of a column as JSON or a sheet has them, None where empty.

    Text of which every cell is a number, and written as numbers are, becomes numbers: 007 is not,
    nor 1.10 among others with one decimal. ``are_numbers`` says that numbers are meant, whatever
    other texts are among them, as "k.A.".
    What no sheet holds exactly is text there: long whole numbers, old dates, dates with a zone.
    """
    is_given = column.notna()
    if is_date(column.dtype):
        moments = column.astype(object)
        if not (in_sheet and all(map(_in_sheet, moments[is_given]))):
            moments = column.astype(str).astype(object)
        return moments.where(is_given, None).tolist()
    cells = column.astype(object).where(is_given, None).tolist()
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    if any(isinstance(cell, Decimal) for cell in cells):
        precision = getattr(getattr(column.dtype, "pyarrow_dtype", None), "precision", 99)
        make = float if precision < len(str(_XLSX_DIGITS)) else str
        return [None if cell is None else make(cell) for cell in cells]
    if all(cell is None or isinstance(cell, (bool, int, float)) for cell in cells):
        return [_number(cell, in_sheet) for cell in cells]
    texts = [None if cell in (None, "") else str(cell) for cell in cells]
    given = [text for text in texts if text is not None]
    are_typed = isinstance(column.dtype, pd.ArrowDtype)  # not cells of a text file
    numbers = {text for text in given if _NUMBER.fullmatch(text)}
    is_clear = numbers == set(given) and _are_written_alike(numbers)
    if are_typed or not (are_numbers or is_clear):
        return texts
    made: dict[Any, Any] = {t: float(t) if "." in t else int(t) for t in numbers}
    return [made.get(text, text) for text in texts]


def _has_marks(dialect: Dialect | None, name: object) -> bool:
    """Whether the numbers of a column have a decimal comma or thousands in a text file."""
    return dialect is not None and dialect.marks.get(str(name), Marks()) != Marks()


def _are_written_alike(numbers: Collection[str]) -> bool:
    """Whether all have as many decimals, or none ends in a zero of them: else 1.1 and 1.10 differ.

    Examples
    --------
    >>> _are_written_alike(["1.10", "2.25"]), _are_written_alike(["1.1", "1.10"])
    (True, False)
    """
    decimals = {len(text.partition(".")[2]) for text in numbers}
    return len(decimals) == 1 or not any("." in text and text[-1] == "0" for text in numbers)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn the error of a workbook that cannot be written into that of the system."""
    from xlsxwriter.exceptions import FileCreateError

    try:
        yield
    except FileCreateError as error:
        cause = error.args[0] if error.args else error
        raise cause if isinstance(cause, OSError) else OSError(str(error)) from error


def _in_sheet(moment: Any) -> bool:
    """Whether a sheet holds a date or a time exactly."""
    if not isinstance(moment, datetime.datetime):
        return bool(moment >= _XLSX_FIRST_DAY)
    small = moment.microsecond % 1000 + getattr(moment, "nanosecond", 0)
    return moment.tzinfo is None and moment.date() >= _XLSX_FIRST_DAY and not small


def _number(cell: Any, in_sheet: bool) -> Any:
    """Return a number, None of NaN, and text of what is infinite or too long for a sheet."""
    if isinstance(cell, float) and math.isnan(cell):
        return None
    is_odd = isinstance(cell, float) and abs(cell) >= (_XLSX_LARGEST if in_sheet else math.inf)
    is_long = in_sheet and isinstance(cell, int) and abs(cell) >= _XLSX_DIGITS
    return str(cell) if is_odd or is_long else cell


def _is_text(column: pd.Series[Any]) -> bool:
    kinds = pd.api.types
    kind = column.dtype
    return not (kinds.is_numeric_dtype(kind) or is_date(kind) or kinds.is_timedelta64_dtype(kind))


def _pandas_knows(kind: Any) -> bool:
    """Whether pandas can read what it notes of a type in a Parquet file."""
    with suppress(Exception):  # of many kinds
        return not isinstance(kind, pd.ArrowDtype) or bool(
            pd.ArrowDtype.construct_from_string(str(kind))
        )
    return False
