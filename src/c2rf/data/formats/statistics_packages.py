"""Files of SPSS, Stata and SAS: value labels instead of codes, user-missing codes as empty.

Files of SPSS and Stata are written, too. Their numbers are doubles, and their dates are numbers
with a format: a column of which one cell would not come back exactly is written as text.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from c2rf._utils.text import count
from c2rf.data.cells import TypedCells
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import ReadTable
from c2rf.exceptions import InputError

_READERS = {
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".por": ("SPSS", "read_por"),
    ".dta": ("Stata", "read_dta"),
    ".xpt": ("SAS", "read_xport"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
}


def read(path: Path, how: ReadAs) -> ReadTable:
    """Read a file with the labels of its values."""
    import pyreadstat

    name, reader = _READERS[path.suffix.lower()]
    options: dict[str, Any] = {"encoding": how.encoding} if how.encoding else {}
    if reader in ("read_sav", "read_dta"):
        options |= {"apply_value_formats": True, "formats_as_category": False}
    try:
        frame, about = getattr(pyreadstat, reader)(str(path), **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise InputError(f"{path} is not a complete {name} file: {error}") from error
    cells = TypedCells(path, how)
    table = cells.table({name: frame[name].astype(object).tolist() for name in frame.columns})
    labels = getattr(about, "variable_value_labels", {})
    note = f", value labels of {count(len(labels), 'column')}" if labels else ""
    if reader == "read_sav":  # which lists the codes only where it keeps them
        _, codes = pyreadstat.read_sav(str(path), metadataonly=True, user_missing=True)
        missing = codes.missing_ranges
        note += f", missing codes of {count(len(missing), 'column')} left empty" if missing else ""
    return ReadTable(table, name + note + cells.note)


class _Package(NamedTuple):
    """What files of a package hold."""

    name: str
    name_letters: int
    label_letters: int
    reserved: str
    """Names that columns must not have, as a regular expression."""
    zero: datetime.datetime
    """From which dates are counted."""
    first: datetime.datetime
    """The earliest date there is."""
    day: tuple[str, datetime.timedelta]
    """How days are shown, and the unit that they are counted in."""
    moment: tuple[str, datetime.timedelta]
    trims: bool
    """Whether blanks at the end of a text are lost."""

    def names(self, columns: Iterable[Any]) -> list[str]:
        """Return a different name that is allowed for each column.

        Examples
        --------
        >>> _STATA.names(["long", "a b", "a_b", "1st"])
        ['v_long', 'a_b', 'a_b_2', 'v_1st']
        """
        names: dict[str, str] = {}
        for column in columns:
            plain = re.sub(r"\W", "_", str(column), flags=re.ASCII).strip("_")
            if not plain[:1].isalpha() or re.fullmatch(self.reserved, plain, re.IGNORECASE):
                plain = f"v_{plain}"
            name, number = plain[: self.name_letters], 1
            while name.casefold() in names:
                number += 1
                name = f"{plain[: self.name_letters - 1 - len(str(number))]}_{number}"
            names[name.casefold()] = name
        return list(names.values())

    def label(self, column: Any) -> str:
        """Return the name of a column, as much of it as a label holds."""
        start = _NO_TEXT.sub(_REPLACEMENT, str(column))[: self.label_letters]
        return start.encode()[:_LABEL_BYTES].decode(errors="ignore")

    def numbers(self, cells: Sequence[Any]) -> tuple[list[float], str | None] | None:
        """Return cells as numbers, with the format of dates; None if one is not held exactly.

        Examples
        --------
        >>> _STATA.numbers([datetime.date(1960, 1, 3)])
        ([2.0], '%td')
        >>> _STATA.numbers([2**53 + 1]) is None
        True
        """
        if all(isinstance(cell, bool) for cell in cells) or all(map(_is_exact, cells)):
            return [float(cell) for cell in cells], None
        have_times = {isinstance(cell, datetime.datetime) for cell in cells}
        times = [self._since_zero(cell) for cell in cells]
        known = [time for time in times if time is not None]
        shown, unit = self.moment if True in have_times else self.day
        if len(have_times) > 1 or len(known) < len(times) or any(time % unit for time in known):
            return None
        return [time / unit for time in known], shown

    def _since_zero(self, cell: Any) -> datetime.timedelta | None:
        """Return the time of a date since the first of all, None of what the package has not."""
        if isinstance(cell, pd.Timestamp):
            if cell.nanosecond or not datetime.MINYEAR <= cell.year <= datetime.MAXYEAR:
                return None
            cell = cell.to_pydatetime()
        if isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
            cell = datetime.datetime.combine(cell, datetime.time())
        if not isinstance(cell, datetime.datetime) or cell.tzinfo is not None or cell < self.first:
            return None
        return cell - self.zero


_SPSS = _Package(
    "SPSS", 64, 256, "ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH",
    datetime.datetime(1582, 10, 14), datetime.datetime(1582, 10, 15),
    ("DATE11", datetime.timedelta(seconds=1)), ("DATETIME20", datetime.timedelta(seconds=1)),
    True,
)  # fmt: skip
_STATA = _Package(
    "Stata", 32, 80, r"byte|double|float|if|in|int|long|str\d+|strL|using|with",
    datetime.datetime(1960, 1, 1), datetime.datetime(100, 1, 1),
    ("%td", datetime.timedelta(days=1)), ("%tc", datetime.timedelta(milliseconds=1)),
    False,
)  # fmt: skip
_LABEL_BYTES = 256
_LARGEST = 2.0**1023  # from here on, Stata's numbers mean missing values, and one of SPSS's does
_LAST_WHOLE = 2**53  # beyond, doubles skip whole numbers
_NO_TEXT = re.compile("[\0\ud800-\udfff]")  # ends a text of C; is no letter of UTF-8
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_OLD_STATA_COLUMNS = 32_767  # more need a format that only the largest edition reads


def write(path: Path, table: pd.DataFrame) -> Counter[str]:
    """Write a file of SPSS or Stata; names they do not allow become labels of columns.

    Returns
    -------
    Counter
        How many numbers and dates are ``"texts"``, and how many texts were ``"changed"``.
    """
    import pyreadstat

    is_stata = path.suffix.lower() == ".dta"
    package = _STATA if is_stata else _SPSS
    cautions, columns, formats = Counter[str](), dict[str, Any](), dict[str, str]()
    for place, name in enumerate(package.names(table)):
        cells = table.iloc[:, place].astype(object)
        is_given = cells.notna().to_numpy()
        given = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells[is_given]]
        found = package.numbers(given)
        if found is not None:
            columns[name] = np.full(len(cells), np.nan)
            columns[name][is_given], shown = found
            if shown is not None:
                formats[name] = shown
            continue
        texts = [_NO_TEXT.sub(_REPLACEMENT, str(cell)) for cell in given]
        cautions["texts"] += sum(isinstance(cell, _NUMBERS_AND_DATES) for cell in given)
        cautions["changed"] += sum(
            text != str(cell) or (package.trims and text.endswith(" "))
            for text, cell in zip(texts, given, strict=True)
        )
        columns[name] = np.full(len(cells), "", dtype=object)
        columns[name][is_given] = texts
    frame, labels = pd.DataFrame(columns), [*map(package.label, table)]
    options: dict[str, Any] = {"column_labels": labels, "variable_format": formats}
    try:
        if is_stata:
            options["version"] = 14 if len(columns) <= _OLD_STATA_COLUMNS else 15
            pyreadstat.write_dta(frame, str(path), **options)
        else:
            pyreadstat.write_sav(frame, str(path), **options)
    except pyreadstat.ReadstatError as error:
        raise InputError(
            f"{path}: {package.name} does not hold this table ({error}); write .csv or .parquet"
        ) from error
    return cautions


_NUMBERS_AND_DATES = (int, float, Decimal, datetime.date)


def _is_exact(cell: Any) -> bool:
    """Whether a cell is a number that comes back from a double as it was."""
    if isinstance(cell, bool):
        return False
    if isinstance(cell, int):
        return abs(cell) <= _LAST_WHOLE
    if isinstance(cell, Decimal):
        return abs(cell) < _LARGEST and Decimal(repr(float(cell))) == cell
    return isinstance(cell, float) and abs(cell) < _LARGEST
