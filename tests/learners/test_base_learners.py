"""Least squares with the population's moments, and support vectors as scikit-learn finds them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from c2rf.learners import base_learners
from c2rf.learners.base_learners import (
    SupportVectorMachine,
    class_means,
    fitted_indicators,
    least_squares_coef,
    solve_dual,
)
from c2rf.learners.features import Moments

RATES = np.array([0.3, 0.7])
CODES = np.repeat([0, 1], [30, 5])


def labeled(seed, shift=0.0):
    """Rows of two classes, one at 0 and one at 1 in both columns; the sample is of both."""
    rng = np.random.default_rng(seed)
    return CODES[:, None] + rng.normal(size=(35, 2)) + shift


def population(seed, n_rows=4000):
    rng = np.random.default_rng([seed, 1])
    return Moments((rng.random((n_rows, 1)) < RATES[1]) + rng.normal(size=(n_rows, 2)))


@given(st.integers(0, 99), st.floats(-1e4, 1e4))
def test_means_have_the_population_s_mean_whatever_the_gap(seed, shift):
    known = population(seed)
    found = class_means(labeled(seed, shift), CODES, RATES, known)
    np.testing.assert_allclose(RATES @ found, known.mean, atol=1e-8)


@given(st.integers(0, 10_000))
def test_calibrated_means_against_a_solver(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=6)])
    features, rates = rng.normal(size=(len(codes), 1)), rng.dirichlet(np.ones(n_classes))
    target = rng.normal(size=1)
    known = Moments(np.array([-100.0, 100.0])[:, None] + target)  # any gap is by chance
    counts = np.bincount(codes)
    means = np.array([features[codes == k].mean() for k in range(n_classes)])
    best = minimize(
        lambda m: (counts * (m - means) ** 2).sum(),
        means,
        constraints=LinearConstraint(rates, target, target),
        tol=1e-12,
    )
    found = class_means(features, codes, rates, known).ravel()
    assert rates @ found == pytest.approx(target[0])
    assert found == pytest.approx(best.x, abs=1e-3)


def least_squares_scores(features, codes, rates, moments):
    means = class_means(features, codes, rates, moments)
    return fitted_indicators(least_squares_coef(means, rates, moments, ridge=0.1), features)


def test_is_ridge_regression_when_all_is_labeled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    codes = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    rates = np.bincount(codes) / 200
    features = np.column_stack([X, np.ones(200)])
    padded = np.column_stack([X, np.ones(200)])
    ridge = Ridge(alpha=0.1 * 200, fit_intercept=False).fit(padded, np.eye(2)[codes])
    expected = ridge.predict(padded)
    expected -= expected.mean(axis=1, keepdims=True)
    found = least_squares_scores(features, codes, rates, Moments(features))
    assert found == pytest.approx(expected)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    features, codes = rng.normal(size=(6, 2)), np.array([0, 0, 0, 1, 1, 1])
    times, rates = np.array([1, 2, 3, 1, 1, 2]), np.array([0.3, 0.7])
    known = population(0)
    weighted = class_means(features, codes, rates, known, times.astype(float))
    rows = np.repeat(np.arange(6), times)
    assert weighted == pytest.approx(class_means(features[rows], codes[rows], rates, known))


@pytest.mark.parametrize("shift", [100.0, -1e6])
def test_labeled_rows_from_elsewhere_do_not_change_what_tells_classes_apart(shift):
    features, known = labeled(0), population(0)
    own = [features[k == CODES].mean(axis=0) for k in (0, 1)]
    found = class_means(features + shift, CODES, RATES, known)
    np.testing.assert_allclose(found[1] - found[0], own[1] - own[0], atol=1e-8)


def test_least_squares_in_a_basis_are_those_of_the_turned_features():
    rng = np.random.default_rng(0)
    features, basis = rng.normal(size=(500, 4)), rng.normal(size=(4, 3))
    codes, own = np.arange(500) % 2, features @ basis
    one = least_squares_scores(features, codes, RATES, Moments(features, basis))
    other = least_squares_scores(own, codes, RATES, Moments(own))
    assert one == pytest.approx(other)


def problem(n_rows, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % n_classes
    X[:, 0] += codes
    return X, codes, rng.uniform(0.1, 3.0, size=n_rows), rng.normal(size=(50, 3))


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("c", [0.3, 5.0])
def test_same_scores_as_scikit_learn(n_classes, c):
    X, codes, weight, others = problem(40, n_classes)
    reference = SVC(C=c, kernel="precomputed", tol=1e-6, decision_function_shape="ovo")
    sides = reference.fit(rbf_kernel(X), codes, sample_weight=weight).decision_function(
        rbf_kernel(others, X)
    )
    ours = SupportVectorMachine(c).fit(rbf_kernel(X), codes, weight).scores(rbf_kernel(others, X))
    if n_classes == 2:
        expected = np.column_stack([-sides, sides])
    else:
        expected = np.zeros_like(ours)
        for (one, other), votes in zip(combinations(range(n_classes), 2), sides.T, strict=True):
            expected[:, one] += np.tanh(votes)
            expected[:, other] -= np.tanh(votes)
    assert ours == pytest.approx(expected, abs=1e-2)


def test_multipliers_are_optimal():
    X, codes, weight, _ = problem(60, 2, seed=1)
    kernel, sign = rbf_kernel(X), 2.0 * codes - 1
    b, intercept = solve_dual(
        kernel, np.minimum(0, sign * weight), np.maximum(0, sign * weight), 1e-6
    )
    margin = sign * (kernel @ b + intercept)
    assert abs(b.sum()) < 1e-9
    assert (margin[np.abs(b) == 0] >= 1 - 1e-5).all()
    assert (margin[np.abs(b) == weight] <= 1 + 1e-5).all()
    inside = (np.abs(b) > 0) & (np.abs(b) < weight)
    assert inside.sum() > 5
    assert margin[inside] == pytest.approx(1.0, abs=1e-5)


def test_a_row_without_weight_counts_for_nothing():
    X, codes, weight, others = problem(30, 2)
    weight[4] = 0.0
    kept = np.delete(np.arange(30), 4)
    all_rows = SupportVectorMachine(1.0).fit(rbf_kernel(X), codes, weight)
    without = SupportVectorMachine(1.0).fit(rbf_kernel(X[kept]), codes[kept], weight[kept])
    expected = without.scores(rbf_kernel(others, X[kept]))
    assert all_rows.scores(rbf_kernel(others, X)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_numba_scikit_learn_does_the_same(n_classes, monkeypatch):
    X, codes, weight, others = problem(40, n_classes)
    near = rbf_kernel(others, X)
    ours = SupportVectorMachine(1.0).fit(rbf_kernel(X), codes, weight).scores(near)
    monkeypatch.setattr(base_learners, "can_compile", lambda: False)
    theirs = SupportVectorMachine(1.0).fit(rbf_kernel(X), codes, weight).scores(near)
    assert not (theirs == ours).all()  # by another way indeed
    assert theirs == pytest.approx(ours, abs=2e-3)
