"""Outputs of a dozen small classifications, as they were before their code was written once.

A change of these figures is a change of what users get: it must be wanted, and told.
"""

from __future__ import annotations

import re
import shlex
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from c2rf.cli import main
from people import make_people

pytest.importorskip("pyarrow")

CASES = {
    "count": "--positive yes --total 100 --learner extra-trees",
    "rate": "--positive yes --total 40% --learner logistic",
    "range": "--totals yes=90..110 --learner logistic",
    "no class binds": "--totals yes=0..240 --learner logistic",
    "groups": "--group region --totals-file totals.csv --learner extra-trees",
    "groups and all": ("--totals yes=101 --group region --totals-file some.csv --learner logistic"),
    "three": "--totals yes=70,maybe=20% --learner logistic",
    "three, trees": "--totals yes=70,maybe=20%,no=122 --learner extra-trees",
    "weighted": "--positive yes --total 100 --method c2rf --trees 5",
    "weighted, other class": "--positive no --total 0.5 --method c2rf --trees 8",
    "weighted, offset": "--positive yes --total 90 --method c2rf --trees 6 --offset=-3..3",
    "text": "--positive yes --total 80 --text region --drop a --learner logistic",
}
FIGURES = {
    "count": (866249100, 100, 5711.2662, 23663.398),
    "rate": (152455704, 96, -25754.8998, 25036.3512),
    "range": (921753238, 110, -1184.1234, 24896.1127),
    "no class binds": (3256838504, 167, 51568.9109, 24834.1143),
    "groups": (634357254, 105, 9253.2069, 23416.4333),
    "groups and all": (1504796338, 101, -13492.2666, 24787.155),
    "three": (2454999058, 70, 71282.2512, 23666.9149),
    "three, trees": (3116448487, 70, 37673.2429, 20920.776),
    "weighted": (415211667, 124, 81042.0, 23062.4444),
    "weighted, other class": (415211667, 124, -131220.0, 22870.8824),
    "weighted, offset": (989910332, 103, 6016.0, 20200.0),
    "text": (3677418574, 80, -34629.5936, 24288.8922),
}
"""Of each case: a sum over labels, the number of "yes", weighted sums of scores and confidences."""
REPORTED = ["no", "9", "135", "135", "56.2 %", "0", "yes", "51", "105", "105", "43.8 %", "0"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[int, Path]:
    """Tables of two and of three classes, with empty cells and a town nobody labeled has."""
    folders = {}
    for n_classes in (2, 3):
        folder = folders[n_classes] = tmp_path_factory.mktemp(f"{n_classes}-classes")
        people = make_people(n_classes=n_classes)
        rows = people.unlabeled.reset_index(drop=True)
        rows.loc[5, "town"], rows.loc[200, "town"] = "Aalen", None
        rows.loc[[7, 150], "a"] = np.nan
        people.labeled.to_csv(folder / "labeled.csv", index=False)
        people.labeled.to_parquet(folder / "labeled.parquet", index=False)
        rows.to_csv(folder / "unlabeled.csv", index=False)
        rows.to_parquet(folder / "unlabeled.parquet", row_group_size=50, index=False)
        totals = people.totals_by("region")
        totals.to_csv(folder / "totals.csv", index=False)
        totals[totals["region"] == "west"].to_csv(folder / "some.csv", index=False)
    return folders


def figures(table: pd.DataFrame) -> tuple[float, ...]:
    """Return numbers that change when a label, a score or a confidence does."""
    places = np.arange(1.0, len(table) + 1)
    return (
        zlib.crc32(",".join(table["label"]).encode()),
        int((table["label"] == "yes").sum()),
        round(float(places @ table["score"]), 4),
        round(float(places @ table["confidence"]), 4),
    )


def reported(page: str) -> list[str]:
    """Return the cells of the table of labels and known totals of a report."""
    start = page.index("Labels and known totals")
    return re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", page[start : page.index("</table>", start)])


def run(folder: Path, case: str, ending: str, engine: str, *more: str) -> pd.DataFrame:
    out = folder / f"out-{engine}.parquet"
    asked = [str(folder / word) if word.endswith(".csv") else word for word in shlex.split(case)]
    files = [str(folder / f"{name}{ending}") for name in ("labeled", "unlabeled")]
    line = ["classify", *files, "--target", "sick", "--id", "id", *asked, "--engine", engine]
    assert main([*line, "--out", str(out), "--force", "--quiet", *more]) == 0
    return pd.read_parquet(out)


@pytest.mark.parametrize("engine", ["memory", "chunks", "dask"])
@pytest.mark.parametrize("name", CASES)
def test_outputs(folders, name, engine):
    folder = folders[3 if name.startswith("three") else 2]
    if engine == "dask":
        pytest.importorskip("dask")
    found, expected = figures(run(folder, CASES[name], ".parquet", engine)), FIGURES[name]
    assert found[:2] == expected[:2]
    assert found[2:] == pytest.approx(expected[2:], rel=1e-5)


def test_text_files_say_the_same(folders):
    found = run(folders[2], CASES["weighted"], ".csv", "memory")
    assert figures(found) == pytest.approx(FIGURES["weighted"], rel=1e-5)


def test_report(folders):
    pytest.importorskip("matplotlib")
    page = folders[2] / "page.html"
    run(folders[2], CASES["groups"], ".parquet", "memory", "--report", str(page))
    assert reported(page.read_text())[6:18] == REPORTED
