"""One total as the user says it: a count, a rate, a range, or an estimate."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from c2rf._scalars import is_number
from c2rf._text import for_user
from c2rf.exceptions import InputError, InputTypeError
from c2rf.totals.estimate import Estimate

Policy = Literal["strict", "scale"]

SLACK = 1e-9
"""Rates times rows are floats: 0.1 * 30 is three rows."""


@dataclass(frozen=True)
class Said:
    """One total: a range in rows, not yet rounded, and what the user wrote.

    ``se`` is its standard error in rows, 0 for an exact one.
    """

    low: float
    high: float
    is_rate: bool
    written: Any
    se: float = 0.0


def read_said(total: Any, n: float, what: str, policy: Policy) -> Said:
    """Read a count, a rate or a range of either, or say what is wrong with it."""
    if isinstance(total, Estimate):
        return _of_estimate(total, n)
    is_range = isinstance(total, (tuple, list, np.ndarray))
    ends = list(total) if is_range else [total, total]
    if len(ends) != 2:
        raise InputError(f"{what} must be {allowed()}; found {written(total)}")
    kinds = [_is_rate(end, what, total) for end in ends]
    if kinds[0] != kinds[1]:
        raise InputTypeError(
            f"{what} must be a range of two counts or of two rates, not of one each; found "
            f"{written(total)}"
        )
    low, high = (float(end) * n if kinds[0] else float(end) for end in ends)
    if low > high:
        raise InputError(f"{what} must be a range (lo, hi) with lo <= hi; found {written(total)}")
    if kinds[0] and not 0 <= float(ends[0]) <= float(ends[1]) <= 1:
        raise InputError(
            f"{what} must be {_rates()}; found {written(total)} (write counts as integers)"
        )
    if low < 0 or (policy == "strict" and (low if is_range else high) > n):
        raise InputError(
            f"{what} must be a count from 0 to {n}, the number of rows; found {written(total)}"
            + ("" if low < 0 else f": {scale_hint()}")
        )
    if is_range and np.ceil(low - SLACK) > np.floor(high + SLACK):
        raise InputError(
            f"{what}, {written(total)}, is a range without a whole number in it: from {low:g} to "
            f"{high:g} of {n} rows; widen it"
        )
    return Said(low, high, kinds[0], total)


def _of_estimate(total: Estimate, n: float) -> Said:
    """Read an estimate: of a rate, if it is a float up to one; it need not be whole."""
    is_rate = not isinstance(total.value, Integral) and total.value <= 1
    scale = n if is_rate else 1.0
    value = float(total.value) * scale
    return Said(value, value, is_rate, total, float(total.se) * scale)


def _is_rate(value: Any, what: str, total: Any) -> bool:
    if not is_number(value):
        raise InputTypeError(
            f"{what} must be {allowed()}; found {written(total)} of type {type(total).__name__}"
        )
    if not np.isfinite(float(value)):
        raise InputError(f"{what} must be {allowed()}; found {written(total)}")
    return not isinstance(value, Integral)


def allowed() -> str:
    """Say what a total may be."""
    return for_user(
        "a count (an integer), a rate (a float in [0, 1]), a range (lo, hi) of two counts or "
        "two rates, or a c2rf.Estimate",
        "a count like 1234, a rate like 12%, a range like 1200..1300 or an estimate like 1200+-50",
    )


def _rates() -> str:
    return for_user("a count, or a float that is a rate in [0, 1]", "a rate from 0% to 100%")


def scale_hint() -> str:
    """Say what to do about totals that contradict each other."""
    scale = for_user('totals_policy="scale"', "--totals-policy scale")
    return f"correct them, or use {scale} to have them rescaled"


def written(total: Any) -> str:
    """Write a total as it was given, short."""
    if isinstance(total, (tuple, list)) and len(total) == 2:
        low, high = (written(end) for end in total)
        return for_user(f"({low}, {high})", f"{low}..{high}")
    if isinstance(total, Estimate):
        return for_user(repr(total), str(total))
    if isinstance(total, np.generic):
        total = total.item()
    text = repr(total)
    return text if len(text) <= 60 else f"{text[:57]}..."
