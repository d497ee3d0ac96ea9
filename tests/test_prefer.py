from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.optimize import linprog

import c2rf
from brute import optimum
from c2rf import prefer as module
from c2rf.problem import make_problem
from strategies import cases


def distance(weights):
    return float(np.abs(weights - np.median(weights)).sum())


def least_distance(solution, case):
    """The least L1 distance to a common level for these labels, by an LP of its own.

    The variables are the weights, the shift, the level, and what each weight is above or below.
    """
    rows, _, lower, upper, offset = case
    t = rows.shape[1]
    signed = solution.labels[:, None] * np.hstack([rows, np.ones((len(rows), 1))])
    eye = np.eye(t)
    equal = np.hstack([eye, np.zeros((t, 1)), -np.ones((t, 1)), -eye, eye])
    answer = linprog(
        np.concatenate([np.zeros(t + 2), np.ones(2 * t)]),
        A_ub=np.hstack([-signed, np.zeros((len(rows), 2 * t + 1))]),
        b_ub=-np.ones(len(rows)),
        A_eq=equal,
        b_eq=np.zeros(t),
        bounds=[(lower, upper)] * t + [offset or (0, 0), (None, None)] + [(0, None)] * 2 * t,
    )
    assert answer.status == 0, answer.message
    return answer.fun


@given(cases())
@settings(max_examples=40)
def test_the_closest_weights_with_the_same_labels(case):
    rows, wished, lower, upper, offset = case
    assume(optimum(make_problem(*case)) is not None)
    options = {"offset": offset, "method": "p-c2rf"}
    plain = c2rf.solve(rows, wished, lower, upper, **options)
    near = c2rf.solve(rows, wished, lower, upper, prefer="majority", **options)
    c2rf.verify(rows, wished, near, lower, upper, offset=offset)
    assert (near.eta, near.bound, near.status) == (plain.eta, plain.bound, plain.status)
    np.testing.assert_array_equal(near.labels, plain.labels)
    assert distance(near.weights) <= distance(plain.weights) + 1e-9
    assert near.stats["prefer"]["distance"] == pytest.approx(distance(near.weights))
    assert near.stats["prefer"]["proven"] == "for these labels"
    assert distance(near.weights) == pytest.approx(least_distance(near, case), abs=1e-5)


def test_more_patterns_than_go_into_the_first_lp():
    rng = np.random.default_rng(1)
    votes = rng.choice([-1, 1], size=(3000, 12))
    options = {"method": "p-c2rf", "time_limit": 0}
    plain, near = (c2rf.solve(votes, 9, prefer=p, **options) for p in (None, "majority"))
    np.testing.assert_array_equal(plain.labels, near.labels)
    assert distance(near.weights) <= distance(plain.weights)


def test_a_failing_lp_leaves_the_weights_as_they_are(monkeypatch):
    votes = [[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1]]
    plain = c2rf.solve(votes, 1, method="p-c2rf")
    monkeypatch.setattr(
        module, "linprog", lambda *a, **k: type("Failed", (), {"status": 4, "message": ""})()
    )
    near = c2rf.solve(votes, 1, method="p-c2rf", prefer="majority")
    np.testing.assert_array_equal(near.weights, plain.weights)
    assert near.stats["prefer"]["proven"] == "no"
    assert near.stats["trouble"] == ["no weights closer to the majority vote were found"]
