"""The paper's model and propositions against enumeration, and its methods with faulty solvers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import Bounds, LinearConstraint, milp

import c2rf
import c2rf.forest.incumbent
from brute import optimum, sign_vectors
from c2rf.exceptions import BackendError, InfeasibleError, NoSolutionError
from c2rf.forest.backends import RawResult
from c2rf.forest.backends.process import solve_model as honest
from c2rf.forest.bounds.conflict_graph import Cut
from c2rf.forest.paper import (
    big_m,
    big_m_model,
    branching_priorities,
    eta_bar,
    fix_points,
    merge_trees,
    reduce,
    split_points,
)
from c2rf.forest.problem import Problem, make_problem
from strategies import cases, problems, weights_of

tight = settings(max_examples=40)


def solved(model):
    """The model's optimum by a solver that the package does not use for models."""
    answer = milp(
        model.objective,
        integrality=model.integrality.astype(int),
        bounds=Bounds(model.col_lower, model.col_upper),
        constraints=LinearConstraint(model.matrix, model.row_lower, model.row_upper),
        options={"mip_rel_gap": 0},
    )
    assert answer.status in (0, 2), answer.message
    return round(answer.fun) if answer.status == 0 else None


def holds(model, x):
    value = model.matrix @ x
    return bool(
        (value >= model.row_lower - 1e-7).all()
        and (value <= model.row_upper + 1e-7).all()
        and (x >= model.col_lower - 1e-7).all()
        and (x <= model.col_upper + 1e-7).all()
    )


@given(problems(max_points=7))
@tight
def test_the_model_has_the_optimum_of_the_problem(problem):
    assert solved(big_m_model(problem)) == optimum(problem)


@given(problems(max_points=7))
@tight
def test_the_model_of_the_reduced_problem_has_it_too(problem):
    reduction = reduce(problem)
    assume(reduction.problem.n_patterns > 0)
    small = solved(big_m_model(reduction.problem, priorities=True))
    assert (small if small is None else small + reduction.eta_shift) == optimum(problem)


@given(st.data(), problems())
def test_weights_fit_their_own_signs_and_eta_only(data, problem):
    model = big_m_model(problem)
    weights = data.draw(weights_of(problem))
    score = problem.patterns @ weights
    assume((np.abs(score) >= 1).all())
    z = (score > 0).astype(float)
    eta = problem.eta(weights)
    assert holds(model, np.concatenate([weights, z, [eta]]))
    if eta > 0:
        assert not holds(model, np.concatenate([weights, z, [eta - 1]]))
    for i in range(problem.n_patterns):
        other = np.where(np.arange(problem.n_patterns) == i, 1 - z, z)
        assert not holds(model, np.concatenate([weights, other, [eta_bar(problem)]]))


@given(st.data(), problems())
def test_big_m_and_eta_bar_cover_all_weights(data, problem):
    """Props. 1 and 2."""
    weights = data.draw(weights_of(problem))
    assert np.abs(problem.patterns @ weights).max() + 1 <= big_m(problem) + 1e-9
    assert problem.eta(weights) <= eta_bar(problem)


def test_the_printed_constants():
    problem = make_problem([[1, -1, 1]] * 10, 3, 1.0, 100.0)
    assert big_m(problem) == 301
    assert eta_bar(problem) == 7


def test_rows_and_columns_are_those_of_the_paper():
    problem = make_problem([[1, 1], [1, -1], [1, -1]], 2, 1.0, 5.0)
    model = big_m_model(problem)
    dense = model.matrix.toarray()
    # columns: two weights, z of (+ -) with two points, z of (+ +) with one, eta; M = 11
    rows = [[1, -1, -11, 0, 0], [1, 1, 0, -11, 0]]
    np.testing.assert_array_equal(dense, [*rows, *rows, [0, 0, 2, 1, 1], [0, 0, 2, 1, -1]])
    assert model.row_lower.tolist() == [-np.inf, -np.inf, -10, -10, 2, -np.inf]
    assert model.row_upper.tolist() == [-1, -1, np.inf, np.inf, np.inf, 2]
    assert model.objective.tolist() == [0, 0, 0, 0, 1]
    assert model.integrality.tolist() == [False, False, True, True, False]
    assert (model.col_lower.tolist(), model.col_upper.tolist()) == (
        [1, 1, 0, 0, 0],
        [5, 5, 1, 1, 2],
    )
    assert model.priorities is None


@given(problems(max_points=6, max_trees=4))
@settings(max_examples=25)
def test_cuts_exclude_their_signs_and_no_others(problem):
    vectors = sign_vectors(problem)
    assume(len(vectors) > 1)
    best = min(vectors, key=lambda s: abs(count(problem, s) - problem.n_positive))
    rest = [abs(count(problem, s) - problem.n_positive) for s in vectors if s != best]
    assert solved(big_m_model(problem, cuts=[all_but(best)])) == min(rest)
    assert solved(big_m_model(problem, cuts=[all_but(s) for s in vectors])) is None


def count(problem, signs):
    return int(problem.counts[np.array(signs) > 0].sum())


def all_but(signs):
    """The cut that excludes just these signs."""
    n = len(signs)
    return Cut(tuple(i if sign > 0 else n + i for i, sign in enumerate(signs)), n - 1)


@given(problems(max_points=10))
def test_priorities_order_patterns_by_their_majority(problem):
    xi = branching_priorities(problem)
    assert sorted(xi.tolist()) == list(range(1, problem.n_patterns + 1))
    theta = np.abs(problem.patterns @ (problem.lower + problem.upper))
    by_priority = theta[np.argsort(xi)]
    assert (np.diff(by_priority) >= -1e-9).all()


def test_priorities_are_the_same_with_trees_merged():
    rng = np.random.default_rng(1)
    rows = rng.choice([-1, 1], size=(40, 4))[:, [0, 1, 2, 3, 0, 0, 1]]
    problem = make_problem(rows, 3)
    means = np.abs(problem.patterns.mean(axis=1))
    expected = np.empty(len(means), dtype=int)
    expected[np.argsort(np.round(means, 9), kind="stable")] = np.arange(1, len(means) + 1)
    np.testing.assert_array_equal(branching_priorities(merge_trees(problem)[0]), expected)
    model = big_m_model(problem, priorities=True)
    np.testing.assert_array_equal(model.priorities, [0] * 7 + expected.tolist() + [0])


def test_a_wish_beyond_all_points_is_a_model_too():
    problem = Problem(np.ones((1, 1), np.int8), np.array([2]), 5, np.ones(1), np.ones(1))
    assert solved(big_m_model(problem)) == 3


enumerated = settings(max_examples=40)


def without(problem, keep, n_positive):
    return Problem(
        problem.patterns[keep], problem.counts[keep], n_positive, problem.lower, problem.upper
    )


@given(cases(max_points=7, max_trees=4))
@enumerated
def test_equal_points_count_as_one_pattern(case):
    """Prop. 3."""
    problem = make_problem(*case)
    points = split_points(problem).problem
    assert points.n_patterns == len(case[0])
    assert sorted(map(tuple, points.patterns[:, : case[0].shape[1]])) == sorted(map(tuple, case[0]))
    assert optimum(points) == optimum(problem)


@given(problems())
@enumerated
def test_equal_trees_count_as_one_column(problem):
    """Prop. 4, with boxes that may differ from column to column."""
    small, group = merge_trees(problem)
    assert len(np.unique(small.patterns, axis=1).T) == small.n_columns
    np.testing.assert_array_equal(small.patterns[:, group], problem.patterns)
    np.testing.assert_allclose(small.lower.sum(), problem.lower.sum())
    np.testing.assert_allclose(small.upper.sum(), problem.upper.sum())
    assert optimum(small) == optimum(problem)


@given(problems(max_trees=4))
def test_fixed_points_have_their_sign_at_every_corner(problem):
    """Prop. 5: exactly the patterns whose margin is met with one sign by all weights."""
    corners = np.array(list(product(*zip(problem.lower, problem.upper, strict=True))))
    values = problem.patterns @ corners.T
    always = np.where((values >= 1).all(axis=1), 1, np.where((values <= -1).all(axis=1), -1, 0))
    close = np.isclose(np.abs(values).min(axis=1), 1)
    np.testing.assert_array_equal(fix_points(problem)[~close], always[~close])


@given(problems())
@enumerated
def test_fixed_points_can_be_left_out(problem):
    """Prop. 5: the target number falls by the fixed positives, nothing else changes."""
    fixed = fix_points(problem)
    beta = int(problem.counts[fixed > 0].sum())
    rest = without(problem, fixed == 0, problem.n_positive - beta)
    assert optimum(rest) == optimum(problem)


@given(problems())
@settings(max_examples=80)
def test_the_whole_reduction_keeps_the_optimum(problem):
    reduction = reduce(problem)
    small = optimum(reduction.problem)
    assert (small if small is None else small + reduction.eta_shift) == optimum(problem)


UNANIMOUS = [[1, 1, 1]] * 4 + [[-1, -1, -1]] * 3


@pytest.mark.parametrize("target", range(10))
def test_totals_below_and_above_what_is_attainable(target):
    # 4 points are positive and 3 negative whatever the weights; 1 or 2 of the others can be.
    votes = [*UNANIMOUS, [1, -1, -1], [-1, 1, 1], [-1, 1, 1]]
    problem = make_problem(votes, target)
    reduction = reduce(problem)
    attainable = [4 + 1, 4 + 2]
    expected = min(abs(target - total) for total in attainable)
    assert (reduction.problem.n_positive >= 0, reduction.eta_shift) == (True, max(0, 4 - target))
    assert len(reduction.kept) == 2
    assert optimum(reduction.problem) + reduction.eta_shift == optimum(problem) == expected


def test_trees_that_differ_on_fixed_patterns_only_are_merged():
    # In [1, 1.1] four votes against one fix the pattern that tells the last two trees apart.
    votes = [[1, 1, 1, 1, -1], [1, -1, 1, -1, -1], [-1, 1, 1, -1, -1]]
    problem = make_problem(votes, 1, 1.0, 1.1)
    assert merge_trees(problem)[0].n_columns == 5
    reduction = reduce(problem)
    assert reduction.group.tolist() == [0, 1, 2, 3, 3]
    assert reduction.problem.upper.tolist() == pytest.approx([1.1, 1.1, 1.1, 2.2])
    assert optimum(reduction.problem) + reduction.eta_shift == optimum(problem)


def test_the_shift_merges_with_a_unanimous_tree():
    problem = make_problem([[1, 1], [1, -1]], 1, 1.0, 2.0, offset=(-5.0, 3.0))
    small, group = merge_trees(problem)
    assert group.tolist() == [0, 1, 0]
    assert (small.lower.tolist(), small.upper.tolist()) == ([-4.0, 1.0], [5.0, 2.0])


def test_merged_boxes_hold_only_sums_of_weights():
    """At -1 + 1e-9, in floats, the margin held; the two weights themselves miss it by 6e-26."""
    merged, _ = merge_trees(make_problem([[1]], 0, 1e-9, 1e-9, (-1, 1)))
    assert Fraction(merged.lower[0]) > Fraction(1e-9) - 1
    assert Fraction(merged.upper[0]) <= Fraction(1e-9) + 1
    solution = c2rf.solve([[1]], 0, 1e-9, 1e-9, offset=(-1, 1))
    c2rf.verify([[1]], 0, solution, 1e-9, 1e-9, offset=(-1, 1))
    same, _ = merge_trees(make_problem([[1, 1, 1]], 0, 0.1, 0.1))
    assert same.lower == same.upper == math.fsum([0.1] * 3)


def test_nothing_is_left_when_all_is_fixed():
    reduction = reduce(make_problem(UNANIMOUS, 2, offset=(0.0, 1.0)))
    assert reduction.problem.n_patterns == 0
    assert reduction.eta_shift == 2
    lifted = reduction.lift(reduction.problem.lower)
    assert lifted.tolist() == [1.0, 1.0, 1.0, 0.0]


@given(st.data(), problems(max_points=10))
def test_lifted_weights_stay_in_the_box_and_keep_the_scores(data, problem):
    reduction = reduce(problem)
    weights = data.draw(weights_of(reduction.problem))
    lifted = reduction.lift(weights)
    assert (lifted >= problem.lower).all()
    assert (lifted <= problem.upper).all()
    expected = reduction.problem.patterns @ weights
    kept = reduction.kept
    np.testing.assert_allclose((problem.patterns @ lifted)[kept], expected, atol=1e-9)
    fixed = fix_points(problem)
    signs = np.sign(problem.patterns @ lifted)
    np.testing.assert_array_equal(np.delete(signs, kept), np.delete(fixed, kept))
    sums = np.bincount(reduction.group, weights=lifted, minlength=len(weights))
    np.testing.assert_allclose(sums, weights, atol=1e-9)


@given(st.data(), problems(max_points=10))
def test_summed_weights_are_worth_the_same(data, problem):
    reduction = reduce(problem)
    weights = data.draw(weights_of(problem))
    small = np.bincount(reduction.group, weights=weights)
    assert (small >= reduction.problem.lower - 1e-9).all()
    assert (small <= reduction.problem.upper + 1e-9).all()
    kept = problem.patterns[reduction.kept] @ weights
    np.testing.assert_allclose(reduction.problem.patterns @ small, kept, atol=1e-9)


@given(
    arrays(np.int8, (6, 4), elements=st.sampled_from([-1, 1])),
    st.integers(0, 6),
    st.sampled_from([(1, 100), (0.5, 0.75), (1, 1.25)]),
)
def test_negated_votes_are_reduced_alike(rows, target, box):
    one, other = make_problem(rows, target, *box), make_problem(-rows, 6 - target, *box)
    assert sorted(fix_points(one)) == sorted(-fix_points(other))
    assert reduce(one).problem.n_columns == reduce(other).problem.n_columns


def test_spreading_keeps_columns_and_weights():
    reduction = split_points(make_problem([[1, 1], [1, 1], [1, -1]], 1))
    weights = np.array([3.0, 1.0])
    assert reduction.lift(weights).tolist() == [3.0, 1.0]
    assert (reduction.eta_shift, sorted(set(reduction.kept.tolist()))) == (0, [0, 1])


# Solvers that give wrong answers, fail or return garbage: what ``solve`` says still holds

VOTES = np.array([[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1], [1, -1, -1]])
TARGET = 2


def answering(status="optimal", x=None, bound=0.0):
    """A solver that always gives this answer."""
    return lambda *_: RawResult(status, x, bound, 0, 0.0)


def faulty_first(change):
    """A solver whose first answer is changed; the models it was given."""
    models = []

    def backend(model, name, options, *_):
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
    def backend(model, name, options, *_):
        return RawResult("optimal", true_x(model), bound, 0, 0.0)

    solution = solution_of(monkeypatch, backend)
    assert (solution.eta, solution.bound, solution.status) == (0, 0, "optimal")
    assert solution.stats["solver_bound"] == pytest.approx(bound if np.isfinite(bound) else 0)


def test_optimal_without_a_solution_proves_nothing(monkeypatch):
    solution = solution_of(monkeypatch, answering("optimal", None, -np.inf))
    assert solution.bound == 0


@pytest.mark.parametrize("status", ["optimal", "limit", "interrupted"])
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


def test_a_failing_solver_is_an_error(monkeypatch):
    monkeypatch.setattr("c2rf.forest.incumbent.solve_model", answering("failed"))
    with pytest.raises(BackendError, match="highs failed on this model"):
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
    assert models[1].matrix.shape[0] == models[0].matrix.shape[0] + 1
    z = np.zeros(models[1].matrix.shape[1])
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

    def backend(model, name, options, *_):
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
    st.sampled_from(["optimal", "infeasible", "limit", "interrupted", "failed"]),
    st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, 50.0, np.inf, np.nan]),
    st.sampled_from(["none", "true", "flipped", "uniform", "nan", "rounded"]),
)


@given(cases(offset=False), st.lists(answers, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_whatever_a_solver_answers_a_solution_verifies(case, script, seed):
    votes, target, lower, upper, _ = case
    rng = np.random.default_rng(seed)
    calls = []

    def backend(model, name, options, *_):
        status, bound, noise = script[len(calls) % len(script)]
        calls.append(noise)
        truth = honest(model, name, options).x
        x = np.zeros(len(model.objective)) if truth is None else truth.copy()
        if noise == "flipped":
            x[model.integrality] = 1 - x[model.integrality]
        elif noise == "uniform":
            x = rng.uniform(0, 2, size=len(model.objective))
        elif noise == "nan":
            x[rng.integers(len(model.objective))] = np.nan
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
