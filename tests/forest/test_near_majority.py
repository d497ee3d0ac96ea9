from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import c2rf
from brute import optimum, sign_vectors
from c2rf.forest import near_majority as descent
from c2rf.forest import near_majority as lp
from c2rf.forest import near_majority as milp
from c2rf.forest import near_majority as proof
from c2rf.forest import near_majority as whole_changes
from c2rf.forest.backends import installed
from c2rf.forest.backends.base import RawResult
from c2rf.forest.near_majority import Nearest, nearest_to_majority
from c2rf.forest.problem import make_problem
from c2rf.forest.run import Run
from strategies import cases


def distance(weights):
    return float(np.abs(weights - np.median(weights)).sum())


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


def by_enumeration(case):
    """The least distance of all weights with the smallest eta: every sign vector, an LP each."""
    problem = make_problem(*case)
    best = optimum(problem)
    distances = []
    for signs in sign_vectors(problem):
        labels = np.array(signs)
        if abs(problem.counts[labels > 0].sum() - problem.n_positive) == best:
            trees = problem.patterns[:, : case[0].shape[1]]
            distances.append(least_distance((trees, *case[1:]), labels))
    return min(distances)


@given(cases(max_points=7, max_trees=4), st.sampled_from(["auto", "p-c2rf"]))
@settings(max_examples=60, deadline=None)
def test_against_every_sign_vector(case, method):
    rows, wished, lower, upper, offset = case
    assume(optimum(make_problem(*case)) is not None)
    near = c2rf.solve(*case[:4], offset=offset, method=method, prefer="majority")
    c2rf.verify(rows, wished, near, lower, upper, offset=offset)
    assert near.eta == optimum(make_problem(*case))
    true = by_enumeration(case)
    said = near.stats["prefer"]
    assert said["distance"] == pytest.approx(distance(near.weights), abs=1e-9)
    assert said["distance"] >= true - 1e-5
    assert said["bound"] <= true + 1e-4
    assert said["proven"] == "yes"
    assert said["distance"] == pytest.approx(true, abs=1e-4)


def voters(n_points=60, n_trees=7, seed=1):
    """Votes of trees that agree more often than not."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], size=n_points)
    agree = rng.uniform(size=(n_points, n_trees)) < 0.7
    return np.where(agree, truth[:, None], -truth[:, None])


def test_a_cut_off_of_the_plain_vote_needs_no_change():
    votes = voters()
    surplus = votes.sum(axis=1)
    for least in np.unique(surplus):
        wished = int((surplus >= least).sum())
        near = c2rf.solve(votes, wished, offset=(-700, 700), prefer="majority")
        assert near.stats["prefer"] == {"distance": 0.0, "bound": 0.0, "proven": "yes"}
        np.testing.assert_array_equal(near.labels > 0, surplus >= least)


def test_a_tie_is_told_apart_by_a_change_of_one():
    # One pattern of two with equally many votes: one tree has to count one more or one less.
    votes = [[1, 1, -1], [1, -1, 1], [1, 1, 1], [-1, -1, -1]]
    near = c2rf.solve(votes, 2, offset=(-300, 300), prefer="majority")
    said = near.stats["prefer"]
    assert (said["distance"], said["proven"]) == (1.0, "yes")
    assert said["bound"] == pytest.approx(1, abs=1e-8)
    assert said["bound"] < 1  # margins may be a little below one
    assert near.eta == 0


@pytest.mark.parametrize("wished", [9, 17, 30, 44])
def test_turned_votes_are_as_close(wished):
    """All votes turned round, and the rest of the points wished for: the same distance."""
    votes = voters()
    near = c2rf.solve(votes, wished, offset=(-700, 700), prefer="majority")
    turned = c2rf.solve(-votes, 60 - wished, offset=(-700, 700), prefer="majority")
    assert near.stats["prefer"]["proven"] == turned.stats["prefer"]["proven"] == "yes"
    assert near.stats["prefer"]["distance"] == pytest.approx(turned.stats["prefer"]["distance"])


@pytest.mark.parametrize("offset", [None, (-3, 3)])
def test_every_solver_proves_the_same(offset):
    votes = voters(30, 5)
    said = [
        c2rf.solve(votes, 7, offset=offset, prefer="majority", backend=backend).stats["prefer"]
        for backend in installed()
    ]
    assert {one["proven"] for one in said} == {"yes"}
    assert {round(one["distance"], 4) for one in said} == {round(said[0]["distance"], 4)}


def test_the_same_seed_gives_the_same_weights():
    votes = voters(80, 9)
    one, other = (c2rf.solve(votes, 37, prefer="majority", random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.stats["prefer"] == other.stats["prefer"]


def test_many_patterns(monkeypatch):
    monkeypatch.setattr(milp, "_WORK", 1)
    rng = np.random.default_rng(1)
    votes = rng.choice([-1, 1], size=(2000, 12))
    near = c2rf.solve(votes, 700, prefer="majority", offset=(-1200, 1200))
    assert distance(near.weights) <= 3


def test_no_time_leaves_the_weights_as_they_are():
    votes = voters()
    plain, near = (
        c2rf.solve(votes, 17, prefer=p, method="p-c2rf", time_limit=0) for p in (None, "majority")
    )
    np.testing.assert_array_equal(near.weights, plain.weights)
    assert near.stats["prefer"]["distance"] == distance(plain.weights)


def test_a_failing_lp_leaves_the_weights_as_they_are(monkeypatch):
    votes = [[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1]]
    plain = c2rf.solve(votes, 1, method="p-c2rf")
    failed = type("Failed", (), {"status": 4, "message": ""})()
    monkeypatch.setattr(lp, "linprog", lambda *a, **k: failed)
    monkeypatch.setattr(milp, "_WORK", 1)
    monkeypatch.setattr(descent, "_WALK", 10**6)
    near = c2rf.solve(votes, 1, method="p-c2rf", prefer="majority")
    np.testing.assert_array_equal(near.weights, plain.weights)
    assert near.stats["prefer"]["proven"] == "no"
    assert "no weights closer to the majority vote were found" in near.stats["trouble"]


def nearest_by_hand(wished=6):
    """Weights that are not the closest, with no means tried yet."""
    votes = voters()
    problem = make_problem(votes, wished, offset=(-700, 700))
    found = c2rf.solve(votes, wished, offset=(-700, 700))
    return Nearest(Run(problem), problem, 7, np.append(found.weights, found.offset))


def test_the_exact_model_alone_finds_and_proves_it():
    true = c2rf.solve(voters(), 6, offset=(-700, 700), prefer="majority").stats["prefer"]
    nearest = nearest_by_hand()
    nearest.try_signs(nearest.signs)
    said = milp.search(nearest)
    assert said == pytest.approx(true["distance"], abs=1e-4)
    assert nearest.distance == pytest.approx(true["distance"], abs=1e-4)
    assert not nearest.proven  # that was the solver's word


def test_the_tree_of_cases_alone_finds_and_proves_it():
    true = c2rf.solve(voters(), 6, offset=(-700, 700), prefer="majority").stats["prefer"]
    nearest = nearest_by_hand()
    nearest.try_signs(nearest.signs)
    proof.prove(nearest)
    assert nearest.proven
    assert nearest.distance == pytest.approx(true["distance"], abs=1e-4)


def test_a_solver_that_lies_about_closer_weights_proves_nothing(monkeypatch):
    """It says that nothing is closer than weights that are far off: the proof finds closer ones."""
    nearest = nearest_by_hand()
    far = nearest.distance
    monkeypatch.setattr(
        nearest.run, "solve_raw", lambda *a, **k: RawResult("infeasible", None, -np.inf, 0, 0.0)
    )
    assert milp.search(nearest) == pytest.approx(far, rel=1e-4)
    monkeypatch.setattr(nearest, "try_signs", lambda signs: False)
    proof.prove(nearest)
    assert not nearest.proven
    assert nearest.distance == far


@pytest.mark.parametrize("size", [1, 10**9, 2**50])
def test_large_counts_are_told_apart_exactly(size):
    """Counts beyond what floats count: one row more or less makes a cut-off miss the total."""
    votes = np.array([[1, 1, -1], [1, -1, 1], [1, 1, 1], [-1, -1, -1]])
    table = c2rf.PatternTable.from_votes(votes)
    table = c2rf.PatternTable(table.words, np.array([1, size, size, size]), 3)
    wished = int(table.counts[(table.patterns.sum(axis=1) > 1)].sum()) + size
    near = c2rf.solve(table, wished, offset=(-300, 300), prefer="majority")
    assert near.eta == 0
    assert near.stats["prefer"]["proven"] == "yes"
    assert near.stats["prefer"]["distance"] == pytest.approx(1)


@pytest.mark.parametrize("status", ["failed", "limit"])
def test_a_solver_that_fails_proves_nothing(monkeypatch, status):
    nearest = nearest_by_hand()
    monkeypatch.setattr(
        nearest.run, "solve_raw", lambda *a, **k: RawResult(status, None, -np.inf, 0, 0.0)
    )
    before = nearest.bound
    milp.search(nearest)
    assert nearest.bound == before
    assert not nearest.proven


def test_a_refusing_solver_is_trouble(monkeypatch):
    nearest = nearest_by_hand()

    def refuse(*args, **kwargs):
        raise c2rf.BackendError("too large")

    monkeypatch.setattr(nearest.run, "solve_raw", refuse)
    milp.search(nearest)
    assert not nearest.proven
    assert nearest.run.stats["trouble"] == ["too large"]


def test_an_interrupt_keeps_what_is_known(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    nearest = nearest_by_hand()
    monkeypatch.setattr("c2rf.forest.near_majority.small_changes", interrupt)
    weights = nearest_to_majority(nearest.run, nearest.problem, 7, nearest.weights)
    assert nearest.run.interrupted
    assert nearest.problem.eta(weights) == nearest.eta


def test_a_sample_of_changes_is_taken_where_there_are_many(monkeypatch):
    monkeypatch.setattr(whole_changes, "_WORK", 1000)
    votes = voters()
    near = c2rf.solve(votes, 17, offset=(-700, 700), prefer="majority")
    c2rf.verify(votes, 17, near, offset=(-700, 700))
    assert near.eta == 0


# What one and two patterns can be, with a shift: counted by trees, against an LP


@st.composite
def shifted(draw):
    """Two different patterns, a box of all trees, a range of the shift."""
    t = draw(st.integers(1, 5))
    rows = draw(st.lists(st.sampled_from([-1, 1]), min_size=2 * t, max_size=2 * t))
    lower, upper = draw(st.sampled_from([(1, 100), (1, 2), (0.5, 3), (1, 1), (0.3, 0.9)]))
    lo, hi = sorted(draw(st.tuples(*[st.sampled_from([-7, -2.5, -1, -0.4, 0, 0.6, 1, 3])] * 2)))
    return np.array(rows).reshape(2, t), lower, upper, lo, hi


def possible(rows, lower, upper, lo, hi):
    """Whether some weights and some shift give all rows a score of at least one, by an LP."""
    t = rows.shape[1] - 1
    answer = linprog(
        np.zeros(t + 1),
        A_ub=-rows,
        b_ub=-np.ones(len(rows)),
        bounds=[(lower, upper)] * t + [(lo, hi)],
    )
    return answer.status == 0


def with_shift(rows, signs):
    """Rows of literals over the trees and the shift."""
    return np.array(signs)[:, None] * np.hstack([rows, np.ones((len(rows), 1))])


@given(shifted())
@settings(max_examples=200, deadline=None)
def test_conditions_on_one_pattern_shift_with_an_offset(case):
    rows, lower, upper, lo, hi = case
    for row in rows:
        p, n = (row > 0).sum(), (row < 0).sum()
        box = (lower, upper, lo, hi)
        assert possible_(row, 1, box) == (upper * p - lower * n + hi >= 1 - 1e-9)
        assert possible_(row, -1, box) == (lower * p - upper * n + lo <= -1 + 1e-9)


def possible_(row, sign, box):
    return possible(with_shift(row[None], [sign]), *box)


@given(shifted())
@settings(max_examples=200, deadline=None)
def test_conditions_on_two_patterns_shift_with_an_offset(case):
    """Excluded alone or as a pair, if and only if the LP says so."""
    (i, k), lower, upper, lo, hi = case
    box = (lower, upper, lo, hi)
    p, n = ((i > 0) & (k > 0)).sum(), ((i < 0) & (k < 0)).sum()
    a, b = ((k > 0) & (i < 0)).sum(), ((k < 0) & (i > 0)).sum()
    pair = {
        (-1, -1): lower * p - upper * n + lo > -1 + 1e-9,  # conflict
        (1, 1): lower * n - upper * p - hi > -1 + 1e-9,  # its mirror
        (-1, 1): upper * a - lower * b < 1 - 1e-9,  # dominance: the shift cancels
        (1, -1): upper * b - lower * a < 1 - 1e-9,
    }
    for signs, excluded in pair.items():
        alone = possible_(i, signs[0], box) and possible_(k, signs[1], box)
        assert possible(with_shift(np.array([i, k]), signs), *box) == (alone and not excluded)
