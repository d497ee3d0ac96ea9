"""``c2rf assign``: labels by the probabilities of any model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from c2rf.cli import common, terminal
from c2rf.cli.classify import FILES, Group, Positive, Total, TotalsFile
from c2rf.cli.common import in_panel
from c2rf.workflow.options import TOTALS, Options

SHARED = ["id", "sep", "decimal", "encoding", "sheet", "weight", "random_state"]
SHARED += ["totals_decimal", "totals_policy"]
"""Options of a classification that this command has as well."""


@common.with_options(SHARED)
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
            how=chosen.read_as,
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
