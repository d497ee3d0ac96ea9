"""What the cells of a column mean: numbers, text, or nothing."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf.exceptions import InputError
from c2rf.files.numerals import MISSING

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
