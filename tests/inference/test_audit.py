"""Audits: draws with the probabilities they say, and intervals that hold for any model."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy import stats

from c2rf.inference.audit import (
    FLOOR,
    deviations,
    difference_estimate,
    find_clusters,
    inclusion_probabilities,
    rows_for_width,
    spread_order,
    systematic_sample,
)


def test_no_interval_leaves_out_what_was_found():
    y, expected = np.repeat([1.0, 0.0], [24, 26]), np.full(100, 0.999)
    found = difference_estimate(y, np.arange(50), expected, np.full(50, 0.5), 0.999999)
    assert 0.24 <= found.low <= found.estimate <= found.high <= 0.74


def test_probabilities_are_in_proportion_and_add_up() -> None:
    sizes = np.random.default_rng(0).lognormal(0, 1.5, 200)
    found = inclusion_probabilities(sizes, 60)
    assert found.sum() == pytest.approx(60)
    assert found.max() == 1
    below = found < 1
    assert np.ptp(found[below] / sizes[below]) < 1e-12
    assert (sizes[~below].min() / sizes[below].max()) >= 1 - 1e-12
    assert inclusion_probabilities(np.ones(5), 5).tolist() == [1.0] * 5


def test_rows_are_drawn_as_often_as_they_say() -> None:
    probabilities = inclusion_probabilities(np.array([1.0, 2, 3, 4, 5, 9]), 3)
    rng, counts = np.random.default_rng(0), np.zeros(6)
    for _ in range(4000):
        rows = systematic_sample(probabilities, rng)
        assert len(set(rows.tolist())) == 3
        counts[rows] += 1
    np.testing.assert_allclose(counts / 4000, probabilities, atol=0.03)


def test_unbiased_over_all_samples_of_a_tiny_population() -> None:
    # Every order, and every start that matters: the mean of the estimates is the truth.
    confidence, wrong = np.array([0.9, 0.6, 0.8, 0.5]), np.array([0.0, 1, 1, 0])
    design = (1 - confidence, inclusion_probabilities(deviations(confidence), 2))
    sums = []
    for order in map(np.array, permutations(range(4))):
        ends = np.cumsum(design[1][order])
        breaks = np.unique(np.concatenate([[0.0, 1.0], ends % 1.0]))
        for low, high in pairwise(breaks):
            rows = order[np.searchsorted(ends, (low + high) / 2 + np.arange(2), side="right")]
            off = ((wrong - design[0])[rows] / design[1][rows]).sum()
            sums.append((high - low) * off)
    expected = np.sum(sums) / 24 / 4 + design[0].mean()
    assert expected == pytest.approx(wrong.mean())


def test_of_a_simple_random_sample_it_is_wilson_s_interval_where_few_are_wrong() -> None:
    n, N = 200, 1_000_000
    y = np.repeat([1.0, 0.0], [2, n - 2])
    found = difference_estimate(y, np.arange(n), np.zeros(N), np.full(n, n / N))
    assert found.estimate == pytest.approx(0.01)
    wilson = stats.binomtest(2, n).proportion_ci(method="wilson")
    assert found.high == pytest.approx(wilson.high, abs=1.5e-3)
    assert difference_estimate(0 * y, np.arange(n), np.zeros(N), np.full(n, n / N)).high > 0.015


def test_all_rows_checked_leave_nothing_open() -> None:
    y = np.array([1.0, 0, 0, 1])
    found = difference_estimate(y, np.arange(4), np.full(4, 0.2), np.ones(4))
    assert found == (0.5, 0.0, 0.5, 0.5)


@pytest.mark.parametrize("kind", ["model", "shuffled", "sure"])
def test_intervals_cover_whatever_the_model_says(kind: str) -> None:
    rng = np.random.default_rng(1)
    confidence = rng.beta(5, 1, 1500)
    wrong = (rng.random(1500) > confidence).astype(float)
    if kind == "shuffled":
        confidence = rng.permutation(confidence)
    elif kind == "sure":
        confidence = np.ones(1500)
    design = (1 - confidence, inclusion_probabilities(deviations(confidence), 80))
    covered = []
    for _ in range(120):
        rows = systematic_sample(design[1], rng)
        found = difference_estimate(wrong[rows], rows, design[0], design[1][rows])
        covered.append(found.low <= wrong.mean() <= found.high)
    assert np.mean(covered) >= 0.9


def test_intervals_cover_where_a_sure_model_is_wrong_anywhere() -> None:
    rng = np.random.default_rng(1)
    confidence = rng.permutation(np.r_[np.full(1500, 0.9995), rng.uniform(0.5, 1, 500)])
    wrong = (rng.random(2000) < 0.06).astype(float)
    chances = inclusion_probabilities(deviations(confidence), 100)
    covered = []
    for _ in range(200):
        rows = systematic_sample(chances, rng)
        found = difference_estimate(wrong[rows], rows, 1 - confidence, chances[rows])
        covered.append(found.low <= wrong.mean() <= found.high)
    assert np.mean(covered) >= 0.95  # by the standard error alone, 0.89


def test_undecided_rows_widen_the_interval_both_ways() -> None:
    design = (np.full(500, 0.2), np.full(500, 0.1))
    y, rows = np.repeat([1.0, 0.0], [10, 40]), np.arange(50)
    whole = difference_estimate(y, rows, design[0], design[1][rows])
    decided = np.arange(50) % 10 != 0
    part = difference_estimate(y, rows, design[0], design[1][rows], decided=decided)
    assert part.low <= whole.low < whole.high <= part.high
    as_wrong = difference_estimate(np.where(decided, y, 1.0), rows, design[0], design[1][rows])
    assert part.high == as_wrong.high


def test_a_poor_model_costs_little_against_a_simple_random_sample() -> None:
    # Much as logistic regression on the data set ring: a third is wrong, whether it is sure or not.
    rng = np.random.default_rng(4)
    confidence = rng.permutation(np.r_[rng.uniform(0.5, 0.75, 3000), rng.uniform(0.75, 1, 4000)])
    wrong = (rng.random(7000) < 0.36).astype(float)
    for n in (100, 400):
        chances = inclusion_probabilities(deviations(confidence), n)
        off = wrong - (1 - confidence)
        off -= off.mean()
        variance = ((1 - chances) * off**2 / chances).sum() / len(wrong) ** 2
        simple = wrong.var() / n * (1 - n / len(wrong))
        assert variance < 1.2 * simple  # without FLOOR_SHARE 1.27


def test_the_width_is_what_was_wished_for() -> None:
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.5, 1, 20_000)
    wrong = (rng.random(20_000) > confidence).astype(float)
    n = rows_for_width(confidence, 0.06)
    design = (1 - confidence, inclusion_probabilities(deviations(confidence), n))
    rows = systematic_sample(design[1], rng)
    found = difference_estimate(wrong[rows], rows, design[0], design[1][rows])
    assert found.high - found.low == pytest.approx(0.06, rel=0.1)
    assert rows_for_width(np.ones(1000), 0.5) >= 2
    assert deviations(np.ones(1))[0] == np.sqrt(FLOOR)


def test_rows_in_the_order_of_clusters_differ_from_each_other() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(4) * 50, 50, axis=0) + rng.normal(size=(200, 4))
    X[3, 2] = np.nan
    clusters = find_clusters(X, 8, rng).predict(X)
    assert len(set(clusters.tolist())) == 4
    rows = systematic_sample(np.full(200, 0.02), rng, spread_order(clusters, rng))
    assert sorted(rows // 50) == [0, 1, 2, 3]
