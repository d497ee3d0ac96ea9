"""Columns of formats whose cells have types of their own."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pandas as pd

_WHOLE = 1 << 53  # beyond, floats skip whole numbers


def typed_column(cells: Sequence[Any]) -> pd.Series[Any]:
    """Return cells as a column of one type where they have one; None and "" are empty.

    Numbers that are all whole become whole numbers, dates become dates, and what is mixed stays as
    it is: a number among text is text, as in CSV.

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
    if kinds <= {int, float}:
        if all(float(cell).is_integer() and abs(cell) < _WHOLE for cell in given):
            return pd.Series([None if v is None else int(v) for v in values], dtype="Int64")
        return pd.Series(values, dtype=float)
    if kinds <= {datetime.date, datetime.datetime, pd.Timestamp}:
        return _dates(values)
    if kinds == {bool}:
        return pd.Series(values, dtype="boolean")
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
