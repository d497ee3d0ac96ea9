"""What cells mean: numbers, text, dates, true and false, or nothing.

What the cells of a column mean: numbers, text, or nothing.

Numbers of any dialect put into plain form, 1234.5, a part of a file at a time.

A dialect is found by a sample. Here every cell is looked at, so that a number which contradicts
the sample is refused and never read wrongly.

Files whose columns have no type of their own: a cell means what it means to ``read_table``.

Columns of formats whose cells have types of their own: numbers, text, dates, true and false.
"""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.text import for_user
from c2rf._utils.types import Columns
from c2rf.data.dialect import Dialect, ReadAs
from c2rf.data.numerals import (
    GROUP_MARKS,
    MISSING,
    NAMES,
    OTHER,
    Marks,
    canonical,
    find_marks,
    parse_number,
    readings,
)
from c2rf.exceptions import InputError

_DATES = (
    (r"\d{4}-\d\d-\d\d", "%Y-%m-%d"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "%Y-%m-%d %H:%M:%S"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "%Y-%m-%dT%H:%M:%S"),
    (r"\d{4}/\d\d/\d\d", "%Y/%m/%d"),
    (r"\d\d?\.\d\d?\.\d{4}", "%d.%m.%Y"),
)
_EPOCH, _DAY = np.datetime64(0, "D"), np.timedelta64(1, "D")


def as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the cells as text, None where there is no value.

    Examples
    --------
    >>> as_text(pd.Series(["7", "NA", "x"])).tolist(), as_text(pd.Series([7.0, None])).tolist()
    (['7', None, 'x'], ['7', None])
    """
    values: Any
    if isinstance(column.dtype, pd.StringDtype):  # what text files are read as
        values = column.astype(object).where(
            column.notna() & ~column.str.strip().isin(MISSING), None
        )
    else:
        values = [_cell(value) for value in column.array.to_numpy(dtype=object, na_value=None)]
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


def as_numbers(column: pd.Series[Any]) -> pd.Series[float]:
    """Return the cells as floats, NaN where there is no value or it is not a number.

    Dates are days since 1970; so is text, where every cell is a date that has one reading. Lengths
    of time are days, too.

    Examples
    --------
    >>> as_numbers(pd.Series([" 1e3", "NA", "x"])).tolist()
    [1000.0, nan, nan]
    >>> as_numbers(pd.Series(["02.01.1970", ""])).tolist()
    [1.0, nan]
    """
    numbers: Any
    if is_date(column.dtype):
        numbers = _days(pd.to_datetime(column).dt.tz_localize(None))
    elif pd.api.types.is_timedelta64_dtype(column.dtype):
        numbers = column.to_numpy() / _DAY
    elif pd.api.types.is_numeric_dtype(column.dtype):
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        texts = as_text(column)
        moments = dates_in(texts)
        if moments is not None:
            numbers = _days(moments)
        else:
            numbers = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float)
    return pd.Series(numbers, index=column.index, name=column.name)


def dates_in(texts: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return texts as dates if all of them are, written in one way that has one reading.

    02/03/2020 is in February or in March, and stays text.

    Examples
    --------
    >>> dates_in(pd.Series(["02.01.2020", None]))[0].date()
    datetime.date(2020, 1, 2)
    >>> dates_in(pd.Series(["2020-01-02", "today"])) is None
    True
    """
    given = texts.dropna()
    if not len(given):
        return None
    shape, kind = next((each for each in _DATES if re.fullmatch(each[0], given.iloc[0])), ("", ""))
    if not kind or not all(map(re.compile(shape).fullmatch, given.unique())):
        return None  # pandas knows words like "today", too
    moments = pd.to_datetime(texts, format=kind, errors="coerce")
    return moments if moments.notna().sum() == len(given) else None


def _days(moments: Any) -> Any:
    """Return days since 1970."""
    return (moments.to_numpy(dtype="datetime64[ns]", na_value=pd.NaT) - _EPOCH) / _DAY


def numbers_or_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of cells as numbers if all of them are, else as text."""
    numbers, text = as_numbers(column), as_text(column)
    return text if (numbers.isna() & text.notna()).any() else numbers


def _cell(value: Any) -> str | None:
    """Return a cell as text: whole floats as integers, days without a time."""
    if value is None or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    text = str(value)
    return None if text.strip() in MISSING else text


def is_date(kind: Any) -> bool:
    """Whether the cells of a column of this type are dates."""
    if isinstance(kind, pd.ArrowDtype):
        from pyarrow import types

        return bool(types.is_date(kind.pyarrow_dtype) or types.is_timestamp(kind.pyarrow_dtype))
    return bool(pd.api.types.is_datetime64_any_dtype(kind))


def check_kinds(path: Path, schema: Any) -> None:
    """Refuse columns of a Parquet file whose cells are not single values."""
    from pyarrow import types

    for name, kind in zip(schema.names, schema.types, strict=True):
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            raise InputError(
                f"{path}: columns must hold numbers, text, dates or true and false; "
                f"found {name!r} of type {kind}: remove it"
            )


_SIGNS = {".": [b"."], ",": [b","], "group": [mark.encode() for mark in GROUP_MARKS]}


class PlainNumbers:
    """Puts the numbers of parts of a table into plain form.

    Examples
    --------
    >>> plain = PlainNumbers(Path("prices.csv"), Dialect(";", marks={"price": Marks(",")}))
    >>> plain(pd.DataFrame({"price": ["1,5", "1.234"]}), 1)["price"].tolist()
    ['1.5', '1234']
    >>> plain(pd.DataFrame({"price": ["12.5"]}), 3)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: prices.csv, data row 3: in column 'price' numbers have a decimal \
comma, but '12.5' has not; correct it, or take the column as text with text=['price']
    """

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.path, self.dialect = path, dialect

    def __call__(self, part: pd.DataFrame, first_row: int) -> pd.DataFrame:
        """Return a part whose first row has this number, in plain form."""
        columns, is_changed = {}, False
        for name, column in part.items():
            plain = self._plain(column, first_row)
            columns[name] = column if plain is None else plain
            is_changed = is_changed or plain is not None
        # All at once: of ten thousand columns, each alone would copy the table.
        return pd.DataFrame(columns, index=part.index) if is_changed else part

    def _plain(self, column: pd.Series[Any], first_row: int) -> pd.Series[Any] | None:
        """Return a column in plain form, None if it is so already."""
        marks = self.dialect.marks.get(str(column.name))
        if marks is None:
            # Text, or digits alone: only what has two readings is a trouble.
            if self.dialect.decimal is None and _holds(column, [*_SIGNS["."], *_SIGNS[","]]):
                self._check_late(column, first_row)
            return None
        decimal = marks.decimal
        signs = [*_SIGNS[","], *_SIGNS["group"], *(_SIGNS["."] if decimal == "," else [])]
        if not _holds(column, signs):
            return None
        quick = _by_arrow(column) if decimal == "," else None
        if quick is not None:
            return quick
        codes, cells = pd.factorize(column.to_numpy(dtype=object))
        plain = np.empty(len(cells), dtype=object)
        plain[:] = [self._cell(cell, column, marks, first_row) for cell in cells]
        return pd.Series(plain[codes], index=column.index, dtype=column.dtype, name=column.name)

    def _cell(self, cell: str, column: pd.Series[Any], marks: Marks, first_row: int) -> str:
        plain = canonical(cell, marks.decimal)
        if plain is not None:
            return plain
        if OTHER[marks.decimal] in readings(cell):
            row = first_row + int(np.flatnonzero(column == cell)[0])
            name = str(column.name)
            raise InputError(
                f"{self.path}, data row {row}: in column {name!r} numbers have a decimal "
                f"{NAMES[marks.decimal]}, but {cell!r} has not; correct it, or take the column as "
                f"text with {for_user(f'text=[{name!r}]', f'--text {name}')}"
            )
        return cell

    def _check_late(self, column: pd.Series[Any], first_row: int) -> None:
        """Refuse a column of digits in which, after the sample, numbers have two readings."""
        cells = pd.unique(column)
        found = [cell for cell in cells if len(readings(cell)) == 2]
        if not found or any(not readings(cell) or readings(cell) == (".",) for cell in cells):
            return
        row = first_row + int(np.flatnonzero(column == found[0])[0])
        parse_number(found[0], None, f"{self.path}, data row {row}: in column {column.name!r}")


def _by_arrow(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return decimal commas as points where no cell has another mark; None if some have."""
    values = getattr(column.array, "_pa_array", None)
    if values is None or _holds(column, [*_SIGNS["."], *_SIGNS["group"]]):
        return None
    import pyarrow as pa
    from pyarrow import compute

    plain = compute.replace_substring(values, ",", ".")
    try:  # which refuses all that is not a number, like 1,2,3
        compute.if_else(compute.equal(plain, ""), "0", plain).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return pd.Series(type(column.array)(plain), index=column.index, name=column.name)


def _holds(column: pd.Series[Any], signs: Sequence[bytes]) -> bool:
    """Whether any cell holds one of some signs; quick where cells lie together in memory."""
    values = getattr(column.array, "_pa_array", None)
    if values is None:
        text = "\n".join(map(str, column))
        return any(sign.decode() in text for sign in signs)
    for chunk in values.chunks:
        data = chunk.buffers()[2]
        if data is None:
            continue
        # A slice shares the buffer of the whole: signs elsewhere only cost a second look.
        content = data.to_pybytes()
        is_plain = content.isascii()
        if any(sign in content for sign in signs if len(sign) == 1 or not is_plain):
            return True
    return False


class CellFiles(ABC):
    """Files with the same columns, read part by part."""

    @abstractmethod
    def tables(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Yield these columns, in this order, and where each part is."""

    def frames(self, columns: Columns = None) -> Iterator[tuple[pd.DataFrame, str]]:
        """Yield the same; a column of a part is numbers if all its cells are."""
        for cells, where in self.tables(columns):
            yield cells.apply(numbers_or_text), where


_WHOLE = 1 << 53  # beyond, floats skip whole numbers


class TypedTables:
    """Makes tables of cells; numbers that are stored as text are read like those of CSV files.

    How such numbers are written is found by the first part of a table in which a column has any,
    and holds for all others.

    Parameters
    ----------
    path : Path
        The file that the cells are from.
    how : ReadAs
        What the user has said about it.

    Examples
    --------
    >>> tables = TypedTables(Path("x.xlsx"), ReadAs())
    >>> tables({"size": [1.234, "12,5"], "town": ["Ulm", ""]})["size"].tolist(), tables.said
    ([1.234, 12.5], ', decimal comma in text')
    """

    def __init__(self, path: Path, how: ReadAs) -> None:
        self.path, self.how = path, how
        self._dialect, self._seen = Dialect(decimal=how.decimal), set[str]()

    def __call__(self, columns: Mapping[str, Sequence[Any]], first_row: int = 1) -> pd.DataFrame:
        """Return a table whose first row has this number."""
        texts = {
            name: pd.Series([v if isinstance(v, str) else "" for v in cells], dtype="str")
            for name, cells in columns.items()
            if name not in self.how.text and any(isinstance(v, str) and v for v in cells)
        }
        self._look(
            {name: cells.tolist() for name, cells in texts.items() if name not in self._seen}
        )
        plain = PlainNumbers(self.path, self._dialect)(pd.DataFrame(texts), first_row)
        return pd.DataFrame(
            {
                name: typed_column(
                    _numbers_among(cells, plain[name].tolist()) if name in texts else cells
                )
                for name, cells in columns.items()
            }
        )

    def _look(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Find out how the numbers of columns are written whose texts were not seen before."""
        found, decimal = find_marks(columns, self._dialect.decimal, self.path, self.how.likely)
        marks = self._dialect.marks | found
        self._dialect = replace(
            self._dialect, decimal=decimal or self._dialect.decimal, marks=marks
        )
        self._seen.update(columns)

    @property
    def said(self) -> str:
        """How numbers in text were understood, where that is worth a word."""
        is_found = self._dialect.decimal == "," and self.how.decimal is None
        return f", decimal {NAMES[',']} in text" if is_found else ""


def _numbers_among(cells: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """Return cells with their texts in plain form; beside numbers, texts that are some become so.

    A column of texts alone stays text: 007 is not 7.
    """
    merged = [text if isinstance(v, str) else v for v, text in zip(cells, texts, strict=True)]
    given = [v for v in merged if not (_is_empty(v) or v in MISSING)]
    if all(isinstance(v, str) for v in given):
        return merged
    try:
        numbers = {v: float(v) for v in given if isinstance(v, str)}
    except ValueError:
        return merged
    if not all(isinstance(v, (int, float, str)) for v in given):
        return merged
    return [
        None if v in MISSING else numbers.get(v, v) if isinstance(v, str) else v for v in merged
    ]


def typed_column(cells: Sequence[Any]) -> pd.Series[Any]:
    """Return cells as a column of one type where they have one; None and "" are empty.

    Numbers that are all whole become whole numbers, dates become dates, and what is mixed stays as
    it is: a number among text is text, as in CSV. Among numbers, true is 1.

    Examples
    --------
    >>> typed_column([1.0, None, 3.0]).dtype, typed_column([1.5, ""]).tolist()
    (Int64Dtype(), [1.5, nan])
    >>> typed_column(["a", 1.0, True, None]).tolist()
    ['a', '1', 'True', '']
    """
    given = [cell for cell in cells if not _is_empty(cell)]
    kinds = {type(cell) for cell in given}
    if not given:
        return pd.Series([""] * len(cells), dtype="str")
    values: list[Any] = [None if _is_empty(cell) else cell for cell in cells]
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
    if kinds <= {int, float, bool}:
        if all(float(cell).is_integer() and abs(cell) < _WHOLE for cell in given):
            return pd.Series([None if v is None else int(v) for v in values], dtype="Int64")
        return pd.Series(values, dtype=float)
    if kinds <= {datetime.date, datetime.datetime, pd.Timestamp}:
        return _dates(values)
    return pd.Series(["" if v is None else _text(v) for v in values], dtype="str")


def _dates(values: list[Any]) -> pd.Series[Any]:
    """Return a column of dates, or their text where there are years that pandas has not."""
    try:
        return pd.Series(pd.to_datetime(pd.Series(values, dtype=object)))
    except (ValueError, OverflowError):
        return pd.Series(["" if v is None else _text(v) for v in values], dtype="str")


def _is_empty(cell: Any) -> bool:
    return cell is None or cell is pd.NaT or cell == "" or cell != cell


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return str(cell.date())
    return str(cell)
