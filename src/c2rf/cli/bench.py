"""``c2rf bench``: the paper's experiment, and the report on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c2rf._utils.text import check_choice, count
from c2rf.cli import common, terminal
from c2rf.cli.common import FAILED, INTERRUPTED, QuickCommand, QuickGroup

if TYPE_CHECKING:
    from c2rf.bench.records import Key


bench = typer.Typer(
    help="Run the paper's experiment, and report on it.",
    no_args_is_help=True,
    add_completion=False,
    cls=QuickGroup,
    rich_markup_mode=None,
)
Records = Annotated[
    Path, typer.Option(metavar="FILE.jsonl", help="The records, a line of JSON each.")
]


def _list(help: str, of: str = "NAMES") -> Any:
    """Return an option that takes names or numbers, separated by commas."""
    return typer.Option(metavar=of, help=help)


@bench.command(cls=QuickCommand)
def run(
    protocol: Annotated[str, _list("biased, simple, or both: biased,simple.")] = "biased",
    data: Annotated[
        str,
        _list(
            "Data sets, separated by commas: PMLB's names, or made-twonorm-500 for 500 generated "
            "rows; all for the paper's 13."
        ),
    ] = "all",
    methods: Annotated[
        str,
        _list(
            "Separated by commas: rf, c2rf, p-c2rf, only-pp, only-br, auto, top-lambda, "
            "c2rf-offset, prior-corrected, self-training, extra-trees-top, known-totals, "
            "imputations."
        ),
    ] = "rf,auto,top-lambda",
    samples: Annotated[int, typer.Option(min=1, help="Samples of each data set.")] = 5,
    fraction: Annotated[
        str, _list("Fractions of the rows that are labeled, separated by commas.", "NUMBERS")
    ] = "1%",
    positive_weight: Annotated[
        str,
        _list(
            "Weights of a positive row when labeled rows are drawn, separated by commas. By "
            "default the protocol's: 0.85 in biased and 0.5 in simple.",
            "NUMBERS",
        ),
    ] = "",
    total_error: Annotated[
        str,
        _list(
            "Errors of the total that methods are given, separated by commas: -20%,+5%. Labels "
            "are scored against the truth all the same.",
            "NUMBERS",
        ),
    ] = "0",
    few_labels: Annotated[
        str,
        _list(
            "Greatest number of labeled rows of the class that has fewest, separated by commas: "
            "1,2. By default all that were drawn.",
            "NUMBERS",
        ),
    ] = "",
    trees: Annotated[int, typer.Option(min=1, help="Trees of a sample.")] = 20,
    backend: common.Backend = "highs",
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Time limit of each solve and building its model; paper: 7200."
        ),
    ] = 60.0,
    jobs: Annotated[int, typer.Option(min=1, help="Methods to run at the same time.")] = 1,
    seed: common.Seed = 0,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            envvar="PMLB_CACHE", metavar="FOLDER", help="PMLB's cache; without it, downloads."
        ),
    ] = None,
    records: Records = Path("bench-records.jsonl"),
    report: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Report on all records at the end, as bench report."),
    ] = None,
    quiet: common.Quiet = False,
) -> None:
    """Run methods on samples of data sets and record each result, once.

    To continue a run that was stopped or killed, give the same command again. Exits with 1 if a
    data set was not available.
    """
    from c2rf.bench.methods import BENCH_METHODS
    from c2rf.bench.run import make_keys
    from c2rf.bench.samples import NAMES, PROTOCOLS, check_name, every_setting, parse_list
    from c2rf.exceptions import InputError
    from c2rf.forest.backends import check_backend

    if not 0 < time_limit < float("inf"):
        raise InputError(f"--time-limit must be a number of seconds above 0; found {time_limit}")
    names, chosen_methods = parse_list(protocol), parse_list(methods)
    for name in names:
        check_choice("protocol", name, PROTOCOLS)
    named = [replace(PROTOCOLS[name], n_trees=trees) for name in names]
    protocols = list(
        every_setting(
            named, fraction=fraction, positive_weight=positive_weight, total_error=total_error,
            few_labels=few_labels,
        )
    )  # fmt: skip
    chosen = list(NAMES) if data == "all" else parse_list(data)
    for name in chosen:
        check_name(name)
    for name in chosen_methods:
        check_choice("methods", name, BENCH_METHODS)
    check_backend(backend)
    keys = make_keys(
        protocols, chosen, chosen_methods, samples, seed=seed, backend=backend,
        time_limit=time_limit,
    )  # fmt: skip
    skipped = _run(keys, records, quiet, jobs=jobs, folder=data_dir)
    if report is not None:
        _report(records, report, quiet)
    if skipped:
        raise typer.Exit(FAILED)


def _run(keys: list[Key], records: Path, quiet: bool, **how: Any) -> bool:
    """Run the methods and print a summary; return whether any run was skipped."""
    from c2rf.bench.records import record_file
    from c2rf.bench.run import run as make_records

    def say(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    with record_file(records) as (recorded, append):
        before = len(recorded.intersection(keys))
        try:
            made, skipped = make_records(keys, recorded, append, say, **how)
        except KeyboardInterrupt:
            typer.echo("stopped; the same command goes on from here", err=True)
            raise typer.Exit(INTERRUPTED) from None
    statuses = ", ".join(f"{n} {status}" for status, n in sorted(made.items()))
    rows = [("records", str(records)), ("there", f"{before} of {len(keys)} before")]
    rows += [("made", statuses or "none")]
    rows += [("skipped", f"{count(n, 'record')}: {reason}") for reason, n in skipped.items()]
    terminal.say(rows, quiet=quiet)
    return bool(skipped)


@bench.command(cls=QuickCommand)
def report(
    records: Records = Path("bench-records.jsonl"),
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the report goes; overwritten.")
    ] = Path("bench-report"),
    quiet: common.Quiet = False,
) -> None:
    """Write the paper's tables and figures from records, and a page on which method labels best.

    FOLDER gets report.html (the paper's results and ours), quality.html (means, ranks, wins and
    losses of all methods, and the effect of other settings) and imputations.html (how often
    intervals hold the truth), as far as there are records for them. Each page is a single file
    that needs no other. The pages are also written as Markdown, and the figures as PNG.
    """
    _report(records, out, quiet)


def _report(records: Path, out: Path, quiet: bool) -> None:
    """Write the pages and print where they are."""
    from c2rf.bench.records import read_records
    from c2rf.bench.report import write_report

    found = read_records(records)
    files = write_report(found, out)
    rows = [("records", f"{len(found)} from {records}"), ("report", str(files[0]))]
    terminal.say(rows, quiet=quiet)
