"""Arrays and data frames of pandas, Polars, Arrow and others, handled alike (by narwhals)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from c2rf._utils.text import all_of
from c2rf.exceptions import InputError


def as_pandas(table: Any) -> Any:
    """Convert a data frame of any library to pandas; return anything else unchanged."""
    try:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
    except DuplicateError:
        check_different_names(table, "a table")
        raise
    return frame.to_pandas() if isinstance(frame, nw.DataFrame) else table


def names_of(table: Any) -> list[str] | None:
    """Return the column names as text, or None for a table without column names."""
    columns = getattr(table, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def check_different_names(table: Any, name: str) -> None:
    """Refuse duplicate column names."""
    counts = Counter(names_of(table) or [])
    repeated = [column for column, number in counts.items() if number > 1]
    if repeated:
        raise InputError(
            f"the columns of {name} must have different names; found more than one "
            f"{all_of(repeated)}: rename or remove them"
        )


def stacked(tables: list[Any]) -> Any:
    """Concatenate the rows of tables; the result is of the same type as the tables.

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


def as_numbers(X: Any) -> NDArray[np.float64]:
    """Return an array, or the columns of a frame that are numbers; one of zeros without any."""
    if not hasattr(X, "columns"):
        return np.asarray(X, dtype=float)
    numbers = as_pandas(X).select_dtypes(["number", "bool"]).to_numpy(dtype=float, na_value=np.nan)
    return numbers if numbers.shape[1] else np.zeros((len(numbers), 1))


def kinds_of(table: Any) -> dict[str, str]:
    """Say for each column of a frame whether it holds numbers; empty columns are left out.

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
