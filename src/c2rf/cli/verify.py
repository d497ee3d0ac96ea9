"""``c2rf verify``: check a stored solution against the votes it is for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from c2rf.cli import options, screen


def verify(
    votes: options.Votes,
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION.json", help="What c2rf solve wrote.")
    ],
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="PROOF.json", help="The proof of the bound, checked as well."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Check exactly what a solution claims: weights, labels, distance.

    Exits with 1 and says what is wrong if a claim does not hold. With --certificate the lower
    bound is checked, too, in whole numbers and without a solver.
    """
    import c2rf
    from c2rf.data.forest_files import StoredSolution, read_certificate, read_votes

    stored = StoredSolution.read(solution)
    claimed = stored.solution
    table = read_votes(votes, say=screen.note(quiet))
    box = stored.lower, stored.upper
    checked = f"weights, margins, labels and eta of {solution}"
    if certificate is not None:
        claimed = replace(claimed, certificate=read_certificate(certificate))
        checked += f"; the bound {claimed.bound:,} by {certificate}"
    c2rf.verify(table, stored.n_positive, claimed, *box)
    positives = int((claimed.labels > 0).sum())
    rows = [
        ("verified", checked),
        ("labels", screen.reached(positives, stored.n_positive)),
        ("claimed", screen.proof(claimed)),
    ]
    screen.say(rows, quiet=quiet)
