"""Options whose values are a few names: they are offered by the completion of the shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from c2rf._choices import ENGINES, LEARNERS, METHODS


def completing(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what offers the names that begin as the user has typed.

    Examples
    --------
    >>> completing(ENGINES)("m")
    ['memory']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


Method = Annotated[
    str,
    typer.Option(metavar="NAME", help="known-totals or c2rf.", autocompletion=completing(METHODS)),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Where the rows are kept: in memory, or left in their files: chunks, or dask.",
        autocompletion=completing(ENGINES),
    ),
]
Learner = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="known-totals: blend, or the quicker extra-trees and logistic.",
        show_default="blend",
        autocompletion=completing(LEARNERS),
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="dask: a cluster's scheduler, tcp://host:8786."),
]
