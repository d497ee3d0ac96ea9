"""The scorer counts held-out rows as the totals do; errors of users' estimators come through."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import c2rf
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.exceptions import InputError

X, Y = make_twonorm(400, random_state=0)
LABELED, REST = biased_sample(Y, 0.2, positive_weight=0.8, random_state=0)
TOTAL = {1: int(Y[REST].sum())}


def test_each_class_counts_by_its_total():
    model = LogisticRegression().fit(X[LABELED], Y[LABELED])
    own, rate = Y[LABELED], 0.3
    recall = [accuracy_score(own[own == k], model.predict(X[LABELED][own == k])) for k in (0, 1)]
    expected = (1 - rate) * recall[0] + rate * recall[1]
    for totals in ({1: rate}, {0: 70, 1: 30}, {1: 0.3, 0: 0.7}):
        score = c2rf.totals_scorer(totals=totals)(model, X[LABELED], own)
        assert score == pytest.approx(expected, abs=1e-6)


def test_the_totals_are_those_of_the_fitted_classifier():
    classifier = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
    pipeline = make_pipeline(StandardScaler(), classifier)
    scaled = StandardScaler().fit(X[LABELED]).transform(X[REST])
    pipeline.fit(
        X[LABELED], Y[LABELED], knowntotalsclassifier__X_unlabeled=scaled,
        knowntotalsclassifier__totals=TOTAL,
    )  # fmt: skip
    own = c2rf.totals_scorer("neg_log_loss")(pipeline, X[LABELED], Y[LABELED])
    rates = {1: TOTAL[1] / len(REST)}
    given = c2rf.totals_scorer("neg_log_loss", totals=rates)(pipeline, X[LABELED], Y[LABELED])
    assert own == pytest.approx(given, abs=1e-6)


def test_a_fold_without_a_class_is_scored_by_the_others():
    model = DummyClassifier(strategy="constant", constant=0).fit(X[:9], Y[:9])
    score = c2rf.totals_scorer(totals={1: 0.4})
    assert score(model, X[:5], np.zeros(5, dtype=int)) == pytest.approx(1.0)


def test_without_totals_the_user_is_told():
    model = LogisticRegression().fit(X[LABELED], Y[LABELED])
    with pytest.raises(InputError, match="found a LogisticRegression without"):
        c2rf.totals_scorer()(model, X[LABELED], Y[LABELED])
    with pytest.raises(InputError, match="a rate or a count of each class"):
        c2rf.totals_scorer(totals={1: (0.0, 1.0)})(model, X[LABELED], Y[LABELED])


class Broken(ClassifierMixin, BaseEstimator):
    """An estimator with an error of its own."""

    def fit(self, X, y, sample_weight=None):
        raise KeyError("my own mistake")

    def predict_proba(self, X):
        return np.ones((len(X), 2)) / 2


def test_errors_of_the_users_estimator_come_through_with_a_line():
    frame = pd.DataFrame(X[:, :2], columns=["age", "income"])
    classifier = c2rf.KnownTotalsClassifier(make_pipeline(Broken()))
    with pytest.raises(KeyError, match="my own mistake") as caught:
        classifier.fit(frame.iloc[LABELED], Y[LABELED], X_unlabeled=frame.iloc[REST], totals=TOTAL)
    (line,) = caught.value.__notes__
    assert line == (
        "This error is from the estimator Pipeline with Broken, for X_unlabeled, with the columns "
        "'age', 'income'."
    )
