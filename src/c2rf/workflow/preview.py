"""Tables as they were understood: the first rows, and what each column holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from c2rf._utils.frames import as_pandas
from c2rf._utils.text import count, short
from c2rf.data.cells import as_numbers, as_text, dates_in, is_date
from c2rf.data.dialect import AS_FOUND, ReadAs
from c2rf.workflow.prepare import find_rows

FIRST_ROWS = 3
MOST_COLUMNS = 60
"""Wider tables are shown up to here."""


@dataclass(frozen=True)
class ColumnPreview:
    """A column: its name, its type, the cells of the first rows, its values and empty cells."""

    name: str
    type: str
    first: Sequence[str]
    values: int
    empty: int


@dataclass(frozen=True)
class TablePreview:
    """A table as it was understood.

    ``looked_at`` counts the rows behind the figures; ``n_rows`` is None if nobody counted all. Of
    wide tables ``columns`` are the first, ``names`` are all.
    """

    name: str
    read_as: str
    columns: Sequence[ColumnPreview]
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
        """Say what the table is.

        Examples
        --------
        >>> TablePreview("a.csv", "commas, UTF-8", (), ["x", "y", "z"], 9, 9).title
        'a.csv: 9 rows, 3 columns; read as: commas, UTF-8'
        """
        rows = count(self.looked_at, "row")
        rows = rows if self.n_rows is not None else f"the first {rows}"
        said = f"; read as: {self.read_as}" if self.read_as else ""
        return f"{self.name}: {rows}, {count(self.n_columns, 'column')}{said}"

    def table(self) -> pd.DataFrame:
        """Return a row for each column."""
        rows = [
            {
                "column": column.name,
                "type": column.type,
                **{f"row {k + 1}": cell for k, cell in enumerate(column.first)},
                "values": column.values,
                "empty": column.empty,
            }
            for column in self.columns
        ]
        return pd.DataFrame(rows).fillna("")


def preview(given: Any, how: ReadAs = AS_FOUND, *, name: str = "the table") -> TablePreview:
    """Read a table and say how it was understood.

    Parameters
    ----------
    given : data frame or path
        The table; of a large file only the start is looked at.
    how : ReadAs
        What the user has said about files.
    name : str
        What to call it.

    Examples
    --------
    >>> found = preview(pd.DataFrame({"age": [41, None], "town": ["Ulm", "Bonn"]}))
    >>> [(column.name, column.type, column.values, column.empty) for column in found.columns]
    [('age', 'number', 1, 1), ('town', 'text', 2, 0)]
    """
    rows = find_rows(given, "auto", how)
    names = list(rows.names or [])
    chunk = next(iter(rows.read(names)))[0]
    table = as_pandas(chunk)
    return TablePreview(
        name,
        rows.read_as,
        list(_columns(table)),
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


def _columns(table: pd.DataFrame) -> Iterator[ColumnPreview]:
    for name in list(table)[:MOST_COLUMNS]:
        cells = as_text(table[name])
        first = ["" if cell is None else short(cell, 24) for cell in cells.iloc[:FIRST_ROWS]]
        empty = int(cells.isna().sum())
        yield ColumnPreview(str(name), _type(table[name]), first, int(cells.nunique()), empty)


def _type(column: pd.Series[Any]) -> str:
    """Return what a column is taken for."""
    texts = as_text(column)
    if is_date(column.dtype) or dates_in(texts) is not None:
        return "date"
    if not texts.notna().any():
        return "empty"
    return "number" if not (as_numbers(column).isna() & texts.notna()).any() else "text"
