"""``c2rf predict``: label other rows with a model that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from c2rf._utils.text import ENGINES
from c2rf.cli import options, screen
from c2rf.cli import options as choices


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
            metavar="FILE", help="Where the labels go: .csv, .tsv, .gz, .parquet, .xlsx or .jsonl."
        ),
    ],
    id: Annotated[str | None, typer.Option(metavar="COL", help="Column that names rows.")] = None,
    sep: options.Sep = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    engine: choices.Engine = ENGINES[0],
    scheduler: choices.Scheduler = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Label further rows, each for itself, with a saved model.

    No total is met for them. The output is that of classify. Columns the model did not learn from
    are left alone.
    """
    from c2rf._utils.text import check_choice, count, short
    from c2rf.data.dialect import ReadAs
    from c2rf.workflow.model_file import StoredModel, predict_rows
    from c2rf.workflow.outputs import check_labels_name
    from c2rf.workflow.prepare import at_scheduler

    check_choice("engine", engine, ENGINES)
    check_labels_name(out, force=force, inputs=[model, file])
    how = ReadAs(sep, decimal, encoding, sheet)
    stored = StoredModel.read(model)
    with screen.waiting("labeling", quiet), at_scheduler(scheduler, engine):
        found = predict_rows(stored, file, id=id, engine=engine, how=how)
        found.save(out, force=force)
    lines = [(f"label {short(str(name))}", f"{n:,}") for name, n in found.counts]
    rows = ("rows", count(len(found), "row"))
    read_as = [("read as", found.rows.read_as)] if found.rows.read_as else []
    screen.say([*read_as, rows, *lines, ("output", str(out))], quiet=quiet)
