"""Margins that cross, against a second solver, and fractional weights."""

from dataclasses import replace

import numpy as np
import pytest

from c2rf.assignment import assign, crossing
from c2rf.totals.bounds import Bounds, LinearConstraints
from c2rf.totals.reconcile import Figures, nearest_table
from margin_cases import best_objective, crossing_case


def is_possible(bounds):
    system = LinearConstraints.of(bounds)
    if (system.lower > system.upper).any():  # more than there are rows
        return False
    sizes = np.asarray(bounds.group_sizes, dtype=float)
    figures = Figures(system.matrix, system.lower, system.upper, sizes)
    return not nearest_table(figures, whole=True).missed.any()


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_the_best_labels_as_a_second_solver_finds_them(first):
    claimed = 0
    cases = [crossing_case(seed) for seed in range(first, first + 20)]
    possible = [case for case in cases if is_possible(case[2])]
    for scores, groups, bounds in cases:
        assert (best_objective(scores, groups, bounds) is not None) == is_possible(bounds)
    for scores, groups, bounds in possible:
        found = assign(scores, bounds, groups, 0)
        best = best_objective(scores, groups, bounds)
        assert not LinearConstraints.of(bounds).missed(found.counts).any()
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
    assert np.abs(LinearConstraints.of(bounds).missed(found.counts)).max() < 1e-3 * weights.mean()


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_most_cells_without_any_row_of_a_class(share):
    """Where only one class is open, rows are infinitely far from any border."""
    rng = np.random.default_rng(0)
    n = 3000
    first, second = rng.integers(4, size=(2, n))
    groups = first * 4 + second
    scores = np.log(rng.dirichlet(np.ones(2), size=n))
    truth = (first == 0) & (second == 0) & (rng.random(n) < share)
    counts = np.zeros((16, 2), dtype=np.int64)
    np.add.at(counts, (groups, truth.astype(int)), 1)
    _, _, example = crossing_case(0)
    margins = []
    for cells in (np.arange(16) // 4, np.arange(16) % 4):
        margin = replace(example.margins[0], names=list(range(4)), cells=cells)
        total = margin.counted(counts)
        margins.append(replace(margin, lower=total, upper=total))
    sizes, free = counts.sum(axis=1), 0 * counts
    everything = np.zeros(2, dtype=np.int64), np.full(2, n)
    bounds = Bounds(*everything, free, free + sizes[:, None], sizes, tuple(margins))
    found = assign(scores, bounds, groups, 0)
    assert not LinearConstraints.of(bounds).missed(found.counts).any()
    assert found.gap <= 1e-9
    weighted = assign(scores, bounds, groups, 0, np.full(n, 1.0))
    assert weighted.missed == 0
