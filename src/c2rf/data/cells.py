"""What the cells of a table mean: numbers, text, dates, true and false, or nothing.

Cells of text files are text, those of other formats have types of their own. What a column of
either means is asked for with :func:`as_numbers` and :func:`as_text`. Numbers in text are put into
plain form first, 1234.5: how they are written is found by a sample, but then every cell is looked
at, so that a number which contradicts the sample is refused and never read wrongly.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.text import all_of, count
from c2rf._utils.types import Codes, Floats
from c2rf.data.dialect import Dialect, ReadAs
from c2rf.data.numerals import (
    GROUP_MARKS,
    MINUS,
    MISSING,
    MISSING_NUMBERS,
    NAMES,
    OTHER,
    Marks,
    both_readings,
    canonical,
    find_marks,
    readings,
    text_option,
)
from c2rf.exceptions import InputError

_DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d")
_EPOCH, _DAY = np.datetime64(0, "D"), np.timedelta64(1, "D")
_FIRST_TEXTS = 50  # which say how the dates of a column are written


class Distinct(NamedTuple):
    """The different texts of a column, in any order, and the place of each cell's among them.

    The place of a cell without a value is -1.
    """

    values: NDArray[np.object_]
    codes: Codes

    def places(self, values: Sequence[str] | NDArray[np.object_]) -> Codes:
        """Return each cell's place among some values; others are after the last, empty ones last.

        Examples
        --------
        >>> distinct(pd.Series(["b", "", "c"])).places(["a", "b"]).tolist()
        [1, 3, 2]
        """
        known = {value: place for place, value in enumerate(values)}
        places = [known.get(value, len(known)) for value in self.values]
        return np.array([*places, len(known) + 1], dtype=np.intp)[self.codes]


class Cells(NamedTuple):
    """What the cells of a column mean.

    Parameters
    ----------
    numbers : ndarray of float
        NaN where there is no value, or none that is a number. Dates are days since 1970.
    are_dates : bool
        Whether the numbers are dates; in text, most of the different values that are not missing
        are, and the others are NaN.
    texts : Distinct or None
        The cells as text; None if it is not needed, because all that are given are numbers.
    signs : mapping of str to int
        Texts that stand, among numbers and dates, for a missing value, and how often they do.
    """

    numbers: Floats
    are_dates: bool = False
    texts: Distinct | None = None
    signs: Mapping[str, int] = MappingProxyType({})

    @property
    def odd(self) -> NDArray[np.intp]:
        """The rows that are neither missing nor numbers."""
        if self.texts is None:
            return np.empty(0, dtype=np.intp)
        is_sign = np.append([text in self.signs for text in self.texts.values], [True])
        return np.flatnonzero(np.isnan(self.numbers) & ~is_sign.astype(bool)[self.texts.codes])


def read_cells(
    column: pd.Series[Any], missing: Sequence[str] = (), need_texts: bool = False
) -> Cells:
    """Say what the cells of a column mean: by their type, by Arrow, or else by their texts.

    Texts repeat, so each distinct one is looked at once. Numbers do not: where all cells are
    numbers, Arrow reads them. ``missing`` are further texts that stand for no value.

    Examples
    --------
    >>> cells = read_cells(pd.Series(["7", "x", "NA", "7"]))
    >>> cells.numbers.tolist(), cells.texts.values.tolist(), cells.texts.codes.tolist()
    ([7.0, nan, nan, 7.0], ['7', 'x'], [0, 1, -1, 0])
    """
    found = _by_type(column, missing)
    if found is None and not need_texts:
        found = _by_arrow(column, missing)
    if found is not None and not need_texts:
        return found
    texts = distinct(column, missing)
    if found is not None:
        return found._replace(texts=texts)
    sizes = np.bincount(texts.codes + 1, minlength=len(texts.values) + 1)[1:]
    pairs = list(zip(texts.values, sizes.tolist(), strict=True))
    signs = {text: n for text, n in pairs if text.strip() in MISSING_NUMBERS}
    others = np.array([text not in signs for text in texts.values], dtype=bool)
    plain = np.array([text.replace(MINUS, "-") for text in texts.values[others]], dtype=object)
    days = _days_in(plain)
    of_values = np.full(len(pairs) + 1, np.nan)
    of_values[:-1][others] = _numbers_in(plain) if days is None else days
    return Cells(of_values[texts.codes], days is not None, texts, signs)


def _by_type(column: pd.Series[Any], missing: Sequence[str]) -> Cells | None:
    """Return dates, lengths of time and numbers as they are; None of other types."""
    if is_date(column.dtype):
        return Cells(_days(column), True)
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return Cells(column.to_numpy() / _DAY)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return None
    numbers = _floats(column)
    if missing:
        codes = pd.to_numeric(pd.Series(missing, dtype=object), errors="coerce")
        numbers = np.where(np.isin(numbers, codes), np.nan, numbers)
    return Cells(numbers)


def distinct(column: pd.Series[Any], missing: Sequence[str] = ()) -> Distinct:
    """Return the different texts of a column, and which each cell has."""
    codes: Any
    if column.dtype == object and pd.api.types.infer_dtype(column) not in ("string", "empty"):
        codes, texts = pd.factorize(_texts(column, missing))  # 1 and True are not the same
    else:
        codes, cells = pd.factorize(_decoded(column))
        texts = _texts(cells, missing)
    again, texts = pd.factorize(texts)  # of 7 and 7.0 the text is the same
    return Distinct(texts, np.append(again, -1)[codes])


def _decoded(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return texts that Arrow keeps as numbers of a dictionary as they are."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    values = getattr(kind, "value_type", None)  # of a dictionary, which may hold other texts, too
    return column if values is None else column.astype(pd.ArrowDtype(values))


def ordered_values(column: pd.Series[Any]) -> NDArray[np.object_] | None:
    """Return the categories of a column as text, in their order; None if they have none.

    Examples
    --------
    >>> ordered_values(pd.Series(pd.Categorical(["low"], ["low", "high"], ordered=True))).tolist()
    ['low', 'high']
    """
    if not isinstance(column.dtype, pd.CategoricalDtype) or not column.dtype.ordered:
        return None
    return _texts(pd.Series(column.cat.categories), ())


def as_text(column: pd.Series[Any], missing: Sequence[str] = ()) -> pd.Series[Any]:
    """Return the cells as text, None where there is no value, or one of ``missing``.

    Examples
    --------
    >>> as_text(pd.Series(["7", "NA", "x"])).tolist(), as_text(pd.Series([7.0, None])).tolist()
    (['7', None, 'x'], ['7', None])
    """
    found = distinct(column, missing)
    values = np.append(found.values, [None])[found.codes]
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


def as_numbers(column: pd.Series[Any], missing: Sequence[str] = ()) -> pd.Series[float]:
    """Return the cells as floats, NaN where there is no value or it is not a number.

    Dates are days since 1970. So is text if most of its different values are dates that have one
    reading. Lengths of time are days, too.

    Examples
    --------
    >>> as_numbers(pd.Series([" 1e3", "NA", "x"])).tolist()
    [1000.0, nan, nan]
    >>> as_numbers(pd.Series(["02.01.1970", ""])).tolist()
    [1.0, nan]
    """
    return pd.Series(read_cells(column, missing).numbers, index=column.index, name=column.name)


def _are_texts(kind: Any) -> bool:
    """Whether the cells of a column of this type are texts, or empty."""
    if isinstance(kind, pd.ArrowDtype):
        from pyarrow import types

        return bool(
            types.is_string(kind.pyarrow_dtype) or types.is_large_string(kind.pyarrow_dtype)
        )
    return isinstance(kind, pd.StringDtype)


def _texts(cells: Any, missing: Sequence[str]) -> NDArray[np.object_]:
    """Return cells as text, None where there is no value, each looked at."""
    cells = getattr(cells, "array", cells)  # of a series
    if isinstance(cells, pd.api.extensions.ExtensionArray):
        cells = np.asarray(cells, dtype=object)
    empty = {*MISSING, *missing}
    values = np.empty(len(cells), dtype=object)
    values[:] = [text_or_none(cell, empty) for cell in cells.tolist()]
    return values


def _floats(column: pd.Series[Any]) -> Floats:
    """Return numbers of any type as floats."""
    values = getattr(column.array, "_pa_array", None)
    if values is not None:  # decimals would go through Python's
        return np.asarray(values.cast("float64", safe=False).to_numpy())
    return column.to_numpy(dtype=float, na_value=np.nan)


def _by_arrow(column: pd.Series[Any], missing: Sequence[str]) -> Cells | None:
    """Return texts that are all numbers or empty; None of others."""
    if not hasattr(column.array, "_pa_array") or not _are_texts(column.dtype):
        return None
    import pyarrow as pa

    is_none = column.isin([*MISSING, *missing, *MISSING_NUMBERS])
    given: Any = column.mask(is_none).array
    values = given._pa_array
    try:
        values.drop_null()[:1].cast(pa.float64())  # one first: of a column an error is slow
        numbers = values.cast(pa.float64()).to_numpy() + 0.0  # not -0.0
    except pa.ArrowInvalid:
        return None
    if np.isnan(numbers).sum() > values.null_count or values.null_count == len(values):
        return None  # "NAN" is no number
    found, signs = Counter(column[is_none].tolist()), {*MISSING_NUMBERS} - {*missing}
    return Cells(numbers, signs={text: n for text, n in found.items() if text in signs})


def are_whole(numbers: Floats) -> bool:
    """Whether all numbers are whole, of those that are given."""
    given = numbers[~np.isnan(numbers)]
    return bool((np.floor(given) == given).all())


def _numbers_in(texts: NDArray[np.object_]) -> list[float]:
    """Return texts as numbers, NaN where they are none; pandas 3.0 has the last digit wrong."""
    numbers = pd.to_numeric(texts, errors="coerce")
    return [float(text) if n == n else np.nan for text, n in zip(texts, numbers, strict=True)]


def _days_in(texts: NDArray[np.object_]) -> Floats | None:
    """Return days since 1970 if most texts are dates, written in one way that has one reading.

    Other texts are NaN. 02/03/2020 is in February or in March, and stays text.

    Examples
    --------
    >>> _days_in(np.array(["2.1.1970", "11.01.1970", "soon"], dtype=object)).tolist()
    [1.0, 10.0, nan]
    >>> _days_in(np.array(["2020-01-02", "today"], dtype=object)) is None
    True
    """
    texts = np.array([*map(_year_first, texts)], dtype=object)

    def moments(shape: str, some: Any) -> Any:
        return pd.to_datetime(some, format=shape, errors="coerce")

    first = {shape: moments(shape, texts[:_FIRST_TEXTS]).notna().sum() for shape in _DATES}
    shape = max(first, key=lambda each: first[each])
    if not first[shape]:
        return None
    seconds = moments(shape, texts).to_numpy().astype("datetime64[s]")
    days = np.asarray((seconds - _EPOCH) / _DAY)
    return days if 2 * np.isfinite(days).sum() > len(texts) else None


def _year_first(text: str) -> str:
    if text.count(".") == 2:
        return "-".join(reversed(text.split(".")))
    return text if text[:1].isdigit() else ""  # "today" is a date for pandas


def _days(column: pd.Series[Any]) -> Floats:
    """Return moments as days since 1970, in local time if they have a zone."""
    values: Any = getattr(column.array, "_pa_array", None)
    zone = getattr(getattr(values, "type", None), "tz", None)
    if zone is not None:  # Arrow knows no zones on Windows
        column = column.astype(pd.DatetimeTZDtype(values.type.unit, zone))
    if values is None or zone is not None:
        moments = column.dt.tz_localize(None).to_numpy()
    else:
        import pyarrow as pa

        if pa.types.is_date(values.type):
            values = values.cast(pa.date32())
        moments = values.to_numpy()
    return np.asarray((moments - _EPOCH) / _DAY)


def numbers_or_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of cells as numbers if all of them are, else as text."""
    return as_text(column) if len(read_cells(column).odd) else as_numbers(column)


def text_or_none(value: Any, empty: Collection[str] = MISSING) -> str | None:
    """Return a cell as text, None where there is no value."""
    if isinstance(value, str):
        return None if value.strip() in empty else value
    if (
        value is None
        or value is pd.NaT
        or value is pd.NA
        or (isinstance(value, float) and np.isnan(value))
    ):
        return None
    text = _cell_text(value)
    return None if text.strip() in empty else text


def _cell_text(value: Any) -> str:
    """Return a cell as text: whole floats as integers, days without a time."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    return str(value)


def is_date(kind: Any) -> bool:
    """Whether the cells of a column of this type are dates."""
    if isinstance(kind, pd.ArrowDtype):
        from pyarrow import types

        return bool(types.is_date(kind.pyarrow_dtype) or types.is_timestamp(kind.pyarrow_dtype))
    return bool(pd.api.types.is_datetime64_any_dtype(kind))


_POINT, _COMMA, _GROUPS = [b"."], [b","], [mark.encode() for mark in GROUP_MARKS]


def plain_numbers(
    table: pd.DataFrame, dialect: Dialect, path: Path, first_row: int = 1
) -> pd.DataFrame:
    """Return some rows of a table of text with all numbers in plain form, 1234.5.

    Parameters
    ----------
    table : DataFrame
        The rows, all cells text.
    dialect : Dialect
        How the numbers of each column are written.
    path, first_row : Path, int
        Where the rows are from, for messages.

    Examples
    --------
    >>> dialect = Dialect(";", marks={"price": Marks(",")})
    >>> table = pd.DataFrame({"price": ["1,5", "1.234"]})
    >>> plain_numbers(table, dialect, Path("prices.csv"))["price"].tolist()
    ['1.5', '1234']
    >>> plain_numbers(pd.DataFrame({"price": ["12.5"]}), dialect, Path("prices.csv"), 3)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: prices.csv, data row 3: in column 'price' numbers have a decimal \
comma, but '12.5' has not; correct it, or take the column as text with text=['price']
    """
    columns, is_changed = dict[str, Any](), False
    for name, column in table.items():
        where = partial(_place, path, first_row, column)
        marks = dialect.marks.get(str(name))
        if marks is not None:
            plain = _plain(column, marks, where)
            is_changed = is_changed or plain is not column
        else:  # text, or digits alone: only numbers with two readings are refused
            plain = column
            if dialect.decimal is None and _holds(column, _POINT + _COMMA):
                _check_readings(column, where)
        columns[str(name)] = plain
    # All at once: of ten thousand columns, each alone would copy the table.
    return pd.DataFrame(columns, index=table.index) if is_changed else table


def _place(path: Path, first_row: int, column: pd.Series[Any], cell: str) -> str:
    row = first_row + int(np.flatnonzero(column == cell)[0])
    return f"{path}, data row {row}: in column {str(column.name)!r}"


def _plain(column: pd.Series[Any], marks: Marks, where: Callable[[str], str]) -> pd.Series[Any]:
    """Return a column in plain form, the same one if it is so already."""
    decimal = marks.decimal
    if not _holds(column, _COMMA + _GROUPS + (_POINT if decimal == "," else [])):
        return column
    if decimal == "," and (quick := _with_points(column)) is not None:
        return quick
    codes, cells = pd.factorize(column.to_numpy(dtype=object))
    plain = np.empty(len(cells), dtype=object)
    plain[:] = [_plain_cell(cell, decimal, str(column.name), where) for cell in cells]
    return pd.Series(plain[codes], index=column.index, dtype=column.dtype, name=column.name)


def _plain_cell(cell: str, decimal: str, name: str, where: Callable[[str], str]) -> str:
    plain = canonical(cell, decimal)
    if plain is None and OTHER[decimal] in readings(cell):
        raise InputError(
            f"{where(cell)} numbers have a decimal {NAMES[decimal]}, but {cell!r} has not; correct "
            f"it, or take the column as text with {text_option(name)}"
        )
    return cell if plain is None else plain


def _check_readings(column: pd.Series[Any], where: Callable[[str], str]) -> None:
    """Refuse a column that was digits in the sample, and has numbers like 1,234 further down."""
    cells = pd.unique(column)
    found = [cell for cell in cells if len(readings(cell)) == 2]
    if found and not any(readings(cell) in ((), (".",)) for cell in cells):
        raise InputError(f"{where(found[0])} {both_readings(found[0])}")


def _with_points(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return decimal commas as points where no cell has another mark; None if some have."""
    values = getattr(column.array, "_pa_array", None)
    if values is None or _holds(column, _POINT + _GROUPS):
        return None
    import pyarrow as pa
    from pyarrow import compute

    plain = compute.replace_substring(values, ",", ".")
    try:  # the cast refuses what is not a number, like 1,2,3
        compute.if_else(compute.equal(plain, ""), "0", plain).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return pd.Series(type(column.array)(plain), index=column.index, name=column.name)


def _holds(column: pd.Series[Any], marks: Sequence[bytes]) -> bool:
    """Whether any cell holds one of some marks; fast where cells are contiguous in memory."""
    values = getattr(column.array, "_pa_array", None)
    if values is None:
        text = "\n".join(map(str, column))
        return any(mark.decode() in text for mark in marks)
    for chunk in values.chunks:
        data = chunk.buffers()[2]
        if data is None:
            continue
        # A slice shares the buffer of the whole: marks outside of it only cost time.
        content = data.to_pybytes()
        is_plain = content.isascii()
        if any(mark in content for mark in marks if len(mark) == 1 or not is_plain):
            return True
    return False


_CODE = re.compile(r"\s*(?:\+|[+-]?0\d)")  # +49, 01067
_WHOLE = re.compile(r"\s*[+-]?\d{1,300}\s*")
_MOST_DIGITS = 17  # of a float
_EXACT, _LARGEST = 1 << 53, 1 << 63  # floats are exact up to the first; int64 ends at the second


class TypedCells:
    """Makes tables of cells that have types; numbers in text are read like those of CSV files.

    How such numbers are written is found by the first rows in which a column has any, and holds
    for all that follow.

    Parameters
    ----------
    path : Path
        The file that the cells are from.
    how : ReadAs
        What the user has named.

    Examples
    --------
    >>> cells = TypedCells(Path("x.xlsx"), ReadAs())
    >>> cells.table({"size": [1.234, "12,5"], "town": ["Ulm", ""]})["size"].tolist(), cells.note
    ([1.234, 12.5], ', decimal comma in text')
    """

    def __init__(self, path: Path, how: ReadAs) -> None:
        self.path, self.how = path, how
        self._dialect, self._seen = Dialect(decimal=how.decimal), set[str]()
        self._signs: Counter[str] = Counter()

    def table(self, columns: Mapping[str, Sequence[Any]], first_row: int = 1) -> pd.DataFrame:
        """Return a table whose first row has this number."""
        texts = {
            name: pd.Series([v if isinstance(v, str) else "" for v in cells], dtype="str")
            for name, cells in columns.items()
            if name not in self.how.text and any(isinstance(v, str) and v for v in cells)
        }
        new = {name: cells.tolist() for name, cells in texts.items() if name not in self._seen}
        self._seen.update(new)
        marks, decimal = find_marks(new, self._dialect.decimal, self.path, self.how.likely)
        self._dialect = Dialect(
            decimal=decimal or self._dialect.decimal, marks=self._dialect.marks | marks
        )
        plain = plain_numbers(pd.DataFrame(texts), self._dialect, self.path, first_row)
        found: dict[str, Sequence[Any]] = dict(columns)
        for name in texts:
            found[name] = _with_numbers(columns[name], plain[name].tolist())
            pairs = zip(texts[name], found[name], strict=True)
            self._signs.update(t for t, cell in pairs if cell is None and t in MISSING_NUMBERS)
        return pd.DataFrame({name: typed_column(cells) for name, cells in found.items()})

    @property
    def note(self) -> str:
        """How numbers in text were understood, where that is worth a word."""
        is_found = self._dialect.decimal == "," and self.how.decimal is None
        said = f", decimal {NAMES[',']} in text" if is_found else ""
        n = self._signs.total()
        if n:
            are = "is a missing value" if n == 1 else "are missing values"
            said += f", {count(n, 'cell')} ({all_of(sorted(self._signs))}) among numbers {are}"
        return said


def _with_numbers(cells: Sequence[Any], texts: Sequence[str]) -> list[Any]:
    """Return cells with their texts in plain form; in a numeric column these become numbers.

    A column of texts alone stays text, and so does one with a code among its texts: 007 is not 7.
    """
    merged = [text if isinstance(v, str) else v for v, text in zip(cells, texts, strict=True)]
    others = [v for v in merged if not (_is_empty(v) or isinstance(v, str))]
    if not others or not all(type(v) is not bool and isinstance(v, (int, float)) for v in others):
        return merged
    if any(isinstance(v, str) and _CODE.match(v) for v in merged):
        return merged
    empty = {*MISSING, *MISSING_NUMBERS}
    plain = [v.replace(MINUS, "-") if isinstance(v, str) else v for v in merged]
    try:
        return [None if v in empty else _number(v) if isinstance(v, str) else v for v in plain]
    except ValueError:
        return merged


def _number(text: str) -> int | float:
    """Return a number; ValueError if it is none, or one that no float holds."""
    if "_" in text or not text.isascii():  # numbers of Python, not of tables
        raise ValueError
    if _WHOLE.fullmatch(text):
        return int(text)
    digits = re.sub(r"\D", "", text.lower().partition("e")[0]).lstrip("0")
    if len(digits) > _MOST_DIGITS:
        raise ValueError
    return float(text)


def typed_column(cells: Sequence[Any]) -> pd.Series[Any]:
    """Return cells as a column of one type where they have one; None and "" are empty.

    Numbers that are all whole become whole numbers, dates become dates, and what is mixed stays as
    it is: a number among text is text, as in CSV. Among numbers, true is 1. Numbers that no type
    holds exactly are text, too.

    Examples
    --------
    >>> typed_column([1.0, None, 3.0]).dtype, typed_column([1.5, ""]).tolist()
    (Int64Dtype(), [1.5, nan])
    >>> typed_column([9007199254741793]).tolist(), typed_column([1.5, 9007199254741793]).tolist()
    ([9007199254741793], ['1.5', '9007199254741793'])
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
        most = _EXACT if float in kinds else _LARGEST
        if all(abs(cell) < most and float(cell).is_integer() for cell in given):
            return pd.Series([None if v is None else int(v) for v in values], dtype="Int64")
        if all(isinstance(cell, float) or abs(cell) <= _EXACT for cell in given):
            return pd.Series(values, dtype=float)
    if kinds <= {datetime.date, datetime.datetime, pd.Timestamp}:
        with suppress(ValueError, OverflowError):  # of years that pandas has not
            return pd.Series(pd.to_datetime(pd.Series(values, dtype=object)))
    return pd.Series(["" if v is None else _cell_text(v) for v in values], dtype="str")


def _is_empty(cell: Any) -> bool:
    return cell is None or cell is pd.NaT or cell == "" or cell != cell
