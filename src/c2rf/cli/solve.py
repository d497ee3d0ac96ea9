"""``c2rf solve``: weigh the trees whose votes are in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from c2rf.cli import options, screen
from c2rf.cli.exits import exit_if_interrupted

if TYPE_CHECKING:
    from c2rf.solution_file import StoredSolution


def solve(
    votes: options.Votes,
    total: options.Total,
    lower: Annotated[float, typer.Option(help="Least weight of a tree.")] = 1.0,
    upper: Annotated[float, typer.Option(help="Greatest weight of a tree.")] = 100.0,
    method: options.Method = "auto",
    backend: options.Backend = "highs",
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="SOLUTION.json", help="Where the solution goes.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Weigh trees so that their votes add up to the known total.

    Prints how close the total is met and what is proven; writes weights and labels to --out.
    """
    import c2rf
    from c2rf.files import check_output, read_votes
    from c2rf.problem import check_total
    from c2rf.solution_file import StoredSolution

    wished = options.parse_total(total)
    if out is not None:
        check_output(out, force=force, inputs=[votes])
    cast = read_votes(votes)
    n_positive = check_total(wished, len(cast), "--total")
    solution = c2rf.solve(
        cast,
        n_positive,
        lower,
        upper,
        method=method,
        backend=backend,
        time_limit=time_limit,
        random_state=seed,
        progress=screen.shows_progress(quiet),
    )
    stored = StoredSolution(solution, n_positive, lower, upper)
    if out is not None:
        stored.write(out, force=force)
    screen.say(_summary(stored, out), quiet=quiet)
    exit_if_interrupted(solution)


def _summary(stored: StoredSolution, out: Path | None) -> list[tuple[str, str]]:
    """Return what to say about a solution."""
    solution = stored.solution
    positives = int((solution.labels > 0).sum())
    points = screen.count(len(solution.labels), "individual")
    rows = [
        ("votes", f"{points}, {screen.count(len(solution.weights), 'tree')}"),
        ("labels", screen.reached(positives, stored.n_positive)),
        ("proof", screen.proof(solution)),
        ("time", f"{solution.runtime:.2f} s"),
    ]
    if out is not None:
        rows.append(("solution", str(out)))
    return rows
