"""``c2rf classify``, ``predict``, ``assign`` and ``app``: from tables to labels."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from c2rf.cli import common, terminal
from c2rf.cli.common import in_panel
from c2rf.workflow.options import TOTALS, Options

FILES = "Outputs"
"""A panel of the help."""

NO_TOTALS = "none given; with --totals or --totals-file, all would be checked"

Names = list[str] | None
Positive = Annotated[Names, in_panel(TOTALS, "CLASS", "The class that --total counts.")]
Total = Annotated[Names, in_panel(TOTALS, "N", "Its known number: 1234, 12% or 1200..1300.")]
Totals = Annotated[
    Names,
    in_panel(TOTALS, "LIST", 'Totals of classes: "yes=1234,no=8766"; ranges lo..hi; or estimate.'),
]
TotalsFile = Annotated[
    list[Path] | None,
    in_panel(TOTALS, "FILE", "A table: class, total, groups; or a column per class."),
]
Group = Annotated[
    Names, in_panel(TOTALS, "COL", "Grouping column of --totals-file; by default found by name.")
]


@common.with_options()
def classify(
    context: typer.Context,
    labeled: Annotated[Path, typer.Argument(metavar="LABELED", help="Rows whose class is known.")],
    unlabeled: Annotated[
        Path | None,
        typer.Argument(
            metavar="[UNLABELED]", help="Rows to label; without, those of LABELED with no class."
        ),
    ] = None,
    *,
    positive: Positive = None,
    total: Total = None,
    totals: Totals = None,
    totals_file: TotalsFile = None,
    group: Group = None,
    out: Annotated[
        Path | None,
        in_panel(
            FILES, "FILE", "Where the labels go: .csv, .gz, .parquet, .xlsx, .jsonl, .sav, ..."
        ),
    ] = None,
    report: Annotated[
        Path | None, in_panel(FILES, "FILE.html", "Where a report to read goes.")
    ] = None,
    save_model: Annotated[
        Path | None, in_panel(FILES, "FILE.skops", "Where the model goes, for c2rf predict.")
    ] = None,
    imputations_out: Annotated[
        Path | None,
        in_panel(FILES, "FILE", "Where the imputations go: the id, then a column each."),
    ] = None,
    imputations_long: Annotated[
        bool,
        typer.Option(
            "--imputations-long",
            rich_help_panel=FILES,
            help="One imputation below the other, with .imp and .id, as mice has them.",
        ),
    ] = False,
    estimates_out: Annotated[
        list[Path] | None,
        in_panel(FILES, "FILE", "Where the table of --estimates-by goes; the nth of the nth."),
    ] = None,
    spreadsheet_safe: common.SpreadsheetSafe = False,
    force: common.Force = False,
    quiet: common.Quiet = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all and say what would be done; write nothing.")
    ] = False,
    **given: Any,
) -> None:
    """Label rows so that the labels add up to known totals.

    Files are CSV of any dialect (plain, .gz, .zip, .zst), Excel, OpenDocument, SPSS, Stata, SAS,
    Parquet, Arrow, JSON lines, or file.db::table; UNLABELED may be a folder of CSV or Parquet.
    --dry-run shows how they are understood, and needs no --out. An option that takes COLS takes
    several columns with commas, or is given several times.

    The output holds the rows of UNLABELED in their order, or with --id only that column, and the
    columns "label", "score" and "confidence". A total is a count (1234), a rate (0.12 or 12%), a
    range of either (1200..1300) or an estimate with its standard error (1200+-50).
    """
    from c2rf.data.totals import collect
    from c2rf.report.language import translated
    from c2rf.totals.stated import ESTIMATE
    from c2rf.workflow.classify import label
    from c2rf.workflow.prepare import prepare
    from c2rf.workflow.result import Outputs, check_estimates
    from c2rf.workflow.summary import in_language, plan_lines
    from c2rf.workflow.tables import at_scheduler

    chosen = Options(totals=[], **common.parsed(given))
    tables = [path for path in (labeled, unlabeled) if path is not None]
    totals_files = totals_file or []
    if dry_run and not quiet:
        terminal.show_previews(tables, chosen.read_as, totals_files, chosen.language)
    if dry_run and not (positive or total or totals or totals_files):
        return terminal.say([("totals", NO_TOTALS)], quiet=quiet)
    if totals == [ESTIMATE] and not (positive or total or totals_files):
        known: Any = ESTIMATE
    else:
        known = collect(
            chosen.target, positive=positive or (), total=total or (), totals=totals or (),
            totals_file=totals_files, group=group or (),
            decimal=chosen.totals_decimal or chosen.decimal,
        )  # fmt: skip
    outputs = Outputs(
        labels=out, report=report, model=save_model, imputations=imputations_out,
        spreadsheet_safe=spreadsheet_safe, estimates=estimates_out or [],
        long=imputations_long,
    )  # fmt: skip
    check_estimates(chosen, outputs)
    outputs.check(force=force, inputs=[*tables, *totals_files], needed=not dry_run)
    with (
        terminal.waiting("classifying", quiet),
        at_scheduler(chosen.scheduler, chosen.engine, chosen.n_jobs, chosen.master),
    ):
        data = prepare(labeled, unlabeled, replace(chosen, totals=known))
        if dry_run:
            lines = in_language(plan_lines(data), chosen.language, data.classes)
        else:
            outputs.check_rows(data)
            result = label(data, shlex.join(["c2rf", *context.obj]))
            terminal.warn_of_cells(outputs.write(result, force=force), spreadsheet_safe)
            lines = result.summary_lines
    files = [(translated(name, chosen.language), path) for name, path in outputs.lines()]
    return terminal.say([*lines, *files], quiet=quiet)


@common.with_options(["id", "sep", "decimal", "encoding", "sheet", "engine", "scheduler", "master"])
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.skops", help="What classify --save-model wrote.")
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Rows to label, with the model's columns.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Where the labels go: .csv, .parquet, .xlsx, .jsonl, .sav, ..."
        ),
    ],
    spreadsheet_safe: common.SpreadsheetSafe = False,
    force: common.Force = False,
    quiet: common.Quiet = False,
    **given: Any,
) -> None:
    """Label further rows, each for itself, with a saved model.

    No total is met for them. The output is that of classify. Columns the model did not learn from
    are left alone.
    """
    from c2rf._utils.text import count, short
    from c2rf.workflow.model_file import StoredModel, predict_rows
    from c2rf.workflow.predictions import check_labels_name
    from c2rf.workflow.tables import at_scheduler

    check_labels_name(out, force=force, inputs=[model, file])
    stored = StoredModel.read(model)
    chosen = Options(target=stored.target, totals=[], **given)
    with (
        terminal.waiting("labeling", quiet),
        terminal.plain_warnings(),
        at_scheduler(chosen.scheduler, chosen.engine, None, chosen.master),
    ):
        found = predict_rows(
            stored, file, id=chosen.id, engine=chosen.engine, how=chosen.read_as, out=out
        )
        cautions = found.save(out, force=force, spreadsheet_safe=spreadsheet_safe)
    terminal.warn_of_cells(cautions, spreadsheet_safe)
    lines = [(f"label {short(str(name))}", f"{n:,}") for name, n in found.counts]
    rows = ("rows", count(len(found), "row"))
    read_as = [("read as", found.rows.read_as)] if found.rows.read_as else []
    terminal.say([*read_as, rows, *lines, ("output", str(out))], quiet=quiet)


SHARED_BY_ASSIGN = ["id", "sep", "decimal", "encoding", "sheet", "weight", "random_state"]
SHARED_BY_ASSIGN += ["totals_decimal", "totals_policy"]
"""Options of a classification that assign has as well."""


@common.with_options(SHARED_BY_ASSIGN)
def assign(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Rows with a column of probabilities per class.")
    ],
    *,
    probabilities: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="The column of each class: yes=p_yes,no=p_no.", show_default=False
        ),
    ],
    positive: Positive = None,
    total: Total = None,
    totals: Annotated[
        list[str] | None,
        in_panel(TOTALS, "LIST", 'Totals of classes: "yes=1234,no=8766"; ranges lo..hi.'),
    ] = None,
    totals_file: TotalsFile = None,
    group: Group = None,
    out: Annotated[
        Path,
        in_panel(
            FILES, "FILE", "Where the labels go: .csv, .gz, .parquet, .xlsx, .jsonl, .sav, ..."
        ),
    ],
    offsets_out: Annotated[
        Path | None, in_panel(FILES, "FILE", "Where the class offsets go: a row per group.")
    ] = None,
    sql_out: Annotated[
        Path | None, in_panel(FILES, "FILE.sql", "Where the rule goes, as one CASE of SQL.")
    ] = None,
    spreadsheet_safe: common.SpreadsheetSafe = False,
    force: common.Force = False,
    quiet: common.Quiet = False,
    **given: Any,
) -> None:
    """Label rows by the probabilities of any model.

    The labels add up to known totals. FILE is of any kind that classify reads. The output holds
    the rows in their order, or with --id only that column, and the columns "label", "score" and
    "confidence". A total of 0 in a group says that the class cannot be there.
    """
    from c2rf._utils.text import short
    from c2rf.data.atomic import atomic_outputs, check_output
    from c2rf.data.totals import collect
    from c2rf.data.write import TableWriter, check_writable
    from c2rf.workflow.assign import assign_file, parse_columns
    from c2rf.workflow.predictions import check_labels_name

    chosen = Options(target="class", totals=[], **common.parsed(given))
    columns, files = parse_columns(probabilities), totals_file or []
    decimal = chosen.totals_decimal or chosen.decimal
    known = collect(
        chosen.target, positive=positive or (), total=total or (), totals=totals or (),
        totals_file=files, group=group or (), decimal=decimal,
    )  # fmt: skip
    check_labels_name(out, force=force, inputs=[file, *files])
    for path in (offsets_out, sql_out):
        if path is not None:
            check_output(path, force=force, inputs=[file, *files, out])
    if offsets_out is not None:
        check_writable(offsets_out)
    with terminal.waiting("labeling", quiet):
        found, rows = assign_file(
            file, columns, known, id=chosen.id, weight=chosen.weight,
            totals_policy=chosen.totals_policy, random_state=chosen.random_state,
            how=chosen.read_as, out=out,
        )  # fmt: skip
        extra = [path for path in (offsets_out, sql_out) if path is not None]
        with atomic_outputs(extra, force=force) as temporaries:
            for path, temporary in zip(extra, temporaries, strict=True):
                if path is sql_out:
                    temporary.write_text(found.sql(columns) + "\n", encoding="utf-8")
                else:
                    named = found.offsets.index.names != [None]
                    with TableWriter(temporary, spreadsheet_safe=spreadsheet_safe) as writer:
                        writer.write(found.offsets.reset_index(drop=not named))
            cautions = rows.save(out, force=force, spreadsheet_safe=spreadsheet_safe)
    terminal.warn_of_cells(cautions, spreadsheet_safe)
    missed = found.totals_met["off"].abs().sum()
    met = "all met" if not missed else f"missed by {missed:g} in all"
    written = (("output", out), ("offsets", offsets_out), ("sql", sql_out))
    terminal.say(
        [
            *(("careful", f"total moved: {each}") for each in found.adjustments),
            *((f"label {short(str(name))}", f"{n:,}") for name, n in rows.counts),
            ("totals", f"{len(found.totals_met):,} known, {met}"),
            ("gap", f"other labels gain at most {found.gap:.3g} in total log-probability"),
            *((name, str(path)) for name, path in written if path is not None),
        ],
        quiet=quiet,
    )


def page(
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Where to listen.")] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also offer the files of this folder.")
    ] = None,
    max_upload: Annotated[
        str, typer.Option(metavar="SIZE", help="Largest file that can be dropped.")
    ] = "500MB",
) -> None:
    """Open a page in the browser to drop files on.

    The page is on this computer only (127.0.0.1), needs no network, and has an address that only
    you know. What is dropped on it is removed when the page is closed or the command ends.
    """
    from c2rf.app.server import serve

    code = serve(port, browser=not no_browser, folder=folder, max_upload=max_upload)
    if code:
        raise typer.Exit(code)
