"""``c2rf audit draw`` and ``c2rf audit read``: rows to check by hand, and what the check says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from c2rf._utils.text import split_names
from c2rf.cli import common, terminal
from c2rf.cli.common import QuickCommand, QuickGroup, in_panel
from c2rf.workflow.options import Options

audit = typer.Typer(
    help="Check some labels by hand: how many are right?",
    no_args_is_help=True,
    add_completion=False,
    cls=QuickGroup,
    rich_markup_mode=None,
)
SHARED = ["sep", "decimal", "encoding", "sheet", "language"]
"""Options of a classification that these commands have as well."""
FILES = "Outputs"

Labels = Annotated[
    Path, typer.Argument(metavar="LABELS", help="Labels of any model: id, label, confidence.")
]
Id = Annotated[str, typer.Option(metavar="COL", help="The column that names the rows.")]
By = Annotated[list[str] | None, typer.Option(metavar="COLS", help="Columns that make domains.")]
Rows = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The rows themselves, where LABELS has ids.")
]


@audit.command(cls=QuickCommand)
@common.with_options(SHARED)
def draw(
    labels: Labels,
    *,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", help="How many rows to draw.")
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="As many as make the interval this wide: 5% or 0.05."),
    ] = None,
    out: Annotated[
        Path | None, in_panel(FILES, "FILE", "Where the rows to check go: .xlsx, .csv, ...")
    ] = None,
    id: Id = "id",
    by: By = None,
    rows: Rows = None,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="COLS", help="The columns to decide by; all else.")
    ] = None,
    show_label: Annotated[
        bool,
        typer.Option("--show-label", help="Show the labels: checkers agree with what they see."),
    ] = False,
    purpose: Annotated[
        str,
        typer.Option(metavar="NAME", help="audit judges the labels; learn: to learn most from."),
    ] = "audit",
    seed: common.Seed = 0,
    spreadsheet_safe: common.SpreadsheetSafe = False,
    force: common.Force = False,
    quiet: common.Quiet = False,
    **given: Any,
) -> None:
    """Draw rows to check by hand, with known probabilities.

    Fill in the column "true", leave it empty where you cannot decide, and change nothing else.
    With --width and without --out it only says how many rows it takes. With --by, half of the
    rows are shared out equally among the domains.
    """
    from c2rf._utils.text import percent
    from c2rf.data.atomic import atomic_output, check_output
    from c2rf.data.totals import parse_share
    from c2rf.data.write import TableWriter, check_writable
    from c2rf.exceptions import InputError
    from c2rf.inference.audit import rows_for_width
    from c2rf.workflow.audit import audit_sample, read_labels
    from c2rf.workflow.summary import in_language

    if (n is None) == (width is None):
        raise InputError("say how many rows to draw with --n 100, or how exact with --width 5%")
    if out is None and width is None:
        raise InputError("say where the rows to check should go with --out check.xlsx")
    chosen = Options(target="true", totals=[], **common.parsed(given))
    how = chosen.read_as
    if out is not None:
        check_output(out, force=force, inputs=[labels, *([rows] if rows else [])])
        check_writable(out)
    with terminal.waiting("drawing", quiet):
        found = read_labels(labels, id, rows, how)
        lines = []
        if width is not None:
            share = parse_share(width)
            if not isinstance(share, float) or not 0 < share < 1:
                raise InputError(f"--width must be a share, like 5% or 0.05; found {width!r}")
            n = rows_for_width(found.confidence, share)
            lines = [("width", f"{percent(share)} takes {n:,} rows, if the confidences are right")]
        if out is not None:
            sheet = audit_sample(
                found, cast("int", n), id=id, by=split_names(by), show_label=show_label,
                columns=split_names(columns) if columns else None,
                purpose=cast("Literal['audit', 'learn']", purpose), random_state=seed,
            )  # fmt: skip
            with (
                atomic_output(out, force=force) as path,
                TableWriter(path, spreadsheet_safe=spreadsheet_safe) as writer,
            ):
                writer.write(sheet)
            terminal.warn_of_cells(writer.cautions, spreadsheet_safe)
            if "note" in sheet.attrs:
                lines.append(("gain", sheet.attrs["note"]))
            lines += [("drawn", f"{len(sheet):,} of {len(found.ids):,} rows"), ("output", str(out))]
    terminal.say(in_language(lines, chosen.language), quiet=quiet)


@audit.command(cls=QuickCommand)
@common.with_options(SHARED)
def read(
    checked: Annotated[Path, typer.Argument(metavar="CHECKED", help="The sheet, filled in.")],
    labels: Labels,
    *,
    report: Annotated[
        Path | None, in_panel(FILES, "FILE.html", "Where a report to read goes.")
    ] = None,
    table_out: Annotated[
        Path | None, in_panel(FILES, "FILE", "Where the corrected shares of classes go.")
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="COL", help="The column that was filled in.")
    ] = "true",
    id: Id = "id",
    by: By = None,
    rows: Rows = None,
    level: Annotated[
        float, typer.Option(help="How often intervals should cover the truth.")
    ] = 0.95,
    spreadsheet_safe: common.SpreadsheetSafe = False,
    force: common.Force = False,
    quiet: common.Quiet = False,
    **given: Any,
) -> None:
    """Say how many labels are right, by rows that were checked.

    The intervals rest on how the rows were drawn alone: not on the model or any assumption.
    """
    from c2rf._utils.text import percent, short
    from c2rf.data.atomic import atomic_outputs, check_output
    from c2rf.data.write import check_writable, write_formatted
    from c2rf.workflow import audit as audits
    from c2rf.workflow.result import check_report
    from c2rf.workflow.summary import in_language
    from c2rf.workflow.tables import read_frame

    chosen = Options(target="true", totals=[], **common.parsed(given))
    how = chosen.read_as
    paths = [path for path in (report, table_out) if path is not None]
    for path in paths:
        check_output(path, force=force, inputs=[checked, labels])
    if report is not None:
        check_report(report)
    if table_out is not None:
        check_writable(table_out)
    with terminal.waiting("estimating", quiet):
        sheet = read_frame(checked, "the check file", how)
        given_labels = audits.read_labels(labels, id, rows, how)
        found = audits.audit(
            given_labels, sheet, id=id, target=target, by=split_names(by), level=level
        )
        with atomic_outputs(paths, force=force) as temporaries:
            for path, temporary in zip(paths, temporaries, strict=True):
                if path is report:
                    found.report(temporary, language=chosen.language)
                else:
                    safe = spreadsheet_safe
                    cautions = write_formatted(temporary, found.table, spreadsheet_safe=safe)
                    terminal.warn_of_cells(cautions, safe)
    shares = [
        (f"class {short(row['class'])}",
         f"{percent(row['share'])} ({percent(row['share_low'])} to {percent(row['share_high'])}); "
         f"of the labels {percent(row['share_of_labels'])}")
        for row in found.shares.to_dict("records")
    ]  # fmt: skip
    written = (("report", report), ("table", table_out))
    outputs = [(name, str(path)) for name, path in written if path is not None]
    lines = [*audits.audit_lines(found), *audits.lines_by_domain(found), *shares, *outputs]
    lines = in_language(lines, chosen.language)
    terminal.say(lines, quiet=quiet)
