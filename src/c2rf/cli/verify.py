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
    second_opinion: Annotated[
        str | None,
        typer.Option(metavar="BACKEND", help="Prove the bound again with this solver."),
    ] = None,
    time_limit: options.TimeLimit = None,
    quiet: options.Quiet = False,
) -> None:
    """Check exactly what a solution claims: weights, labels, distance.

    Exits with 1 and says what is wrong if a claim does not hold. The lower bound is the
    solver's proof; --second-opinion asks another solver for it.
    """
    import c2rf
    from c2rf.files import read_votes
    from c2rf.solution_file import StoredSolution

    stored = StoredSolution.read(solution)
    claimed = stored.solution
    table = read_votes(votes)
    box = stored.lower, stored.upper
    c2rf.verify(table, stored.n_positive, claimed, *box)
    positives = int((claimed.labels > 0).sum())
    rows = [
        ("verified", f"weights, margins, labels and eta of {solution}"),
        ("labels", screen.reached(positives, stored.n_positive)),
        ("claimed", screen.proof(claimed)),
    ]
    if second_opinion is not None:
        opinion = c2rf.second_opinion(
            table,
            stored.n_positive,
            claimed,
            *box,
            backend=second_opinion,
            time_limit=time_limit,
        )
        who = f"{opinion.backend} {opinion.version}"
        said = (
            f"nothing is closer than {opinion.bound}" if opinion.confirmed else "no answer in time"
        )
        rows.append((who, said))
    screen.say(rows, quiet=quiet)
