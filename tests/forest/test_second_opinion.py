from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import c2rf
from c2rf.forest.backends import installed
from c2rf.forest.backends.base import RawResult

VOTES = np.array([[1, 1, -1], [1, 1, -1], [-1, 1, 1], [-1, -1, 1]])


def forest(seed, n=60, t=9):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, t)) < rng.uniform(0.4, 0.95, t), 1, -1)


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize("pairs", [True, False])
def test_a_true_bound_is_confirmed(backend, pairs):
    votes = forest(1)
    solution = c2rf.solve(votes, 3)
    assert solution.bound > 0
    opinion = c2rf.second_opinion(votes, 3, solution, backend=backend, pairs=pairs)
    assert (opinion.confirmed, opinion.bound, opinion.backend) == (True, solution.bound, backend)


@pytest.mark.parametrize("backend", installed())
def test_a_false_bound_is_refuted_with_weights(backend):
    votes = forest(2)
    solution = c2rf.solve(votes, 30)
    worse = c2rf.solve(votes, 30, time_limit=0)
    assert solution.eta < worse.eta
    claim = replace(worse, bound=worse.eta, status="optimal")
    with pytest.raises(c2rf.VerificationError, match=r"the bound .* is wrong"):
        c2rf.second_opinion(votes, 30, claim, backend=backend)


def test_nothing_to_confirm_in_a_bound_of_zero():
    solution = c2rf.solve(VOTES, 2)
    opinion = c2rf.second_opinion(VOTES, 2, solution, backend="highs")
    assert (opinion.confirmed, opinion.bound, opinion.nodes) == (True, 0, 0)


def test_fixed_patterns_alone():
    votes = np.array([[1, 1, 1]] * 3 + [[-1, -1, -1]])
    solution = c2rf.solve(votes, 1)
    assert (solution.eta, solution.bound) == (2, 2)
    assert c2rf.second_opinion(votes, 1, solution, backend="highs").confirmed


def test_an_offset_counts():
    solution = c2rf.solve(VOTES, 0, offset=(-1.0, 1.0))
    opinion = c2rf.second_opinion(VOTES, 0, solution, offset=(-1.0, 1.0), backend="highs")
    assert opinion.confirmed


def test_other_claims_are_checked_first():
    solution = c2rf.solve(VOTES, 2)
    with pytest.raises(c2rf.VerificationError, match="eta"):
        c2rf.second_opinion(VOTES, 2, replace(solution, eta=3, bound=3), backend="highs")


def test_too_little_time_confirms_nothing(monkeypatch):
    late = RawResult("limit", None, 0.0, nodes=7, seconds=0.0)
    monkeypatch.setattr("c2rf.forest.second_opinion.run", lambda *_: late)
    votes = forest(1)
    opinion = c2rf.second_opinion(votes, 3, c2rf.solve(votes, 3), backend="highs")
    assert (opinion.confirmed, opinion.nodes) == (False, 7)
