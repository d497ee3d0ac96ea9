"""Cuts that are found: no weights violate them, z does; proofs in whole numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import c2rf.forest.bounds.cuts
from brute import realisable, sign_vectors
from c2rf.forest.bounds.conflict_graph import Cut, cut_rows
from c2rf.forest.bounds.cuts import CliqueSeparator, CutPool, Separator
from c2rf.forest.problem import make_problem
from plain import plain_copy
from proving import certifier_of, prove, statement_of
from strategies import problems

BOXES = [(1, 2, None), (1, 10, None), (1, 100, (-3.0, 2.0))]


def truth(signs: tuple[int, ...]) -> np.ndarray:
    """Which literals a sign vector makes true."""
    z = np.array(signs, dtype=int) > 0
    return np.concatenate([z, ~z])


@given(problems(max_points=8, max_trees=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_no_signs_that_weights_have_are_cut_off(problem, seed):
    rng = np.random.default_rng(seed)
    found = sign_vectors(problem)
    separator = Separator(problem, seed)
    n = problem.n_patterns
    for z in (np.full(n, 0.5), rng.uniform(size=n), rng.integers(0, 2, size=n).astype(float)):
        for cut in separator.cuts(z):
            for signs in found:
                assert truth(signs)[list(cut.literals)].sum() <= cut.most


@given(problems(max_points=8, max_trees=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_every_cut_found_is_violated_and_its_row_says_so(problem, seed):
    z = np.random.default_rng(seed).uniform(size=problem.n_patterns)
    cuts = Separator(problem).cuts(z)
    value = np.concatenate([z, 1 - z])
    excess = [value[list(cut.literals)].sum() - cut.most for cut in cuts]
    matrix, upper = cut_rows(cuts, problem.n_patterns)
    assert matrix @ z - upper == pytest.approx(excess)
    assert all(amount > 0 for amount in excess)


@given(problems(max_points=8, max_trees=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_signs_that_no_weights_have_are_cut_off(problem, seed):
    n = problem.n_patterns
    signs = np.random.default_rng(seed).choice([-1, 1], size=n)
    cuts = Separator(problem).cuts((signs > 0).astype(float))
    assert bool(cuts) != realisable(problem, list(range(n)), signs.tolist())


def test_cuts_are_lifted_to_the_largest_supports():
    # Three disjoint supports; one of them is contained in a larger one.
    votes = [[1, -1, -1, -1], [-1, 1, -1, -1], [-1, -1, 1, -1], [-1, -1, 1, 1]]
    problem = make_problem(votes, 1)
    place = {tuple(row): k for k, row in enumerate(problem.patterns.tolist())}
    one, two, _, large = (place[tuple(row)] for row in votes)
    z = np.full(4, 0.5)
    cuts = Separator(problem).cuts(z)
    assert Cut(tuple(sorted((one, two, large))), 1) in cuts


def test_the_same_seed_finds_the_same_cuts():
    rng = np.random.default_rng(5)
    problem = make_problem(rng.choice([-1, 1], size=(80, 7)), 20)
    z = rng.uniform(size=problem.n_patterns)
    assert Separator(problem, 3).cuts(z) == Separator(problem, 3).cuts(z)


# Cliques


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
    found = CliqueSeparator(problem, rng).cuts(value)
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
    pool = CutPool(statement_of(rows, 10, *box), np.arange(n))
    said = set()
    for _ in range(200):
        literals = tuple(rng.choice(2 * n, size=3, replace=False).tolist())
        proof = pool.prove(Cut(literals, 1))
        names = [pool.literal(name) for name in literals]
        assert (proof is not None) == pool.box.excludes(names, [1, 1, 1], 1)
        said.add(proof is not None)
    assert said == {True, False}


@pytest.mark.parametrize("box", BOXES)
def test_what_is_compiled_is_what_is_written(box):
    plain = plain_copy("c2rf.forest.bounds.cuts").CliqueSeparator
    for seed in range(4):
        problem = make_problem(votes_of(seed), 10, *box)
        value = np.random.default_rng(seed).random(2 * problem.n_patterns)
        found, expected = (
            [clique.literals for clique in kind(problem, rng).cuts(value)]
            for kind, rng in (
                (CliqueSeparator, np.random.default_rng(0)),
                (plain, np.random.default_rng(0)),
            )
        )
        assert found
        assert found == expected


# The pool


@given(problems(max_points=8, max_trees=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_cuts_that_are_found_are_proven_in_whole_numbers(problem, seed):
    lower, upper = float(problem.lower[0]), float(problem.upper[0])
    if (problem.lower != lower).any() or (problem.upper != upper).any():
        return  # the column of an offset
    rows = np.repeat(problem.patterns, problem.counts, axis=0)
    statement = statement_of(rows, 1, lower, upper)
    bits = [sum(1 << j for j, vote in enumerate(row) if vote > 0) for row in problem.patterns]
    pool = CutPool(statement, np.array([list(statement.patterns).index(b) for b in bits]))
    z = np.random.default_rng(seed).uniform(size=problem.n_patterns)
    numbered = pool.add(Separator(problem, seed).cuts(z))
    for row, cut in numbered.items():
        literals, multipliers, most = pool.proof(row)
        assert len(literals) == len(multipliers) == len(cut.literals)
        assert most == cut.most
        assert pool.box.proven_row([literals, multipliers, most], 0)


def test_a_pool_numbers_each_cut_once_and_remembers_its_proof(monkeypatch):
    rows = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    pool = CutPool(statement_of(rows, 1), np.array([2, 1, 0]))
    clique, pair, wrong = Cut((0, 1, 2), 1), Cut((0, 1), 1), Cut((3, 4), 1)
    assert list(pool.add([clique, pair])) == [0, 1]
    assert pool.add([wrong, Cut((0, 1, 2), 1, (1.0, 1.0, 1.0))]) == {2: wrong, 0: clique}
    assert [pool.literal(name) for name in range(6)] == [3, 2, 1, -3, -2, -1]
    assert pool.proof(1) == ([3, 2], [1, 1], 1)
    assert pool.proof(2) is None
    monkeypatch.setattr(pool, "prove", None)
    assert pool.proof(1) == ([3, 2], [1, 1], 1)


@pytest.mark.parametrize(("sought", "nodes"), [(None, 0), (0, 1)])
def test_farkas_cuts_prove_at_the_root_what_cliques_cannot(monkeypatch, sought, nodes):
    """Any three of the four patterns can be negative together, but not all."""
    if sought is not None:
        monkeypatch.setattr(c2rf.forest.bounds.cuts, "_FARKAS_CUTS", sought)
    votes = [
        [-1, -1, -1, 1, 1, 1],
        [-1, 1, 1, -1, -1, 1],
        [1, -1, 1, -1, 1, -1],
        [1, 1, -1, 1, -1, -1],
    ]
    prover = certifier_of(votes, 0).prover()
    assert prove(prover, 1) == 1
    assert prover.nodes == nodes
