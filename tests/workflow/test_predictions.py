"""Predictions: added columns beside rows, in one frame, in chunks and in files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from c2rf import C2RFClassifier, KnownTotalsClassifier
from c2rf.data.dialect import Dialect
from c2rf.data.population.memory import Memory
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError
from c2rf.totals.groups import Groups
from c2rf.workflow.predictions import (
    PREDICTED,
    UNKNOWN,
    Accuracy,
    Predictions,
    score_rows,
    score_unlabeled,
    shown_columns,
)

X, Y = make_twonorm(240, random_state=0)


@pytest.fixture(scope="module")
def ranked() -> KnownTotalsClassifier:
    classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
    return classifier.fit(X[:60], Y[:60], X_unlabeled=X[60:], totals={1: 70})


@pytest.fixture(scope="module")
def weighted() -> C2RFClassifier:
    classifier = C2RFClassifier(n_estimators=5, random_state=0)
    return classifier.fit(X[:60], Y[:60], X_unlabeled=X[60:], n_positive=70)


@pytest.mark.parametrize(("name", "positive"), [("ranked", 0), ("ranked", 1), ("weighted", 1)])
def test_scores_and_confidences_agree_with_the_labels(request, name, positive):
    classifier = request.getfixturevalue(name)
    codes, scores, confidence = score_unlabeled(classifier, positive)
    np.testing.assert_array_equal(classifier.classes_[codes], classifier.transduction_)
    np.testing.assert_array_equal(scores > 0, classifier.transduction_ == positive)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    if name == "ranked":
        expected = classifier.transduction_proba_[np.arange(len(codes)), codes]
        np.testing.assert_array_equal(confidence, expected)


@pytest.mark.parametrize("name", ["ranked", "weighted"])
def test_other_rows_are_labeled_as_predict_does(request, name):
    classifier = request.getfixturevalue(name)
    rows = Memory(X[60:])
    codes, _, confidence = score_rows(classifier, rows, Groups.none(180), 1)
    np.testing.assert_array_equal(classifier.classes_[codes], classifier.predict(X[60:]))
    if name == "ranked":
        proba = classifier.predict_proba(X[60:])[np.arange(180), codes]
        np.testing.assert_allclose(confidence, proba)
    with pytest.raises(InputError, match="is not a classifier of c2rf"):
        score_rows(LogisticRegression(), rows, Groups.none(180), 1)


@pytest.fixture
def predictions() -> Predictions:
    rows = Memory(pd.DataFrame({"id": ["a", "b", "c"], "x": [1, 2, 3]}))
    added = dict(zip(PREDICTED, (np.array([1, 0, 1]), np.arange(3.0), np.ones(3)), strict=True))
    return Predictions(rows, ["id"], added, {"label": np.array(["no", "yes"])})


def test_frame_counts_and_accuracy(predictions):
    frame = predictions.frame()
    assert list(frame) == ["id", "label", "score", "confidence"]
    assert frame["label"].tolist() == ["yes", "no", "yes"]
    assert predictions.counts == [("no", 1), ("yes", 2)]
    assert len(predictions) == 3
    truth = np.array([1, 1, UNKNOWN])
    assert predictions.accuracy(truth, "sick") == Accuracy(1, 2, "sick")
    assert predictions.accuracy(None, "sick") is None


def test_files_hold_the_frame(predictions, tmp_path):
    predictions.save(tmp_path / "labels.csv")
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "labels.csv"), predictions.frame())
    with pytest.raises(InputError, match="exists already"):
        predictions.save(tmp_path / "labels.csv")
    pytest.importorskip("pyarrow")
    predictions.save(tmp_path / "labels")
    written = pd.read_parquet(tmp_path / "labels")
    pd.testing.assert_frame_equal(written, predictions.frame(), check_dtype=False)


def test_a_class_that_the_encoding_lacks_is_written_as_utf_8(predictions, tmp_path):
    predictions.rows.dialect = Dialect(encoding="cp1252")
    predictions.meanings["label"][1] = "да"
    predictions.save(tmp_path / "labels.csv")
    assert pd.read_csv(tmp_path / "labels.csv", encoding="utf-8-sig")["label"][0] == "да"


def test_columns_that_are_added_cannot_name_rows():
    assert shown_columns(["a", "score"], "a") == ["a"]
    with pytest.raises(InputError, match="has a column 'score', which the output adds"):
        shown_columns(["a", "score"], None)
