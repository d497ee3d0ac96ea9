"""Smoothing and descents in large forests: planted weights at the ends of the box are found."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import c2rf
from c2rf.forest.problem import make_problem
from c2rf.forest.search import smoothing
from c2rf.forest.search.lattice import OddLattice
from c2rf.forest.search.searcher import Searcher
from c2rf.forest.search.smoothing import LargeForestSearch
from c2rf.forest.solve import _bound_stalls


def planted(seed, n_trees=60, n_points=400, n_heavy=3):
    """Votes of trees that mostly say yes, and the count by which a few of them decide."""
    rng = np.random.default_rng(seed)
    lean = rng.uniform(0.55, 0.8, n_trees)
    lean[:n_heavy] = 0.25
    votes = np.where(rng.random((n_points, n_trees)) < lean, 1, -1)
    weights = np.ones(n_trees)
    weights[:n_heavy] = 99
    weights[-1] += weights.sum() % 2 == 0
    return votes, int((votes @ weights > 0).sum())


def searched(problem, work, seed=0):
    lattice = OddLattice.of(problem)
    search = LargeForestSearch(problem, lattice, np.random.default_rng(seed))
    for done in search.steps():
        work -= done
        assert done > 0
        if work < 0 or search.eta == 0:
            return search
    raise AssertionError("it never ends")


@pytest.mark.parametrize("seed", range(3))
def test_points_are_feasible_and_counted_right(seed):
    votes, target = planted(seed)
    problem = make_problem(votes, target)
    found = searched(problem, 3e7)
    assert found.best.sum() % 2 == 1
    assert (found.lattice.lower <= found.best).all()
    assert (found.best <= found.lattice.upper).all()
    assert problem.eta(found.lattice.weights(found.best)) == found.eta


def test_what_chains_alone_do_not_find(monkeypatch):
    """A total that only a few heavy trees reach, far from the majority vote."""
    votes, target = planted(0, n_trees=100)
    problem = make_problem(votes, target)
    majority = problem.eta(np.ones(100))
    found = searched(problem, 5e7)
    assert found.eta < majority / 20
    monkeypatch.setattr("c2rf.forest.search.searcher.LARGE_FOREST", 10**6)
    alone = Searcher(problem, 0)
    alone.run(5 * 10**7)
    assert alone.eta > found.eta
    monkeypatch.undo()
    both = Searcher(problem, 0)
    both.run(5 * 10**7)
    assert both.eta <= found.eta + majority // 20


def test_plain_loops_find_the_same(monkeypatch):
    problem = make_problem(*planted(1))
    compiled = searched(problem, 2e7)
    monkeypatch.setattr(smoothing, "can_compile", lambda: False)
    plain = searched(problem, 2e7)
    assert plain.eta == compiled.eta
    np.testing.assert_array_equal(plain.best, compiled.best)


def test_of_very_many_patterns_some_are_smoothed_over(monkeypatch):
    monkeypatch.setattr(smoothing, "_MOST_ENTRIES", 60 * 100)
    votes, target = planted(2)
    problem = make_problem(votes, target)
    assert searched(problem, 1e8).eta < problem.eta(np.ones(60)) / 4


class TestBoundsThatStall:
    """Where the cuts prove next to nothing, that is said, and the time goes into the search."""

    VOTES = np.random.default_rng(0).choice([-1, 1], size=(120, 60))

    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch):
        """Cuts stall after their first round, and the last search is short."""
        monkeypatch.setattr("c2rf.forest.bounds.branch_and_bound._IDLE_ROUNDS", 1)
        monkeypatch.setattr("c2rf.forest.solve._LAST_SEARCH", 10**6)
        monkeypatch.setattr("c2rf.forest.solve._USEFUL", 2.0)

    def test_the_end_comes_by_work(self):
        solution = c2rf.solve(self.VOTES, 120)
        assert solution.status == "feasible"
        assert any("no useful bound" in said for said in solution.stats["warnings"])

    def test_a_limit_is_used_to_its_end(self):
        solution = c2rf.solve(self.VOTES, 120, time_limit=1.5)
        assert solution.runtime >= 1.5

    def test_cuts_without_end_are_given_up_after_some_work(self, monkeypatch):
        monkeypatch.setattr("c2rf.forest.bounds.branch_and_bound._IDLE_ROUNDS", 10**9)
        monkeypatch.setattr("c2rf.forest.solve._ENOUGH_CUTS", 0)
        one, other = (c2rf.solve(self.VOTES, 120) for _ in range(2))
        assert one.stats["bound_stalled"]
        assert one.stats["proof"]["rounds"] == other.stats["proof"]["rounds"] == 1
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize(
    ("n_trees", "stalled", "work", "bound", "expected"),
    [
        (60, True, 0, 9, True),
        (60, True, 0, 10, False),  # a tenth of eta is worth while
        (60, False, 0, 9, False),
        (60, False, 10**10, 9, False),
        (60, False, 4 * 10**10, 9, True),
        (49, True, 0, 9, False),
    ],
)
def test_when_a_bound_is_given_up(n_trees, stalled, work, bound, expected):
    state = SimpleNamespace(problem=SimpleNamespace(n_columns=n_trees), eta=100, eta_shift=0)
    prover = SimpleNamespace(stalled=stalled, work=work, nodes=0, bound=bound)
    assert _bound_stalls(state, prover) == expected
