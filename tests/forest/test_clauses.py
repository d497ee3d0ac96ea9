from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import realisable, sign_vectors
from c2rf.forest.bounds.cuts import AtMost, Coalitions, Separator, cut_matrix
from c2rf.forest.problem import make_problem
from strategies import problems


def truth(signs: tuple[int, ...]) -> np.ndarray:
    """Which literals a sign vector makes true."""
    z = np.array(signs, dtype=int) > 0
    return np.concatenate([z, ~z])


@given(problems(max_points=8, max_trees=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_no_realisable_signs_are_cut_off(problem, seed):
    rng = np.random.default_rng(seed)
    found = sign_vectors(problem)
    separator = Separator(problem, seed)
    n = problem.n_patterns
    for z in (np.full(n, 0.5), rng.uniform(size=n), rng.integers(0, 2, size=n).astype(float)):
        for cut in separator.cuts(z):
            for signs in found:
                assert truth(signs)[list(cut.literals)].sum() <= cut.most


@given(problems(max_points=8, max_trees=5), st.data())
@settings(deadline=None, max_examples=60)
def test_what_is_excluded_is_not_realisable(problem, data):
    names = st.integers(0, 2 * problem.n_patterns - 1)
    literals = np.array(data.draw(st.lists(names, min_size=2, max_size=6, unique=True)))
    k = len(literals)
    multipliers = np.array(data.draw(st.lists(st.integers(0, 3), min_size=k, max_size=k)))
    winners = data.draw(st.integers(1, max(1, int(multipliers.sum()))))
    if Coalitions(problem).excludes(literals, multipliers.astype(float), winners):
        for signs in sign_vectors(problem):
            assert multipliers[truth(signs)[literals]].sum() < winners


@given(problems(max_points=2, max_trees=5))
@settings(deadline=None, max_examples=60)
def test_the_certificate_is_complete_for_two_patterns(problem):
    coalitions = Coalitions(problem)
    n = problem.n_patterns
    for a in range(2 * n):
        for b in range(a + 1, 2 * n):
            if a + n != b:
                both = realisable(problem, [a % n, b % n], [1 if k < n else -1 for k in (a, b)])
                alone = [realisable(problem, [k % n], [1 if k < n else -1]) for k in (a, b)]
                if all(alone):
                    assert coalitions.excludes(np.array([a, b]), np.ones(2), 2) == (not both)


@given(problems(max_points=8, max_trees=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_every_cut_found_is_violated_and_its_row_says_so(problem, seed):
    z = np.random.default_rng(seed).uniform(size=problem.n_patterns)
    cuts = Separator(problem).cuts(z)
    value = np.concatenate([z, 1 - z])
    excess = [value[list(cut.literals)].sum() - cut.most for cut in cuts]
    matrix, upper = cut_matrix(cuts, problem.n_patterns)
    assert matrix @ z - upper == pytest.approx(excess)
    assert all(amount > 0 for amount in excess)


def test_coalitions_that_have_every_tree_twice_win_three_times_at_most():
    # Four coalitions of three of six trees, every tree in two of them.
    members = [(0, 1, 2), (0, 3, 4), (1, 3, 5), (2, 4, 5)]
    votes = np.full((4, 6), -1)
    for row, trees in enumerate(members):
        votes[row, list(trees)] = 1
    problem = make_problem(votes, 4)
    coalitions = Coalitions(problem)
    assert coalitions.excludes(np.arange(4), np.ones(4), 4)
    assert not coalitions.excludes(np.arange(4), np.ones(4), 3)
    found = {(cut.literals, cut.most) for cut in Separator(problem).cuts(np.ones(4))}
    assert ((0, 1, 2, 3), 3) in found


@given(problems(max_points=8, max_trees=5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_signs_that_no_weights_have_are_cut_off(problem, seed):
    n = problem.n_patterns
    signs = np.random.default_rng(seed).choice([-1, 1], size=n)
    cuts = Separator(problem).cuts((signs > 0).astype(float))
    assert bool(cuts) != realisable(problem, list(range(n)), signs.tolist())


def test_cuts_are_lifted_to_the_largest_coalitions():
    # Three rivals without a common tree; one of them is contained in a larger one.
    votes = [[1, -1, -1, -1], [-1, 1, -1, -1], [-1, -1, 1, -1], [-1, -1, 1, 1]]
    problem = make_problem(votes, 1)
    place = {tuple(row): k for k, row in enumerate(problem.patterns.tolist())}
    one, two, _, large = (place[tuple(row)] for row in votes)
    z = np.full(4, 0.5)
    cuts = Separator(problem).cuts(z)
    assert AtMost(tuple(sorted((one, two, large))), 1) in cuts


def test_the_same_seed_finds_the_same_cuts():
    rng = np.random.default_rng(5)
    problem = make_problem(rng.choice([-1, 1], size=(80, 7)), 20)
    z = rng.uniform(size=problem.n_patterns)
    assert Separator(problem, 3).cuts(z) == Separator(problem, 3).cuts(z)
