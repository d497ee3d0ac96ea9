"""Kernels against their formulas, and ranks that no outlier moves."""

import numpy as np
import pytest
from scipy.stats import norm

from c2rf.learners.features import Encoder, Gaussian, Laplacian, count_values


@pytest.mark.parametrize(
    ("kernel", "distance"),
    [
        (Gaussian(3.0), lambda d: (d**2).sum(axis=2)),
        (Laplacian(3.0), lambda d: np.abs(d).sum(axis=2)),
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
