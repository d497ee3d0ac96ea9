"""``c2rf verify``: check a stored solution against the votes it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from c2rf.cli import options, screen


def verify(
    votes: options.Votes,
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION.json", help="What c2rf solve wrote.")
    ],
    quiet: options.Quiet = False,
) -> None:
    """Recompute in exact arithmetic what a solution claims: weights, labels, distance.

    Exits with 1 and says what is wrong if a claim does not hold. The lower bound is the
    solver's proof and is not checked here.
    """
    import c2rf
    from c2rf.files import read_votes
    from c2rf.solution_file import StoredSolution

    stored = StoredSolution.read(solution)
    claimed = stored.solution
    c2rf.verify(read_votes(votes), stored.n_positive, claimed, stored.lower, stored.upper)
    positives = int((claimed.labels > 0).sum())
    rows = [
        ("verified", f"weights, margins, labels and eta of {solution}"),
        ("labels", screen.reached(positives, stored.n_positive)),
        ("claimed", screen.proof(claimed)),
    ]
    screen.say(rows, quiet=quiet)
