from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from brute import optimum, sign_vectors
from c2rf.forest.bounds.conflict_graph import Cut
from c2rf.forest.paper import big_m, big_m_model, branching_priorities, eta_bar, merge_trees, reduce
from c2rf.forest.problem import Problem, make_problem
from strategies import problems, weights_of

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
    assert (model.n_rows, model.n_cols) == (6, 5)
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
