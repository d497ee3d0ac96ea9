"""``c2rf classify``: from two tables to labels that add up."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from c2rf.cli import options, screen

DEFAULT_METHOD = "known-totals"
TOTALS, FILES, COLUMNS, WEIGHTS = "Known totals", "Outputs", "Columns", "With --method c2rf"
"""Panels of the help."""


def classify(
    context: typer.Context,
    labeled: Annotated[
        Path, typer.Argument(metavar="LABELED", help="Individuals whose class is known.")
    ],
    unlabeled: Annotated[Path, typer.Argument(metavar="UNLABELED", help="Individuals to label.")],
    target: Annotated[str, typer.Option(metavar="COL", help="Column of LABELED with the class.")],
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="The class that --total counts.", rich_help_panel=TOTALS
        ),
    ] = None,
    total: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Its known number: 1234, 12% or 1200..1300.", rich_help_panel=TOTALS
        ),
    ] = None,
    totals: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help='Totals of classes: "yes=1234,no=8766"; ranges lo..hi.',
            rich_help_panel=TOTALS,
        ),
    ] = None,
    totals_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Totals as a table: class, total, and that of --group.",
            rich_help_panel=TOTALS,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of UNLABELED whose groups have the totals.",
            rich_help_panel=TOTALS,
        ),
    ] = None,
    totals_policy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Totals that do not add up: strict refuses, scale fits.",
            rich_help_panel=TOTALS,
        ),
    ] = "strict",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the labels go: .csv, .tsv, .gz or .parquet.",
            rich_help_panel=FILES,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html", help="Where a report to read goes.", rich_help_panel=FILES
        ),
    ] = None,
    save_model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.skops",
            help="Where the model goes, for c2rf predict.",
            rich_help_panel=FILES,
        ),
    ] = None,
    identifier: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COL",
            help="Column that names individuals; not learned from.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLS",
            help="Columns not to learn from, a,b or repeated.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLS",
            help="Columns of numbers that are codes, like 70173.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="known-totals or c2rf.")
    ] = DEFAULT_METHOD,
    trees: Annotated[
        int | None, typer.Option(min=1, help="Number of trees.", rich_help_panel=WEIGHTS)
    ] = None,
    lower: Annotated[
        float | None,
        typer.Option(help="Least weight of a tree.", show_default="1", rich_help_panel=WEIGHTS),
    ] = None,
    upper: Annotated[
        float | None,
        typer.Option(
            help="Greatest weight of a tree.", show_default="100", rich_help_panel=WEIGHTS
        ),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(
            metavar="LO..HI", help="Range of a free shift of the score.", rich_help_panel=WEIGHTS
        ),
    ] = None,
    prefer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="majority, for weights as equal as possible.",
            rich_help_panel=WEIGHTS,
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="auto, c2rf, p-c2rf, only-pp or only-br.", rich_help_panel=WEIGHTS
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="highs, scip or gurobi.", rich_help_panel=WEIGHTS),
    ] = None,
    time_limit: options.TimeLimit = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="known-totals: blend, or the quicker extra-trees and logistic.",
            show_default="blend",
        ),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=0, help="known-totals: how often to learn from its labels.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Where UNLABELED is kept: in memory, or left in its files: chunks, or dask.",
        ),
    ] = "auto",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="dask: a cluster's scheduler, tcp://host:8786."),
    ] = None,
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
    """Label individuals so that the labels add up to known totals.

    Files are CSV, TSV (plain or .gz) or Parquet. The output holds the rows of UNLABELED in their
    order, or with --id only that column, and the columns "label", "score" and "confidence". A
    total is a count (1234), a rate (0.12 or 12%) or a range of either (1200..1300).
    """
    from c2rf.cli import labeling
    from c2rf.cli.engines import pick_engine
    from c2rf.cli.methods import Choices, check_method, check_question
    from c2rf.cli.totals import collect

    job = labeling.Job(labeled, unlabeled, method, seed, shlex.join(["c2rf", *context.obj]))
    outputs = labeling.Outputs(out, report, save_model)
    choices = Choices(
        trees, lower, upper, options.parse_offset(offset), prefer, solver, backend, time_limit,
        learner, rounds,
    )  # fmt: skip
    check_method(method, choices)
    given = collect(positive, total, totals, totals_file, group, target)
    inputs = [labeled, unlabeled, *([totals_file] if totals_file else [])]
    policy = options.one_of("--totals-policy", totals_policy, ("strict", "scale"))
    if engine == "dask" or scheduler is not None:
        from c2rf.cli import on_dask

        on_dask.check_options(engine, out, report, save_model, dry_run=dry_run)
        assert out is not None
        asked = on_dask.DaskJob(
            labeled, unlabeled, target, given, out, method, tuple(choices.given().items()), seed,
            identifier, group, options.split_names(drop), options.split_names(text), policy,
            scheduler, force,
        )  # fmt: skip
        on_dask.run(asked, quiet=quiet)
        return
    outputs.check(force=force, inputs=inputs)
    start = time.perf_counter()
    chosen = pick_engine(engine, unlabeled, quiet)
    question = chosen.ask(
        labeled,
        unlabeled,
        target,
        given,
        drop=options.split_names(drop),
        text=options.split_names(text),
        identifier=identifier,
        group=group,
        policy=policy,
    )
    check_question(method, question)
    job.seconds["reading and checking"] = time.perf_counter() - start
    if dry_run:
        question = chosen.checked(question)
        screen.say([*labeling.plan(question, job), *outputs.tell()], quiet=quiet)
        return
    answer = chosen.answer(question, job, choices, jobs, outputs, force)
    told = labeling.summary(answer.question, answer.classifier, answer.counts)
    screen.say([*told, *outputs.tell()], quiet=quiet)
