"""Solvers that give wrong answers, fail or return garbage: what ``solve`` says still holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import c2rf
import c2rf.forest.incumbent
from brute import optimum
from c2rf.exceptions import BackendError, InfeasibleError, NoSolutionError
from c2rf.forest.backends import RawResult
from c2rf.forest.backends.process import solve_model as honest
from c2rf.forest.paper import reduce
from c2rf.forest.problem import make_problem
from strategies import cases

VOTES = np.array([[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1], [1, -1, -1]])
TARGET = 2


def answering(status="optimal", x=None, bound=0.0):
    """A solver that always gives this answer."""
    return lambda model, name, options: RawResult(status, x, bound, 0, 0.0, "log of the solver")


def faulty_first(change):
    """A solver whose first answer is changed; the models it was given."""
    models = []

    def backend(model, name, options):
        models.append(model)
        answer = honest(model, name, options)
        return change(model, answer) if len(models) == 1 else answer

    return backend, models


def solution_of(monkeypatch, backend, votes=VOTES, target=TARGET, **how):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", backend)
    solution = c2rf.solve(votes, target, method="p-c2rf", **how)
    c2rf.verify(votes, target, solution, how.get("lower", 1.0), how.get("upper", 100.0))
    return solution


def true_x(model):
    return honest(model, "highs").x


@pytest.mark.parametrize("bound", [1.0, 4.0, 1e9, np.inf, np.nan])
def test_a_bound_that_is_too_high_is_the_solvers_word_only(monkeypatch, bound):
    def backend(model, name, options):
        return RawResult("optimal", true_x(model), bound, 0, 0.0)

    solution = solution_of(monkeypatch, backend)
    assert (solution.eta, solution.bound, solution.status) == (0, 0, "optimal")
    assert solution.stats["solver_bound"] == pytest.approx(bound if np.isfinite(bound) else 0)


def test_optimal_without_a_solution_proves_nothing(monkeypatch):
    solution = solution_of(monkeypatch, answering("optimal", None, -np.inf))
    assert solution.bound == 0


@pytest.mark.parametrize("status", ["optimal", "limit", "stopped", "interrupted"])
@pytest.mark.parametrize("fill", [0.0, 1.0, 0.5, -7.0, 1e300, np.nan, np.inf])
def test_garbage_weights_are_never_returned(monkeypatch, status, fill):
    n_columns = reduce(make_problem(VOTES, TARGET)).problem.n_columns
    n_patterns = reduce(make_problem(VOTES, TARGET)).problem.n_patterns
    garbage = np.full(n_columns + n_patterns + 1, fill)
    solution = solution_of(monkeypatch, answering(status, garbage, 0.0))
    assert ((solution.weights >= 1) & (solution.weights <= 100)).all()
    positives = (np.array(VOTES) @ solution.weights >= 1).sum()
    assert solution.eta == abs(positives - TARGET)
    assert solution.status == ("optimal" if solution.eta == 0 else "feasible")


def test_a_model_with_a_solution_is_not_called_infeasible(monkeypatch):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", answering("infeasible"))
    with pytest.raises(BackendError, match="infeasible that has a solution"):
        c2rf.solve(VOTES, TARGET, method="p-c2rf")


def test_a_box_with_known_weights_is_not_called_empty(monkeypatch):
    # First an impossible z with good weights, then "infeasible": the weights say otherwise.
    votes, box = np.array([[1, 1, -1], [-1, 1, 1], [1, -1, 1]]), {"lower": 1.0, "upper": 1.5}
    good = np.array([1.0, 1.0, 1.0])
    answers = iter(
        [
            RawResult("optimal", np.concatenate([good, [0, 0, 0], [0.0]]), 0.0, 0, 0.0),
            RawResult("infeasible", None, -np.inf, 0, 0.0),
        ]
    )
    solution = solution_of(monkeypatch, lambda *_: next(answers), votes, 0, **box)
    assert solution.eta == 3
    assert solution.bound <= optimum(make_problem(votes, 0, **box))
    assert solution.stats["solver_status"] == "infeasible"
    assert solution.stats["impossible_z"] == 1


def test_that_there_are_no_weights_needs_a_proof(monkeypatch):
    """The solver says infeasible; our proof finds weights, so that nothing of the kind is said."""
    votes = np.random.default_rng(0).choice([-1, 1], size=(30, 9))
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", answering("infeasible"))
    with pytest.raises(NoSolutionError, match="could not be proven"):
        c2rf.solve(votes, 1, 1.1, 1.9, method="p-c2rf")


def test_a_failing_solver_is_an_error_with_its_log(monkeypatch):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", answering("failed"))
    with pytest.raises(BackendError, match="log of the solver"):
        c2rf.solve(VOTES, TARGET, method="p-c2rf")


def test_a_limit_without_anything_in_a_box_without_integers(monkeypatch):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", answering("limit", None, -np.inf))
    with pytest.raises(NoSolutionError):
        c2rf.solve(VOTES, TARGET, 1.1, 1.9, method="p-c2rf")


def opposite_both_positive(model, answer):
    """Claim that all patterns are positive, whatever the weights."""
    x = answer.x.copy()
    x[model.integrality] = 1
    x[-1] = 0
    return RawResult("optimal", x, 0.0, answer.nodes, 0.0)


def test_an_impossible_z_is_cut_off_and_solved_again(monkeypatch):
    votes = np.vstack([VOTES, -VOTES])
    backend, models = faulty_first(opposite_both_positive)
    solution = solution_of(monkeypatch, backend, votes, 10)
    assert solution.stats["impossible_z"] == 1
    assert len(models) == 2
    assert models[1].n_rows == models[0].n_rows + 1
    z = np.zeros(models[1].n_cols)
    z[models[1].integrality] = 1
    assert (models[1].matrix @ z)[-1] > models[1].row_upper[-1]  # all positive: excluded
    assert (solution.eta, solution.status) == (optimum(make_problem(votes, 10)), "optimal")


def test_an_impossible_z_at_a_limit_is_not_reported(monkeypatch):
    votes = np.vstack([VOTES, -VOTES])
    backend, models = faulty_first(
        lambda model, answer: RawResult("limit", opposite_both_positive(model, answer).x, 0.0, 0, 0)
    )
    solution = solution_of(monkeypatch, backend, votes, 10)
    assert len(models) == 1
    assert solution.eta > 0


def test_the_same_impossible_z_again_and_again_comes_to_an_end(monkeypatch):
    votes = np.vstack([VOTES, -VOTES])

    def backend(model, name, options):
        return opposite_both_positive(model, honest(model, name, options))

    solution = solution_of(monkeypatch, backend, votes, 10)
    assert solution.stats["impossible_z"] == 2
    assert "cut off" in solution.stats["warnings"][-1]
    assert solution.eta > 0


def test_ctrl_c_between_two_solves_keeps_the_best(monkeypatch):
    def pressed(problem, signs):
        raise KeyboardInterrupt

    monkeypatch.setattr("c2rf.forest.paper.find_weights", pressed)
    backend, _ = faulty_first(opposite_both_positive)
    votes = np.vstack([VOTES, -VOTES])
    solution = solution_of(monkeypatch, backend, votes, 10)
    assert solution.stats["interrupted"] is True
    assert solution.status == "feasible"


# What solve may say instead of an answer; that its own answer is wrong is not among it.
REFUSALS = (BackendError, InfeasibleError, NoSolutionError)

answers = st.builds(
    lambda status, bound, noise: (status, bound, noise),
    st.sampled_from(["optimal", "infeasible", "limit", "stopped", "interrupted", "failed"]),
    st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, 50.0, np.inf, np.nan]),
    st.sampled_from(["none", "true", "flipped", "uniform", "nan", "rounded"]),
)


@given(cases(offset=False), st.lists(answers, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_whatever_a_solver_answers_a_solution_verifies(case, script, seed):
    votes, target, lower, upper, _ = case
    rng = np.random.default_rng(seed)
    calls = []

    def backend(model, name, options):
        status, bound, noise = script[len(calls) % len(script)]
        calls.append(noise)
        truth = honest(model, name, options).x
        x = np.zeros(model.n_cols) if truth is None else truth.copy()
        if noise == "flipped":
            x[model.integrality] = 1 - x[model.integrality]
        elif noise == "uniform":
            x = rng.uniform(0, 2, size=model.n_cols)
        elif noise == "nan":
            x[rng.integers(model.n_cols)] = np.nan
        elif noise == "rounded":
            x = np.round(x)
        return RawResult(status, None if noise == "none" else x, bound, 0, 0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(c2rf.forest.incumbent, "solve_model", backend)
        try:
            solution = c2rf.solve(votes, target, lower, upper, method="p-c2rf")
        except REFUSALS:
            return
    c2rf.verify(votes, target, solution, lower, upper)
    best = optimum(make_problem(votes, target, lower, upper))
    assert best is not None
    assert solution.eta >= best
    assert solution.bound <= best


def test_infeasible_boxes_are_called_so_by_all_methods():
    for method in ("c2rf", "p-c2rf", "auto"):
        with pytest.raises(InfeasibleError):
            c2rf.solve([[1, -1], [-1, 1]], 1, 1, 1.5, method=method)
