"""``auto`` against enumeration, its symmetries, and what it claims when a part of it is wrong."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import c2rf
from brute import optimum
from c2rf.datasets import biased_sample, make_ringnorm
from c2rf.forest.backends import installed
from c2rf.forest.bounds.conflict_graph import build_conflict_graph
from c2rf.forest.bounds.cuts import CutPool, Separator
from c2rf.forest.bounds.feasibility import LinearProgram
from c2rf.forest.ensembles import make_ensemble
from c2rf.forest.problem import make_problem
from strategies import cases


@pytest.fixture(scope="module")
def forest():
    """Votes of the paper's kind of forest, whose total is out of reach."""
    X, y = make_ringnorm(3000, random_state=2)
    labeled, unlabeled = biased_sample(y, 0.02, random_state=2)
    trees = make_ensemble(None, X[labeled], y[labeled], random_state=np.random.RandomState(2))
    return trees.votes(X[unlabeled]), int(y[unlabeled].sum())


def outcome(votes, target, *box, **how):
    try:
        solution = c2rf.solve(votes, target, *box, **how)
    except c2rf.InfeasibleError:
        return None
    c2rf.verify(votes, target, solution, *box, offset=how.get("offset"))
    assert solution.status == "optimal"
    return solution.eta


@settings(max_examples=150)
@given(cases(max_points=9, max_trees=6))
def test_auto_finds_what_enumeration_finds(case):
    rows, target, lower, upper, offset = case
    expected = optimum(make_problem(rows, target, lower, upper, offset))
    assert outcome(rows, target, lower, upper, offset=offset) == expected


@given(cases(offset=False), st.randoms(use_true_random=False))
def test_flipped_votes_and_other_orders_change_nothing(case, random):
    rows, target, *box, _ = case
    eta = outcome(rows, target, *box)
    assert outcome(-rows, len(rows) - target, *box) == eta
    down, across = (random.sample(range(n), n) for n in rows.shape)
    assert outcome(rows[down][:, across], target, *box) == eta


def refuse(*_):
    raise AssertionError("no solver may be called")


def test_a_forest_is_solved_and_proven_without_any_backend(forest, monkeypatch):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", refuse)
    monkeypatch.setattr("c2rf.forest.backends.Backend.version", refuse)
    votes, target = forest
    solution = c2rf.solve(votes, target, backend=installed()[-1])
    assert solution.status == "optimal"
    assert solution.eta > 0  # so that there was something to prove
    assert solution.stats["pairs"] > 0
    assert not solution.stats["warnings"]
    assert not {"backend", "backend_version", "branching_priorities"} & set(solution.stats)


def test_no_method_contradicts_another(forest):
    votes, target = forest
    votes = votes[:, :9]
    found = [
        c2rf.solve(votes, target, method=method, time_limit=5)
        for method in ("auto", "p-c2rf", "only-pp")
    ]
    assert max(solution.bound for solution in found) <= min(solution.eta for solution in found)


def test_the_same_seed_gives_the_same_solution(forest):
    first, second = (c2rf.solve(*forest, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert (first.eta, first.bound) == (second.eta, second.bound)


@pytest.mark.parametrize("limit", [0, 1e-9, 1e-6])
def test_the_tiniest_time_limit_still_gives_verified_weights(forest, limit):
    votes, target = forest
    solution = c2rf.solve(votes, target, time_limit=limit)
    c2rf.verify(votes, target, solution)
    assert (solution.bound, solution.status) == (0, "feasible")


@pytest.mark.parametrize("phase", ["search", "pairs", "bound"])
def test_ctrl_c_returns_what_is_known(forest, phase):
    votes, target = forest
    sent = []

    def press_once(event):
        if event.phase == phase and not sent:
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    solution = c2rf.solve(votes, target, progress=press_once)
    c2rf.verify(votes, target, solution)
    assert sent
    assert solution.stats["interrupted"]


def test_progress_tells_phase_eta_bound_and_time(forest):
    events = []
    solution = c2rf.solve(*forest, progress=events.append)
    assert {"search", "pairs", "bound"} <= {event.phase for event in events}
    etas = [event.eta for event in events if event.eta is not None]
    bounds = [event.bound for event in events]
    assert etas == sorted(etas, reverse=True)
    assert bounds == sorted(bounds)
    assert (etas[-1], bounds[-1]) == (solution.eta, solution.bound)


def hard():
    """Votes whose linear relaxation leaves a gap."""
    rng = np.random.default_rng(0)
    return np.where(rng.random((300, 9)) < 0.6, 1, -1), 40


def test_a_gap_of_the_linear_program_is_closed_by_cases(monkeypatch):
    votes, target = hard()[0][:100], 15
    best = c2rf.solve(votes, target).eta
    monkeypatch.setattr(Separator, "cuts", lambda *_: [])
    solution = c2rf.solve(votes, target, certificate=True)
    c2rf.verify(votes, target, solution)
    assert solution.status == "optimal"
    assert solution.stats["proof"]["leaves"] > 1
    assert solution.eta == best


def test_a_proof_that_the_checker_refuses_is_not_claimed(monkeypatch):
    """Rows that nothing proves make certificates that are refused; the bound is 0 then."""
    monkeypatch.setattr(CutPool, "prove", lambda self, cut: ([1], [1], 0))
    votes, target = hard()
    solution = c2rf.solve(votes, target, time_limit=500)
    c2rf.verify(votes, target, solution)
    assert (solution.bound, solution.status) == (0, "feasible")
    assert any("not accepted" in text for text in solution.stats["warnings"])


def test_no_claim_rests_on_a_wrong_linear_program(monkeypatch):
    """Duals that are far too great: whole numbers do not confirm what they promise."""

    def wrong(self):
        optimum = true_optimum(self)
        return None if optimum is None else replace(optimum, duals=optimum.duals * 1.7 - 0.1)

    true_optimum = LinearProgram._optimum
    best = c2rf.solve(*hard()).eta
    monkeypatch.setattr(LinearProgram, "_optimum", wrong)
    solution = c2rf.solve(*hard(), time_limit=1, certificate=True)
    c2rf.verify(*hard(), solution)
    assert solution.bound <= best


@pytest.mark.parametrize(
    "votes",
    [
        [[1], [-1], [1]],
        [[1, -1, 1]],
        [[1, 1, 1], [-1, -1, -1]],
        [[1, 1], [-1, -1], [1, 1]],
    ],
    ids=["one tree", "one pattern", "unanimous", "equal trees"],
)
def test_trivial_problems_need_no_solver(monkeypatch, votes):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", refuse)
    for target in range(len(votes) + 1):
        expected = optimum(make_problem(votes, target))
        assert outcome(votes, target) == expected


def test_short_memory_means_fewer_pairs(monkeypatch):
    def short(problem, most):
        if most > 5:
            raise MemoryError
        return build_conflict_graph(problem, most)

    monkeypatch.setattr("c2rf.forest.bounds.certify.build_conflict_graph", short)
    rng = np.random.default_rng(2)
    votes = np.where(rng.random((12, 5)) < 0.6, 1, -1)
    expected = optimum(make_problem(votes, 0))
    assert expected > 0  # so that there is something to prove
    solution = c2rf.solve(votes, 0)
    assert (solution.eta, solution.bound) == (expected, expected)
    assert any("memory is short" in text for text in solution.stats["warnings"])


@pytest.mark.parametrize("most", [0, 1, 5])
def test_fewer_pairs_are_valid_too(monkeypatch, most):
    rng = np.random.default_rng(2)
    votes = np.where(rng.random((12, 5)) < 0.6, 1, -1)
    few = partial(build_conflict_graph, max_patterns=most)
    monkeypatch.setattr(
        "c2rf.forest.bounds.certify.build_conflict_graph", lambda problem, _: few(problem)
    )
    assert outcome(votes, 1) == optimum(make_problem(votes, 1))
