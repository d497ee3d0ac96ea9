"""Labels that meet bounds: against linear programs, exactly, with ties, groups and ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from c2rf.assignment import assign, log_scores
from c2rf.assignment.duals import optimality_gap
from c2rf.assignment.one_margin import (
    augment,
    clipped_to_sizes,
    coordinate_descent,
    is_optimal,
    residual_networks,
    select,
    split_duals,
)
from c2rf.assignment.parts import ScoredRows
from c2rf.assignment.passes import least_losses
from c2rf.totals.bounds import Bounds, can_be_met


@st.composite
def cases(draw, max_rows=12, max_classes=4, max_groups=3):
    """Scores (half of them full of ties), groups, and bounds that some assignment meets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(1, max_rows))
    n_classes, n_groups = draw(st.integers(2, max_classes)), draw(st.integers(1, max_groups))
    groups = rng.integers(0, n_groups, n_rows)
    groups = np.unique(groups, return_inverse=True)[1]
    counts = table(rng.integers(0, n_classes, n_rows), groups, n_classes)
    lower, upper = around(counts.sum(axis=0), rng, draw(st.sampled_from([0.0, 0.5, 1.0])))
    inner = around(counts, rng, draw(st.sampled_from([0.0, 0.5, 1.0])))
    bounds = Bounds(lower, upper, *inner, counts.sum(axis=1))
    if draw(st.booleans()):
        scores = rng.integers(0, 4, (n_rows, n_classes)).astype(float)
    else:
        scores = rng.normal(size=(n_rows, n_classes))
    return scores, groups, bounds


def around(counts, rng, free):
    """Bounds around counts: some exact, some ranges, a part of them free."""
    slack = rng.integers(0, 2, counts.shape) * rng.integers(0, 3, (2, *counts.shape))
    is_free = rng.random(counts.shape) < free
    lower = np.where(is_free, 0, np.maximum(counts - slack[0], 0))
    return lower, np.where(is_free, counts.sum(), counts + slack[1])


def table(labels, groups, n_classes):
    counts = np.zeros((groups.max() + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (groups, labels), 1)
    return counts


def random_bounds(rng):
    n_groups, n_classes = rng.integers(1, 4), rng.integers(2, 4)
    inner = rng.integers(0, 3, (n_groups, n_classes))
    outer = rng.integers(0, 5, n_classes)
    widths = rng.integers(0, 5, inner.shape), rng.integers(0, 6, n_classes)
    sizes = rng.integers(1, 7, n_groups)
    return Bounds(outer, outer + widths[1], inner, inner + widths[0], sizes)


def linear_program(scores, groups, bounds):
    """The transportation problem in a variable per point and class, integral by itself."""
    n_rows, n_classes = scores.shape
    one_class = np.kron(np.eye(n_rows), np.ones(n_classes))
    per_class = np.tile(np.eye(n_classes), n_rows)
    per_cell = np.kron(np.eye(bounds.n_groups)[groups].T, np.eye(n_classes))
    rows = np.vstack([per_cell, -per_cell, per_class, -per_class])
    sides = [bounds.group_upper.ravel(), -bounds.group_lower.ravel(), bounds.upper, -bounds.lower]
    return linprog(
        -scores.ravel(), rows, np.concatenate(sides), one_class, np.ones(n_rows), method="highs"
    )


def check_meets(found, groups, bounds):
    counts = table(found.labels, groups, bounds.n_classes)
    np.testing.assert_array_equal(found.counts, counts)
    assert (counts >= bounds.group_lower).all()
    assert (counts <= bounds.group_upper).all()
    assert (counts.sum(axis=0) >= bounds.lower).all()
    assert (counts.sum(axis=0) <= bounds.upper).all()


def check_offsets(found, scores, groups):
    """Every point is where score + offset is largest."""
    shifted = scores + found.offsets[groups]
    own = shifted[np.arange(len(scores)), found.labels]
    np.testing.assert_allclose(own, shifted.max(axis=1), atol=1e-9)


class TestOptimal:
    @given(cases(), st.integers(0, 100))
    def test_equals_a_linear_program(self, case, seed):
        scores, groups, bounds = case
        found = assign(scores, bounds, groups, seed)
        check_meets(found, groups, bounds)
        check_offsets(found, scores, groups)
        assert found.objective == pytest.approx(scores[np.arange(len(scores)), found.labels].sum())
        best = linear_program(scores, groups, bounds)
        assert found.objective == pytest.approx(-best.fun, abs=1e-7)

    @pytest.mark.parametrize("tied", [False, True])
    def test_duality_of_many_points(self, tied):
        """The dual value of the offsets equals the total score: no assignment is better."""
        rng = np.random.default_rng(0)
        n_rows, n_classes = 20_000, 6
        votes = rng.multinomial(10, np.full(n_classes, 1 / n_classes), n_rows) / 10
        scores = log_scores(votes if tied else rng.dirichlet(np.full(n_classes, 0.5), n_rows))
        counts = rng.multinomial(n_rows, rng.dirichlet(np.full(n_classes, 2.0)))
        found = assign(scores, Bounds.overall(counts, counts, n_rows), random_state=0)
        np.testing.assert_array_equal(found.counts[0], counts)
        dual = (scores + found.offsets[0]).max(axis=1).sum() - counts @ found.offsets[0]
        assert found.objective == pytest.approx(dual, abs=1e-7)

    @given(cases(max_classes=2), st.integers(0, 100))
    def test_selection_is_what_paths_find(self, case, seed):
        scores, groups, bounds = case
        noise = 1e-12 * np.random.default_rng(seed).random(scores.shape)
        labels = augment(scores + noise, groups, bounds, 1e-13)
        found = assign(scores, bounds, groups, seed)
        assert found.objective == pytest.approx(
            scores[np.arange(len(scores)), labels].sum(), abs=1e-9
        )


class TestTies:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_the_seed_decides_and_not_the_order_of_rows(self, n_classes):
        scores, counts = np.zeros((600, n_classes)), np.full(n_classes, 600 // n_classes)
        bounds = Bounds.overall(counts, counts, 600)
        labels = [assign(scores, bounds, random_state=seed).labels for seed in (0, 0, 1)]
        np.testing.assert_array_equal(labels[0], labels[1])
        assert (labels[0] != labels[2]).any()
        for k in range(n_classes):
            share = (labels[0][:300] == k).mean()
            assert share == pytest.approx(1 / n_classes, abs=0.1)


class TestSelection:
    @given(cases(max_classes=2), st.integers(0, 100))
    def test_two_classes_as_a_linear_program_selects(self, case, seed):
        scores, groups, bounds = case
        gains = scores[:, 1] - scores[:, 0]
        ties = np.random.default_rng(seed).random(len(gains))
        labels = select(gains, groups, clipped_to_sizes(bounds), ties)
        assert gains[labels == 1].sum() == pytest.approx(
            -linear_program(scores, groups, bounds).fun - scores[:, 0].sum(), abs=1e-7
        )


class TestPaths:
    @given(cases(), st.integers(0, 100))
    def test_augmenting_paths_find_the_optimum_of_a_linear_program(self, case, seed):
        """Also of two classes, where a selection would do."""
        scores, groups, bounds = case
        scores = scores + 1e-9 * np.random.default_rng(seed).random(scores.shape)  # no ties
        labels = augment(scores, groups, clipped_to_sizes(bounds), 1e-12)
        value = scores[np.arange(len(scores)), labels].sum()
        assert value == pytest.approx(-linear_program(scores, groups, bounds).fun, abs=1e-7)

    def test_a_residual_network_sees_a_swap_that_gains(self):
        scores, groups = np.array([[3.0, 0.0], [0.0, 3.0]]), np.zeros(2, dtype=int)
        bounds = Bounds.overall([1, 1], [1, 1], 2)
        for labels, best in (([0, 1], True), ([1, 0], False)):
            own = np.array(labels)
            losses = least_losses(scores, groups, own, 1)
            (network,) = residual_networks(losses, bounds, np.array([[1, 1]]), 1e-12)
            assert is_optimal(network) == best
            margins, duals = zip(*split_duals(bounds, [network]), strict=True)
            rows = ScoredRows(scores, groups, None, 1)
            assert (optimality_gap(rows, own, margins, duals) == 0) == best


class TestOffsets:
    def test_in_the_middle_of_the_gap(self):
        gains = np.array([-3.0, -1.0, 2.0, 4.0])
        scores = np.stack([np.zeros(4), gains], axis=1)
        found = assign(scores, Bounds.overall([1, 3], [1, 3], 4), random_state=0)
        assert found.offsets[0, 0] - found.offsets[0, 1] == pytest.approx(-2.0)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_nothing_where_bounds_change_nothing(self, n_classes):
        scores = np.random.default_rng(0).normal(size=(50, n_classes))
        found = assign(scores, Bounds.overall([0] * n_classes, [50] * n_classes, 50))
        np.testing.assert_array_equal(found.labels, scores.argmax(axis=1))
        np.testing.assert_array_equal(found.offsets, np.zeros((1, n_classes)))

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_a_class_without_points_is_out_of_reach(self, n_classes):
        scores = np.random.default_rng(0).normal(size=(50, n_classes))
        upper = [0] + [50] * (n_classes - 1)
        found = assign(scores, Bounds.overall([0] * n_classes, upper, 50))
        assert found.offsets[0, 0] == -np.inf
        assert np.isfinite(found.offsets[0, 1:]).all()

    def test_groups_without_bounds_share_them(self):
        rng = np.random.default_rng(0)
        scores, groups = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
        free = np.full((3, 3), 90)
        low = np.zeros((3, 3), dtype=int)
        low[0, 0] = 25
        bounds = Bounds(*2 * [np.array([40, 25, 25])], low, free, np.full(3, 30))
        found = assign(scores, bounds, groups, 0)
        check_meets(found, groups, bounds)
        np.testing.assert_allclose(found.offsets[1], found.offsets[2])
        assert not np.allclose(found.offsets[0], found.offsets[1])

    def test_losses_of_chunks_merge(self):
        rng = np.random.default_rng(0)
        scores, groups = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
        labels = rng.integers(0, 3, 60)
        parts = [least_losses(scores[k::2], groups[k::2], labels[k::2], 2) for k in range(2)]
        np.testing.assert_array_equal(least_losses(scores, groups, labels, 2), np.minimum(*parts))


class TestCoordinateDescent:
    @pytest.mark.parametrize("n_groups", [1, 3])
    def test_duals_nearly_meet_the_bounds(self, n_groups):
        rng = np.random.default_rng(0)
        scores, groups = rng.normal(size=(3000, 4)), np.arange(3000) % n_groups
        counts = table(rng.choice(4, 3000, p=[0.1, 0.2, 0.3, 0.4]), groups, 4)
        overall = counts.sum(axis=0)
        bounds = Bounds(overall, overall, counts, counts, counts.sum(axis=1))
        cells, _ = coordinate_descent(ScoredRows(scores, groups, None, n_groups), bounds)
        labels = (scores + cells[groups]).argmax(axis=1)
        assert np.abs(table(labels, groups, 4) - counts).sum() < 60

    def test_duals_are_zero_where_nothing_binds(self):
        scores = np.random.default_rng(0).normal(size=(100, 3))
        bounds = Bounds.overall([0, 0, 0], [100, 100, 100], 100)
        rows = ScoredRows(scores, np.zeros(100, dtype=int), None, 1)
        assert not any(duals.any() for duals in coordinate_descent(rows, bounds))


class TestConflict:
    def test_equals_a_linear_program(self):
        rng = np.random.default_rng(0)
        n_possible = 0
        for _ in range(200):
            bounds = random_bounds(rng)
            scores, groups = nothing_to_gain(bounds)
            possible = linear_program(scores, groups, bounds).status == 0
            assert possible == can_be_met(bounds)
            n_possible += possible
        assert 20 < n_possible < 180


def nothing_to_gain(bounds):
    groups = np.repeat(np.arange(bounds.n_groups), bounds.group_sizes)
    return np.zeros((bounds.n_rows, bounds.n_classes)), groups
