"""Numbers of any dialect put into plain form, 1234.5, a part of a file at a time.

A dialect is found by a sample. Here every cell is looked at, so that a number which contradicts
the sample is refused and never read wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._text import for_user
from c2rf.exceptions import InputError
from c2rf.files.dialect import Dialect
from c2rf.files.numerals import GROUP_MARKS, NAMES, OTHER, Marks, canonical, parse_number, readings

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
