"""Very small, very large and very narrow boxes, and counts at the limit of floats.

There is an answer that verify accepts, with the bound that is true, or a clear refusal.
"""

from __future__ import annotations

import numpy as np
import pytest

import c2rf
from brute import optimum
from c2rf.forest.problem import make_problem

BOXES = [
    (1e-9, 1),
    (1e9 - 1, 1e9),
    (1e-9, 1e9),
    (1e9, 1e9 + 1e-6),
    (1e-3, 1e-3),
    (0.5, 0.5 + 2**-53),
]
REFUSALS = (c2rf.NoSolutionError, c2rf.BackendError)


def some_votes(seed):
    rng = np.random.default_rng(seed)
    n, t = int(rng.integers(2, 12)), int(rng.integers(1, 6))
    return rng.choice([-1, 1], (n, t)), int(rng.integers(0, n + 1))


@pytest.mark.parametrize("method", ["auto", "p-c2rf"])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("seed", range(3))
def test_extreme_boxes_have_an_answer_or_a_refusal(box, seed, method):
    votes, target = some_votes(seed)
    best = optimum(make_problem(votes, target, *box))
    try:
        found = c2rf.solve(votes, target, *box, method=method, certificate=True, time_limit=20)
    except c2rf.InfeasibleError:
        found = None
    except REFUSALS:
        return
    if found is None:
        assert best is None
    else:
        c2rf.verify(votes, target, found, *box)
        assert found.bound <= best <= found.eta


@pytest.mark.parametrize("size", [2**50, 2**55])
@pytest.mark.parametrize("seed", range(5))
def test_counts_near_the_limit_of_floats(seed, size):
    rng = np.random.default_rng(seed)
    votes, _ = some_votes(seed)
    small = c2rf.PatternTable.from_votes(votes)
    counts = size + rng.integers(-3, 4, small.n_patterns)
    table = c2rf.PatternTable(small.words, counts, small.n_trees)
    total = int(rng.integers(0, counts.sum()))
    found = c2rf.solve(table, total, certificate=True, time_limit=20)
    c2rf.verify(table, total, found)
    assert found.bound == found.eta == optimum(make_problem(table, total))
