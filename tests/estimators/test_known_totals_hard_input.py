"""Data that is hard to learn from, with all members: a sound answer, or an error that says why."""

import numpy as np
import pytest

from c2rf import KnownTotalsClassifier
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError
from c2rf.learners import trees

X, Y = make_twonorm(400, random_state=0)
LABELED = np.concatenate([np.flatnonzero(Y == 0)[:20], np.flatnonzero(Y == 1)[:20]])
REST = np.setdiff1d(np.arange(400), LABELED)
TOTAL = int(Y[REST].sum())


def labels(table, labeled=LABELED, y=Y, rest=REST, totals=None):
    model = KnownTotalsClassifier(random_state=0)
    known = {1: TOTAL} if totals is None else totals
    model.fit(table[labeled], y[labeled], X_unlabeled=table[rest], totals=known)
    assert np.isfinite(model.transduction_proba_).all()
    assert model.transduction_proba_[:, 1].sum() == pytest.approx(TOTAL, abs=1e-4)
    assert (model.transduction_ == 1).sum() == TOTAL
    return model.transduction_


def right(table, **options):
    return (labels(table, **options) == Y[REST]).mean()


def test_gaps_and_constant_columns():
    table = np.hstack([X, np.full((400, 2), 7.0), np.full((400, 1), np.nan)])
    table[::5, 3] = np.nan
    table[LABELED, 4] = np.nan  # known of no labeled row
    assert right(table) > 0.85


def test_nothing_but_constants():
    assert right(np.ones((400, 3))) >= 0.3  # anything that adds up


@pytest.mark.parametrize("in_population", [np.nan, 5.0])
def test_a_column_in_which_the_population_is_all_alike_changes_nothing(in_population):
    # It cannot tell these rows apart, however well it tells the labeled ones apart.
    told = np.full(400, in_population)
    told[LABELED] = Y[LABELED]
    np.testing.assert_array_equal(labels(np.c_[X, told]), labels(X))


def test_labeled_rows_from_elsewhere():
    moved = np.random.default_rng(1).normal(size=400)
    moved[LABELED] += 1000  # of all classes alike
    assert right(np.c_[X, moved]) > 0.9


@pytest.mark.parametrize("n_columns", [60, 400])
def test_more_columns_than_rows(n_columns):
    noise = np.random.default_rng(0).normal(size=(400, n_columns))
    assert right(np.hstack([4 * X, noise])) > 0.8


def test_one_labeled_row_of_a_class():
    few = np.concatenate([LABELED[:20], LABELED[20:21]])
    rest = REST
    assert right(X, labeled=few, rest=rest) > 0.8


def test_one_labeled_row_of_each_class():
    assert right(X, labeled=LABELED[[0, 20]]) > 0.6


def test_a_class_without_labeled_rows():
    with pytest.raises(InputError, match="no labeled row of the classes 2"):
        labels(X, totals={0: 100, 1: TOTAL, 2: 50})


def test_labeled_rows_that_are_copies_of_one():
    table = X.copy()
    table[LABELED] = X[LABELED[0]]  # of both classes
    assert right(table) >= 0.3  # anything that adds up


def test_infinite_cells():
    table = X.copy()
    table[REST[0], 5] = np.inf
    with pytest.raises(InputError, match=r"X_unlabeled has infinite values \(inf\)"):
        labels(table)


@pytest.mark.parametrize("size", [1e-310, 1e-30, 1e30])
def test_numbers_of_any_size(size):
    assert right(X * size) > 0.85


def test_without_numba(monkeypatch):
    with_it = right(X)
    monkeypatch.setattr(trees, "are_compiled", lambda: False)
    model = KnownTotalsClassifier(random_state=0)
    model.set_params(estimator=_smaller())
    model.fit(X[LABELED], Y[LABELED], X_unlabeled=X[REST], totals={1: TOTAL})
    assert (model.transduction_ == Y[REST]).mean() == pytest.approx(with_it, abs=0.04)


def _smaller():
    from c2rf import BlendClassifier

    return BlendClassifier(n_estimators=20)
