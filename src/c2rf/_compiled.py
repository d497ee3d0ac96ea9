"""Compiling small loops with Numba where it is installed; without it they run as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return a function that does the same, compiled if Numba is there."""
    try:
        from numba import njit
    except ImportError:
        return function
    try:
        result: Any = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for it can be written to: it is compiled in every process
        result = njit(nogil=True)(function)
    return result
