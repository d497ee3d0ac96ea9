"""A population in memory: an array or a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from c2rf._utils.frames import names_of
from c2rf._utils.types import Columns
from c2rf.data.population.interface import Population


class Memory(Population):
    """The rows of a table in memory.

    Parameters
    ----------
    table : array or data frame of shape (n_rows, n_columns)
        The rows.
    name : str
        What the user calls them.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = Memory(pd.DataFrame({"age": [41, 14], "town": ["Ulm", "Bonn"]}))
    >>> rows.n_rows, rows.names
    (2, ['age', 'town'])
    >>> [chunk.data.columns.tolist() for chunk in rows.chunks(["town"])]
    [['town']]
    """

    def __init__(self, table: Any, name: str = "X_unlabeled") -> None:
        self.table, self.name = table, name
        self.n_rows = table.shape[0]

    def read(self, columns: Columns = None) -> Iterator[tuple[Any, str]]:
        """Yield all rows at once."""
        has_names = hasattr(self.table, "columns")
        yield self.table[list(columns)] if columns is not None and has_names else self.table, ""

    @property
    def names(self) -> list[str] | None:
        """The names of the columns, if it is a frame."""
        return names_of(self.table)
