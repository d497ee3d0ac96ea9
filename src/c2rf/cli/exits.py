"""Exit codes, and when to leave with which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from c2rf.core.problem import Solution

FAILED = 1
USER_MISTAKE = 2
INTERRUPTED = 130


def exit_if_interrupted(solution: Solution | None) -> None:
    """Leave as after Ctrl-C if it ended the search: what was found is written, but not final."""
    if solution is not None and solution.stats.get("interrupted"):
        raise typer.Exit(INTERRUPTED)
