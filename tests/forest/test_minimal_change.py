from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import c2rf
from brute import optimum
from c2rf.forest import minimal_change
from c2rf.forest.incumbent import with_margins
from c2rf.forest.minimal_change import (
    closest_to_equal,
    distance_from_equal,
    start_near_majority,
)
from c2rf.forest.problem import make_problem
from strategies import cases


def least_distance(case, labels):
    """The least L1 distance to a common level for these labels, by an LP of its own.

    The variables are the weights, the shift, the level, and what each weight is above or below.
    """
    rows, _, lower, upper, offset = case
    t = rows.shape[1]
    signed = labels[:, None] * np.hstack([rows, np.ones((len(rows), 1))])
    eye = np.eye(t)
    equal = np.hstack([eye, np.zeros((t, 1)), -np.ones((t, 1)), -eye, eye])
    answer = linprog(
        np.concatenate([np.zeros(t + 2), np.ones(2 * t)]),
        A_ub=np.hstack([-signed, np.zeros((len(rows), 2 * t + 1))]),
        b_ub=-np.ones(len(rows)) + 1e-9,
        A_eq=equal,
        b_eq=np.zeros(t),
        bounds=[(lower, upper)] * t + [offset or (0, 0), (None, None)] + [(0, None)] * 2 * t,
    )
    assert answer.status == 0, answer.message
    return answer.fun


@given(cases(max_points=7, max_trees=5), st.sampled_from(["auto", "p-c2rf"]))
@settings(max_examples=60, deadline=None)
def test_same_labels_and_the_least_distance_for_them(case, method):
    rows, target, lower, upper, offset = case
    assume(optimum(make_problem(*case)) is not None)
    how = {"offset": offset, "method": method}
    plain = c2rf.solve(*case[:4], **how)
    near = c2rf.solve(*case[:4], **how, prefer="majority")
    c2rf.verify(rows, target, near, lower, upper, offset=offset)
    np.testing.assert_array_equal(near.labels, plain.labels)
    distance = distance_from_equal(near.weights)
    assert near.stats["distance_from_equal"] == distance
    assert distance == pytest.approx(least_distance(case, plain.labels), abs=1e-5)


def test_a_grid_of_weights_has_none_that_are_closer():
    votes = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]])
    levels = np.arange(1, 9)
    grid = np.array(np.meshgrid(levels, levels, levels)).reshape(3, -1).T
    scores = grid @ votes.T
    for weights in ([8.0, 2.0, 1.0], [2.0, 8.0, 1.0], [4.0, 2.0, 8.0]):
        problem = make_problem(votes, 2, 1, 8)
        found = closest_to_equal(problem, 3, np.array(weights))
        same = ((scores * np.sign(votes @ weights)) >= 1).all(axis=1)
        best = min(distance_from_equal(row) for row in grid[same])
        assert distance_from_equal(found) <= best + 1e-9
        np.testing.assert_array_equal(np.sign(votes @ found), np.sign(votes @ weights))


def voters(n_points=60, n_trees=7, seed=1):
    """Votes of trees that agree more often than not."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], size=n_points)
    agree = rng.uniform(size=(n_points, n_trees)) < 0.7
    return np.where(agree, truth[:, None], -truth[:, None])


def test_labels_of_a_cut_off_need_no_change():
    votes = voters()
    surplus = votes.sum(axis=1)
    problem = make_problem(votes, 1, offset=(-700, 700))
    for least in np.unique(surplus)[1:]:
        uneven = np.append(100.0 + 1e-3 * np.arange(7), -100.0 * (least - 1))
        found = closest_to_equal(problem, 7, uneven)
        assert distance_from_equal(found[:7]) == 0
        positive = problem.patterns @ found > 0
        np.testing.assert_array_equal(positive, problem.patterns[:, :7].sum(axis=1) >= least)


@pytest.mark.parametrize("target", [0, 7, 19, 30, 44, 60])
def test_the_search_starts_near_the_majority_vote(target):
    votes = voters()
    problem = make_problem(votes, target, offset=(-700, 700))
    start = start_near_majority(problem, 7, seed=0)
    feasible = with_margins(problem, start, scale=False)
    assert feasible is not None
    assert problem.eta(feasible) == 0
    # Positive rows have at least as many votes as negative ones.
    positive = problem.patterns @ feasible > 0
    surplus = problem.patterns[:, :7].sum(axis=1)
    if 0 < positive.sum() < len(positive):
        assert surplus[positive].min() >= surplus[~positive].max()
    assert distance_from_equal(feasible[:7]) <= 6


def test_without_a_shift_there_is_no_such_start():
    assert start_near_majority(make_problem(voters(), 7), 7, seed=0) is None


def test_a_tie_is_told_apart_by_a_change_of_one():
    # Two patterns with equally many votes: one tree has to count one more or one less.
    votes = [[1, 1, -1], [1, -1, 1], [1, 1, 1], [-1, -1, -1]]
    near = c2rf.solve(votes, 2, offset=(-300, 300), prefer="majority")
    assert (near.eta, near.stats["distance_from_equal"]) == (0, 1.0)


def test_the_same_seed_gives_the_same_weights():
    votes = voters(80, 9)
    one, other = (c2rf.solve(votes, 37, prefer="majority", random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.weights, other.weights)


def test_no_time_leaves_the_weights_as_they_are():
    votes = voters()
    plain, near = (
        c2rf.solve(votes, 17, prefer=p, method="p-c2rf", time_limit=0) for p in (None, "majority")
    )
    np.testing.assert_array_equal(near.weights, plain.weights)
    assert near.stats["distance_from_equal"] == distance_from_equal(plain.weights)


class Answer:
    """What a linear program answers."""

    def __init__(self, status, x=None):
        self.status, self.x = status, x


@pytest.mark.parametrize(
    "answer",
    [
        Answer(4),
        Answer(0, np.full(7, 2.0)),  # equal weights: other labels
        Answer(0, np.array([1.0, 2.0, 1.0, 0, 0, 0, 0])),  # a margin of zero
        Answer(0, np.full(7, np.nan)),
    ],
    ids=["failed", "other labels", "no margin", "no numbers"],
)
def test_weights_that_do_not_verify_are_not_taken(monkeypatch, answer):
    votes = [[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1]]
    plain = c2rf.solve(votes, 1)
    monkeypatch.setattr(minimal_change, "linprog", lambda *a, **k: answer)
    near = c2rf.solve(votes, 1, prefer="majority")
    np.testing.assert_array_equal(near.weights, plain.weights)


def test_ctrl_c_keeps_the_weights_found(monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(minimal_change, "linprog", interrupt)
    votes = voters()
    near = c2rf.solve(votes, 17, prefer="majority")
    c2rf.verify(votes, 17, near)
    assert near.stats["interrupted"]


@pytest.mark.parametrize(
    ("votes", "upper", "wide"), [([[1, -1, -1, -1]], 1, 1e9), ([[1]], 1e7, 1e8)]
)
def test_equal_weights_and_a_wide_shift_lose_no_margin_by_rounding(votes, upper, wide):
    box = {"lower": 1, "upper": upper, "offset": (-wide, wide)}
    solution = c2rf.solve(votes, 0, **box, prefer="majority")
    c2rf.verify(votes, 0, solution, **box)
    assert solution.eta == 0
