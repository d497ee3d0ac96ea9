"""Columns of formats whose cells have types of their own: numbers, text, dates, true and false."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf.files.dialect import Dialect, ReadAs
from c2rf.files.numerals import MISSING, NAMES, find_marks
from c2rf.files.plain_numbers import PlainNumbers

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
