"""Preprocessing: columns of equal weight, ranks no outlier moves, kernels by their formulas."""

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer

from c2rf.learners.features import (
    KINDS,
    MOST_BINS,
    MOST_ENCODED,
    Encoder,
    KernelMap,
    MedianImputer,
    Preprocessor,
    PrincipalComponents,
    bin_edges,
    count_values,
    gaussian_kernel,
    laplacian_kernel,
    take,
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
    fitted = KernelMap(kernel, others)
    found = fitted.similarities(X, n_jobs=2)
    assert found[:, :-1] == pytest.approx(expected, abs=1e-6)
    assert (found[:, -1] == 1).all()
    np.testing.assert_array_equal(found, fitted.similarities(X, n_jobs=1))


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
    fitted = KernelMap(partial(gaussian_kernel, 4.0), X)
    features = (fitted.similarities(X) @ fitted.basis)[:, :-1]
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


def test_rows_are_preprocessed_alike_whenever_they_come():
    rng = np.random.default_rng(0)
    X, population = rng.normal(size=(12, 3)), rng.normal(size=(60, 3))
    population[::5, 1] = np.nan
    fitted = Preprocessor(X, population, KINDS)
    again = fitted.matrices(population, KINDS)
    for kind in KINDS:
        np.testing.assert_allclose(again[kind], fitted.population[kind], atol=1e-6)
    part = take(fitted.population, slice(3, 9))
    assert (part["laplacian"] == fitted.population["laplacian"][3:9]).all()
    assert {len(each) for each in part.values()} == {6}


def test_many_columns_are_projected_and_distances_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3000)) * (1 + 5 * (np.arange(40) % 2))[:, None]
    X += 20 * (np.arange(40) % 2)[:, None]
    encoder = Encoder(count_values(X))
    encoded = encoder.encode(X)
    assert encoded.shape == (40, MOST_ENCODED)
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    assert pdist(encoded) == pytest.approx(pdist(standardized), rel=0.25)
    one_hot = rng.integers(3, size=(40, 200))
    assert Encoder(count_values(one_hot)).encode(one_hot).shape == (40, MOST_ENCODED)


def test_landmarks_are_bounded_and_from_both():
    rng = np.random.default_rng(0)
    X, population = rng.normal(size=(3000, 2)), rng.normal(size=(900, 2))
    fitted = Preprocessor(X, population, {"gaussian"})
    assert fitted.population["gaussian"].shape == (900, 601)
    few = Preprocessor(X[:30], population, {"gaussian"})
    assert few.population["gaussian"].shape == (900, 231)


@pytest.mark.parametrize("n_values", [2, MOST_BINS, 5000])
def test_bins_keep_the_order_and_are_bounded(n_values):
    values = np.sort(np.random.default_rng(0).permutation(n_values)).astype(float)
    edges = bin_edges(values, np.ones(n_values, dtype=int))
    bins = np.searchsorted(edges, values, "right")
    assert (np.diff(bins) >= 0).all()
    assert bins[0] == 0
    assert len(np.unique(bins)) == min(n_values, MOST_BINS)
    assert np.bincount(bins).max() <= -(-n_values // MOST_BINS) + 1
