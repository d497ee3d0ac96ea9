"""Support vectors, boosting, and who takes part."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from c2rf.learners import base_learners
from c2rf.learners.base_learners import (
    MOST_ITERATED,
    TrainingSet,
    chosen_names,
    fit_boosting,
    fit_support_vectors,
    fit_trees,
    make_base_learners,
    ridge_coef,
)
from c2rf.learners.features import KernelMap, Preprocessor, gaussian_kernel
from c2rf.learners.trees import Growth


def problem(n_rows, n_classes, seed=0):
    """A training set of one Gaussian kernel, its basis, and other rows."""
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % n_classes
    X[:, 0] += codes
    fitted = KernelMap(partial(gaussian_kernel, 3.0), X)
    rates = np.full(n_classes, 1 / n_classes)
    weight = rng.uniform(0.1, 3.0, size=n_rows)
    features = {"columns": X, "gaussian": fitted.similarities(X)}
    others = rng.normal(size=(50, 3))
    others = {"columns": others, "gaussian": fitted.similarities(others)}
    return TrainingSet(features, codes, weight, rates, seed=0), fitted.basis, others


@pytest.mark.parametrize("n_classes", [2, 3])
def test_support_vectors_are_those_of_scikit_learn(n_classes):
    training, basis, others = problem(60, n_classes)
    scores = fit_support_vectors("gaussian", basis, training)(others)
    factor = np.append(np.ones(basis.shape[1] - 1), base_learners._FREE)
    X, Z = (rows["gaussian"] @ basis * factor for rows in (training.features, others))
    # ridge |b|^2 + sum of weight hinge^2 is liblinear's objective with C = 1 / (2 ridge)
    cost = 0.5 / base_learners.SUPPORT_RIDGE
    expected = np.empty(scores.shape)
    for k in range(n_classes):
        model = LinearSVC(C=cost, fit_intercept=False, tol=1e-8, max_iter=100_000)
        model.fit(X, training.codes == k, sample_weight=training.weight)
        expected[:, k] = Z @ model.coef_[0]
    expected -= expected.mean(axis=1, keepdims=True)
    assert scores == pytest.approx(expected, abs=0.01)


def test_of_many_rows_support_vectors_are_least_squares(monkeypatch):
    training, basis, others = problem(60, 2)
    iterated = fit_support_vectors("gaussian", basis, training)(others)
    monkeypatch.setattr(base_learners, "MOST_ITERATED", (59, MOST_ITERATED[1]))
    squares = fit_support_vectors("gaussian", basis, training)(others)
    assert np.abs(iterated - squares).max() > 0.01
    assert np.corrcoef(iterated[:, 0], squares[:, 0])[0, 1] > 0.9


@given(st.integers(1, 12), st.integers(0, 999))
def test_ridge_regression_by_the_smaller_system(n_rows, seed):
    rng = np.random.default_rng(seed)
    X, y, weight = (
        rng.normal(size=(n_rows, 6)),
        rng.normal(size=n_rows),
        rng.uniform(0.5, 2, n_rows),
    )
    expected = Ridge(alpha=0.3, fit_intercept=False).fit(X, y, sample_weight=weight).coef_
    assert ridge_coef(X, y, weight, 0.3) == pytest.approx(expected)


def boosted(n_rows=400, n_classes=2, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 50, size=(n_rows, n_columns)).astype(np.float32)
    codes = ((X[:, 0] > 25).astype(int) ^ (X[:, 1] > 25)) if n_classes == 2 else X[:, 0] * n_classes
    codes = codes if n_classes == 2 else (codes // 50).astype(int)
    rates = np.full(n_classes, 1 / n_classes)
    features = {"columns": X, "bins": X}
    return TrainingSet(features, codes, np.ones(n_rows), rates, seed=0)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_boosted_trees_learn_what_no_single_column_shows(n_classes):
    training = boosted(n_classes=n_classes)
    scores = fit_boosting(False, training)(training.features)
    assert scores.shape == (400, n_classes)
    assert scores.sum(axis=1) == pytest.approx(0, abs=1e-9)
    assert (scores.argmax(axis=1) == training.codes).mean() > 0.97


def test_all_of_very_many_rows_are_in_some_tree(monkeypatch):
    monkeypatch.setattr(base_learners, "MOST_IN_TREE", 50)
    training, drawn = boosted(), []
    grow = base_learners.grow_forest

    def spy(X, targets, growth, seed, weight, bags):
        drawn.append(bags)
        return grow(X, targets, growth, seed, weight, bags)

    monkeypatch.setattr(base_learners, "grow_forest", spy)
    fit_trees(Growth(60, 2), "columns", None, training)
    assert drawn[0].shape == (60, 50)
    assert len(np.unique(drawn[0])) == 400
    assert all(len(np.unique(bag)) == 50 for bag in drawn[0])


TREES, SVC = ("trees", "rank-trees", "pca-trees"), ("svc", "rank-svc", "linear-svc")


@pytest.mark.parametrize(
    ("n_labeled", "n_classes", "expected"),
    [
        (20, 2, {*TREES, *SVC}),
        (299, 2, {*TREES, *SVC}),
        (400, 11, {"rank-trees", "pca-trees", *SVC}),
        (400, 3, {*TREES, *SVC, "boosting"}),
        (1000, 2, {"rank-trees", "pca-trees", "rank-svc", "linear-svc", "boosting"}),
        (5000, 2, {"rank-trees", "rank-svc", "linear-svc", "boosting"}),
        (200_000, 2, {"rank-trees", "linear-svc", "boosting", "large-boosting"}),
        (200_000, 100, {"rank-trees", "linear-svc"}),
    ],
)
def test_who_takes_part(n_labeled, n_classes, expected):
    assert set(chosen_names(None, n_labeled, n_classes)) == expected


@pytest.mark.parametrize(
    ("n_labeled", "n_classes", "corrected"),
    [
        (50, 2, {"trees", "rank-trees", "pca-trees"}),
        (600, 2, {"trees", "rank-trees"}),
        (2000, 2, set()),
        (50, 40, set()),
    ],
)
def test_leaves_are_corrected_where_labeled_rows_are_few(n_labeled, n_classes, corrected):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    names = "trees", "rank-trees", "pca-trees"
    fitted = Preprocessor(rows[:20], rows, {"ranks"})
    made = make_base_learners(names, fitted, 5, n_labeled, n_classes)
    assert {name for name in names if made[name].args[2] is fitted.population} == corrected
    all_tried = made["pca-trees"].args[0].max_features == 6
    assert all_tried == (n_labeled <= base_learners.FEW_LABELED and n_classes <= 10)
