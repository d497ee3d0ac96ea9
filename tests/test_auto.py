"""``auto`` against enumeration, its symmetries, and what it does when its means fail."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import c2rf
from brute import optimum
from c2rf.backends import RawResult, installed
from c2rf.backends import run as honest
from c2rf.datasets import biased_sample, make_ringnorm
from c2rf.ensemble import make_ensemble
from c2rf.exceptions import BackendError
from c2rf.problem import make_problem
from c2rf.proof.clauses import Separator
from c2rf.proof.prover import Prover, ProverStep
from c2rf.structure import find_structure
from strategies import cases


@pytest.fixture(scope="module")
def forest():
    """Votes of the paper's kind of forest, whose total is out of reach."""
    X, y = make_ringnorm(3000, random_state=2)
    labeled, unlabeled = biased_sample(y, 0.02, random_state=2)
    trees = make_ensemble(None, X[labeled], y[labeled], random_state=np.random.RandomState(2))
    return trees.votes(X[unlabeled]), int(y[unlabeled].sum())


def outcome(votes, wished, *box, **how):
    try:
        solution = c2rf.solve(votes, wished, *box, **how)
    except c2rf.InfeasibleError:
        return None
    c2rf.verify(votes, wished, solution, *box, offset=how.get("offset"))
    assert solution.status == "optimal"
    return solution.eta


@settings(max_examples=150)
@given(cases(max_points=9, max_trees=6))
def test_auto_finds_what_enumeration_finds(case):
    rows, wished, lower, upper, offset = case
    expected = optimum(make_problem(rows, wished, lower, upper, offset))
    assert outcome(rows, wished, lower, upper, offset=offset) == expected


@given(cases(offset=False), st.randoms(use_true_random=False))
def test_flipped_votes_and_other_orders_change_nothing(case, random):
    rows, wished, *box, _ = case
    eta = outcome(rows, wished, *box)
    assert outcome(-rows, len(rows) - wished, *box) == eta
    down, across = (random.sample(range(n), n) for n in rows.shape)
    assert outcome(rows[down][:, across], wished, *box) == eta


@pytest.mark.parametrize("backend", installed())
def test_a_forest_is_solved_and_proven(forest, backend):
    votes, wished = forest
    solution = c2rf.solve(votes, wished, backend=backend)
    assert solution.status == "optimal"
    assert solution.eta > 0  # so that there was something to prove
    assert solution.stats["pairs"] > 0
    assert not solution.stats["trouble"]


def test_no_method_contradicts_another(forest):
    votes, wished = forest
    votes = votes[:, :9]
    found = [
        c2rf.solve(votes, wished, method=method, time_limit=5)
        for method in ("auto", "p-c2rf", "only-pp")
    ]
    assert max(solution.bound for solution in found) <= min(solution.eta for solution in found)


def test_the_same_seed_gives_the_same_solution(forest):
    first, second = (c2rf.solve(*forest, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert (first.eta, first.bound) == (second.eta, second.bound)


@pytest.mark.parametrize("limit", [0, 1e-9, 0.01])
def test_the_tiniest_time_limit_still_gives_verified_weights(forest, limit):
    votes, wished = forest
    solution = c2rf.solve(votes, wished, time_limit=limit)
    c2rf.verify(votes, wished, solution)
    assert (solution.bound, solution.status) == (0, "feasible")


@pytest.mark.parametrize("phase", ["search", "pairs", "bound"])
def test_ctrl_c_returns_what_is_known(forest, phase):
    votes, wished = forest
    sent = []

    def press_once(event):
        if event.phase == phase and not sent:
            sent.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    solution = c2rf.solve(votes, wished, progress=press_once)
    c2rf.verify(votes, wished, solution)
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
    """Votes whose linear relaxation leaves a gap, so that every means gets its turn."""
    rng = np.random.default_rng(5)
    return np.where(rng.random((40, 9)) < 0.5, 1, -1), 3


def no_cuts(self, *_):
    """A prover that gives up at once."""
    return ProverStep(self.bound, done=True)


@settings(max_examples=40)
@given(cases(max_points=9, max_trees=6))
def test_the_exact_model_alone_is_enough(case):
    rows, wished, lower, upper, offset = case
    expected = optimum(make_problem(rows, wished, lower, upper, offset))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prover, "step", no_cuts)
        assert outcome(rows, wished, lower, upper, offset=offset) == expected


def test_an_impossible_z_of_the_exact_model_is_forbidden(monkeypatch):
    """The first answer claims that all is well with signs that no weights have."""
    votes, wished = [[1, 1, -1]] * 3 + [[-1, -1, 1]] * 4, 0
    lies = []

    def lying(model, name, options):
        if lies:
            return honest(model, name, options)
        lies.append(model)
        x = np.concatenate([[1.0, 1.0], np.zeros(model.n_cols - 2)])
        return RawResult("optimal", x, 0.0, 0, 0.0)

    monkeypatch.setattr(Prover, "step", no_cuts)
    monkeypatch.setattr("c2rf.run.run_backend", lying)
    solution = c2rf.solve(votes, wished)
    c2rf.verify(votes, wished, solution)
    assert lies
    assert (solution.eta, solution.bound) == (3, 3)


def test_a_solver_that_refuses_the_models_is_not_the_end(monkeypatch):
    def refuses(model, name, options):
        raise BackendError("too large for this licence")

    monkeypatch.setattr("c2rf.run.run_backend", refuses)
    monkeypatch.setattr(Prover, "step", no_cuts)
    votes, wished = hard()
    solution = c2rf.solve(votes, wished)
    c2rf.verify(votes, wished, solution)
    assert (solution.bound, solution.status) == (0, "feasible")
    assert any("licence" in text for text in solution.stats["trouble"])


@pytest.mark.parametrize("status", ["failed", "limit"])
def test_solvers_that_give_up_leave_what_the_search_found(monkeypatch, status):
    asked = []

    def gives_up(model, name, options):
        asked.append(model)
        return RawResult(status, None, -np.inf, 0, 0.0, "no idea")

    monkeypatch.setattr(Separator, "cuts", lambda *_: [])
    monkeypatch.setattr("c2rf.run.run_backend", gives_up)
    votes, wished = hard()
    solution = c2rf.solve(votes, wished, time_limit=2)
    c2rf.verify(votes, wished, solution)
    assert asked


def test_garbage_from_a_solver_is_never_reported(monkeypatch):
    optimum_of_hard = c2rf.solve(*hard(), method="p-c2rf").eta
    rng, asked = np.random.default_rng(0), []

    def garbage(model, name, options):
        asked.append(model)
        return RawResult("optimal", rng.normal(size=model.n_cols), 0.0, 0, 0.0)

    monkeypatch.setattr(Separator, "cuts", lambda *_: [])
    monkeypatch.setattr("c2rf.run.run_backend", garbage)
    votes, wished = hard()
    solution = c2rf.solve(votes, wished, time_limit=2)
    c2rf.verify(votes, wished, solution)
    assert asked
    assert solution.bound <= optimum_of_hard


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
    def refuses(*_):
        raise AssertionError("no solver is needed")

    monkeypatch.setattr("c2rf.run.run_backend", refuses)
    for wished in range(len(votes) + 1):
        expected = optimum(make_problem(votes, wished))
        assert outcome(votes, wished) == expected


def test_short_memory_means_fewer_pairs(monkeypatch):
    def short(problem, most):
        if most > 5:
            raise MemoryError
        return find_structure(problem, most)

    monkeypatch.setattr("c2rf.auto.find_structure", short)
    rng = np.random.default_rng(2)
    votes = np.where(rng.random((12, 5)) < 0.6, 1, -1)
    expected = optimum(make_problem(votes, 0))
    assert expected > 0  # so that there is something to prove
    solution = c2rf.solve(votes, 0)
    assert (solution.eta, solution.bound) == (expected, expected)
    assert any("memory is short" in text for text in solution.stats["trouble"])


@pytest.mark.parametrize("most", [0, 1, 5])
def test_fewer_pairs_are_valid_too(most):
    rng = np.random.default_rng(2)
    problem = make_problem(np.where(rng.random((12, 5)) < 0.6, 1, -1), 1)
    prover = Prover(problem, find_structure(problem, max_patterns=most))
    for _ in range(50):
        step = prover.step(problem.eta(problem.lower))
        if step.done:
            break
    assert prover.bound <= optimum(problem)
