"""Options that several commands share, under one name and with one meaning."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from c2rf.exceptions import InputError

Votes = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES.csv",
        help="Votes of -1/+1, a row per individual and a column per tree; a header is optional.",
    ),
]
TOTAL = typer.Option(
    metavar="N", help="The known number of positives: a count (1234) or a rate (0.12 or 12%)."
)
Total = Annotated[str, TOTAL]
Method = Annotated[
    str, typer.Option(metavar="NAME", help="auto, c2rf, p-c2rf, only-pp or only-br.")
]
Backend = Annotated[str, typer.Option(metavar="NAME", help="highs, scip or gurobi.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="Stop then with the best weights found so far."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]

Number = int | float


def parse_total(text: str, name: str = "--total") -> Number:
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
    if re.fullmatch(r"[+-]?[0-9]{1,18}", stripped):
        return int(stripped)
    try:
        if stripped.endswith("%"):
            return float(stripped[:-1]) / 100
        return float(stripped)
    except ValueError as error:
        raise InputError(
            f"{name} must be a count like 1234 or a rate like 0.12 or 12%; found {text!r}"
        ) from error


def parse_offset(text: str | None) -> tuple[float, float] | None:
    """Return a range from ``lo..hi``.

    Examples
    --------
    >>> parse_offset("-1.5..2"), parse_offset(None)
    ((-1.5, 2.0), None)
    """
    if text is None:
        return None
    lo, dots, hi = text.partition("..")
    try:
        ends = float(lo), float(hi)
    except ValueError:
        dots = ""
    if not dots:
        raise InputError(f"--offset must be a range like -10..10; found {text!r}")
    return ends


def split_names(given: Sequence[str] | None) -> list[str]:
    """Return the columns of an option that takes several, by commas or by being repeated.

    Examples
    --------
    >>> split_names(["id,name", '"a, b"']), split_names(None)
    (['id', 'name', 'a, b'], [])
    """
    return [name for part in csv.reader(given or [], skipinitialspace=True) for name in part]


def one_of(option: str, value: str, allowed: Sequence[str]) -> Any:
    """Return the value of an option if it is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{option} must be {' or '.join(allowed)}; found {value!r}")
    return value


def check_column(option: str, name: str | None, columns: Sequence[str]) -> None:
    """Refuse the name of a column that is not there."""
    if name is not None and name not in columns:
        found = ", ".join(map(repr, columns[:10])) + ", ..." * (len(columns) > 10)
        raise InputError(f"{option}: there is no column {name!r}; found {found}")
