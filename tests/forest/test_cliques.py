"""Cliques: what is found is true, what is violated is found; rows that come and go."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from c2rf.forest.bounds.cuts import AtMost, Cliques, Ground
from c2rf.forest.bounds.feasibility import LinearProgram
from c2rf.forest.bounds.relaxation import Case, Relaxation
from c2rf.forest.problem import make_problem
from plain import plain_copy
from proving import statement_of

BOXES = [(1, 2, None), (1, 10, None), (1, 100, (-3.0, 2.0))]


def votes_of(seed, n_points=40, n_trees=7):
    return np.random.default_rng(seed).choice([-1, 1], size=(n_points, n_trees))


def together(problem, a, b):
    """Whether the box allows two literals to be true together."""
    n = problem.n_patterns
    rows = [problem.patterns[i % n] * (1 if i < n else -1) for i in (a, b)]
    both = rows[0].astype(float) + rows[1]
    return np.maximum(both * problem.lower, both * problem.upper).sum() >= 2


@pytest.mark.parametrize("box", BOXES)
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_no_two_literals_of_a_clique_are_true_together(box, seed):
    problem = make_problem(votes_of(seed), 10, *box)
    n, rng = problem.n_patterns, np.random.default_rng(seed)
    z = rng.choice([0.0, 0.5, 0.5, 1.0, rng.random()], size=n)
    value = np.concatenate([z, 1 - z])
    found = Cliques(problem, np.arange(2 * n), rng).violated(value)
    for clique in found:
        assert value[list(clique.literals)].sum() > 1
        assert not any(together(problem, a, b) for a, b in combinations(clique.literals, 2))
    pairs = combinations(np.flatnonzero(value > 0.02).tolist(), 2)
    if any(value[a] + value[b] > 1.01 and not together(problem, a, b) for a, b in pairs):
        assert found


@pytest.mark.parametrize("box", [*BOXES, (1, 1e15, None)])
def test_all_pairs_at_once_are_what_the_checker_says(box):
    rows = votes_of(3, n_points=25)
    problem = make_problem(rows, 10, *box)
    n, rng = problem.n_patterns, np.random.default_rng(0)
    ground = Ground(statement_of(rows, 10, *box), np.arange(n))
    said = set()
    for _ in range(200):
        literals = tuple(rng.choice(2 * n, size=3, replace=False).tolist())
        proof = ground.prove(AtMost(literals, 1))
        names = [ground.literal(name) for name in literals]
        assert (proof is not None) == ground.box.excludes(names, [1, 1, 1], 1)
        said.add(proof is not None)
    assert said == {True, False}


def test_rows_are_taken_out():
    program = LinearProgram(np.array([-1.0, -2.0]), np.zeros(2), np.ones(2))
    rows = sparse.csr_array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    program.add_rows(rows, np.full(3, -np.inf), np.array([1.5, 0.9, 0.7]))
    assert program.solve().x == pytest.approx([0.8, 0.7])
    program.drop_rows(np.array([1]))  # it said nothing
    assert program.solve().x == pytest.approx([0.8, 0.7])
    program.drop_rows(np.array([1]))
    assert program.solve().x == pytest.approx([0.5, 1.0])


def test_idle_rows_go_and_come_back_under_their_number(monkeypatch):
    monkeypatch.setattr("c2rf.forest.bounds.relaxation._IDLE_SOLVES", 2)
    monkeypatch.setattr("c2rf.forest.bounds.relaxation._MANY_IDLE", 0)
    problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 3)
    relaxation = Relaxation(problem)
    always = [AtMost((0, 3), 2), AtMost((1, 4), 2), AtMost((2, 5), 2)]  # never tight
    rows = dict(enumerate(always)) | {4: AtMost((0, 1, 2), 1)}
    assert relaxation.add(rows) == 4
    case = Case(np.zeros(3, np.int8), np.ones(3, np.int8), (3, 3))
    etas = []
    for _ in range(4):
        relaxed = relaxation.solve(case, (3, 3))
        etas.append(relaxed.eta)
        relaxation.drop_idle()
    assert etas == pytest.approx([2.0] * 4)
    assert relaxation.add({4: rows[4]}) == 0  # the clique is tight: it stayed
    assert relaxation.add(rows) == 3  # what was slack had gone
    assert 4 in relaxation.solve(case, (3, 3)).guess.rows.tolist()


@pytest.mark.parametrize("box", BOXES)
def test_what_is_compiled_is_what_is_written(box):
    plain = plain_copy("c2rf.forest.bounds.cuts").Cliques
    for seed in range(4):
        problem = make_problem(votes_of(seed), 10, *box)
        value = np.random.default_rng(seed).random(2 * problem.n_patterns)
        names = np.arange(2 * problem.n_patterns)
        found, expected = (
            [clique.literals for clique in kind(problem, names, rng).violated(value)]
            for kind, rng in (
                (Cliques, np.random.default_rng(0)),
                (plain, np.random.default_rng(0)),
            )
        )
        assert found
        assert found == expected
