"""Checks of data and labels that a user gives an estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from c2rf import C2RFClassifier, KnownTotalsClassifier
from c2rf._utils import validation
from c2rf.exceptions import InputError, InputTypeError

LOGISTIC = LogisticRegression()


def fitted(X) -> C2RFClassifier:
    classifier = C2RFClassifier(LOGISTIC)
    validation.check_data(classifier, X, reset=True)
    return classifier


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        (None, True),
        (LOGISTIC, False),
        (RandomForestClassifier(), True),
        (BaggingClassifier(LOGISTIC), False),
        (BaggingClassifier(RandomForestClassifier()), True),
        (VotingClassifier([("a", RandomForestClassifier()), ("b", LOGISTIC)]), False),
        (VotingClassifier([("a", RandomForestClassifier()), ("b", "drop")]), True),
        (make_pipeline(StandardScaler(), LOGISTIC), True),
        (FrozenEstimator(LOGISTIC), False),
        ([RandomForestClassifier(), LOGISTIC], False),
    ],
)
def test_who_takes_missing_values(model, takes):
    assert validation.takes_missing(model) == takes


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.inf, "infinite values"), (1e300, "numbers beyond 3.4e"), (np.nan, "missing values")],
)
def test_the_column_of_a_bad_number_is_named(value, message):
    X = pd.DataFrame({"age": [1.0, 2.0], "income": [3.0, value]})
    with pytest.raises(InputError, match=rf"X has {message}.*'income'"):
        validation.check_data(C2RFClassifier(LOGISTIC), X, reset=True)


def test_columns_must_be_the_same_and_different_from_each_other():
    X = pd.DataFrame({"a": [1.0], "b": [2.0]})
    known = fitted(X)
    for wrong, message in [
        (X[["a"]], "missing: 'b'"),
        (X.assign(c=1.0), "unknown: 'c'"),
        (X[["b", "a"]], "in the same order, 'a', 'b'"),
    ]:
        with pytest.raises(InputError, match=message):
            validation.check_data(known, wrong, name="X_unlabeled")
    with pytest.raises(InputError, match="more than one 'a'"):
        validation.check_data(known, X.set_axis(["a", "a"], axis=1))
    with pytest.raises(InputError, match="must have the 2 columns of X; found 3"):
        validation.check_data(fitted(np.ones((2, 2))), np.ones((2, 3)), name="X_unlabeled")


def test_a_sparse_matrix_that_is_too_large_is_refused_before_it_is_filled():
    huge = csr_array((1 << 20, 1 << 20))
    with pytest.raises(InputError, match=r"sparse matrix of .* cells.*TruncatedSVD"):
        validation.check_data(KnownTotalsClassifier(), huge, reset=True)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (["a", "a"], InputError, "found one class only, 'a'"),
        (["a", "b", "c"], InputError, "Only binary classification is supported"),
        (np.array(["a", None], object), InputError, "no label in row 1"),
        (np.array([0, np.nan]), InputError, "y has no label in row 1"),
        (pd.Series(["a", None], dtype="string"), InputError, "y has no label in row 1"),
        (np.array(["a", 1], object), InputTypeError, "all text or all numbers; found int, str"),
    ],
)
def test_labels_that_are_refused(y, error, message):
    with pytest.raises(error, match=message):
        validation.check_labels(C2RFClassifier(), y)


def test_the_positive_class():
    assert validation.positive_index(None, np.array([False, True]), has_total=True) == 1
    assert validation.positive_index(None, np.array(["a", "b"]), has_total=False) == 1
    with pytest.raises(InputError, match="pos_label must be one of the classes"):
        validation.positive_index("c", np.array(["a", "b"]), has_total=True)


def test_complaints_about_missing_values_name_the_columns():
    X = pd.DataFrame({"a": [1.0, np.nan]})
    known = fitted(X.fillna(0))
    with (
        pytest.raises(InputError, match=r"missing values .* in the columns 'a'"),
        validation.naming_missing(known, X, "X"),
    ):
        raise ValueError("Input contains NaN")
    with (
        pytest.raises(ValueError, match="something else"),
        validation.naming_missing(known, X, "X"),
    ):
        raise ValueError("something else")
