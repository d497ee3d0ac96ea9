"""Types of arrays, and checks of single numbers that a user gives.

True and False are no numbers here, though Python counts with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from c2rf.exceptions import InputError, InputTypeError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Texts = NDArray[np.object_]

Codes = NDArray[np.intp]
"""Numbers from 0 that stand for classes, groups or rows."""

Signs = NDArray[np.int8]
"""Labels of -1 and +1."""

Columns = Sequence[str] | None
"""Names of columns to read, in this order; None for all of them."""

MOST_SEEDS = 2**31 - 1
"""Seeds are below this number, which all libraries take."""

LARGEST = float(np.finfo(np.float32).max)
"""Largest number that is learned from: trees compare numbers of single precision."""


def is_number(value: Any) -> bool:
    """Return whether a value is a real number.

    Examples
    --------
    >>> is_number(0.5), is_number(np.int8(3)), is_number(True), is_number("3")
    (True, True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def not_masked(values: Any) -> Any:
    """Return values, with NaN where numpy masks them: what is masked is missing, not a number.

    Examples
    --------
    >>> not_masked(np.ma.masked_array([1, 2], mask=[False, True])).tolist()
    [1.0, nan]
    """
    return values.astype(float).filled(np.nan) if np.ma.is_masked(values) else values


def is_whole(value: Any) -> bool:
    """Return whether a value is of an integer type.

    Examples
    --------
    >>> is_whole(np.int8(3)), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and is_number(value)


def rows_at_rate(rate: float, n_rows: int) -> int:
    """Return the number of rows nearest to a rate; half a row goes to the larger share.

    At a rate of one half it goes to what was asked for.

    Examples
    --------
    >>> rows_at_rate(0.1, 30), rows_at_rate(0.3, 5), rows_at_rate(0.5, 5), rows_at_rate(0.7, 5)
    (3, 1, 3, 4)
    """
    return int(np.floor(rate * n_rows + 0.5 + (1e-9 if rate >= 0.5 else -1e-9)))


def check_number(name: str, value: Any) -> None:
    """Refuse what is no number."""
    if not is_number(value):
        raise InputTypeError(
            f"{name} must be a number; found {value!r} of type {type(value).__name__}"
        )


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is no integer, or a too small one.

    Examples
    --------
    >>> check_whole("threads", 0, least=1)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: threads must be at least 1; found 0
    """
    if not is_whole(value):
        raise InputTypeError(
            f"{name} must be an integer; found {value!r} of type {type(value).__name__}"
        )
    if value < least:
        raise InputError(f"{name} must be at least {least}; found {value}")
