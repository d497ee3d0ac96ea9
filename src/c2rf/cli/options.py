"""Options that several commands share, under one name and with one meaning."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from c2rf.exceptions import InputError

Votes = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES.csv",
        help="Votes of -1/+1, a row per row to label and a column per tree; a header is optional.",
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
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]


_READING = "How files are read (found by themselves)"


def _reading(metavar: str, help: str) -> Any:
    return typer.Option(metavar=metavar, help=help, rich_help_panel=_READING)


Sep = Annotated[str | None, _reading("SIGN", "Between cells of text files: ; , | or tab.")]
Decimal = Annotated[str | None, _reading("SIGN", "Decimal mark of text files: . or ,")]
Encoding = Annotated[str | None, _reading("NAME", "Of text files: utf-8, cp1252, utf-16, ...")]
Sheet = Annotated[str | None, _reading("NAME", "The sheet of a workbook.")]


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


def given(**options: Any) -> dict[str, Any]:
    """Return the options that the user chose.

    Examples
    --------
    >>> given(trees=5, backend=None)
    {'trees': 5}
    """
    return {name: value for name, value in options.items() if value is not None}


def split_names(given: Sequence[str] | None) -> list[str]:
    """Return the columns of an option that takes several, by commas or by being repeated.

    Examples
    --------
    >>> split_names(["id,name", '"a, b"']), split_names(None)
    (['id', 'name', 'a, b'], [])
    """
    return [name for part in csv.reader(given or [], skipinitialspace=True) for name in part]
