"""``c2rf solve``, ``verify`` and ``backends``: weights of trees, with a proof."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c2rf._utils.text import count, interval, proof, reached
from c2rf.cli import common, terminal
from c2rf.cli.common import exit_if_interrupted
from c2rf.workflow.options import parse_offset

if TYPE_CHECKING:
    from c2rf.data.forest_files import StoredSolution


HOW_TO_STOP = "- Ctrl-C stops with the best weights so far; --time-limit does so by itself"


SHARED = ["lower", "upper", "offset", "prefer", "backend", "time_limit", "random_state"]
"""Options of a classification that solve has as well."""

OffsetRange = Annotated[
    str | None, typer.Option(metavar="LO..HI", help="Range of a free shift of the score.")
]


@common.with_options(SHARED, "Options")
def solve(
    votes: common.Votes,
    *,
    total: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="The known number of positives: a count (1234) or a rate (0.12 or 12%).",
        ),
    ],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="auto, c2rf, p-c2rf, only-pp or only-br.")
    ] = "auto",
    threads: Annotated[
        int, typer.Option(min=1, metavar="N", help="Threads of the solver of the paper's methods.")
    ] = 1,
    solver_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="An option of this solver under its own name, as MIPFocus=1. May be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="SOLUTION.json", help="Where the solution goes.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="PROOF.json", help="Where the proof of the bound goes."),
    ] = None,
    vipr: Annotated[
        Path | None,
        typer.Option(
            metavar="PROOF.vipr", help="Where weights and proof go for checkers of VIPR 1.0."
        ),
    ] = None,
    force: common.Force = False,
    quiet: common.Quiet = False,
    **given: Any,
) -> None:
    """Weigh trees so that their votes add up to the known total.

    Prints how close the total is met and what is proven; writes weights and labels to --out.
    """
    import c2rf
    from c2rf.data.atomic import atomic_outputs, check_output
    from c2rf.data.forest_files import (
        StoredSolution,
        certificate_text,
        read_votes,
        verified_vipr,
        votes_digest,
    )
    from c2rf.data.totals import parse_total
    from c2rf.forest.problem import check_total
    from c2rf.progress import solver_progress

    known = parse_total(total)
    asked = {name: value for name, value in common.parsed(given).items() if value is not None}
    lower, upper, shift = asked.get("lower", 1.0), asked.get("upper", 100.0), asked.get("offset")
    solver_options = parse_solver_options(solver_option)
    outputs = [path for path in (out, certificate, vipr) if path is not None]
    for path in outputs:
        check_output(path, force=force, inputs=[votes])
    cast = read_votes(votes, say=terminal.note(quiet))
    n_positive = check_total(known, len(cast), "--total")
    found: c2rf.Solution | c2rf.InfeasibleError
    try:
        with terminal.waiting("solving", quiet, "" if asked.get("time_limit") else HOW_TO_STOP):
            found = c2rf.solve(
                cast,
                n_positive,
                method=method,
                threads=threads,
                progress=solver_progress(),
                certificate=bool(certificate or vipr),
                solver_options=solver_options,
                **asked,
            )
    except c2rf.InfeasibleError as error:
        found = error
    texts: dict[Path, str] = {}
    if certificate is not None:
        texts[certificate] = certificate_text(found.certificate or {})
    refused = None
    if vipr is not None:
        try:
            texts[vipr] = verified_vipr(cast, n_positive, found, lower, upper, shift)
        except c2rf.InputError as error:  # what was found is not lost
            refused = error
    if not isinstance(found, c2rf.InfeasibleError):
        stored = StoredSolution(found, n_positive, lower, upper, shift, votes_digest(cast))
        if out is not None:
            texts[out] = stored.text()
    with atomic_outputs(list(texts), force=force) as temporary:
        for path, text in zip(temporary, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
    if refused is not None:
        raise refused
    if isinstance(found, c2rf.InfeasibleError):
        raise found
    terminal.say(_summary(stored, outputs), quiet=quiet)
    exit_if_interrupted(found)


def parse_solver_options(given: Sequence[str] | None) -> dict[str, Any] | None:
    """Return options of a solver from texts ``name=value``; numbers, true and false are read.

    Examples
    --------
    >>> parse_solver_options(["MIPFocus=1", "mip_rel_gap=0.5", "output_flag=true"])
    {'MIPFocus': 1, 'mip_rel_gap': 0.5, 'output_flag': True}
    """
    from c2rf.exceptions import InputError

    found: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not name or not equals or name in found:
            raise InputError(
                f"--solver-option must be NAME=VALUE, once for each name; found {text!r}"
            )
        found[name] = value
        for read in (int, float, {"true": True, "false": False}.__getitem__):
            with suppress(ValueError, KeyError):
                found[name] = read(value)
                break
    return found or None


def _summary(stored: StoredSolution, outputs: list[Path]) -> list[tuple[str, str]]:
    """Return what to say about a solution."""
    solution = stored.solution
    positives = int((solution.labels > 0).sum())
    labeled = count(len(solution.labels), "row")
    rows = [
        ("votes", f"{labeled}, {count(len(solution.weights), 'tree')}"),
        ("labels", reached(positives, stored.n_positive)),
        ("proof", proof(solution, stored)),
        ("time", f"{solution.runtime:.2f} s"),
    ]
    if outputs:
        rows.append(("written", ", ".join(map(str, outputs))))
    return rows


def verify(
    votes: common.Votes,
    solution: Annotated[
        Path | None, typer.Argument(metavar="SOLUTION.json", help="What c2rf solve wrote.")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="PROOF.json", help="The proof of the bound, checked as well."),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option(metavar="N", help="Your total; without it, that of the solution is taken."),
    ] = None,
    lower: Annotated[float | None, typer.Option(help="Your least weight, likewise.")] = None,
    upper: Annotated[float | None, typer.Option(help="Your greatest weight, likewise.")] = None,
    offset: OffsetRange = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="A check of the proof that is longer fails."),
    ] = None,
    quiet: common.Quiet = False,
) -> None:
    """Check what a solution says, exactly: weights, labels, distance.

    Exits with 1 and says what is wrong if it does not hold. With --certificate the lower
    bound is checked, too, in whole numbers and without a solver. Without SOLUTION the certificate
    alone is checked, for --total, --lower and --upper.
    """
    import c2rf
    from c2rf.data.forest_files import StoredSolution, read_certificate, read_votes
    from c2rf.data.totals import parse_total
    from c2rf.forest.problem import check_box, check_total
    from c2rf.forest.verify import proven_bound

    known = None if total is None else parse_total(total)
    shift = parse_offset(offset)
    stored = None if solution is None else StoredSolution.read(solution)
    if stored is None and (certificate is None or known is None):
        raise c2rf.InputError(
            "without SOLUTION.json, verify checks a proof alone: give --certificate and --total"
        )
    proof_of = None if certificate is None else read_certificate(certificate)
    cast = read_votes(votes, say=terminal.note(quiet))
    n_positive = None if known is None else check_total(known, len(cast), "--total")
    if stored is None:
        assert n_positive is not None
        box = (1.0 if lower is None else lower), (100.0 if upper is None else upper)
        proven = proven_bound(cast, n_positive, proof_of, *box, shift, time_limit)
        within = f"no weights in {interval(*box)}"
        within += f" and offset in {interval(*shift)}" if shift else ""
        claim = f"{within} give every row a margin of 1"
        if proven is not None:
            claim = f"{within} come closer than {proven:,} to the total of {n_positive:,}"
        terminal.say([("proven", f"{claim}, by {certificate}")], quiet=quiet)
        return
    stored.check_votes(cast)
    check_box(stored.lower if lower is None else lower, stored.upper if upper is None else upper)
    given = {"n_positive": n_positive, "lower": lower, "upper": upper, "offset": shift}
    taken = [name for name, value in given.items() if value is None]
    for name, value in given.items():
        if value is not None and value != getattr(stored, name):
            raise c2rf.VerificationError(
                f"{solution} is about {_ASKED[name]} {getattr(stored, name)!r}, not {value!r}"
            )
    found = replace(stored.solution, certificate=proof_of)
    c2rf.verify(
        cast, stored.n_positive, found, stored.lower, stored.upper, offset=stored.offset,
        time_limit=time_limit,
    )  # fmt: skip
    about = f"weights, margins, labels and eta of {solution}"
    positives = int((found.labels > 0).sum())
    if certificate is None:
        rows = [("recounted", about)]
    else:
        rows = [("verified", f"{about}; the bound {found.bound:,} by {certificate}")]
    if stored.votes is None:
        rows.append(("not compared", f"the votes: {solution} has no digest of those it is for"))
    rows.append(("labels", reached(positives, stored.n_positive)))
    if certificate is not None or found.eta == 0:
        rows.append(("proof", proof(found, stored)))
    else:
        claim = f"that none comes closer than {found.bound:,} is a claim of {solution}"
        rows.append(("not proven", f"{claim}; --certificate checks it"))
    taken = [name for name in taken if name != "offset" or stored.offset]
    if taken:
        options = ", ".join("--total" if name == "n_positive" else f"--{name}" for name in taken)
        *names, last = (_ASKED[name] for name in taken)
        all_names = f"{', '.join(names)} and {last} are" if names else f"{last} is"
        rows.append(("taken", f"{all_names} from {solution}; to check your own, give {options}"))
    terminal.say(rows, quiet=quiet)


_ASKED = {
    "n_positive": "the total",
    "lower": "the least weight",
    "upper": "the greatest weight",
    "offset": "the range of the offset",
}


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
