"""Scores that assign takes, and the problem of labeling a population as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from c2rf.assignment import AssignmentProblem, assign, log_scores, zero_floor
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups
from margin_cases import large_case


class TestScores:
    def test_minus_infinity_is_taken_last(self):
        scores = np.array([[0.0, -np.inf, -1.0], [-np.inf, 0.0, -2.0], [0.0, -5.0, -np.inf]])
        found = assign(scores, Bounds.overall([1, 1, 1], [1, 1, 1], 3))
        np.testing.assert_array_equal(found.labels, [2, 1, 0])
        bounds = Bounds.overall([0, 0, 3], [0, 0, 3], 3)
        np.testing.assert_array_equal(assign(scores, bounds).labels, [2, 2, 2])
        nothing = assign(np.full((3, 2), -np.inf), Bounds.overall([1, 2], [1, 2], 3))
        assert nothing.counts.tolist() == [[1, 2]]

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_others_are_refused(self, bad):
        with pytest.raises(InputError, match="NaN or inf"):
            assign([[0.0, bad]], Bounds.overall([0, 0], [1, 1], 1))

    def test_shape(self):
        with pytest.raises(InputError, match="rows by classes"):
            assign([0.0, 1.0], Bounds.overall([0, 0], [1, 1], 1))

    def test_zero_counts_as_less_than_anything_said(self):
        probabilities = np.array([[0.0, 1.0], [1e-9, 1 - 1e-9]])
        assert zero_floor(probabilities) == 5e-10
        assert np.isfinite(log_scores(probabilities)).all()
        assert zero_floor(np.array([[0.0, 1.0]])) == 1e-3
        assert zero_floor(np.array([[1e-320, 1.0]])) == 1e-300


def grouped(n_rows=300, weights=None):
    """Totals of three classes in two groups that some labels have."""
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.ones(3), n_rows))
    codes = rng.integers(2, size=n_rows)
    own = np.ones(n_rows) if weights is None else weights
    counts = np.zeros((2, 3))
    np.add.at(counts, (codes, rng.choice(3, n_rows, p=[0.6, 0.3, 0.1])), own)
    counts = counts.astype(np.int64)
    total, sizes = counts.sum(axis=0), counts.sum(axis=1)
    bounds = Bounds(total, total, counts, counts, sizes)
    return AssignmentProblem(bounds, Groups(["a", "b"], codes, ("group",)), weights), logs


class TestAssignmentProblem:
    def test_overall_offsets_give_the_sizes_without_groups(self):
        problem, logs = grouped()
        found = problem.solve(logs)
        labels = (logs + problem.overall_offsets(logs, found)).argmax(axis=1)
        assert np.bincount(labels).tolist() == found.counts.sum(axis=0).tolist()
        assert problem.is_plain

    def test_overall_offsets_of_weighted_rows_are_nearly_right(self):
        weights = np.random.default_rng(1).integers(1, 4, 300).astype(float)
        problem, logs = grouped(weights=weights)
        found = problem.solve(logs)
        labels = (logs + problem.overall_offsets(logs, found)).argmax(axis=1)
        off = np.bincount(labels, weights) - found.counts.sum(axis=0)
        assert np.abs(off).max() <= 2 * weights.max()
        assert not problem.is_plain

    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_probabilities_add_up_to_the_totals_in_all_margins(self, is_weighted):
        scores, codes, bounds = large_case(600)
        problem = AssignmentProblem(bounds, Groups(list(range(12)), codes))
        if is_weighted:
            weights = np.random.default_rng(2).integers(1, 4, 300).astype(float)
            problem, scores = grouped(weights=weights)
        counts = problem.solve(scores).counts
        offsets = problem.smooth_offsets(scores, counts)
        share = softmax(scores + offsets[problem.groups.codes], axis=1)
        share *= 1.0 if problem.weights is None else problem.weights[:, None]
        sums = np.zeros(offsets.shape)
        np.add.at(sums, problem.groups.codes, share)
        for margin in problem.bounds.all_margins()[2 * (not is_weighted) :]:
            np.testing.assert_allclose(margin.sums(sums), margin.lower, atol=1e-6)

    def test_a_sample_has_totals_in_proportion(self):
        problem, _ = grouped()
        half = problem.in_sample(np.arange(0, 300, 2))
        assert half.n_rows == 150
        assert (np.abs(half.bounds.lower - problem.bounds.lower / 2) <= 3).all()
        assert problem.in_sample(np.arange(300)) is problem

    def test_a_sample_of_crossing_margins_weighs_what_all_rows_do(self):
        _, codes, bounds = large_case(600)
        problem = AssignmentProblem(bounds, Groups(list(range(12)), codes))
        some = problem.in_sample(np.arange(0, 600, 3))
        own = np.bincount(some.groups.codes, some.weights)
        np.testing.assert_allclose(own, bounds.group_sizes[some.groups.names])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bounds_that_say_nothing_have_no_offsets(n_classes):
    """All rows of the first group are of one class: its bound of so many rows is no total."""
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.ones(n_classes), 40))
    groups = np.repeat([0, 1], [5, 35])
    logs[:5, -1] += 9.0
    sizes, free = np.array([5, 35]), np.zeros((2, n_classes), dtype=np.int64)
    upper = free + sizes[:, None]
    lower = free.copy()
    lower[1, 0] = upper[1, 0] = 20
    everything = free[0], free[0] + 40
    bounds = Bounds(*everything, lower, upper, sizes)
    problem = AssignmentProblem(bounds, Groups([0, 1], groups, ("g",)))
    found = problem.solve(logs)
    assert (found.labels[:5] == n_classes - 1).all()
    np.testing.assert_array_equal(found.offsets[0], np.zeros(n_classes))
    assert np.abs(found.offsets[1]).max() > 0.1
    assert found.gap == 0
    offsets = problem.smooth_offsets(logs, found.counts)
    np.testing.assert_array_equal(offsets[0], np.zeros(n_classes))
    expected = softmax(logs[5:] + offsets[1], axis=1).sum(axis=0)
    np.testing.assert_allclose(expected, found.counts[1], atol=1e-6)
    nothing = Bounds(*everything, free, free + sizes[:, None], sizes)
    alone = AssignmentProblem(nothing, Groups([0, 1], groups, ("g",))).solve(logs)
    np.testing.assert_array_equal(alone.offsets, np.zeros((2, n_classes)))
    np.testing.assert_array_equal(alone.labels, logs.argmax(axis=1))


@pytest.mark.parametrize("seed", range(8))
def test_ranges_change_probabilities_no_more_than_they_must(seed):
    """The conditions of the least divergence: offsets differ only at the end of a range."""
    rng = np.random.default_rng(seed)
    logs = np.log(rng.dirichlet([3, 2, 1], 200))
    groups = rng.integers(0, 3, 200)
    sizes = np.bincount(groups)
    there = np.zeros((3, 3))
    np.add.at(there, groups, np.exp(logs))
    lower = np.floor(there * rng.uniform(0.7, 1.3, (3, 3))).astype(np.int64)
    upper = np.ceil(lower * rng.uniform(1.0, 1.3, (3, 3))).astype(np.int64)
    upper[:, 0] = sizes
    lower[:, 0] = 0
    lower[0, 1], upper[0, 1] = 0, there[0, 1] * 0.8
    lower[2], upper[2] = 0, sizes[2]
    bounds = Bounds(lower.sum(axis=0), upper.sum(axis=0), lower, upper, sizes)
    problem = AssignmentProblem(bounds, Groups([0, 1, 2], groups, ("g",)))
    expected = problem.expected_counts(logs, problem.solve(logs).counts)
    offsets = problem.smooth_offsets(logs, expected)
    sums = np.zeros((3, 3))
    np.add.at(sums, groups, softmax(logs + offsets[groups], axis=1))
    np.testing.assert_allclose(sums, expected, atol=1e-6)
    assert (sums >= lower - 1e-6).all()
    assert (sums <= upper + 1e-6).all()
    np.testing.assert_allclose(offsets[2], 0, atol=1e-5)
    for k in (1, 2):
        beyond = offsets[:2, k] - offsets[:2, 0]
        assert (beyond[sums[:2, k] > lower[:2, k] + 1e-3] <= 1e-5).all()
        assert (beyond[sums[:2, k] < upper[:2, k] - 1e-3] >= -1e-5).all()
    assert np.abs(offsets[:2]).max() > 0.01


def test_expected_counts_of_weighted_rows_and_known_classes():
    rng = np.random.default_rng(0)
    logs, weights = np.log(rng.dirichlet([2, 1, 1], 100)), rng.integers(1, 4, 100).astype(float)
    n = int(weights.sum())
    most = np.array([n, 40, n])
    bounds = Bounds.overall(np.zeros(3, np.int64), most, n)
    problem = AssignmentProblem(bounds, Groups.none(100), weights)
    expected = problem.expected_counts(logs, problem.solve(logs).counts)
    assert expected[0, 1] == pytest.approx(40)
    assert expected.sum() == pytest.approx(n)
    known = np.where(np.arange(100) < 10, 1, -1)
    few = AssignmentProblem(Bounds.overall(most * 0, [100, 20, 100], 100), Groups.none(100))
    few = replace(few, known=known)
    expected = few.expected_counts(logs, few.solve(logs).counts)
    own = np.exp(logs[10:]).sum(axis=0)
    assert expected[0, 1] == pytest.approx(20)
    assert expected[0, 0] > own[0] > 20
