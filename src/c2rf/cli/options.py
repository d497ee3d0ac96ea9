"""Options that several commands share, under one name and with one meaning."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from c2rf.exceptions import InputError

Votes = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES.csv",
        help="Votes of -1/+1, a row per individual and a column per tree; a header is optional.",
    ),
]
Total = Annotated[
    str,
    typer.Option(
        metavar="N", help="The known number of positives: a count (1234) or a rate (0.12 or 12%)."
    ),
]
Method = Annotated[
    str, typer.Option(metavar="NAME", help="auto, c2rf, p-c2rf, only-pp or only-br.")
]
Backend = Annotated[str, typer.Option(metavar="NAME", help="highs, scip or gurobi.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="Stop then with the best weights found so far."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]


def parse_total(text: str) -> int | float:
    """Return a count from ``1234``, a rate from ``0.12`` or ``12%``: the text decides.

    Examples
    --------
    >>> parse_total("1234"), parse_total("0.12"), parse_total("12%"), parse_total("1.0")
    (1234, 0.12, 0.12, 1.0)
    >>> parse_total("1,234")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: --total must be a count like 1234 or a rate like 0.12 or 12%; \
found '1,234'
    """
    stripped = text.strip()
    if re.fullmatch(r"[+-]?\d+", stripped):
        return int(stripped)
    try:
        if stripped.endswith("%"):
            return float(stripped[:-1]) / 100
        return float(stripped)
    except ValueError as error:
        raise InputError(
            f"--total must be a count like 1234 or a rate like 0.12 or 12%; found {text!r}"
        ) from error
