"""A total that is not known exactly, with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from c2rf._scalars import check_number
from c2rf.exceptions import InputError


@dataclass(frozen=True)
class Estimate:
    """A total from a survey: a number and its standard error.

    Labels meet the rounded number. Where several totals contradict each other, estimates are
    moved to agree, the more the less certain they are, and exact totals stay.

    Parameters
    ----------
    value : int or float
        A count, or a rate: a float up to 1. A count need not be whole.
    se : int or float
        The standard error in the same unit, above zero.

    Examples
    --------
    >>> from c2rf import Estimate
    >>> Estimate(1200, se=50)
    Estimate(1200, se=50)
    >>> print(Estimate(0.12, se=0.005))
    0.12+-0.005
    >>> Estimate(1200, se=-1)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: the standard error of an estimate must be above 0; found -1
    """

    value: Any
    se: Any

    def __init__(self, value: Any, se: Any) -> None:
        for what, number in (("value", value), ("standard error", se)):
            check_number(f"the {what} of an estimate", number)
            if not np.isfinite(float(number)):
                raise InputError(f"the {what} of an estimate must be finite; found {number!r}")
        if se <= 0:
            raise InputError(f"the standard error of an estimate must be above 0; found {se!r}")
        if value < 0:
            raise InputError(f"an estimate of a total must not be negative; found {value!r}")
        object.__setattr__(self, "value", _plain(value))
        object.__setattr__(self, "se", _plain(se))

    def __repr__(self) -> str:
        return f"Estimate({self.value!r}, se={self.se!r})"

    def __str__(self) -> str:
        return f"{self.value!r}+-{self.se!r}"


def _plain(value: Any) -> Any:
    """Return a number of Python: files and messages know these."""
    return value.item() if isinstance(value, np.generic) else value
