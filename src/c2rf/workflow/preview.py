"""Tables as they were understood: the first rows, and what each column holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import count, short
from c2rf.data.cells import as_text, is_date
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.data.profile import ColumnProfile
from c2rf.workflow.prepare import find_rows

FIRST_ROWS = 3
MOST_COLUMNS = 60
"""Wider tables are shown up to here."""


@dataclass(frozen=True, eq=False)
class TablePreview:
    """A table as it was understood.

    ``looked_at`` counts the rows that were read; ``n_rows`` is None if not all were counted.
    ``columns`` has a row for each column: its type, the cells of the first rows, the numbers of its
    values and of its empty cells. Of wide tables it has the first columns, ``names`` has all.
    """

    name: str
    read_as: str
    columns: pd.DataFrame
    names: Sequence[str]
    looked_at: int
    n_rows: int | None
    decimal: str | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def title(self) -> str:
        """A line that says what the table is.

        Examples
        --------
        >>> TablePreview("a.csv", "commas, UTF-8", pd.DataFrame(), ["x", "y", "z"], 9, 9).title
        'a.csv: 9 rows, 3 columns; read as: commas, UTF-8'
        """
        rows = count(self.looked_at, "row")
        rows = rows if self.n_rows is not None else f"the first {rows}"
        read_as = f"; read as: {self.read_as}" if self.read_as else ""
        return f"{self.name}: {rows}, {count(self.n_columns, 'column')}{read_as}"


def preview(given: Any, how: ReadAs = AS_FOUND, *, name: str = "the table") -> TablePreview:
    """Read a table and say how it was understood.

    Parameters
    ----------
    given : data frame or path
        The table; of a large file only the start is read.
    how : ReadAs
        How files are to be read.
    name : str
        What to call it.

    Examples
    --------
    >>> found = preview(pd.DataFrame({"age": [41, None], "town": ["Ulm", "Bonn"]}))
    >>> found.columns[["column", "type", "values", "empty"]].to_numpy().tolist()
    [['age', 'number', 1, 1], ['town', 'text', 2, 0]]
    """
    rows = find_rows(given, "auto", how)
    names = list(rows.names or [])
    chunk = next(iter(rows.read(names)))[0]
    table = as_pandas(chunk)
    return TablePreview(
        name,
        rows.read_as,
        pd.DataFrame([_row(table[name]) for name in list(table)[:MOST_COLUMNS]]).fillna(""),
        names,
        len(table),
        rows.n_rows,
        None if rows.dialect is None else rows.dialect.decimal,
    )


def previews(paths: Sequence[Path], how: ReadAs, totals: Sequence[Path]) -> list[TablePreview]:
    """Read tables, and tables of totals, which have the decimal mark of the others if in doubt."""
    found = [preview(path, how, name=path.name) for path in paths]
    likely = next((table.decimal for table in found if table.decimal), None)
    as_data = ReadAs(decimal=how.decimal, likely=likely)
    return [*found, *(preview(path, as_data, name=path.name) for path in totals)]


def _row(column: pd.Series[Any]) -> dict[str, Any]:
    """Return what a preview says of a column."""
    profile = ColumnProfile(column)
    kind = {"numbers": "number", "dates": "date"}.get(profile.kind, "text")
    kind = kind if profile.labeled.given else "empty"
    first = as_text(column.iloc[:FIRST_ROWS]).fillna("")
    return {
        "column": profile.name,
        "type": "date" if is_date(column.dtype) else kind,
        **{f"row {k + 1}": short(cell, 24) if cell else "" for k, cell in enumerate(first)},
        "values": len(profile.texts),
        "empty": profile.labeled.missing,
    }
