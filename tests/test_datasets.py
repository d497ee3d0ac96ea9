"""The generators against the distributions they are defined by, and the paper's samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.datasets import (
    biased_sample,
    iter_chunks,
    make_ringnorm,
    make_twonorm,
    make_waveform,
    simple_sample,
)
from c2rf.exceptions import InputError, InputTypeError

MAKERS = {"twonorm": make_twonorm, "ringnorm": make_ringnorm, "waveform": make_waveform}


def assert_moments(X, mean, variance):
    """Mean and covariance of independent features, to within five standard errors or so."""
    close = 5 * np.sqrt(variance / len(X))
    np.testing.assert_allclose(X.mean(axis=0), mean, atol=close)
    expected = np.eye(X.shape[1]) * variance
    np.testing.assert_allclose(np.cov(X.T), expected, atol=1.5 * close * np.sqrt(variance))


def test_twonorm_is_two_shifted_normals():
    X, y = make_twonorm(40_000, random_state=1)
    assert X.shape == (40_000, 20)
    assert_moments(X[y == 1], 2 / np.sqrt(20), 1.0)
    assert_moments(X[y == 0], -2 / np.sqrt(20), 1.0)
    assert abs(y.mean() - 0.5) < 0.0125


def test_ringnorm_is_a_wide_and_a_narrow_normal():
    X, y = make_ringnorm(40_000, random_state=1)
    assert_moments(X[y == 1], 0.0, 4.0)
    assert_moments(X[y == 0], 1 / np.sqrt(20), 1.0)
    assert abs(y.mean() - 0.5) < 0.0125


def test_waveform_means_are_halfway_between_two_waves():
    X, y = make_waveform(60_000, random_state=1)
    feature = np.arange(1, 22)
    h1, h2, h3 = (np.clip(6 - abs(feature - peak), 0, None) for peak in (11, 15, 7))
    for label, (first, second) in enumerate([(h1, h2), (h1, h3), (h2, h3)]):
        rows = X[y == label]
        assert abs(len(rows) / len(X) - 1 / 3) < 0.01
        np.testing.assert_allclose(rows.mean(axis=0), (first + second) / 2, atol=0.07)
        # Var(u h + (1 - u) h' + e) = (h - h')^2 / 12 + 1
        np.testing.assert_allclose(rows.var(axis=0), (first - second) ** 2 / 12 + 1, atol=0.15)


def test_waveform_options_change_nothing_else():
    X, y = make_waveform(500, random_state=3)
    wide, binary = make_waveform(500, noise_features=19, binary=True, random_state=3)
    assert wide.shape == (500, 40)
    np.testing.assert_array_equal(wide[:, :21], X)
    np.testing.assert_array_equal(binary, y == 1)
    assert_moments(wide[:, 21:], 0.0, 1.0)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("size", [1_000, 4_096, 7_001, 100_000])
def test_chunks_put_together_are_the_whole(name, size):
    X, y = MAKERS[name](9_000, random_state=5)
    chunks = list(iter_chunks(name, 9_000, chunk_size=size, random_state=5))
    assert {len(rows) for rows, _ in chunks[:-1]} <= {size}
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([labels for _, labels in chunks]), y)


@pytest.mark.parametrize("make", MAKERS.values())
def test_fewer_rows_are_the_first_of_more(make):
    many, few = make(5_000, random_state=2), make(4_500, random_state=2)
    np.testing.assert_array_equal(many[0][:4_500], few[0])
    np.testing.assert_array_equal(many[1][:4_500], few[1])


def test_blocks_and_seeds_differ():
    X, _ = make_twonorm(8_192, random_state=0)
    assert len(np.unique(X[:, 0])) == 8_192
    assert not np.isin(make_twonorm(100, random_state=1)[0][:, 0], X[:, 0]).any()
    assert not np.array_equal(make_twonorm(5)[0], make_twonorm(5)[0])


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_generators_are_seeds_that_move_on(source):
    state = source(7)
    first, second = (make_twonorm(5, random_state=state)[0] for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, make_twonorm(5, random_state=source(7))[0])


@settings(deadline=None)
@given(
    st.lists(st.booleans(), min_size=2, max_size=60),
    st.floats(0.05, 0.95),
    st.floats(0.05, 0.95),
    st.integers(0, 99),
)
def test_samples_are_a_partition_of_the_right_size(labels, fraction, weight, seed):
    y = np.array(labels)
    n_drawn = round(fraction * len(y))
    if not 0 < n_drawn < len(y):
        with pytest.raises(InputError, match="at least one row"):
            biased_sample(y, fraction, weight, random_state=seed)
        return
    for labeled, unlabeled in (
        biased_sample(y, fraction, weight, pos_label=True, random_state=seed),
        simple_sample(y, fraction, random_state=seed),
    ):
        assert len(labeled) == n_drawn
        np.testing.assert_array_equal(np.sort(np.append(labeled, unlabeled)), np.arange(len(y)))
        assert (np.diff(labeled) > 0).all()


def test_a_positive_point_is_drawn_with_its_weight():
    # One of two is drawn: the positive one with probability 0.85 / (0.85 + 0.15).
    draws = [biased_sample([0, 1], 0.5, random_state=seed)[0][0] for seed in range(2_000)]
    assert abs(np.mean(draws) - 0.85) < 0.04
    draws = [simple_sample([0, 1], 0.5, random_state=seed)[0][0] for seed in range(2_000)]
    assert abs(np.mean(draws) - 0.5) < 0.055


def test_weights_are_not_quotas():
    # With few positives, nearly all of the sample is negative in spite of the weight.
    y = np.repeat([1, 0], [100, 99_900])
    labeled, _ = biased_sample(y, random_state=0)
    assert len(labeled) == 1_000
    assert 0 < y[labeled].sum() < 30


def test_pos_label_says_who_is_positive():
    y = np.repeat(["a", "b", "c"], 1_000)
    labeled, _ = biased_sample(y, 0.01, 1.0, pos_label="b", random_state=0)
    assert set(y[labeled]) == {"b"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iter_chunks("moons", 5), "name must be twonorm, .* or waveform; found 'moons'"),
        (lambda: make_twonorm(0), "n_samples must be at least 1; found 0"),
        (lambda: iter_chunks("twonorm", 5, chunk_size=0), "chunk_size must be at least 1"),
        (lambda: make_waveform(5, noise_features=-1), "noise_features must be at least 0"),
        (lambda: make_twonorm(5, random_state=-1), "random_state must be at least 0"),
        (lambda: biased_sample([[0, 1]]), "y must be 1-D and not empty"),
        (lambda: biased_sample([]), "y must be 1-D and not empty"),
        (lambda: biased_sample([0, 1], 1.0), "fraction must be a number above 0 and below 1"),
        (lambda: biased_sample([0, 1], "all"), "fraction must be a number"),
        (lambda: biased_sample([0, 1], 0.5, 1.5), "positive_weight must be a number in"),
        (lambda: biased_sample([0, 1, 0, 1], 0.75, 1.0), "only 2 of 4 rows have a weight"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("n_samples", [10.0, True, "10"])
def test_numbers_of_rows_are_integers(n_samples):
    with pytest.raises(InputTypeError, match="n_samples must be an integer"):
        make_twonorm(n_samples)
