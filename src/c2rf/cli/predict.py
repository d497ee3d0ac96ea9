"""``c2rf predict``: label other rows with a model that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from c2rf.cli import options, screen


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.skops", help="What classify --save-model wrote.")
    ],
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Rows to label, with the model's columns.")
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where the labels go: .csv, .tsv, .gz or .parquet."),
    ],
    identifier: Annotated[
        str | None, typer.Option("--id", metavar="COL", help="Column that names individuals.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Label further rows, each for itself, with a saved model.

    No total is met for them. The output is that of classify. Columns the model did not learn from
    are left alone.
    """
    from c2rf.cli.features import encode
    from c2rf.cli.judge import judge, rows_to_show
    from c2rf.cli.question import Groups
    from c2rf.files import atomic_output, check_output
    from c2rf.model_file import StoredModel
    from c2rf.tables import check_writable, read_table, write_table
    from c2rf.words import short

    check_output(out, force=force, inputs=[model, file])
    check_writable(out)
    stored = StoredModel.read(model)
    table = read_table(file)
    names = [str(name) for name in table]
    options.check_column("--id", identifier, names)
    options.check_column("the groups of the model", stored.group, names)
    rows = rows_to_show(table, identifier)
    groups = Groups.of(table, stored.group).of_rows
    with screen.waiting("labeling", quiet):
        X = encode(stored.encoder, table)
        judgement = judge(stored.classifier, X, stored.positive, groups)
    with atomic_output(out, force=force) as temporary:
        write_table(judgement.beside(rows), temporary)
    found = [
        (f"label {short(name)}", f"{(judgement.labels == name).sum():,}")
        for name in stored.classifier.classes_
    ]
    screen.say(
        [("rows", screen.count(len(table), "individual")), *found, ("output", str(out))],
        quiet=quiet,
    )
