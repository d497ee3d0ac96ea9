"""The files of a result: checked before, and written all or none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import c2rf
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError
from c2rf.workflow.outputs import Outputs, check_labels_name


@pytest.fixture(scope="module")
def result() -> c2rf.Classification:
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


def test_all_are_written_and_named(result, tmp_path):
    outputs = Outputs(labels=tmp_path / "labels.csv", model=tmp_path / "model.skops")
    assert outputs.lines() == [
        ("output", str(tmp_path / "labels.csv")), ("model", str(tmp_path / "model.skops")),
    ]  # fmt: skip
    assert outputs.write(result, force=False) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "model.skops"]
    assert result.data.seconds["writing"] > 0


def test_nothing_is_written_if_one_fails(result, tmp_path, monkeypatch):
    def fail(path: Path) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(result, "write_model", fail)
    outputs = Outputs(labels=tmp_path / "labels.csv", model=tmp_path / "model.skops")
    with pytest.raises(ZeroDivisionError):
        outputs.write(result, force=False)
    assert list(tmp_path.iterdir()) == []
