"""Logistic regression: the same coefficients as scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Reference

from c2rf.learners import logistic
from c2rf.learners.logistic import LogisticRegression


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("c", [0.1, 10.0])
@pytest.mark.parametrize("n_columns", [3, 60])
def test_same_model_as_scikit_learn(n_classes, c, n_columns):
    rng = np.random.default_rng(n_columns)
    X, weight = rng.normal(size=(40, n_columns)), rng.uniform(0.1, 3.0, size=40)
    codes = np.arange(40) % n_classes
    X[:, 0] += codes
    others = rng.normal(size=(50, n_columns))
    reference = Reference(C=c, tol=1e-9, max_iter=10_000).fit(X, codes, sample_weight=weight)
    ours = LogisticRegression(c).fit(X, codes, weight)
    assert ours.predict_proba(others) == pytest.approx(reference.predict_proba(others), abs=2e-3)


def test_separable_rows_and_huge_numbers_end():
    X, codes = np.array([[-1e6], [-2e6], [1e6], [3e6]]), np.array([0, 0, 1, 1])
    chances = LogisticRegression(1.0).fit(X, codes, np.ones(4)).predict_proba(X)
    assert (chances.argmax(axis=1) == codes).all()
    assert np.isfinite(chances).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_numba_scikit_learn_does_the_same(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    X, codes, weight = rng.normal(size=(30, 4)), np.arange(30) % n_classes, rng.uniform(1, 2, 30)
    ours = LogisticRegression(1.0).fit(X, codes, weight)
    monkeypatch.setattr(logistic, "can_compile", lambda: False)
    theirs = LogisticRegression(1.0).fit(X, codes, weight)
    assert not (theirs.coef_ == ours.coef_).all()  # by another way indeed
    assert theirs.coef_[:, :-1] == pytest.approx(ours.coef_[:, :-1], abs=2e-3)
    assert theirs.predict_proba(X) == pytest.approx(ours.predict_proba(X), abs=1e-3)
