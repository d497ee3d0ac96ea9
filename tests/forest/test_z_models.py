from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from brute import optimum, sign_vectors
from c2rf.forest.backends import run
from c2rf.forest.bounds.conflict_graph import find_structure
from c2rf.forest.paper import big_m_model
from c2rf.forest.problem import Problem, make_problem
from c2rf.forest.second_opinion import Rows, pair_rows, relaxation, sign_bounds, strengthened_model
from strategies import problems


def known(problem: Problem):
    """Rows and bounds of the pairs of a problem."""
    structure = find_structure(problem)
    n = problem.n_patterns
    return pair_rows(structure, n), sign_bounds(structure, n), len(structure.impossible)


@given(problems(max_points=7, max_trees=4))
@settings(deadline=None, max_examples=40)
def test_the_full_model_has_the_optimum_and_the_relaxation_bounds_it(problem):
    best = optimum(problem)
    rows, bounds, impossible = known(problem)
    full = run(strengthened_model(problem, rows, bounds))
    if best is None or impossible:
        assert best is None
        assert full.status == "infeasible" or impossible
        return
    assert full.status == "optimal"
    assert round(full.bound) == best
    assert run(relaxation(problem, rows, bounds)).bound <= best + 1e-6


@given(problems(max_points=7, max_trees=4))
@settings(deadline=None, max_examples=40)
def test_every_realisable_sign_vector_satisfies_the_rows(problem):
    rows, (lower, upper), _ = known(problem)
    for signs in sign_vectors(problem):
        z = (np.array(signs, dtype=int) > 0).astype(float)
        assert rows.excess(z).sum() == 0
        assert ((lower <= z) & (z <= upper)).all()


def test_margin_rows_are_tighter_than_the_papers():
    rng = np.random.default_rng(1)
    problem = make_problem(rng.choice([-1, 1], size=(30, 5)), 10)
    rows, bounds, _ = known(problem)

    def root(model):
        relaxed = type(model)(**{**vars(model), "integrality": np.zeros(model.n_cols, dtype=bool)})
        return run(relaxed).bound

    assert root(strengthened_model(problem, rows, bounds)) >= root(big_m_model(problem)) - 1e-9


def test_rows_stack_take_and_measure():
    one = Rows(sparse.csr_array([[1.0, 1.0]]), np.array([1.0]), np.array([np.inf]))
    both = Rows.stack([one, one], 2)
    assert both.excess(np.array([0.25, 0.25])) == pytest.approx([0.5, 0.5])
    assert Rows.stack([], 3).matrix.shape == (0, 3)
    assert both.take(np.array([1])).lower == [1.0]
