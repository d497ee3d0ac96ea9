"""Sheets of rows to check: drawn, filled in, read; and everything that can be wrong with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf import InputError
from c2rf.cli import main
from c2rf.workflow.audit import audit_lines

N = 600
rng = np.random.default_rng(0)
TRUTH = pd.Series(rng.choice(["no", "yes"], N, p=[0.7, 0.3]), index=[f"{k:04d}" for k in range(N)])
RIGHT = rng.random(N) < 0.85
LABELS = pd.DataFrame(
    {
        "id": TRUTH.index,
        "label": np.where(RIGHT, TRUTH, np.where(TRUTH == "no", "yes", "no")),
        "confidence": rng.uniform(0.7, 1, N),
        "region": np.array(["north", "south", "west"])[np.arange(N) % 3],
    }
)


def filled(n: int = 100, **how: Any) -> pd.DataFrame:
    sheet = c2rf.audit_sample(LABELS, n, **how)
    return sheet.assign(true=TRUTH[sheet["id"]].to_numpy())


def test_the_truth_is_in_the_intervals_and_tables_add_up() -> None:
    found = c2rf.audit(LABELS, filled(200), by="region")
    assert found.accuracy.low <= RIGHT.mean() <= found.accuracy.high
    assert found.accuracy.standard_error < 0.03
    share = found.shares.set_index("class")
    assert (
        share.loc["yes", "share_low"] <= (TRUTH == "yes").mean() <= share.loc["yes", "share_high"]
    )
    assert found.shares["share"].sum() == pytest.approx(1)
    assert found.table.groupby("region")["count"].sum().tolist() == pytest.approx([200] * 3)
    assert found.confusion.to_numpy().sum() == pytest.approx(N, rel=0.01)
    assert found.domains["checked"].sum() == 200
    assert found.expected == pytest.approx(LABELS["confidence"].mean())


def test_all_rows_give_the_truth() -> None:
    found = c2rf.audit(LABELS, filled(N))
    assert found.accuracy[0] == pytest.approx(RIGHT.mean())
    assert found.accuracy[2:] == pytest.approx((RIGHT.mean(), RIGHT.mean()))
    expected = pd.crosstab(LABELS["label"], TRUTH.to_numpy()).to_numpy()
    np.testing.assert_allclose(found.confusion.to_numpy(), expected, atol=1e-6)


def test_all_labels_are_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sheet, hashed, hash_array = filled(50), [], pd.util.hash_array

    def counted(values: Any) -> Any:
        hashed.append(len(values))
        return hash_array(values)

    monkeypatch.setattr(pd.util, "hash_array", counted)
    c2rf.audit(LABELS, sheet)
    assert hashed == [N, 50]  # the labels, and the rows of the sheet
    c2rf.audit_sample(LABELS, 50)
    assert hashed == [N, 50] * 2


def test_domains_get_their_rows_and_labels_are_hidden() -> None:
    rows = pd.DataFrame({"id": TRUTH.index, "age": 7, "town": ["Ulm"] * 590 + ["Bonn"] * 10})
    sheet = c2rf.audit_sample(
        LABELS[["id", "label"]], 60, rows=rows, by="town", columns=["age"], random_state=1
    )
    assert sheet.columns.tolist() == [
        "id", "town", "age", "true", "inclusion_probability", "audit",
    ]  # fmt: skip
    assert sheet["town"].value_counts()["Bonn"] == 10
    assert "label" in c2rf.audit_sample(LABELS, 10, show_label=True)
    assert c2rf.audit_sample(LABELS, 10).equals(c2rf.audit_sample(LABELS, 10))
    checked = sheet.assign(true=TRUTH[sheet["id"]].to_numpy())
    found = c2rf.audit(LABELS[["id", "label"]], checked, by="town", rows=rows)
    bonn = found.domains.set_index("town").loc["Bonn"]
    assert bonn["accuracy_low"] == bonn["accuracy_high"] == pytest.approx(RIGHT[590:].mean())
    assert found.expected is None


def test_undecided_rows_widen() -> None:
    sheet = filled()
    whole, part = c2rf.audit(LABELS, sheet), c2rf.audit(LABELS, sheet.assign(
        true=sheet["true"].where(np.arange(100) % 5 != 0)))  # fmt: skip
    assert part.accuracy.low < whole.accuracy.low < whole.accuracy.high < part.accuracy.high
    assert part.n_undecided == 20


def changed(**how: Any) -> pd.DataFrame:
    sheet = filled(20)
    for name, value in how.items():
        sheet.loc[3, name] = value
    return sheet


def sealed_without_a_number() -> pd.DataFrame:
    """A sheet of a version that did not say how many rows were drawn."""
    sheet = filled(20)
    return sheet.assign(audit=sheet["audit"].str.replace("-20-", "-"))


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        (lambda: changed(id="9999"), r"data row 4, column 'id': '9999' is not in the labels"),
        (lambda: changed(id=filled(20)["id"][0]), "data row 4, column 'id'.* is there twice"),
        (lambda: changed(true="Yess"), r"data row 4, column 'true': 'Yess'.*mean 'yes'"),
        (lambda: changed(inclusion_probability=0.9), "data row 4, column 'inclusion_probability'"),
        (lambda: filled(20).assign(audit="0-0"), "drawn for other labels"),
        (lambda: filled(20).assign(true=None), "all cells of the column 'true' are empty"),
        (lambda: filled(20).drop(columns="true"), "no column 'true'"),
        (lambda: sealed_without_a_number(), "not as this version of c2rf writes it"),
        (lambda: filled(20).head(12), "20 rows were drawn, and the check file has 12; leave all"),
    ],
)
def test_mistakes_in_a_sheet_name_row_and_column(sheet: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        c2rf.audit(LABELS, sheet())


def test_mistakes_in_labels_and_wishes() -> None:
    with pytest.raises(InputError, match="from 2 to 600"):
        c2rf.audit_sample(LABELS, 601)
    alone = LABELS.assign(region=["east", *LABELS["region"][1:]])
    with pytest.raises(InputError, match=r"'east' of region has one row only, '0000'"):
        c2rf.audit_sample(alone, 50, by="region")
    with pytest.raises(InputError, match="did you mean 'region'"):
        c2rf.audit_sample(LABELS, 50, by="regin")
    with pytest.raises(InputError, match=r"no column 'sex'; .*rows=, if they have it"):
        c2rf.audit_sample(LABELS, 50, by="sex")
    with pytest.raises(InputError, match="there twice"):
        c2rf.audit_sample(LABELS.assign(id="a"), 50)
    with pytest.raises(InputError, match="from 0 to 1; found 7"):
        c2rf.audit_sample(LABELS.assign(confidence=7), 50)
    with pytest.raises(InputError, match="other labels"):
        c2rf.audit(LABELS.assign(label="no"), filled())


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    LABELS.to_csv("labels.csv", index=False)
    assert main(["audit", "draw", "labels.csv", "--width", "10%"]) == 0
    assert "10.0 % takes" in capsys.readouterr().out
    draw = ["audit", "draw", "labels.csv", "--n", "40", "--by", "region", "--out", "check.xlsx"]
    assert main(draw) == 0
    sheet = pd.read_excel("check.xlsx", dtype={"id": str}, engine="calamine")
    sheet["true"] = TRUTH[sheet["id"]].to_numpy()
    sheet.to_csv("filled.csv", index=False)
    read = ["audit", "read", "filled.csv", "labels.csv", "--by", "region"]
    assert main([*read, "--report", "a.html", "--table-out", "t.xlsx"]) == 0
    out = capsys.readouterr().out
    assert "40 rows of 600" in out
    assert len(re.findall(r"right, (?:north|south|west) +\d+\.\d % \(", out)) == 3
    assert "An audit of labels" in Path("a.html").read_text()
    assert len(pd.read_excel("t.xlsx", engine="calamine")) == 6
    sheet.assign(true="maybe").to_csv("filled.csv", index=False)
    assert main([*read, "--report", "b.html"]) == 2
    assert not Path("b.html").exists()
    said = capsys.readouterr().err
    assert (
        "check file filled.csv: row 2 (with the header, without empty rows), column 'true': 'maybe'"
        in said
    )
    assert main(draw) == 2  # nothing is overwritten


@pytest.mark.parametrize("is_safe", [True, False])
def test_formulas_are_made_harmless_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, is_safe: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    LABELS.assign(id="=" + LABELS["id"], region="@" + LABELS["region"]).to_csv("l.csv", index=False)
    option = ["--spreadsheet-safe"] * is_safe
    draw = ["audit", "draw", "l.csv", "--n", "40", "--by", "region", "--out", "check.csv"]
    assert main([*draw, *option]) == 0
    assert ("80 cells of the output begin like formulas" in capsys.readouterr().err) != is_safe
    sheet = pd.read_csv("check.csv", dtype={"id": str})
    assert sheet["id"].str.startswith("'=" if is_safe else "=").all()
    sheet["true"] = TRUTH[sheet["id"].str[-4:]].to_numpy()
    sheet.to_csv("filled.csv", index=False)
    read = ["audit", "read", "filled.csv", "l.csv", "--by", "region", "--table-out", "t.csv"]
    assert main([*read, *option]) == 0
    assert ("begin like formulas" in capsys.readouterr().err) != is_safe
    table = pd.read_csv("t.csv")
    assert table["region"].str.startswith("'@" if is_safe else "@").all()
    assert table["count"].sum() == pytest.approx(N)


def test_an_audit_speaks_german(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    LABELS.to_csv("labels.csv", index=False)
    words = ["labels.csv", "--language", "de"]
    assert main(["audit", "draw", *words, "--n", "60", "--out", "check.csv"]) == 0
    assert "gezogen  60 von 600 Zeilen" in capsys.readouterr().out
    sheet = pd.read_csv("check.csv", dtype=str)
    assert list(sheet)[-3:] == ["true", "inclusion_probability", "audit"]
    sheet["true"] = TRUTH[sheet["id"]].to_numpy()
    sheet.loc[0, "true"] = None
    sheet.to_csv("check.csv", index=False)
    words += ["--by", "region", "--report", "r.html"]
    assert main(["audit", "read", "check.csv", *words]) == 0
    said = capsys.readouterr().out
    assert "1 Zeile war nicht zu entscheiden: die Intervalle gelten in jedem Fall" in said
    assert re.search(r"Klasse yes +\d+,\d % \(\d+,\d % bis \d+,\d %\); von den Labels \d", said)
    page = Path("r.html").read_text(encoding="utf-8")
    shown = re.sub("<[^>]+>", " ", page.split("<body", 1)[1])
    for word in ("labels", "rows", "checked", "share", "accuracy", "expected", "right", "drawn"):
        assert not re.search(rf"\b{word}\b", shown), word
    assert "Eine Prüfung von Labels" in shown


def audits_of_right_confidences(n_rows: int, n: int, purpose: str) -> list[Any]:
    rng, found = np.random.default_rng(0), []
    for seed in range(25):
        confidence = rng.uniform(0.5, 1.0, n_rows)
        confidence[::2] = 1.0
        label = rng.choice(["a", "b"], n_rows)
        truth = np.where(rng.random(n_rows) < confidence, label, np.where(label == "a", "b", "a"))
        labels = pd.DataFrame({"id": range(n_rows), "label": label, "confidence": confidence})
        sheet = c2rf.audit_sample(labels, n, purpose=purpose, random_state=seed)
        found.append(c2rf.audit(labels, sheet.assign(true=truth[sheet["id"]])))
    return found


@pytest.mark.parametrize(("n_rows", "n"), [(100, 80), (400, 60)])
def test_right_confidences_are_hardly_ever_called_wrong(n_rows: int, n: int) -> None:
    found = audits_of_right_confidences(n_rows, n, "audit")
    assert sum(each.p_value < 0.05 for each in found) <= 4  # of 25


def test_sheets_to_learn_from_are_told_from_those_of_an_audit() -> None:
    warned = [
        [any(name == "careful" for name, _ in audit_lines(each)) for each in found]
        for found in (audits_of_right_confidences(400, 60, kind) for kind in ("audit", "learn"))
    ]
    assert not any(warned[0])
    assert all(warned[1])
