"""Imputations through files and the report: intervals of what is right, a table of labels."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

import c2rf
from c2rf._utils.text import percent
from c2rf.cli import main
from people import make_people

PEOPLE = make_people(200)


@pytest.fixture(scope="module")
def result():
    totals = PEOPLE.totals_by("region")
    return c2rf.classify(
        PEOPLE.labeled, PEOPLE.unlabeled, target="sick", totals=totals, id="id",
        learner="logistic", imputations=3,
    )  # fmt: skip


def test_the_report_has_intervals_by_class_and_by_group(result, tmp_path):
    result.report(tmp_path / "report.html")
    page = unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    text = " ".join(re.sub(r"<[^>]*>", " ", page).split())
    expected = result.classifier.expected_accuracy(3)
    low, high = percent(expected.overall.low), percent(expected.overall.high)
    assert f"with an interval from {low} to {high}" in text
    assert f"with an interval from {low} to {high}" in result.summary()
    for title in ("Expected to be right, by class", "Expected to be right, by group"):
        assert f"{title} " in text
    assert set(expected.by_group) == {"north", "south", "west"}
    assert "ask for imputations" not in text


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_each_column_of_the_table_meets_all_totals(ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write(ending)
    PEOPLE.totals_by("region").to_csv("totals.csv", index=False)
    line = f"classify labeled{ending} unlabeled{ending} --target sick --drop id --learner logistic"
    more = f"--totals-file totals.csv --group region --imputations 3 --imputations-out i{ending}"
    assert main([*line.split(), *more.split(), "--out", "o.csv", "--quiet"]) == 0
    path = Path(f"i{ending}")
    table = pd.read_parquet(path) if ending == ".parquet" else pd.read_csv(path)
    assert table["row"].tolist() == list(range(1, len(PEOPLE.unlabeled) + 1))
    known = PEOPLE.totals_by("region").set_index(["region", "class"])["total"]
    for k in (1, 2, 3):
        labels = table[f"imputation_{k}"].to_numpy()
        found = PEOPLE.unlabeled.assign(label=labels).value_counts(["region", "label"])
        assert found.to_dict() == known.to_dict()


def test_the_weighted_forest_has_nothing_to_draw_from(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write()
    line = "classify labeled.csv unlabeled.csv --target sick --method c2rf --trees 3 --drop id"
    more = "--totals yes=80 --imputations 2 --imputations-out i.csv --out o.csv"
    assert main([*line.split(), *more.split()]) == 2
    assert "--imputations is not an option of the method c2rf" in capsys.readouterr().err
    assert not Path("o.csv").exists()


def test_imputations_one_below_the_other(tmp_path, monkeypatch):
    from people import make_people

    monkeypatch.chdir(tmp_path)
    people = make_people(150)
    people.write()
    totals = ",".join(f"{name}={n}" for name, n in people.totals().items())
    usual = ["classify", "labeled.csv", "unlabeled.csv", "--target", "sick", "--id", "id"]
    usual += ["--learner", "logistic", "--imputations", "3", "--quiet", "--totals", totals]
    assert main([*usual, "--imputations-out", "wide.csv"]) == 0
    assert main([*usual, "--imputations-out", "long.csv", "--imputations-long"]) == 0
    wide, long = pd.read_csv("wide.csv"), pd.read_csv("long.csv")
    assert list(long) == [".imp", ".id", "sick"]
    back = long.pivot(index=".id", columns=".imp", values="sick").loc[wide["id"]]
    assert (back.to_numpy() == wide.drop(columns="id").to_numpy()).all()
    assert main([*usual, "--out", "labels.dta"]) == 0
    assert len(pd.read_stata("labels.dta")) == len(wide)
