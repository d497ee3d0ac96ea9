"""``c2rf solve``: weigh the trees whose votes are in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c2rf.cli import options, screen
from c2rf.cli.options import exit_if_interrupted

if TYPE_CHECKING:
    from c2rf.data.forest_files import StoredSolution


HOW_TO_STOP = "- Ctrl-C stops with the best weights so far; --time-limit does so by itself"


def solve(
    votes: options.Votes,
    total: options.Total,
    lower: Annotated[float, typer.Option(help="Least weight of a tree.")] = 1.0,
    upper: Annotated[float, typer.Option(help="Greatest weight of a tree.")] = 100.0,
    method: options.SolveMethod = "auto",
    backend: options.Backend = "highs",
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="SOLUTION.json", help="Where the solution goes.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="PROOF.json", help="Where the proof of the bound goes."),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Weigh trees so that their votes add up to the known total.

    Prints how close the total is met and what is proven; writes weights and labels to --out.
    """
    import c2rf
    from c2rf.data.atomic import check_output
    from c2rf.data.forest_files import StoredSolution, read_votes
    from c2rf.data.totals import parse_total
    from c2rf.forest.problem import check_total
    from c2rf.progress import solver_progress

    wished = parse_total(total)
    outputs = [path for path in (out, certificate) if path is not None]
    for path in outputs:
        check_output(path, force=force, inputs=[votes])
    cast = read_votes(votes, say=screen.note(quiet))
    n_positive = check_total(wished, len(cast), "--total")
    try:
        with screen.waiting("solving", quiet, "" if time_limit else HOW_TO_STOP):
            solution = c2rf.solve(
                cast,
                n_positive,
                lower,
                upper,
                method=method,
                backend=backend,
                time_limit=time_limit,
                random_state=seed,
                progress=solver_progress(),
                certificate=certificate is not None,
            )
    except c2rf.InfeasibleError as error:
        _write({certificate: _proof(error.certificate)}, force)
        raise
    stored = StoredSolution(solution, n_positive, lower, upper)
    _write({out: stored.text, certificate: _proof(solution.certificate)}, force)
    screen.say(_summary(stored, outputs), quiet=quiet)
    exit_if_interrupted(solution)


def _proof(certificate: dict[str, Any] | None) -> Callable[[], str]:
    """Return what makes the text of a certificate."""
    from c2rf.data.forest_files import certificate_text

    return lambda: certificate_text(certificate or {})


def _write(texts: dict[Path | None, Callable[[], str]], force: bool) -> None:
    """Write the files that were asked for, all or none."""
    from c2rf.data.atomic import atomic_outputs

    asked = [path for path in texts if path is not None]
    with atomic_outputs(asked, force=force) as temporary:
        for path, place in zip(asked, temporary, strict=True):
            place.write_text(texts[path](), encoding="utf-8")


def _summary(stored: StoredSolution, outputs: list[Path]) -> list[tuple[str, str]]:
    """Return what to say about a solution."""
    solution = stored.solution
    positives = int((solution.labels > 0).sum())
    labeled = screen.count(len(solution.labels), "row")
    rows = [
        ("votes", f"{labeled}, {screen.count(len(solution.weights), 'tree')}"),
        ("labels", screen.reached(positives, stored.n_positive)),
        ("proof", screen.proof(solution)),
        ("time", f"{solution.runtime:.2f} s"),
    ]
    if outputs:
        rows.append(("written", ", ".join(map(str, outputs))))
    return rows
