"""Compiling small loops with Numba where it is installed; without it they run as they are."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return a function that does the same, compiled if Numba is there."""
    return _compiled(function)


def summing(function: Function) -> Function:
    """Return the same of a function that may add up in any order, which is quicker."""
    return _compiled(function, fastmath={"reassoc", "nsz"})


def _compiled(function: Function, **options: Any) -> Function:
    try:
        from numba import njit
    except ImportError:
        return function
    try:
        result: Any = njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder for it can be written to: it is compiled in every process
        result = njit(nogil=True, **options)(function)
    return result


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is Ctrl-C, perhaps inside compiled code, which says SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def own_group() -> dict[str, Any]:
    """Return arguments of a process that Ctrl-C in a terminal is not for, on Windows either."""
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    return {"start_new_session": True, "creationflags": flags}


@cache
def can_compile() -> bool:
    """Return whether loops are compiled, and so worth running where a library does the same."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True
