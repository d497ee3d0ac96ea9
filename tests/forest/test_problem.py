from __future__ import annotations

import decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given

import c2rf
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.problem import Problem, check_offset, check_total, make_problem, scores
from c2rf.forest.votes import PatternTable
from strategies import problems

VOTES = [[1, 1, -1], [1, -1, -1], [1, 1, -1], [-1, -1, 1]]


@given(problems(max_trees=4))
def test_least_and_most_are_the_extremes_over_all_corners(problem):
    corners = np.array(list(product(*zip(problem.lower, problem.upper, strict=True))))
    values = problem.patterns @ corners.T
    np.testing.assert_allclose(problem.least(), values.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(problem.most(), values.max(axis=1), atol=1e-9)


def test_least_is_right_for_boxes_of_very_different_ends():
    problem = make_problem([[1, 1, 1], [-1, -1, -1]], 1, lower=0.25, upper=1e16)
    assert problem.most()[0] == -0.75
    assert problem.least()[1] == 0.75


def test_counting_recounts_points_not_patterns():
    problem = make_problem(VOTES, 3)
    weights = np.array([1.0, 5.0, 2.0])
    assert problem.count(weights) == 2  # the two points of + + -
    assert problem.eta(weights) == 1
    assert (problem.n_patterns, problem.n_columns, problem.n_points) == (3, 3, 4)


def test_scores_in_chunks_are_the_product():
    rng = np.random.default_rng(0)
    patterns = rng.choice(np.array([-1, 1], dtype=np.int8), size=(50, 6))
    weights = rng.uniform(size=6)
    np.testing.assert_allclose(scores(patterns, weights, chunk=7), patterns @ weights)
    assert scores(patterns[:0], weights).shape == (0,)


def test_the_shift_is_a_last_column_of_ones():
    problem = make_problem(VOTES, 1, 2, 5, offset=(-3, 4))
    assert (problem.patterns[:, -1] == 1).all()
    assert problem.lower.tolist() == [2, 2, 2, -3]
    assert problem.upper.tolist() == [5, 5, 5, 4]


def test_a_table_gives_the_problem_of_its_votes():
    one, other = make_problem(VOTES, 0.5), make_problem(PatternTable.from_votes(VOTES), 2)
    np.testing.assert_array_equal(one.patterns, other.patterns)
    assert one.n_positive == other.n_positive == 2


@pytest.mark.parametrize(
    ("given_", "count"),
    [
        *[(0, 0), (1, 1), (10, 10), (np.int8(3), 3), (np.uint64(3), 3)],
        *[(0.0, 0), (1.0, 10), (0.26, 3), (np.float32(0.5), 5), (Fraction(1, 2), 5)],
    ],
)
def test_integers_are_counts_and_floats_are_rates(given_, count):
    assert check_total(given_, 10) == count
    assert type(check_total(given_, 10)) is int


@pytest.mark.parametrize("n", [3, 5, 7, 9])
@pytest.mark.parametrize("rate", [0.0, 0.3, 0.5, 0.75, 1.0])
def test_a_rate_is_the_count_that_assign_makes_of_it(n, rate):
    labels = c2rf.assign(np.full((n, 2), 0.5), {"b": rate}, classes=["a", "b"]).labels
    assert check_total(rate, n) == (labels == "b").sum()


@pytest.mark.parametrize("bad", [-1, 11, np.int64(-1), 1.5, -0.1, 2.0, float("nan"), float("inf")])
def test_totals_out_of_range_name_the_range_and_the_value(bad):
    with pytest.raises(InputError, match=r"from 0 to 4,.* \[0, 1\]; found") as caught:
        c2rf.solve(VOTES, bad)
    assert str(bad) in str(caught.value)


@pytest.mark.parametrize("bad", [True, np.True_, "2", None, 1j, [2], decimal.Decimal("0.5")])
def test_totals_of_other_types(bad):
    with pytest.raises(InputTypeError, match="from 0 to 4") as caught:
        c2rf.solve(VOTES, bad)
    assert type(bad).__name__ in str(caught.value)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0, 1), (-1, 1), (2, 1), (1, np.inf), (np.nan, 1), (1, np.nan), (-np.inf, 1)],
)
def test_boxes_that_are_none(lower, upper):
    with pytest.raises(InputError, match=r"0 < lower <= upper < 1e\+100; found"):
        c2rf.solve(VOTES, 1, lower, upper)


@pytest.mark.parametrize(("lower", "upper"), [("1", 2), (1, None), (True, 2), (1, [2]), (1j, 2)])
def test_boxes_of_other_types(lower, upper):
    with pytest.raises(InputTypeError, match=r"(lower|upper) must be a number; found"):
        c2rf.solve(VOTES, 1, lower, upper)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (np.int64(1), np.int64(3)),
        (np.float32(0.1), np.float32(2)),
        (Fraction(1, 3), Fraction(7, 2)),
    ],
)
def test_boxes_of_any_number_type(lower, upper):
    solution = c2rf.solve(VOTES, 1, lower, upper)
    c2rf.verify(VOTES, 1, solution, lower, upper)
    assert solution.eta == c2rf.solve(VOTES, 1, float(lower), float(upper)).eta


def test_a_table_without_rows_is_refused():
    table = c2rf.PatternTable.from_votes(VOTES)
    with pytest.raises(InputError, match="at least one row"):
        c2rf.solve(c2rf.PatternTable(table.words[:0], table.counts[:0], table.n_trees), 0)


@pytest.mark.parametrize("bad", [(1, 0), (np.nan, 1), (0, np.inf), (-np.inf, 0)])
def test_offsets_that_are_no_range(bad):
    with pytest.raises(InputError, match="finite with lo <= hi; found"):
        c2rf.solve(VOTES, 1, offset=bad)


@pytest.mark.parametrize("bad", [1, (1,), (1, 2, 3), ("a", "b"), "ab", (None, 1)])
def test_offsets_of_other_types(bad):
    with pytest.raises(InputTypeError, match="pair"):
        check_offset(bad)


def test_offsets_may_be_arrays_and_lists():
    for pair in ([-1, 1], np.array([-1.0, 1.0])):
        solution = c2rf.solve(VOTES, 1, offset=pair)
        c2rf.verify(VOTES, 1, solution, offset=pair)


def test_reduced_problems_may_wish_for_more_than_there_is():
    problem = Problem(np.ones((1, 1), np.int8), np.array([2]), 5, np.ones(1), np.ones(1))
    assert problem.eta(np.ones(1)) == 3


def test_a_solution_is_shown_in_one_line():
    shown = repr(c2rf.solve(VOTES, 1))
    assert shown.startswith("Solution(eta=0, bound=0, status='optimal', n_trees=3, runtime=")
    assert "\n" not in shown
