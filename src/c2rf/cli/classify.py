"""``c2rf classify``: from two tables to labels that add up."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from c2rf._utils.text import ENGINES, METHODS
from c2rf.cli import options, screen
from c2rf.cli import options as choices

TOTALS, FILES, COLUMNS, WEIGHTS = "Known totals", "Outputs", "Columns", "With --method c2rf"
"""Panels of the help."""

NO_TOTALS = "none given; with --totals or --totals-file, all would be checked"

Names = list[str] | None
Paths = list[Path] | None


def _in(panel: str, metavar: str, help: str, **more: Any) -> Any:
    """Return an option that the help shows in a panel."""
    return typer.Option(metavar=metavar, help=help, rich_help_panel=panel, **more)


def classify(
    context: typer.Context,
    labeled: Annotated[Path, typer.Argument(metavar="LABELED", help="Rows whose class is known.")],
    target: Annotated[str, typer.Option(metavar="COL", help="Column of LABELED with the class.")],
    unlabeled: Annotated[
        Path | None,
        typer.Argument(
            metavar="[UNLABELED]", help="Rows to label; without, those of LABELED with no class."
        ),
    ] = None,
    positive: Annotated[Names, _in(TOTALS, "CLASS", "The class that --total counts.")] = None,
    total: Annotated[Names, _in(TOTALS, "N", "Its known number: 1234, 12% or 1200..1300.")] = None,
    totals: Annotated[
        Names, _in(TOTALS, "LIST", 'Totals of classes: "yes=1234,no=8766"; ranges lo..hi.')
    ] = None,
    totals_file: Annotated[
        Paths, _in(TOTALS, "FILE", "A table: class, total, groups; or a column per class.")
    ] = None,
    group: Annotated[
        Names, _in(TOTALS, "COL", "Grouping column of --totals-file; by default found by name.")
    ] = None,
    weight: Annotated[
        str | None, _in(TOTALS, "COL", "Column: how many people a row stands for; also of LABELED.")
    ] = None,
    totals_policy: Annotated[
        str, _in(TOTALS, "NAME", "Totals that do not add up: strict refuses, scale fits.")
    ] = "strict",
    out: Annotated[
        Path | None,
        _in(FILES, "FILE", "Where the labels go: .csv, .tsv, .gz, .parquet, .xlsx, .jsonl."),
    ] = None,
    report: Annotated[Path | None, _in(FILES, "FILE.html", "Where a report to read goes.")] = None,
    save_model: Annotated[
        Path | None, _in(FILES, "FILE.skops", "Where the model goes, for c2rf predict.")
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="Put an apostrophe before text in .csv that a spreadsheet would run.",
            rich_help_panel=FILES,
        ),
    ] = False,
    id: Annotated[
        str | None, _in(COLUMNS, "COL", "Column that names rows; not learned from.")
    ] = None,
    drop: Annotated[
        Names, _in(COLUMNS, "COLS", "Columns not to learn from, a,b or repeated.")
    ] = None,
    text: Annotated[
        Names, _in(COLUMNS, "COLS", "Columns of numbers that are codes, like 70173.")
    ] = None,
    keep: Annotated[
        Names, _in(COLUMNS, "COLS", "Columns to learn from that would be left out as useless.")
    ] = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    method: choices.Method = METHODS[0],
    trees: Annotated[int | None, _in(WEIGHTS, "N", "Number of trees.", min=1)] = None,
    lower: Annotated[
        float | None, _in(WEIGHTS, "W", "Least weight of a tree.", show_default="1")
    ] = None,
    upper: Annotated[
        float | None, _in(WEIGHTS, "W", "Greatest weight of a tree.", show_default="100")
    ] = None,
    offset: Annotated[
        str | None, _in(WEIGHTS, "LO..HI", "Range of a free shift of the score.")
    ] = None,
    prefer: Annotated[
        str | None, _in(WEIGHTS, "NAME", "majority, for weights as equal as possible.")
    ] = None,
    solve_method: Annotated[
        str | None, _in(WEIGHTS, "NAME", "auto, c2rf, p-c2rf, only-pp or only-br.")
    ] = None,
    backend: Annotated[str | None, _in(WEIGHTS, "NAME", "highs, scip or gurobi.")] = None,
    time_limit: options.TimeLimit = None,
    learner: choices.Learner = None,
    sensitivity: Annotated[
        str | None,
        _in(TOTALS, "SHARE", "Which labels change if totals are off: 5%, or se (their errors)."),
    ] = None,
    imputations: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="known-totals: draw N sets of labels, for intervals.", min=1
        ),
    ] = None,
    imputations_out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for the imputations: the id, then a column each."),
    ] = None,
    engine: choices.Engine = ENGINES[0],
    scheduler: choices.Scheduler = None,
    seed: options.Seed = 0,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Processors to use, -1 for all.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all and say what would be done; write nothing.")
    ] = False,
) -> None:
    """Label rows so that the labels add up to known totals.

    Files are CSV of any dialect (plain, .gz, .zip, .zst), Excel, OpenDocument, SPSS, Stata, SAS,
    Parquet, Arrow, JSON lines, or file.db::table; UNLABELED may be a folder of CSV or Parquet.
    --dry-run shows how they are understood, and needs no --out.

    The output holds the rows of UNLABELED in their order, or with --id only that column, and the
    columns "label", "score" and "confidence". A total is a count (1234), a rate (0.12 or 12%), a
    range of either (1200..1300) or an estimate with its standard error (1200+-50).
    """
    from c2rf.data.dialect import ReadAs
    from c2rf.data.totals import collect, parse_share
    from c2rf.workflow.classify import prepare
    from c2rf.workflow.options import HowAsked, Wishes
    from c2rf.workflow.outputs import Outputs
    from c2rf.workflow.prepare import at_scheduler
    from c2rf.workflow.summary import plan_lines

    how = ReadAs(sep, decimal, encoding, sheet, tuple(options.split_names(text)))
    wishes = Wishes(
        target=target, id=id, drop=options.split_names(drop), text=how.text, policy=totals_policy,
        engine=engine, keep=options.split_names(keep), how=how, weight=weight,
    )  # fmt: skip
    given = [path for path in (labeled, unlabeled) if path is not None]
    if dry_run and not quiet:
        screen.show_previews(given, how, totals_file or ())
    if dry_run and not (positive or total or totals or totals_file):
        return screen.say([("totals", NO_TOTALS)], quiet=quiet)
    known = collect(
        target, positive=positive or (), total=total or (), totals=totals or (),
        totals_file=totals_file or (), group=group or (), decimal=decimal,
    )  # fmt: skip
    outputs = Outputs(
        labels=out, report=report, model=save_model, imputations=imputations_out,
        spreadsheet_safe=spreadsheet_safe,
    )  # fmt: skip
    outputs.check(force=force, inputs=[*given, *(totals_file or ())], needed=not dry_run)
    asked = HowAsked(
        method=method, seed=seed, command=shlex.join(["c2rf", *context.obj]), n_jobs=jobs,
        imputations=imputations, sensitivity=parse_share(sensitivity), options=options.given(
            trees=trees, lower=lower, upper=upper, prefer=prefer, solve_method=solve_method,
            backend=backend, time_limit=time_limit, learner=learner,
            offset=options.parse_offset(offset)),
    )  # fmt: skip
    with screen.waiting("classifying", quiet), at_scheduler(scheduler, engine, jobs):
        task = prepare(labeled, unlabeled, known, wishes, asked)
        lines = plan_lines(task, method) if dry_run else _labeled(task, asked, outputs, force)
    return screen.say([*lines, *outputs.lines()], quiet=quiet)


def _labeled(task: Any, asked: Any, outputs: Any, force: bool) -> list[tuple[str, str]]:
    """Label the rows, write all files, and return what there is to say."""
    from c2rf.workflow.classify import answer

    result = answer(task, asked)
    screen.warn_of_formulas(outputs.write(result, force=force), outputs.spreadsheet_safe)
    return result.summary_lines
