"""Weights of rows: how many people a row stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from c2rf._text import for_user
from c2rf._typing import Floats
from c2rf.exceptions import InputError, InputTypeError


def read_weights(values: Any, n_rows: int, name: str = "unlabeled_weight") -> Floats | None:
    """Return weights as numbers; None where all are one, because then nothing is weighted.

    Parameters
    ----------
    values : array-like of shape (n_rows,)
        Numbers, none negative; rows of weight zero are labeled, and count nothing.
    n_rows : int
        How many there must be.
    name : str
        What the user calls them.

    Examples
    --------
    >>> read_weights([2, 0.5], 2), read_weights([1, 1.0], 2)
    (array([2. , 0.5]), None)
    >>> read_weights([2, -1], 2)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: unlabeled_weight must not be negative; found -1 in row 1
    """
    if hasattr(values, "compute"):
        values = values.compute()
    series = pd.Series(np.asarray(values).ravel() if np.ndim(values) < 2 else [])
    if len(series) != n_rows:
        raise InputError(
            f"{name} must have one number per row, {n_rows}; found the shape {np.shape(values)}"
        )
    empty = series.isna() | (series.astype(str).str.strip() == "")
    if empty.any():
        raise InputError(
            f"{name} has no number in {_row(empty)} ({int(empty.sum())} are missing); "
            "give rows that count nothing the weight 0"
        )
    if series.dtype == bool:
        raise InputTypeError(f"{name} must be numbers; found truth values")
    numbers = pd.to_numeric(series, errors="coerce")
    if numbers.isna().any():
        wrong = numbers.isna()
        found = series[wrong].iloc[0]
        raise InputTypeError(f"{name} must be numbers; found {found!r} in {_row(wrong)}")
    weights = numbers.to_numpy(dtype=float)
    for wrong, what in (
        (numbers < 0, "must not be negative"),
        (np.isinf(numbers), "must be finite"),
    ):
        if wrong.any():
            raise InputError(f"{name} {what}; found {series[wrong].iloc[0]} in {_row(wrong)}")
    if not weights.any():
        raise InputError(f"{name} has only zeros: no row counts anything")
    return None if bool((weights == 1).all()) else weights


def _row(wrong: pd.Series[Any]) -> str:
    """Name the first row that is wrong: in Python from 0, in files from 1."""
    place = int(np.asarray(wrong).argmax())
    return for_user(f"row {place}", f"data row {place + 1}")
