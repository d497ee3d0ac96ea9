"""``c2rf solve``, ``verify`` and ``backends``: weights of trees, with a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from c2rf._utils.text import count, proof, reached
from c2rf.cli import options, terminal
from c2rf.cli.options import exit_if_interrupted

if TYPE_CHECKING:
    from c2rf.data.forest_files import StoredSolution


HOW_TO_STOP = "- Ctrl-C stops with the best weights so far; --time-limit does so by itself"


def solve(
    votes: options.Votes,
    total: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="The known number of positives: a count (1234) or a rate (0.12 or 12%).",
        ),
    ],
    lower: Annotated[float, typer.Option(help="Least weight of a tree.")] = 1.0,
    upper: Annotated[float, typer.Option(help="Greatest weight of a tree.")] = 100.0,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="auto, c2rf, p-c2rf, only-pp or only-br.")
    ] = "auto",
    backend: options.Backend = "highs",
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="SECONDS", help="Stop then with the best weights found so far."
        ),
    ] = None,
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
    from c2rf.data.forest_files import StoredSolution, certificate_text, read_votes
    from c2rf.data.totals import parse_total
    from c2rf.forest.problem import check_total
    from c2rf.progress import solver_progress

    known = parse_total(total)
    outputs = [path for path in (out, certificate) if path is not None]
    for path in outputs:
        check_output(path, force=force, inputs=[votes])
    cast = read_votes(votes, say=terminal.note(quiet))
    n_positive = check_total(known, len(cast), "--total")
    try:
        with terminal.waiting("solving", quiet, "" if time_limit else HOW_TO_STOP):
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
        _write({certificate: partial(certificate_text, error.certificate or {})}, force)
        raise
    stored = StoredSolution(solution, n_positive, lower, upper)
    proof_text = partial(certificate_text, solution.certificate or {})
    _write({out: stored.text, certificate: proof_text}, force)
    terminal.say(_summary(stored, outputs), quiet=quiet)
    exit_if_interrupted(solution)


def _write(texts: dict[Path | None, Callable[[], str]], force: bool) -> None:
    """Write the files that have a name, all or none."""
    from c2rf.data.atomic import atomic_outputs

    paths = [path for path in texts if path is not None]
    with atomic_outputs(paths, force=force) as temporary:
        for path, place in zip(paths, temporary, strict=True):
            place.write_text(texts[path](), encoding="utf-8")


def _summary(stored: StoredSolution, outputs: list[Path]) -> list[tuple[str, str]]:
    """Return what to say about a solution."""
    solution = stored.solution
    positives = int((solution.labels > 0).sum())
    labeled = count(len(solution.labels), "row")
    rows = [
        ("votes", f"{labeled}, {count(len(solution.weights), 'tree')}"),
        ("labels", reached(positives, stored.n_positive)),
        ("proof", proof(solution)),
        ("time", f"{solution.runtime:.2f} s"),
    ]
    if outputs:
        rows.append(("written", ", ".join(map(str, outputs))))
    return rows


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
    """Check what a solution says, exactly: weights, labels, distance.

    Exits with 1 and says what is wrong if it does not hold. With --certificate the lower
    bound is checked, too, in whole numbers and without a solver.
    """
    import c2rf
    from c2rf.data.forest_files import StoredSolution, read_certificate, read_votes

    stored = StoredSolution.read(solution)
    found = stored.solution
    table = read_votes(votes, say=terminal.note(quiet))
    box = stored.lower, stored.upper
    checked = f"weights, margins, labels and eta of {solution}"
    if certificate is not None:
        found = replace(found, certificate=read_certificate(certificate))
        checked += f"; the bound {found.bound:,} by {certificate}"
    c2rf.verify(table, stored.n_positive, found, *box)
    positives = int((found.labels > 0).sum())
    rows = [
        ("verified", checked),
        ("labels", reached(positives, stored.n_positive)),
        ("proof", proof(found)),
    ]
    terminal.say(rows, quiet=quiet)


def backends() -> None:
    """List the solvers: installed or not, version, what they can do."""
    from rich.table import Table

    from c2rf.forest.backends import BACKENDS

    table = Table("backend", "version", "branching priorities", "notes")
    for backend in BACKENDS.values():
        version = backend.version() if backend.is_installed else f"missing: {backend.install}"
        # [scip] in an install command is no markup.
        table.add_row(
            backend.name,
            version.replace("[", r"\["),
            "yes" if backend.priorities else "no",
            backend.note,
        )
    terminal.console().print(table)
