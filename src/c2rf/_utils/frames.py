"""Tables of any kind: arrays, and the frames of pandas, Polars, Arrow and others (by narwhals)."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np


def as_pandas(table: Any) -> Any:
    """Return a frame of any kind as one of pandas; what is no frame stays as it is."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return frame.to_pandas() if isinstance(frame, nw.DataFrame) else table


def names_of(table: Any) -> list[str] | None:
    """Return the names of the columns as text, None if it has none."""
    columns = getattr(table, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def stacked(tables: list[Any]) -> Any:
    """Return the rows of all tables below each other, as an array or as a frame of their kind.

    Examples
    --------
    >>> stacked([np.array([[1]]), np.array([[2]])]).tolist()
    [[1], [2]]
    """
    if len(tables) == 1:
        return tables[0]
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    frames = [nw.from_native(table, eager_only=True) for table in tables]
    return nw.maybe_reset_index(nw.concat(frames)).to_native()


def kinds_of(table: Any) -> dict[str, str]:
    """Return for each column of a frame what it holds; nothing but empty cells is of any kind.

    Examples
    --------
    >>> import pandas as pd
    >>> kinds_of(pd.DataFrame({"age": [41, 14], "town": ["Ulm", "Bonn"], "note": [None, None]}))
    {'age': 'numbers', 'town': 'something else'}
    """
    frame = nw.from_native(table, eager_only=True)
    return {
        name: "numbers" if kind.is_numeric() or kind == nw.Boolean else "something else"
        for name, kind in frame.schema.items()
        if not frame[name].is_null().all()
    }
