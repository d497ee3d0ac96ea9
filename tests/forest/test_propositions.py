from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brute import optimum
from c2rf.forest.paper import fix_points, merge_trees, reduce, split_points
from c2rf.forest.problem import Problem, make_problem
from strategies import cases, problems, weights_of

enumerated = settings(max_examples=40)


def without(problem, keep, n_positive):
    return Problem(
        problem.patterns[keep], problem.counts[keep], n_positive, problem.lower, problem.upper
    )


@given(cases(max_points=7, max_trees=4))
@enumerated
def test_equal_points_count_as_one_pattern(case):
    """Prop. 3."""
    problem = make_problem(*case)
    points = split_points(problem).problem
    assert points.n_patterns == len(case[0])
    assert sorted(map(tuple, points.patterns[:, : case[0].shape[1]])) == sorted(map(tuple, case[0]))
    assert optimum(points) == optimum(problem)


@given(problems())
@enumerated
def test_equal_trees_count_as_one_column(problem):
    """Prop. 4, with boxes that may differ from column to column."""
    small, group = merge_trees(problem)
    assert len(np.unique(small.patterns, axis=1).T) == small.n_columns
    np.testing.assert_array_equal(small.patterns[:, group], problem.patterns)
    np.testing.assert_allclose(small.lower.sum(), problem.lower.sum())
    np.testing.assert_allclose(small.upper.sum(), problem.upper.sum())
    assert optimum(small) == optimum(problem)


@given(problems(max_trees=4))
def test_fixed_points_have_their_sign_at_every_corner(problem):
    """Prop. 5: exactly the patterns whose margin is met with one sign by all weights."""
    corners = np.array(list(product(*zip(problem.lower, problem.upper, strict=True))))
    values = problem.patterns @ corners.T
    always = np.where((values >= 1).all(axis=1), 1, np.where((values <= -1).all(axis=1), -1, 0))
    close = np.isclose(np.abs(values).min(axis=1), 1)
    np.testing.assert_array_equal(fix_points(problem)[~close], always[~close])


@given(problems())
@enumerated
def test_fixed_points_can_be_left_out(problem):
    """Prop. 5: the wished number falls by the fixed positives, nothing else changes."""
    fixed = fix_points(problem)
    beta = int(problem.counts[fixed > 0].sum())
    rest = without(problem, fixed == 0, problem.n_positive - beta)
    assert optimum(rest) == optimum(problem)


@given(problems())
@settings(max_examples=80)
def test_the_whole_reduction_keeps_the_optimum(problem):
    reduction = reduce(problem)
    small = optimum(reduction.problem)
    assert (small if small is None else small + reduction.eta_shift) == optimum(problem)


UNANIMOUS = [[1, 1, 1]] * 4 + [[-1, -1, -1]] * 3


@pytest.mark.parametrize("wished", range(10))
def test_totals_below_and_above_what_is_attainable(wished):
    # 4 points are positive and 3 negative whatever the weights; 1 or 2 of the others can be.
    votes = [*UNANIMOUS, [1, -1, -1], [-1, 1, 1], [-1, 1, 1]]
    problem = make_problem(votes, wished)
    reduction = reduce(problem)
    attainable = [4 + 1, 4 + 2]
    expected = min(abs(wished - total) for total in attainable)
    assert (reduction.problem.n_positive >= 0, reduction.eta_shift) == (True, max(0, 4 - wished))
    assert len(reduction.kept) == 2
    assert optimum(reduction.problem) + reduction.eta_shift == optimum(problem) == expected


def test_trees_that_differ_on_fixed_patterns_only_are_merged():
    # In [1, 1.1] four votes against one fix the pattern that tells the last two trees apart.
    votes = [[1, 1, 1, 1, -1], [1, -1, 1, -1, -1], [-1, 1, 1, -1, -1]]
    problem = make_problem(votes, 1, 1.0, 1.1)
    assert merge_trees(problem)[0].n_columns == 5
    reduction = reduce(problem)
    assert reduction.group.tolist() == [0, 1, 2, 3, 3]
    assert reduction.problem.upper.tolist() == pytest.approx([1.1, 1.1, 1.1, 2.2])
    assert optimum(reduction.problem) + reduction.eta_shift == optimum(problem)


def test_the_shift_merges_with_a_unanimous_tree():
    problem = make_problem([[1, 1], [1, -1]], 1, 1.0, 2.0, offset=(-5.0, 3.0))
    small, group = merge_trees(problem)
    assert group.tolist() == [0, 1, 0]
    assert (small.lower.tolist(), small.upper.tolist()) == ([-4.0, 1.0], [5.0, 2.0])


def test_nothing_is_left_when_all_is_fixed():
    reduction = reduce(make_problem(UNANIMOUS, 2, offset=(0.0, 1.0)))
    assert reduction.problem.n_patterns == 0
    assert reduction.eta_shift == 2
    lifted = reduction.lift(reduction.problem.lower)
    assert lifted.tolist() == [1.0, 1.0, 1.0, 0.0]


@given(st.data(), problems(max_points=10))
def test_lifted_weights_stay_in_the_box_and_keep_the_scores(data, problem):
    reduction = reduce(problem)
    weights = data.draw(weights_of(reduction.problem))
    lifted = reduction.lift(weights)
    assert (lifted >= problem.lower).all()
    assert (lifted <= problem.upper).all()
    expected = reduction.problem.patterns @ weights
    kept = reduction.kept
    np.testing.assert_allclose((problem.patterns @ lifted)[kept], expected, atol=1e-9)
    fixed = fix_points(problem)
    signs = np.sign(problem.patterns @ lifted)
    np.testing.assert_array_equal(np.delete(signs, kept), np.delete(fixed, kept))
    sums = np.bincount(reduction.group, weights=lifted, minlength=len(weights))
    np.testing.assert_allclose(sums, weights, atol=1e-9)


@given(st.data(), problems(max_points=10))
def test_summed_weights_are_worth_the_same(data, problem):
    reduction = reduce(problem)
    weights = data.draw(weights_of(problem))
    small = np.bincount(reduction.group, weights=weights)
    assert (small >= reduction.problem.lower - 1e-9).all()
    assert (small <= reduction.problem.upper + 1e-9).all()
    kept = problem.patterns[reduction.kept] @ weights
    np.testing.assert_allclose(reduction.problem.patterns @ small, kept, atol=1e-9)


@given(
    arrays(np.int8, (6, 4), elements=st.sampled_from([-1, 1])),
    st.integers(0, 6),
    st.sampled_from([(1, 100), (0.5, 0.75), (1, 1.25)]),
)
def test_negated_votes_are_reduced_alike(rows, wished, box):
    one, other = make_problem(rows, wished, *box), make_problem(-rows, 6 - wished, *box)
    assert sorted(fix_points(one)) == sorted(-fix_points(other))
    assert reduce(one).problem.n_columns == reduce(other).problem.n_columns


def test_spreading_keeps_columns_and_weights():
    reduction = split_points(make_problem([[1, 1], [1, 1], [1, -1]], 1))
    weights = np.array([3.0, 1.0])
    assert reduction.lift(weights).tolist() == [3.0, 1.0]
    assert (reduction.eta_shift, sorted(set(reduction.kept.tolist()))) == (0, [0, 1])
