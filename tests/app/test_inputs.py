"""What the page does, what its command line does and what its Python lines do is the same."""

from __future__ import annotations

import shlex
from pathlib import Path

import pandas as pd
import pytest

from c2rf.app.inputs import Inputs
from c2rf.app.page import label_and_write
from c2rf.app.session import write_example
from c2rf.cli import main
from c2rf.workflow.result import Classification
from people import read_table


def the_example(folder: Path) -> Inputs:
    labeled, unlabeled, totals = write_example(folder)
    return Inputs(
        labeled=labeled, unlabeled=unlabeled, totals=totals,
        chosen={"target": "employed", "id": "person", "imputations": 3},
    )  # fmt: skip


def people(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    labeled, unlabeled, _ = write_example(folder / "example")
    return pd.read_csv(labeled)[:60], pd.read_csv(unlabeled)[:90]


def german_workbook_and_margins(folder: Path) -> Inputs:
    """One file, three classes, two margins of which one is wide, with sums and marks."""
    labeled, unlabeled = people(folder)
    labeled.loc[::4, "employed"] = "teil, zeit"
    rows = pd.concat([labeled, unlabeled]).rename(columns={"employed": "Erwerb", "age": "-Alter"})
    rows["Jahr"] = [2001, 2002] * 75
    rows.to_excel(folder / "-Personen.xlsx", index=False)
    regions = pd.DataFrame({"region": ["north", "south", "west", "Summe"]})
    regions.assign(**{"yes": [10, 10, 10, 30], "teil, zeit": [9, 9, 9, 27]}).to_csv(
        folder / "regionen.csv", sep=";", index=False
    )
    years = pd.DataFrame({"Jahr": [2001], "Erwerb": ["no"], "total": ["15..20"]})
    years.to_csv(folder / "jahre.csv", index=False)
    return Inputs(
        labeled=folder / "-Personen.xlsx",
        totals={"teil, zeit": "20..30", "yes": "0%..100%"},
        totals_files=[folder / "regionen.csv", folder / "jahre.csv"],
        chosen={
            "target": "Erwerb", "id": "person", "text": ["Jahr"], "drop": ["-Alter"],
            "totals_policy": "scale", "sensitivity": 0.05,
        },
    )  # fmt: skip


def two_files_of_one_name(folder: Path) -> Inputs:
    tables = people(folder)
    paths = [folder / place / "people.csv" for place in ("labeled", "unlabeled")]
    for table, path in zip(tables, paths, strict=True):
        path.parent.mkdir()
        table.to_csv(path, sep=";", decimal=",", index=False)
    return Inputs(
        labeled=paths[0], unlabeled=paths[1], totals={"yes": "44%+-1%"},
        chosen={
            "target": "employed", "keep": ["person"], "drop": ["age", "hours"], "sensitivity": "se",
        },
    )  # fmt: skip


@pytest.mark.parametrize("made", [the_example, german_workbook_and_margins, two_files_of_one_name])
def test_page_command_and_lines_write_the_same(tmp_path, monkeypatch, capsys, made):
    monkeypatch.setattr(Classification, "write_report", lambda self, path: path.write_text("-"))
    inputs = made(tmp_path)
    outputs = inputs.outputs(tmp_path / "page")
    label_and_write(inputs, outputs)
    monkeypatch.chdir(tmp_path)
    files = [path.name for path in outputs.named.values()]
    assert main(shlex.split(inputs.command())[1:]) == 0, capsys.readouterr().err
    for name in files:
        Path(name).rename(f"cli-{name}")
    exec(inputs.python(), {})
    for name in files:
        assert Path(name).stat().st_size > 0
        if name not in ("report.html", "model.skops"):
            by_page = read_table(tmp_path / "page" / name)
            assert by_page.astype(str).equals(read_table(Path(f"cli-{name}")).astype(str))
            assert by_page.astype(str).equals(read_table(Path(name)).astype(str))
