"""Checked rows in files: learned from, kept in the output, counted in the totals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.cli import main
from c2rf.exceptions import InputError
from c2rf.report import report_content
from c2rf.workflow.known_rows import checked_weights
from people import make_people

PEOPLE = make_people(400)
HOW: dict[str, Any] = {"target": "sick", "id": "id", "learner": "logistic"}
TRUTH = PEOPLE.truth.set_axis(PEOPLE.unlabeled["id"])


def sheet(n: int = 40) -> pd.DataFrame:
    first = c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, totals=PEOPLE.totals(), **HOW)
    found = c2rf.audit_sample(first.labels, n, purpose="learn")
    return found.assign(true=TRUTH[found["id"]].to_numpy())


def test_checked_rows_keep_their_class_and_count() -> None:
    checked = sheet()
    checked.loc[3, "true"] = None
    result = c2rf.classify(
        PEOPLE.labeled, PEOPLE.unlabeled, totals=PEOPLE.totals(), checked=checked, imputations=2,
        **HOW,
    )  # fmt: skip
    labels = result.labels.set_index("id").loc[checked["id"][checked["true"].notna()]]
    assert (labels["label"] == TRUTH[labels.index]).all()
    assert (labels["confidence"] == 1).all()
    assert (labels["score"].abs() == 100).all()
    assert result.counts == PEOPLE.totals()
    assert len(result.data.labels) == len(PEOPLE.labeled) + 39
    assert result.data.labeled_weights is not None
    drawn = result.imputations.set_index("id").loc[labels.index]
    assert (drawn.to_numpy() == TRUTH[labels.index].to_numpy()[:, None]).all()
    assert "39 labeled rows are among the rows to label" in result.summary()
    assert "80 rows and 39 checked rows of the check file" in result.summary()


@pytest.mark.parametrize("kind", [bool, int, float])
def test_labels_stay_of_the_type_of_the_classes(kind: type) -> None:
    labeled = PEOPLE.labeled.assign(sick=(PEOPLE.labeled["sick"] == "yes").astype(kind))
    totals = {kind(name == "yes"): total for name, total in PEOPLE.totals().items()}
    rows = PEOPLE.unlabeled["id"][:2]
    checked = pd.DataFrame({"id": rows, "true": (TRUTH[rows] == "yes").astype(kind).to_numpy()})
    result = c2rf.classify(labeled, PEOPLE.unlabeled, totals=totals, checked=checked, **HOW)
    assert result.labels["label"].value_counts().to_dict() == totals
    assert result.labels["label"].dtype == np.dtype(kind)


def test_checked_people_who_were_asked_before_count_once(tmp_path: Path) -> None:
    checked = sheet(20)
    path = tmp_path / "found.csv"
    checked.to_csv(path, index=False)
    again = checked["id"][:4]
    rows = PEOPLE.unlabeled.set_index("id", drop=False).loc[again].assign(sick=TRUTH[again])
    labeled = pd.concat([PEOPLE.labeled, rows], ignore_index=True)
    more = {"totals": PEOPLE.totals(), "checked": path, **HOW}
    result = c2rf.classify(labeled, PEOPLE.unlabeled, **more)
    assert len(result.data.labels) == len(labeled) + 16
    assert f"{len(labeled)} rows and 16 checked rows of found.csv" in result.summary()
    assert "found.csv: commas" in result.summary()
    assert "16 checked rows of found.csv" in report_content(result).lead[0][1][0]
    labeled.loc[len(labeled) - 1, "sick"] = "yes" if rows["sick"].iloc[-1] == "no" else "no"
    with pytest.raises(InputError, match=f"'{again.iloc[-1]}' has two labels"):
        c2rf.classify(labeled, PEOPLE.unlabeled, **more)


def test_weights_of_a_class_add_up_to_the_effective_number() -> None:
    labels = np.array(["a", "b", "a", "a", "b"])
    found = checked_weights(labels, np.array([2.0, 4.0, 1, 1, 1]), np.array([0.5, 0.1, 0.2]))
    np.testing.assert_allclose(found[:2], [2, 4])
    each = np.array([2.0, 10.0])
    assert found[2:4].sum() == pytest.approx(2 * each.sum() ** 2 / (each**2).sum())
    assert found[3] / found[2] == pytest.approx(5)
    assert found[4] == 4


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("id", "9999", "data row 2, column 'id': '9999' is not among"),
        ("true", "Yess", "data row 2, column 'true': 'Yess' .* mean 'yes'"),
        ("inclusion_probability", 7.0, "data row 2, column 'inclusion_probability'.*found 7"),
        ("id", None, "data row 2, column 'id'"),
    ],
)
def test_mistakes_name_row_and_column(name: str, value: Any, message: str) -> None:
    wrong = sheet(20)
    wrong.loc[1, name] = value
    with pytest.raises(c2rf.InputError, match=message):
        c2rf.classify(
            PEOPLE.labeled, PEOPLE.unlabeled, totals=PEOPLE.totals(), checked=wrong, **HOW
        )


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    PEOPLE.write()
    totals = ",".join(f"{name}={n}" for name, n in PEOPLE.totals().items())
    command = ["classify", "labeled.csv", "unlabeled.csv", "--target", "sick", "--learner",
               "logistic", "--totals", totals, "--quiet"]  # fmt: skip
    assert main([*command, "--id", "id", "--out", "labels.csv"]) == 0
    draw = ["audit", "draw", "labels.csv", "--rows", "unlabeled.csv", "--n", "30"]
    assert main([*draw, "--purpose", "learn", "--out", "check.csv"]) == 0
    found = pd.read_csv("check.csv", dtype={"id": str})
    found.assign(true=TRUTH[found["id"]].to_numpy()).to_csv("filled.csv", index=False)
    again = [*command, "--checked", "filled.csv", "--out", "again.csv"]
    assert main(again) == 2
    assert "--checked needs --id" in capsys.readouterr().err
    assert main([*again, "--id", "id"]) == 0
    found.assign(true="Yess").to_csv("wrong.csv", index=False)
    assert main([*command, "--checked", "wrong.csv", "--id", "id", "--out", "b.csv"]) == 2
    said = capsys.readouterr().err
    assert (
        "check file wrong.csv: row 2 (with the header, without empty rows), column 'true': 'Yess'"
        in said
    )
    labels = pd.read_csv("again.csv", dtype={"id": str}).set_index("id").loc[found["id"]]
    assert (labels["label"] == TRUTH[found["id"]]).all()


def test_a_sheet_that_was_made_safe_for_spreadsheets() -> None:
    labeled, unlabeled = (
        table.assign(id="=" + table["id"]) for table in (PEOPLE.labeled, PEOPLE.unlabeled)
    )
    ids = unlabeled["id"][:3]
    sheet = pd.DataFrame({"id": "'" + ids, "true": TRUTH[ids.str[1:]].to_numpy()})
    result = c2rf.classify(
        labeled, unlabeled, totals=PEOPLE.totals(), checked=sheet, **{**HOW, "id": "id"}
    )
    labels = result.labels.set_index("id")["label"]
    assert labels[ids].tolist() == sheet["true"].tolist()
