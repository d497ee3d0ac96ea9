"""Margins that cross, and weights, against a second solver and against enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from c2rf.assignment import assign, crossing
from c2rf.assignment.handicaps import Crowd
from c2rf.assignment.weighted import label_weighted
from c2rf.totals.bounds import Bounds
from c2rf.totals.feasible import Figures, nearest_table
from c2rf.totals.system import System
from margin_cases import best_objective, crossing_case


def is_possible(bounds):
    system = System.of(bounds)
    if (system.lower > system.upper).any():  # more than there are rows
        return False
    sizes = np.asarray(bounds.group_sizes, dtype=float)
    figures = Figures(system.matrix, system.lower, system.upper, sizes)
    return not nearest_table(figures, whole=True).missed.any()


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_the_best_labels_as_a_second_solver_finds_them(first):
    claimed = 0
    cases = [crossing_case(seed) for seed in range(first, first + 20)]
    possible = [case for case in cases if is_possible(case[2])]
    for scores, groups, bounds in cases:
        assert (best_objective(scores, groups, bounds) is not None) == is_possible(bounds)
    for scores, groups, bounds in possible:
        found = assign(scores, bounds, groups, 0)
        best = best_objective(scores, groups, bounds)
        assert not System.of(bounds).missed(found.counts).any()
        assert found.objective >= best - found.gap - 1e-9
        assert found.objective <= best + 1e-9
        claimed += found.gap <= 1e-9
    assert claimed >= 0.99 * len(possible)


def _large_case(n=6000):
    rng = np.random.default_rng(0)
    groups = rng.integers(12, size=n)
    scores = np.log(rng.dirichlet(np.ones(3), size=n))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    counts = np.zeros((12, 3), dtype=np.int64)
    np.add.at(counts, (groups, truth), 1)
    _, _, example = crossing_case(0)
    margins = []
    for cells in (np.arange(12) // 4, np.arange(12) % 4):
        names = list(range(cells.max() + 1))
        margin = replace(example.margins[0], names=names, cells=cells)
        total = margin.counted(counts)
        margins.append(replace(margin, lower=total, upper=total))
    sizes = counts.sum(axis=1)
    free = 0 * counts
    everything = np.zeros(3, dtype=np.int64), np.full(3, n)
    return scores, groups, Bounds(*everything, free, free + sizes[:, None], sizes, tuple(margins))


def test_many_rows_as_few(monkeypatch):
    """Starting near the border or with all rows in one linear program: the same optimum."""
    scores, groups, bounds = _large_case()
    quick = assign(scores, bounds, groups, 0)
    monkeypatch.setattr(crossing, "FEW", len(scores))
    whole = assign(scores, bounds, groups, 0)
    assert max(quick.gap, whole.gap) <= 1e-9
    assert quick.objective == pytest.approx(whole.objective, abs=1e-9)


def test_a_sample_of_the_rows_gives_the_start(monkeypatch):
    scores, groups, bounds = _large_case()
    best = assign(scores, bounds, groups, 0).objective
    monkeypatch.setattr(crossing, "_SAMPLE", 1000)
    assert assign(scores, bounds, groups, 0).objective == pytest.approx(best, abs=1e-9)


def _enumerated(weights, n_classes, groups, system):
    """Return the least sum of deviations of all labels there are."""
    least = np.inf
    for labels in product(range(n_classes), repeat=len(weights)):
        counts = np.zeros(system.matrix.shape[1])
        np.add.at(counts, groups * n_classes + np.array(labels), weights)
        least = min(least, np.abs(system.missed(counts)).sum())
    return least


@pytest.mark.parametrize("seed", range(40))
def test_closest_is_claimed_only_where_nothing_is_closer(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    whole = rng.random() < 0.8
    weights = rng.integers(0, 9, n).astype(float) if whole else rng.gamma(2, 3, n)
    weights[0] = 5.0
    scores = np.log(rng.dirichlet(np.ones(n_classes), n))
    total = rng.multinomial(int(weights.sum()), np.ones(n_classes) / n_classes).astype(float)
    total[-1] = weights.sum() - total[:-1].sum()
    size = np.array([weights.sum()])
    bounds = Bounds(total, total, 0 * total[None], 0 * total[None] + size, size)
    groups = np.zeros(n, dtype=np.intp)
    found = label_weighted(Crowd(scores, groups, weights, 1), bounds, 0)
    system = System.of(bounds.with_implied_bounds())
    least = _enumerated(weights, n_classes, groups, system)
    off = np.abs(found.missed).sum()
    assert off >= least - 1e-9
    assert found.closest or not whole
    if found.closest:
        assert off == pytest.approx(least, abs=1e-9)


def test_fractional_weights_are_met_to_a_thousandth_of_the_mean():
    scores, groups, plain = _large_case(30_000)
    rng = np.random.default_rng(1)
    weights = rng.gamma(2, 50, len(scores))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    counts = np.zeros((12, 3))
    np.add.at(counts, (groups, truth), weights)
    margins = tuple(
        replace(m, lower=m.counted(counts), upper=m.counted(counts)) for m in plain.margins
    )
    sizes = counts.sum(axis=1)
    free = 0 * counts
    bounds = Bounds(
        np.zeros(3), np.full(3, sizes.sum()), free, free + sizes[:, None], sizes, margins
    )
    found = assign(scores, bounds, groups, 0, weights)
    assert np.abs(System.of(bounds).missed(found.counts)).max() < 1e-3 * weights.mean()
