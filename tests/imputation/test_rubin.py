"""Pooling by Rubin's rules: figures worked by hand, limits, and long-run coverage."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import c2rf
from c2rf import InputError, pool


def test_worked_by_hand():
    # m = 3, mean 2, B = 1, U = 0.5: T = 0.5 + 4/3, share = 8/11.
    pooled = pool([1.0, 2.0, 3.0], [0.4, 0.5, 0.6], df=20)
    share = 8 / 11
    old, observed = 2 / share**2, 21 / 23 * 20 * (1 - share)
    df = old * observed / (old + observed)
    assert pooled.estimate == pytest.approx(2)
    assert pooled.standard_error == pytest.approx(np.sqrt(11 / 6))
    assert pooled.df == pytest.approx(df)
    half = stats.t.ppf(0.975, df) * np.sqrt(11 / 6)
    assert (pooled.low, pooled.high) == pytest.approx((2 - half, 2 + half))
    r = (4 / 3) / 0.5
    assert pooled.missing_information == pytest.approx((r + 2 / (df + 3)) / (r + 1))


def test_statsmodels_agrees_with_infinite_degrees():
    """Rubin's own degrees of freedom, (m - 1) (1 + 1/r)^2, where nothing else is finite."""
    rng = np.random.default_rng(0)
    values, variances = rng.normal(size=8), rng.random(8)
    r = (1 + 1 / 8) * values.var(ddof=1) / variances.mean()
    assert pool(values, variances).df == pytest.approx(7 * (1 + 1 / r) ** 2)


def test_no_variance_between():
    pooled = pool([2.0, 2.0], [1.0, 1.0])
    assert (pooled.estimate, pooled.standard_error, pooled.missing_information) == (2, 1, 0)
    assert pooled.df == np.inf
    assert pooled.high == pytest.approx(2 + stats.norm.ppf(0.975))


def test_no_variance_between_with_few_degrees():
    assert pool([2.0, 2.0], [1.0, 1.0], df=10).df == pytest.approx(11 / 13 * 10)


def test_no_variance_at_all():
    pooled = pool([2.0, 2.0, 2.0])
    assert (pooled.low, pooled.high, pooled.standard_error) == (2, 2, 0)


def test_no_variance_within():
    pooled = pool([1.0, 2.0, 3.0])
    assert pooled.df == 2
    assert pooled.missing_information == 1
    assert pooled.standard_error == pytest.approx(np.sqrt(4 / 3))


@pytest.mark.filterwarnings("ignore:variances are so small")
@given(
    st.integers(2, 6),
    st.lists(st.integers(1, 3), max_size=2),
    st.booleans(),
    st.integers(0, 99),
)
def test_arrays_are_pooled_figure_by_figure(m, shape, with_variances, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(m, *shape))
    variances = rng.random((m, *shape)) if with_variances else None
    together = pool(values, variances, level=0.9, df=12)
    for place in np.ndindex(*shape):
        own = None if variances is None else variances[:, *place]
        alone = pool(values[:, *place], own, level=0.9, df=12)
        for name in ("estimate", "standard_error", "low", "high", "df", "missing_information"):
            assert np.asarray(getattr(together, name))[place] == pytest.approx(getattr(alone, name))


@pytest.mark.filterwarnings("ignore:variances are so small")
@given(st.integers(2, 40), st.floats(0, 10), st.floats(0, 10), st.floats(1, 1e6))
def test_degrees_are_never_more_than_without_missing_labels(m, spread, variance, df):
    values = spread * np.linspace(-1, 1, m)
    pooled = pool(values, np.full(m, variance), df=df)
    assert 0 < pooled.df <= df or pooled.standard_error == 0
    assert 0 <= pooled.missing_information <= 1
    assert pooled.low <= pooled.estimate <= pooled.high


def test_intervals_cover_as_often_as_they_say():
    # The truth is 0; each imputation is the truth, an error they share, and one of their own.
    rng = np.random.default_rng(1)
    n, m = 4000, 5
    shared, own = rng.normal(size=n), rng.normal(size=(m, n))
    # Between-variance 1 and within-variance 1: the mean has variance 1 + 1 + 1/m about the truth
    # where the centre of imputations is itself one draw away from it.
    centre = shared + rng.normal(size=n)
    pooled = pool(centre + own, np.ones((m, n)))
    covered = np.mean((pooled.low <= 0) & (pooled.high >= 0))
    assert 0.93 < covered < 0.975


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0],), "at least 2 imputations, one row each; found 1"),
        ((1.0,), "at least 2 imputations"),
        (([],), "found 0"),
        (([1.0, np.nan],), "found nan in imputation 1"),
        (([[1.0, 2.0], [np.inf, 2.0]],), "found inf in imputation 1"),
        ((["a", "b"],), "must be numbers"),
        (([[1.0], [1.0, 2.0]],), "must be numbers"),
        (([1.0, 2.0], [1.0, 2.0, 3.0]), "shape of estimates"),
        (([1.0, 2.0], [1.0, -2.0]), "must not be negative; found -2"),
    ],
)
def test_bad_estimates(arguments, said):
    with pytest.raises(InputError, match=said):
        pool(*arguments)


@pytest.mark.parametrize("level", [0, 1, -1, 95, "a lot", np.nan])
def test_bad_levels(level):
    with pytest.raises(InputError, match="level"):
        pool([1.0, 2.0], level=level)


@pytest.mark.parametrize("df", [0, -3, np.nan, "many", [1.0, 2.0]])
def test_bad_degrees(df):
    with pytest.raises(InputError, match="df"):
        pool([1.0, 2.0], df=df)


def test_it_is_public():
    assert "pool" in c2rf.__all__


@pytest.mark.parametrize(("variance", "is_warned"), [(1e-9, True), (0.3, False), (0.0, False)])
def test_variances_near_zero_with_few_degrees_of_freedom(variance, is_warned):
    """Intervals of a jump from 5 to 1e148 are warned of."""
    estimates = [10.0, 12.0, 11.0]
    said = "degrees of freedom and says nothing"
    with pytest.warns(UserWarning, match=said) if is_warned else nullcontext():
        found = pool(estimates, [variance] * 3, df=20)
    assert (found.high > 1e9) == is_warned
