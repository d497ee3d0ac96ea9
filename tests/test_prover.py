from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import c2rf.proof.prover
from brute import optimum
from c2rf.backends import Options, run
from c2rf.formulation import eta_bar
from c2rf.problem import Problem, make_problem
from c2rf.proof.prover import Prover
from c2rf.strengthen import pair_rows, sign_bounds, strengthened_model
from c2rf.structure import find_structure
from strategies import problems


def hard_problem(seed: int, n_points: int = 150, n_trees: int = 7) -> Problem:
    """Few positives among votes that are mostly positive: eta is far from zero."""
    rng = np.random.default_rng(seed)
    votes = np.where(rng.uniform(size=(n_points, n_trees)) < 0.6, 1, -1)
    return make_problem(votes, n_points // 5)


def true_eta(problem: Problem) -> int:
    structure = find_structure(problem)
    n = problem.n_patterns
    model = strengthened_model(problem, pair_rows(structure, n), sign_bounds(structure, n))
    return round(run(model).bound)


def prove(prover: Prover, cutoff: int | None = None, at_most: int | None = None) -> int:
    """Step to the end; the bound must never fall nor exceed what is known."""
    before = 0
    for _ in range(300):
        step = prover.step(cutoff)
        assert step.bound == prover.bound >= before
        assert at_most is None or step.bound <= at_most
        before = step.bound
        if step.weights is not None:
            margins = np.abs(prover.problem.patterns @ step.weights)
            assert margins.min() >= 1 - 1e-9
        if step.done:
            return step.bound
    raise AssertionError("no end")


@given(problems(max_points=8, max_trees=5))
@settings(deadline=None, max_examples=60)
def test_the_bound_ends_at_the_optimum(problem):
    best = optimum(problem)
    if best is None:
        assert prove(Prover(problem)) > eta_bar(problem)
        return
    assert prove(Prover(problem), at_most=best) == best
    assert prove(Prover(problem), cutoff=best, at_most=best) == best
    worse = best + 3
    assert prove(Prover(problem), cutoff=worse, at_most=best) == best


@pytest.mark.parametrize("seed", range(6))
def test_larger_problems_against_the_full_model(seed):
    problem = hard_problem(seed)
    best = true_eta(problem)
    assert best > 0
    assert prove(Prover(problem), at_most=best) == best


@pytest.mark.parametrize(("lower", "upper"), [(1, 2), (1, 10), (1, 1000), (3, 3.4)])
def test_other_boxes_against_the_full_model(lower, upper):
    problem = hard_problem(11, n_points=100)
    boxed = Problem(
        problem.patterns,
        problem.counts,
        problem.n_positive,
        np.full(7, float(lower)),
        np.full(7, float(upper)),
    )
    assert prove(Prover(boxed)) == true_eta(boxed)


def test_pairs_that_wait_come_in_when_they_are_violated(monkeypatch):
    problem = hard_problem(0)
    best = prove(Prover(problem))
    monkeypatch.setattr(c2rf.proof.prover, "_PAIRS_AT_FIRST", 5)
    monkeypatch.setattr(c2rf.proof.prover, "_PAIRS_PER_ROUND", 20)
    assert prove(Prover(problem), at_most=best) == best


def test_a_cutoff_settles_what_is_asked_only():
    problem = hard_problem(1)
    prover = Prover(problem)
    assert prove(prover, cutoff=1) == 1
    assert prover.step(cutoff=1).done


def at_once(model):
    return run(model, options=Options(time_limit=0.0))


def test_limits_keep_the_bound_valid():
    problem = hard_problem(2)
    prover = Prover(problem)
    steps = [prover.step(solve=at_once, time_limit=0.0) for _ in range(3)]
    assert all(0 <= step.bound <= true_eta(problem) for step in steps)
    assert steps[-1].done


def test_the_same_seed_takes_the_same_way():
    def trace(seed):
        prover = Prover(hard_problem(3), seed=seed)
        prove(prover)
        return prover.rounds, prover.integer_programs, prover.cuts

    assert trace(1) == trace(1)
