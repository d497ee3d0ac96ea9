"""Margins that cross, weights of rows and uncertain totals, as the classifier takes them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from c2rf import Estimate, KnownTotalsClassifier
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError, InputTypeError

X, Y = make_twonorm(700, random_state=0)
ASKED, OTHERS = slice(0, 100), slice(100, 700)
RNG = np.random.default_rng(0)
CELLS = pd.DataFrame({"region": RNG.choice(list("nse"), 600), "age": RNG.choice(["old", "y"], 600)})
FREE = {"unlabeled_groups": CELLS}


def margin(column, weight=None):
    """Count the true classes in the groups of a column, or the weights of their rows."""
    table = CELLS[[column]].assign(**{"class": Y[OTHERS], "total": 1 if weight is None else weight})
    return table.groupby([column, "class"], as_index=False)["total"].sum()


def fit(totals, **more):
    """Fit a quick classifier to these totals."""
    model = KnownTotalsClassifier(LogisticRegression(), random_state=0)
    return model.fit(X[ASKED], Y[ASKED], X_unlabeled=X[OTHERS], totals=totals, **more)


def shares(found, columns, weight):
    """Return the mean probability of the second class in cells, and the share of its labels."""
    table = CELLS.assign(w=weight, p=found.transduction_proba_[:, 1] * weight)
    table["label"] = (found.transduction_ == found.classes_[1]) * weight
    sums = table.groupby(columns)[["w", "p", "label"]].sum()
    return sums["p"] / sums["w"], sums["label"] / sums["w"]


def test_weights_of_one_change_nothing():
    margins = [margin("region"), margin("age")]
    for totals, more in (({1: 300}, {}), (margins, FREE)):
        plain, ones = fit(totals, **more), fit(totals, **more, unlabeled_weight=np.ones(600))
        np.testing.assert_array_equal(plain.transduction_, ones.transduction_)
        np.testing.assert_array_equal(plain.transduction_proba_, ones.transduction_proba_)


@pytest.mark.parametrize("kind", ["fractions", "whole", "up to a million", "with zeros"])
def test_weighted_margins_and_probabilities(kind):
    rng = np.random.default_rng(1)
    weight = {
        "fractions": np.random.default_rng(2).gamma(2, 50, 600),  # rounded, margins agree
        "whole": rng.integers(1, 9, 600),
        "up to a million": rng.integers(1, 10**6, 600),
        "with zeros": rng.integers(0, 3, 600),
    }[kind].astype(float)
    tables = [margin(column, weight).round({"total": 0}) for column in CELLS.columns]
    totals = [table.astype({"total": int}) for table in tables]
    found = fit(totals, **FREE, unlabeled_weight=weight)
    assert found.totals_met_["off"].abs().max() <= 0.05 * weight.mean()
    assert len(found.transduction_) == 600
    for column in CELLS.columns:
        mean, label = shares(found, column, weight)
        assert mean.tolist() == pytest.approx(label.tolist(), abs=2e-4)
    if kind in ("whole", "with zeros"):
        assert found.assignment_["missed"] == 0
        assert found.assignment_["closest"]


def test_margins_hold_and_so_do_mean_probabilities():
    found = fit([margin("region"), margin("age"), {1: (0.4, 0.6)}], **FREE)
    assert (found.totals_met_["off"] == 0).all()
    assert found.assignment_["gap"] <= 1e-9
    for column in CELLS.columns:
        mean, label = shares(found, column, 1.0)
        assert mean.tolist() == pytest.approx(label.tolist(), abs=1e-6)


def test_sensitivity_by_standard_errors():
    found = fit({1: Estimate(300, se=30)})
    changed = np.zeros(600, dtype=bool)
    for total in (270, 330):  # only the total of class 1 is uncertain
        changed |= fit({1: total}).transduction_ != found.transduction_
    table = found.sensitivity()
    assert table["robust"].tolist() == (~changed).tolist()
    assert table["sensitive_to"].tolist() == np.where(changed, "1", "").tolist()
    with pytest.raises(InputError, match="no total has a standard error"):
        fit({1: 300}).sensitivity()


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(600, -1.0), "must not be negative"),
        (np.full(600, "a"), "must be numbers"),
        (np.ones(5), "one number per row"),
        ("w", "no columns with names"),
    ],
)
def test_weights_that_are_refused(weight, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        fit({1: 300}, unlabeled_weight=weight)


def test_probabilities_are_not_corrected_where_nothing_is_known():
    """A range of everything is no total: rows of the population and others get the same."""
    found = fit({1: (0.0, 1.0)})
    plain = softmax(found.inverse_temperature_ * np.log(found.scores_), axis=1)
    np.testing.assert_allclose(found.transduction_proba_, plain, atol=1e-12)
    np.testing.assert_allclose(found.predict_proba(X[OTHERS]), plain, atol=1e-12)
    np.testing.assert_array_equal(found.offsets_, [0, 0])
    np.testing.assert_array_equal(found.predict(X[OTHERS]), found.transduction_)


def test_groups_of_other_rows_are_found_by_name():
    found = fit([margin("region"), margin("age")], **FREE)
    swapped = CELLS[["age", "region"]].assign(more=0)
    same = found.predict(X[OTHERS], groups=CELLS)
    np.testing.assert_array_equal(found.predict(X[OTHERS], groups=swapped), same)
    with pytest.raises(InputError, match="'age', which groups does not have"):
        found.predict(X[OTHERS], groups=CELLS[["region"]])
