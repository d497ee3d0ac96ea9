"""Rows with weights: the smallest deviation against enumeration, swaps, and the proof of both."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp

from c2rf.assignment import assign, weighted
from c2rf.assignment.crossing_margins import FEW_DRAWN, relax
from c2rf.assignment.parts import ScoredRows
from c2rf.assignment.passes import first_duals
from c2rf.assignment.weighted import label_weighted, none_is_closer, swapped
from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds
from margin_cases import large_case, least_deviation, weighted_case


@pytest.mark.parametrize("first", range(0, 24, 6))
def test_closest_weights_as_enumeration_says(first):
    for seed in range(first, first + 6):
        scores, groups, weights, bounds = weighted_case(seed)
        found = assign(scores, bounds, groups, 0, weights)
        least = least_deviation(weights, scores.shape[1], groups, bounds)
        assert found.missed >= least - 1e-9
        if found.closest:
            assert found.missed == pytest.approx(least, abs=1e-9)
        is_whole = (weights == np.rint(weights)).all()
        assert found.closest == is_whole
        if is_whole:
            constraints = LinearConstraints.of(bounds)
            heavy = np.flatnonzero(weights)
            scored = ScoredRows(scores, groups, weights, bounds.n_groups).taken(heavy)
            assert none_is_closer(scored, constraints, round(least)) or least == 0
            assert not none_is_closer(scored, constraints, round(least) + 1)


def test_a_class_that_is_left_out_is_not_counted():
    """What stated totals imply for it is no total: closeness is about those that were stated."""
    n_missed = 0
    for seed in (*range(4), 16, 27):  # the last two tell what is stated from what is implied
        scores, groups, weights, bounds = weighted_case(seed)
        last = np.arange(scores.shape[1]) == scores.shape[1] - 1
        margins = [
            replace(
                margin,
                lower=np.where(last, 0, margin.lower),
                upper=np.where(last, margin.sums(bounds.group_sizes)[:, None], margin.upper),
            )
            for margin in bounds.all_margins()
        ]
        known = bounds.with_all_margins(margins)
        found = assign(scores, known, groups, 0, weights)
        least = least_deviation(weights, scores.shape[1], groups, known)
        assert found.missed >= least - 1e-9
        if found.closest:
            assert found.missed == pytest.approx(least, abs=1e-9)
            n_missed += found.missed > 0
    assert n_missed > 0


def test_swaps_come_closer_and_report_what_is_missed(monkeypatch):
    """Without the integer program of few rows, swaps alone: never closer than enumeration."""
    monkeypatch.setattr(weighted, "FEW_ROWS", 0)
    n_closer = 0
    for seed in range(12):
        scores, groups, weights, bounds = weighted_case(seed)
        scored = ScoredRows(scores, groups, weights, bounds.n_groups).taken(np.flatnonzero(weights))
        found = label_weighted(scored, bounds, 0)
        least = least_deviation(weights, scores.shape[1], groups, bounds)
        off = LinearConstraints.of(bounds).missed(scored.counts(found.labels))
        assert found.missed == pytest.approx(np.abs(off).sum())
        assert found.missed >= least - 1e-9
        relaxed = relax(scored, bounds, first_duals(scored, bounds, 0, FEW_DRAWN))
        before = weighted._rounded(relaxed)
        after = swapped(relaxed, before, 0.0)
        missed = [
            np.abs(relaxed.constraints.missed(scored.counts(labels))).sum()
            for labels in (before, after)
        ]
        assert missed[1] <= missed[0]
        n_closer += missed[1] < missed[0]
    assert n_closer > 3


def test_the_likeliest_of_the_closest_labels():
    """One total that several sets of rows meet: the score decides, as an integer program says."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 6, 12).astype(float)
    scores = np.log(rng.dirichlet(np.ones(2), 12))
    wanted = weights[:5].sum()
    total = np.array([weights.sum() - wanted, wanted])
    free = np.zeros((1, 2))
    bounds = Bounds(total, total, free, free + weights.sum(), weights.sum(keepdims=True))
    found = assign(scores, bounds, None, 0, weights)
    gains = weights * (scores[:, 1] - scores[:, 0])
    best = milp(
        -gains,
        integrality=np.ones(12),
        bounds=Box(0, 1),
        constraints=LinearConstraint(weights[None], wanted, wanted),
    )
    assert found.missed == 0
    assert found.closest
    assert found.objective == pytest.approx(weights @ scores[:, 0] - best.fun)
    assert found.objective + found.gap >= weights @ scores[:, 0] - best.fun - 1e-9


def test_fractional_weights_are_met_to_a_thousandth_of_the_mean():
    scores, groups, plain = large_case(30_000)
    rng = np.random.default_rng(1)
    weights = rng.gamma(2, 50, len(scores))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    counts = np.zeros((12, 3))
    np.add.at(counts, (groups, truth), weights)
    margins = tuple(replace(m, lower=m.sums(counts), upper=m.sums(counts)) for m in plain.margins)
    sizes = counts.sum(axis=1)
    free = 0 * counts
    bounds = Bounds(
        np.zeros(3), np.full(3, sizes.sum()), free, free + sizes[:, None], sizes, margins
    )
    found = assign(scores, bounds, groups, 0, weights)
    assert np.abs(LinearConstraints.of(bounds).missed(found.counts)).max() < 1e-3 * weights.mean()


def test_a_group_of_weight_zero_has_labels_too():
    """Margins that cross may forbid all classes in a group whose only row weighs nothing."""
    scores = np.log([[0.6, 0.4], [0.2, 0.8], [0.4, 0.6], [0.2, 0.8]])
    groups, weights = np.array([0, 1, 2, 0]), np.array([1.0, 0.0, 1.0, 1.0])  # (1, 1) (1, 0) (2, 0)
    sizes = np.bincount(groups, weights)
    free = np.zeros((3, 2))
    margins = tuple(
        MarginBounds((name,), names, codes, np.array(totals), np.array(totals))
        for name, names, codes, totals in (
            ("u", [1, 2], np.array([0, 0, 1]), [[2.0, 0.0], [0.0, 1.0]]),
            ("v", [0, 1], np.array([1, 0, 0]), [[0.0, 1.0], [2.0, 0.0]]),
        )
    )
    most = np.full(2, 3.0)
    bounds = Bounds(0 * most, most, free, free + sizes[:, None], sizes, margins)
    found = assign(scores, bounds, groups, 0, weights)
    assert found.labels.tolist() == [0, 1, 1, 0]
