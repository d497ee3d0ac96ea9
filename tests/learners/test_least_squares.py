"""Least squares that know the population, and the means of classes that these rest on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize
from sklearn.linear_model import Ridge

from c2rf.learners.features import Gaussian, KernelSpace, LeastSquares, Moments, calibrated_means

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
    found = calibrated_means(labeled(seed, shift), CODES, RATES, known)
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
    found = calibrated_means(features, codes, rates, known).ravel()
    assert rates @ found == pytest.approx(target[0])
    assert found == pytest.approx(best.x, abs=1e-3)


def test_is_ridge_regression_when_all_is_labeled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    codes = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    rates = np.bincount(codes) / 200
    features = np.column_stack([X, np.ones(200)])
    model = LeastSquares(Moments(features), ridge=0.1).fit(features, codes, rates)
    padded = np.column_stack([X, np.ones(200)])
    ridge = Ridge(alpha=0.1 * 200, fit_intercept=False).fit(padded, np.eye(2)[codes])
    expected = ridge.predict(padded)
    expected -= expected.mean(axis=1, keepdims=True)
    assert model.scores(features) == pytest.approx(expected)


def test_kernel_space_keeps_the_kernel():
    X = np.random.default_rng(0).normal(size=(30, 2))
    space = KernelSpace(Gaussian(4.0), X)
    features = (space.features(X) @ space.basis)[:, :-1]
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    assert features @ features.T == pytest.approx(np.exp(-squared / 4), abs=1e-3)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    features, codes = rng.normal(size=(6, 2)), np.array([0, 0, 0, 1, 1, 1])
    times, rates = np.array([1, 2, 3, 1, 1, 2]), np.array([0.3, 0.7])
    known = population(0)
    weighted = calibrated_means(features, codes, rates, known, times.astype(float))
    rows = np.repeat(np.arange(6), times)
    assert weighted == pytest.approx(calibrated_means(features[rows], codes[rows], rates, known))


@pytest.mark.parametrize("shift", [100.0, -1e6])
def test_labeled_rows_from_elsewhere_do_not_change_what_tells_classes_apart(shift):
    features, known = labeled(0), population(0)
    own = [features[k == CODES].mean(axis=0) for k in (0, 1)]
    found = calibrated_means(features + shift, CODES, RATES, known)
    np.testing.assert_allclose(found[1] - found[0], own[1] - own[0], atol=1e-8)


def test_turned_moments_are_those_of_turned_features():
    rng = np.random.default_rng(0)
    features, basis = rng.normal(size=(5000, 4)), rng.normal(size=(4, 3))
    codes = np.arange(5000) % 2
    turned, plain = Moments(features, basis, n_jobs=2), Moments(features @ basis)
    assert turned.mean == pytest.approx(plain.mean)
    assert turned.deviation == pytest.approx(plain.deviation)
    one = LeastSquares(turned, 0.1).fit(features, codes, RATES).scores(features)
    other = LeastSquares(plain, 0.1).fit(features @ basis, codes, RATES).scores(features @ basis)
    assert one == pytest.approx(other)
