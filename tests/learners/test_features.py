"""Preprocessing: columns of equal weight, ranks no outlier moves, kernels by their formulas."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer

from c2rf.learners.features import (
    Encoder,
    KernelMap,
    MedianImputer,
    Moments,
    Preprocessor,
    PrincipalComponents,
    count_values,
    gaussian_kernel,
    laplacian_kernel,
)


@pytest.mark.parametrize(
    ("kernel", "distance"),
    [
        (partial(gaussian_kernel, 3.0), lambda d: (d**2).sum(axis=2)),
        (partial(laplacian_kernel, 3.0), lambda d: np.abs(d).sum(axis=2)),
    ],
)
def test_formula_in_parts_and_threads(kernel, distance):
    rng = np.random.default_rng(0)
    X, others = rng.normal(size=(2500, 3)), rng.normal(size=(5, 3))
    expected = np.exp(-distance(X[:, None] - others) / 3)
    out = np.empty((2500, 6))
    assert kernel(X, others, n_jobs=2) == pytest.approx(expected)
    kernel(X, others, out=out[:, :-1])
    np.testing.assert_array_equal(out[:, :-1], kernel(X, others, n_jobs=2))


def test_ranks_are_normal_whatever_the_scale():
    values = np.random.default_rng(0).normal(size=5000)
    encoder = Encoder(count_values(np.exp(5 * values)[:, None]), ranks=True)
    encoded = encoder.encode(np.exp(5 * values)[:, None])[:, 0]
    assert encoded.std() == pytest.approx(1, abs=1e-3)
    expected = norm.ppf((np.argsort(np.argsort(values)) + 0.5) / 5000)
    off = np.abs(encoded - expected)  # straight lines between knots, far apart at the ends
    assert np.quantile(off, 0.99) < 0.03
    assert off.max() < 0.5
    beyond = encoder.encode(np.array([[np.inf], [1e300], [np.nan]]))[:, 0]
    assert beyond.tolist() == [encoded.max(), encoded.max(), 0.0]


def test_features_of_landmarks_keep_the_kernel():
    X = np.random.default_rng(0).normal(size=(30, 2))
    kernel, wide = partial(gaussian_kernel, 1.0), partial(gaussian_kernel, 4.0)
    fitted = KernelMap(kernel, X[:5], wide, X)
    features = (fitted.matrices(X).to_landmarks @ fitted.basis)[:, :-1]
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    assert features @ features.T == pytest.approx(np.exp(-squared / 4), abs=1e-3)


class TestEncoder:
    def test_every_column_weighs_the_same(self):
        rng = np.random.default_rng(0)
        X = np.column_stack(
            [rng.normal(5, 9, 500), rng.integers(2, size=500), rng.integers(9, size=500)]
        )
        encoded = Encoder(count_values(X)).encode(X)
        assert encoded.mean(axis=0) == pytest.approx(0)
        assert encoded.shape[1] == 1 + 2 + 9
        variance = encoded.var(axis=0)
        assert [variance[:1].sum(), variance[1:3].sum(), variance[3:].sum()] == pytest.approx(
            [1] * 3
        )

    def test_missing_and_unknown_values(self):
        encoder = Encoder(count_values(np.array([[1.0], [2.0], [np.nan]])))
        assert encoder.encode(np.array([[np.nan]])).tolist() == [[0.0, 0.0]]
        assert encoder.encode(np.array([[3.0]])).tolist() == [[-0.5 / np.sqrt(0.5)] * 2]


class TestMedianImputer:
    def test_is_scikit_learns_with_indicators(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 3))
        X[::4, 0] = np.nan
        X[::3, 2] = np.nan
        expected = SimpleImputer(strategy="median", add_indicator=True).fit_transform(X)
        assert (MedianImputer(X, 10).fill(X) == expected).all()

    def test_columns_that_do_not_vary_in_the_population_are_left_out(self):
        X = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 6.0]])
        assert MedianImputer(X, 1).fill(X).tolist() == [[1.0], [2.0], [3.0]]
        alike = MedianImputer(np.ones((3, 2)), 1)  # then one is kept
        assert alike.fill(np.ones((2, 2))).tolist() == [[1.0], [1.0]]


def test_components_are_scikit_learns_up_to_their_signs():
    X = np.random.default_rng(0).normal(size=(60, 5)) @ np.diag([5, 4, 3, 2, 1])
    ours, theirs = PrincipalComponents(X).of(X), PCA().fit_transform(X)
    assert np.abs(ours) == pytest.approx(np.abs(theirs))


def test_moments_in_a_basis_are_those_of_the_turned_features():
    rng = np.random.default_rng(0)
    features, basis = rng.normal(size=(5000, 4)), rng.normal(size=(4, 3))
    turned, plain = Moments(features, basis, n_jobs=2), Moments(features @ basis)
    assert turned.mean == pytest.approx(plain.mean)
    assert turned.deviation == pytest.approx(plain.deviation)
    assert turned.values == pytest.approx(plain.values)


def test_rows_are_preprocessed_alike_whenever_they_come():
    rng = np.random.default_rng(0)
    X, population = rng.normal(size=(12, 3)), rng.normal(size=(60, 3))
    population[::5, 1] = np.nan
    fitted = Preprocessor(X, population)
    for rows, found in ((X, fitted.labeled), (population, fitted.population)):
        again = fitted.matrices(rows)
        assert (again.pca_columns == found.pca_columns).all()
        assert (again.ranks == found.ranks).all()
        for name in ("gaussian", "laplacian"):
            one, other = getattr(again, name), getattr(found, name)
            np.testing.assert_allclose(one.to_labeled, other.to_labeled, atol=1e-12)
            np.testing.assert_allclose(one.to_landmarks, other.to_landmarks, atol=1e-12)
    part = fitted.population.take(slice(3, 9))
    assert (part.components == fitted.population.components[3:9]).all()
    assert (part.laplacian.encoded == fitted.population.laplacian.encoded[3:9]).all()
