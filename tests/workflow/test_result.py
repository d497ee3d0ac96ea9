"""What a result of ``c2rf.classify`` has: labels, totals, accuracy, imputations, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError
from c2rf.workflow.options import Options
from c2rf.workflow.predictions import check_labels_name
from c2rf.workflow.prepare import prepare
from c2rf.workflow.result import Outputs
from made_up import forest, made_up
from people import make_people

PEOPLE = make_people()
BASE = {"target": "sick", "id": "id", "learner": "logistic"}


@pytest.fixture(scope="module")
def result():
    """A result with everything that can be asked for."""
    return c2rf.classify(
        PEOPLE.labeled, PEOPLE.unlabeled, totals=PEOPLE.totals_by("region"), imputations=3,
        sensitivity=0.1, **BASE,
    )  # fmt: skip


def test_labels_counts_and_totals(result):
    labels = result.labels
    names = ["id", "label", "score", "confidence", "robust", "sensitive_to"]
    assert list(labels) == names
    assert result.counts == labels["label"].value_counts().to_dict() == PEOPLE.totals()
    assert result.group_counts.shape == (3, 2)
    assert result.group_counts.sum(axis=0).tolist() == [result.counts[k] for k in ("no", "yes")]
    assert (result.totals_met["off"] == 0).all()
    assert set(result.totals_met["region"]) == {"", "north", "south", "west"}
    assert len(result.adjustments) == 0
    assert labels.loc[labels["robust"], "sensitive_to"].eq("").all()


@pytest.mark.parametrize("ending", [".sav", ".xlsx"])
def test_texts_that_the_output_does_not_hold_are_refused_before_any_work(tmp_path, ending):
    rows = PEOPLE.unlabeled.assign(story=["x"] * (len(PEOPLE.unlabeled) - 1) + ["x" * 32_768])
    data = prepare(
        PEOPLE.labeled, rows, Options(target="sick", totals=PEOPLE.totals(), drop=("story",))
    )
    Outputs(labels=tmp_path / "labels.csv").check_rows(data)
    with pytest.raises(InputError, match="a text in column 'story' has more"):
        Outputs(labels=tmp_path / f"labels{ending}").check_rows(data)


def test_totals_that_weighted_trees_miss_are_in_the_table():
    result = made_up(classifier=forest(3, 3), stated={"no": 43, "yes": 17})
    result.data.bounds = type(result.data.bounds).overall([43, 17], [43, 17], 60)
    assert result.totals_met["off"].tolist() == [-3, 3]


def test_adjusted_totals_are_a_table():
    result = c2rf.classify(
        PEOPLE.labeled, PEOPLE.unlabeled, totals={"yes": 100, "no": 100}, totals_policy="scale",
        **BASE,
    )  # fmt: skip
    assert result.adjustments["before"].tolist() == [100.0, 100.0]
    assert result.adjustments["after"].tolist() == [120.0, 120.0]


def test_imputations_meet_the_totals(result):
    drawn = result.imputations
    assert list(drawn) == ["id", "imputation_1", "imputation_2", "imputation_3"]
    for name in drawn.columns[1:]:
        assert drawn[name].value_counts().to_dict() == PEOPLE.totals()
    expected = result.expected_accuracy
    assert expected.overall.low <= expected.overall.estimate <= expected.overall.high
    assert result.expected_accuracy is expected


def test_without_ids_rows_of_imputations_are_numbered():
    options = {**BASE, "id": None, "drop": ["id"]}
    found = c2rf.classify(PEOPLE.labeled, PEOPLE.unlabeled, totals={"yes": 100}, **options)
    assert found.imputations["row"].tolist() == list(range(1, 241))
    assert found.expected_accuracy is None


def test_weighted_trees_have_no_imputations():
    with pytest.raises(c2rf.InputError, match="no probabilities to draw imputations from"):
        _ = made_up(classifier=forest(0, 0)).imputations


def test_accuracy_where_classes_are_known_after_all():
    truth = PEOPLE.unlabeled.assign(sick=PEOPLE.truth)
    found = c2rf.classify(PEOPLE.labeled, truth, totals={"yes": 100}, **BASE)
    right = (found.labels["label"].to_numpy() == PEOPLE.truth.to_numpy()).mean()
    assert found.accuracy.right / found.accuracy.known == pytest.approx(right)
    assert made_up().accuracy is None


def test_what_a_report_computes_is_computed_once(result, monkeypatch):
    found = result.balance, result.importance, result.shown_rows, result.population_sample
    monkeypatch.setattr("c2rf.workflow.result.measures", None)
    assert result.balance is found[0]
    assert result.importance is found[1]
    assert result.shown_rows is found[2]
    assert result.population_sample is found[3]


def test_files(result, tmp_path):
    result.write(tmp_path / "labels.csv")
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "labels.csv", dtype={"id": str}, keep_default_na=False),
        result.labels.astype({"label": object}), check_dtype=False,
    )  # fmt: skip
    result.report(tmp_path / "report.html")
    assert "If the totals are wrong" in (tmp_path / "report.html").read_text()
    with pytest.raises(c2rf.InputError, match=r"ends in \.skops"):
        result.save_model(tmp_path / "model.pickle")


def test_in_a_notebook():
    odd = made_up(classes=["<b>", "yes"], labels=np.array(["<b>", "yes"] * 30, dtype=object))
    assert "&lt;b&gt;" in odd._repr_html_()
    assert repr(odd) == "<c2rf classification of 60 rows: <b>: 30, yes: 30>"


@pytest.fixture(scope="module")
def small() -> c2rf.Classification:
    X, y = make_twonorm(150, random_state=0)
    people = pd.DataFrame(X[:, :3]).add_prefix("x").assign(sick=y)
    rows = people[50:].drop(columns="sick")
    return c2rf.classify(people[:50], rows, target="sick", totals={1: 40}, learner="logistic")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({}, "say where the labels should go with --out"),
        ({"labels": "a.html", "report": "a.html"}, "must be different files"),
        ({"report": "report.pdf"}, "give it a name that ends in .html"),
        ({"model": "model.pickle"}, "give it a name that ends in .skops"),
        ({"labels": "labels.docx"}, "docx"),
        ({"imputations": "drawn.docx"}, "docx"),
        ({"labels": "absent/labels.csv"}, "there is no folder"),
    ],
)
def test_names_that_are_refused(tmp_path, monkeypatch, names, message):
    monkeypatch.chdir(tmp_path)
    outputs = Outputs(**{name: Path(path) for name, path in names.items()})
    with pytest.raises(InputError, match=message):
        outputs.check(force=False)


def test_a_dry_run_needs_no_output():
    Outputs().check(force=False, needed=False)


def test_an_input_is_no_output(tmp_path):
    path = tmp_path / "people.csv"
    path.touch()
    with pytest.raises(InputError, match="is an input"):
        check_labels_name(path, force=True, inputs=[path])


def test_all_are_written_and_named(small, tmp_path):
    outputs = Outputs(labels=tmp_path / "labels.csv", model=tmp_path / "model.skops")
    assert outputs.lines() == [
        ("output", str(tmp_path / "labels.csv")), ("model", str(tmp_path / "model.skops")),
    ]  # fmt: skip
    assert not outputs.write(small, force=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "model.skops"]
    assert small.data.seconds["writing"] > 0


def test_nothing_is_written_if_one_fails(small, tmp_path, monkeypatch):
    def fail(path: Path) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(small, "write_model", fail)
    outputs = Outputs(labels=tmp_path / "labels.csv", model=tmp_path / "model.skops")
    with pytest.raises(ZeroDivisionError):
        outputs.write(small, force=False)
    assert list(tmp_path.iterdir()) == []
