"""Options that several commands share, and exit codes.

Exit codes, and when to leave with which.

Options whose values are a few names: they are offered by the completion of the shell.

Options that several commands share, under one name and with one meaning.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c2rf._utils.text import ENGINES, LEARNERS, METHODS
from c2rf.exceptions import InputError

if TYPE_CHECKING:
    from c2rf.forest.problem import Solution


FAILED = 1
USER_MISTAKE = 2
INTERRUPTED = 130


def exit_if_interrupted(solution: Solution | None) -> None:
    """Leave as after Ctrl-C if it ended the search: what was found is written, but not final."""
    if solution is not None and solution.stats.get("interrupted"):
        raise typer.Exit(INTERRUPTED)


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
SolveMethod = Annotated[
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
