"""Ctrl-C: what it looks like, and which processes it is not for. Imports nothing large."""

from __future__ import annotations

import subprocess
from typing import Any


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is Ctrl-C, perhaps inside compiled code, which says SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def own_group() -> dict[str, Any]:
    """Return arguments of a process that Ctrl-C in a terminal is not for, on Windows either."""
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    return {"start_new_session": True, "creationflags": flags}
