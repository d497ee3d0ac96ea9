"""Weights of unlabeled rows by the name of their column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from c2rf import InputError, KnownTotalsClassifier
from c2rf.datasets import make_twonorm

X, Y = make_twonorm(200, random_state=0)
WEIGHTS = np.random.default_rng(0).gamma(4, 10, 150).round()
FRAME = pd.DataFrame(X[50:], columns=[f"x{k}" for k in range(20)]).assign(w=WEIGHTS)
LABELED = pd.DataFrame(X[:50], columns=FRAME.columns[:20])  # who was asked has no weight
TOTAL = {1: int(WEIGHTS[Y[50:] == 1].sum())}


def fitted(rows, weights, labeled=LABELED):
    model = KnownTotalsClassifier(LogisticRegression(), random_state=0)
    return model.fit(labeled, Y[:50], X_unlabeled=rows, totals=TOTAL, unlabeled_weight=weights)


def test_a_name_is_the_column():
    by_name, by_array = fitted(FRAME, "w"), fitted(FRAME.drop(columns="w"), WEIGHTS)
    np.testing.assert_array_equal(by_name.transduction_, by_array.transduction_)
    reached = WEIGHTS[by_name.transduction_ == 1].sum()
    assert abs(reached - TOTAL[1]) <= WEIGHTS.max()


@pytest.mark.parametrize(
    ("rows", "name", "said"),
    [
        (FRAME, "wt", "'wt'"),
        (FRAME.assign(w=-1.0), "w", r"unlabeled_weight \('w'\)"),
        (FRAME.assign(w=np.nan), "w", r"unlabeled_weight \('w'\)"),
    ],
)
def test_what_is_no_column_of_weights(rows, name, said):
    with pytest.raises(InputError, match=said):
        fitted(rows, name)


def test_rows_without_names():
    said = "is the name 'w', but X_unlabeled has no columns with names"
    with pytest.raises(InputError, match=said):
        fitted(X[50:], "w", labeled=X[:50])
