"""What users get by the default learner on small tables: labels, confidences, totals, a report.

Guards against changes of the blend, of what prepares its columns and of the assignment to totals
that nobody intended: each case is compared with labels and mean confidences that were stored with
an earlier version (``pinned_labels.csv``). Processors round differently, so a few labels next to a
threshold may differ; a change of the method moves more of them. Totals must be met to the row, and
all engines must agree exactly.

A failure means that users get other labels: that must be wanted, and told in the changelog. Then
``python tests/workflow/test_pinned.py`` stores the new ones.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from c2rf.cli import main
from people import make_people

pytest.importorskip("pyarrow")
pytest.importorskip("numba")  # without it trees have other random numbers

STORED = Path(__file__).with_name("pinned_labels.csv")
"""A column of labels per case, and a last row of mean confidences."""

CASES = {
    "count": "--positive yes --total 100",
    "rate": "--positive yes --total 40%",
    "range": "--totals yes=90..100",
    "no class binds": "--totals yes=0..240",
    "groups": "--group region --totals-file totals.csv",
    "groups and all": "--totals yes=101 --group region --totals-file some.csv",
    "three": "--totals yes=70,maybe=20%",
    "text": "--positive yes --total 80 --text region --drop a",
}
TOTALS = {
    "count": {"yes": 100, "no": 140},
    "rate": {"yes": 96, "no": 144},
    "groups and all": {"yes": 101, "no": 139},
    "three": {"yes": 70, "maybe": 48, "no": 122},
    "text": {"yes": 80, "no": 160},
}
"""What the labels of some cases add up to."""

LEAST_AGREEMENT = 0.97
LARGEST_DIFFERENCE = 0.01  # of mean confidences


def write_people(root: Path) -> dict[int, Path]:
    """Write tables of two and of three classes, with empty cells and a town nobody labeled has."""
    folders = {}
    for n_classes in (2, 3):
        folder = folders[n_classes] = root / f"{n_classes}-classes"
        folder.mkdir()
        people = make_people(n_classes=n_classes)
        rows = people.unlabeled.reset_index(drop=True)
        rows.loc[5, "town"], rows.loc[200, "town"] = "Aalen", None
        rows.loc[[7, 150], "a"] = np.nan
        for ending in (".csv", ".parquet"):
            people.write(ending, folder)
        rows.to_csv(folder / "unlabeled.csv", index=False)
        rows.to_parquet(folder / "unlabeled.parquet", row_group_size=50, index=False)
        totals = people.totals_by("region")
        totals.to_csv(folder / "totals.csv", index=False)
        totals[totals["region"] == "west"].to_csv(folder / "some.csv", index=False)
    return folders


def run(
    folders: dict[int, Path],
    name: str,
    ending: str = ".parquet",
    engine: str = "memory",
    *more: str,
) -> pd.DataFrame:
    """Classify by the command line, and return the table it writes."""
    folder = folders[3 if name == "three" else 2]
    out = folder / f"out-{engine}.parquet"
    words = shlex.split(CASES[name])
    asked = [str(folder / word) if word.endswith(".csv") else word for word in words]
    files = [str(folder / f"{kind}{ending}") for kind in ("labeled", "unlabeled")]
    line = ["classify", *files, "--target", "sick", "--id", "id", *asked, "--engine", engine]
    assert main([*line, "--out", str(out), "--force", "--quiet", *more]) == 0
    return pd.read_parquet(out)


def assert_same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Compare all columns to the last digit; engines give texts different types of pandas."""
    pd.testing.assert_frame_equal(one, other, check_exact=True, check_dtype=False)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[int, Path]:
    return write_people(tmp_path_factory.mktemp("people"))


@pytest.mark.parametrize("name", CASES)
def test_labels_and_confidences_are_those_that_were_stored(folders, name):
    found, stored = run(folders, name), pd.read_csv(STORED)[name]
    labels, confidence = stored[:-1].to_numpy(), float(stored.iloc[-1])
    assert (found["label"].to_numpy() == labels).mean() >= LEAST_AGREEMENT
    assert found["confidence"].mean() == pytest.approx(confidence, abs=LARGEST_DIFFERENCE)
    if name in TOTALS:
        assert found["label"].value_counts().to_dict() == TOTALS[name]
    if name == "range":
        assert 90 <= (found["label"] == "yes").sum() <= 100


def test_totals_of_groups_are_met(folders):
    found = run(folders, "groups").merge(pd.read_parquet(folders[2] / "unlabeled.parquet"), on="id")
    totals = pd.read_csv(folders[2] / "totals.csv").set_index(["region", "class"])["total"]
    counts = found.value_counts(["region", "label"])
    assert counts.to_dict() == totals[totals > 0].to_dict()


@pytest.mark.parametrize("engine", ["chunks", "dask"])
def test_engines_agree(folders, engine):
    pytest.importorskip("dask" if engine == "dask" else "numpy")
    assert_same(run(folders, "groups", engine=engine), run(folders, "groups"))


def test_text_files_give_the_same(folders):
    assert_same(run(folders, "count", ".csv"), run(folders, "count"))


def test_report(folders):
    pytest.importorskip("matplotlib")
    page = folders[2] / "page.html"
    run(folders, "groups", ".parquet", "memory", "--report", str(page))
    text = page.read_text()
    start = text.index("Labels and known totals")
    table = text[start : text.index("</table>", start)]
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", table)
    assert cells[6:18] == [
        "no", "15.0 %", "135", "135", "56.2 %", "0",
        "yes", "85.0 %", "105", "105", "43.8 %", "0",
    ]  # fmt: skip


def store() -> None:
    """Store the labels and mean confidences of all cases as they are now."""
    with tempfile.TemporaryDirectory() as root:
        folders = write_people(Path(root))
        tables = {name: run(folders, name) for name in CASES}
    columns = {
        name: [*table["label"], f"{table['confidence'].mean():.4f}"]
        for name, table in tables.items()
    }
    pd.DataFrame(columns).to_csv(STORED, index=False)


if __name__ == "__main__":
    sys.exit(store())
