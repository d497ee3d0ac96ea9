"""Cuts in floats and the conflict graph, against enumeration and linear programs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from brute import realisable, sign_vectors
from c2rf.forest.bounds import conflict_graph
from c2rf.forest.bounds.conflict_graph import (
    Cut,
    cut_rows,
    excludes,
    pair_cuts,
)
from c2rf.forest.problem import Problem, make_problem
from strategies import problems as voting_problems

BOXES = [(1, 100), (1, 10), (1, 2), (1, 1.6), (0.5, 1), (0.2, 0.9), (2, 4), (1, 1)]


@st.composite
def problems(draw, max_patterns=8):
    """Few patterns, a box of its own for each column, sometimes a shift around zero."""
    n_columns = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    patterns = np.unique(rng.choice([-1, 1], size=(max_patterns, n_columns)), axis=0)
    kinds = draw(st.lists(st.sampled_from(BOXES), min_size=1, max_size=2))
    lower, upper = np.array([kinds[k % len(kinds)] for k in range(n_columns)], dtype=float).T
    if draw(st.booleans()):
        shift = draw(st.sampled_from([(-1, 1), (-3, 0.5), (0, 0), (0.3, 0.4)]))
        patterns = np.hstack([patterns, np.ones((len(patterns), 1), dtype=int)])
        lower, upper = np.append(lower, shift[0]), np.append(upper, shift[1])
    counts = rng.integers(1, 20, size=len(patterns))
    return Problem(patterns.astype(np.int8), counts, int(counts.sum() // 3), lower, upper)


def naive_implications(problem: Problem) -> list[tuple[int, int]]:
    """All a -> b among literals i (positive) and h + i (negative), by the definition."""
    literals = np.vstack([problem.patterns, -problem.patterns]).astype(float)
    found = []
    for a, b in product(range(len(literals)), repeat=2):
        half = (literals[a] - literals[b]) / 2
        most = np.where(half > 0, half * problem.upper, half * problem.lower).sum()
        if most < 1 - 1e-4:
            found.append((a, b))
    return found


def admitted_by_pairs(problem: Problem) -> set[tuple[int, ...]]:
    """All sign vectors that no condition on one or two patterns excludes."""
    implications = naive_implications(problem)
    admitted = set()
    for z in product((0, 1), repeat=problem.n_patterns):
        literal = [*z, *(1 - v for v in z)]
        if all(literal[b] or not literal[a] for a, b in implications):
            admitted.add(z)
    return admitted


def admits(problem: Problem, z, cuts: list[Cut] | None = None) -> bool:
    """Whether no cut on two literals excludes these signs."""
    matrix, upper = cut_rows(pair_cuts(problem) if cuts is None else cuts, problem.n_patterns)
    return bool((matrix @ np.asarray(z, dtype=float) <= upper).all())


@given(problems())
@settings(deadline=None, max_examples=150)
def test_irreducible_pairs_say_exactly_what_all_pairs_say(problem):
    h, cuts = problem.n_patterns, pair_cuts(problem)
    everything, is_wide = admitted_by_pairs(problem), (problem.upper - problem.lower >= 1).all()
    alone = [(a, b) for a, b in naive_implications(problem) if abs(a - b) == h]
    for z in product((0, 1), repeat=h):
        literal = [*z, *(1 - v for v in z)]
        if all(literal[b] or not literal[a] for a, b in alone):
            ours = admits(problem, z, cuts)
            assert ours == (z in everything) if is_wide else ours >= (z in everything)


@given(problems(max_patterns=40), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=100)
def test_no_feasible_weights_are_excluded(problem, seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        corner = rng.uniform(size=problem.n_columns) < 0.5
        alpha = np.where(corner, rng.choice([0.0, 1.0]), rng.uniform(size=problem.n_columns))
        alpha = problem.lower + alpha * (problem.upper - problem.lower)
        margins = problem.patterns @ alpha
        keep = np.abs(margins) >= 1
        part = Problem(
            problem.patterns[keep], problem.counts[keep], 0, problem.lower, problem.upper
        )
        assert admits(part, margins[keep] > 0)


def exists(problem: Problem, rows: list[int], signs: list[int]) -> bool:
    """Whether an LP finds weights that give these rows these signs."""
    matrix = -np.array(signs)[:, None] * problem.patterns[rows]
    box = list(zip(problem.lower, problem.upper, strict=True))
    found = linprog(np.zeros(problem.n_columns), matrix, -np.ones(len(rows)), bounds=box)
    return found.status == 0


@given(problems(max_patterns=2))
@settings(deadline=None, max_examples=150)
def test_pairs_are_complete_for_two_patterns(problem):
    rows = list(range(problem.n_patterns))
    alone = {(k, s): exists(problem, [k], [s]) for k in rows for s in (-1, 1)}
    for signs in product((-1, 1), repeat=len(rows)):
        if all(alone[key] for key in zip(rows, signs, strict=True)):
            assert exists(problem, rows, list(signs)) == admits(problem, np.array(signs) > 0)


@given(problems(max_patterns=12))
@settings(deadline=None, max_examples=60)
def test_negated_votes_mirror_everything(problem):
    negated = Problem(
        -problem.patterns, problem.counts, problem.n_positive, problem.lower, problem.upper
    )
    h = problem.n_patterns
    ours = {cut.literals for cut in pair_cuts(problem)}
    theirs = {tuple(sorted((k + h) % (2 * h) for k in cut.literals)) for cut in pair_cuts(negated)}
    for z in product((0, 1), repeat=min(h, 8)):
        literal = np.concatenate([z, np.zeros(h - len(z)), 1 - np.array(z), np.ones(h - len(z))])
        ruled_out = [any(literal[list(cut)].all() for cut in cuts) for cuts in (ours, theirs)]
        assert ruled_out[0] == ruled_out[1]


def test_no_pair_follows_from_the_others_in_a_wide_box():
    rng = np.random.default_rng(3)
    problem = make_problem(np.where(rng.uniform(size=(60, 6)) < 0.6, 1, -1), 20)
    h = problem.n_patterns
    edges = set()
    for a, b in (cut.literals for cut in pair_cuts(problem)):
        edges |= {(a, (b + h) % (2 * h)), (b, (a + h) % (2 * h))}
    kinds = [sum(name >= h for name in cut.literals) for cut in pair_cuts(problem)]
    assert min(kinds.count(k) for k in range(3)) > 3
    for edge in sorted(edges):
        assert not _path(edges - {edge}, *edge)


def _path(edges, start, goal):
    seen, stack = {start}, [start]
    while stack:
        here = stack.pop()
        following = {b for a, b in edges if a == here} - seen
        seen |= following
        stack += following
    return goal in seen


def test_narrow_boxes_make_patterns_equal():
    # One tree for another changes a score by less than the gap of 2 between the signs.
    votes = [[1, 1, 1, -1, -1, -1], [1, 1, -1, 1, -1, -1]]
    problem = make_problem(votes, 1, lower=0.5, upper=1.1)
    assert [cut.literals for cut in pair_cuts(problem)] == [(0, 3), (1, 2)]


def test_opposite_patterns_have_opposite_signs():
    problem = make_problem([[1, -1, 1], [-1, 1, -1]], 1)
    assert [cut.literals for cut in pair_cuts(problem)] == [(2, 3), (0, 1)]


def test_few_patterns_keep_the_ones_with_most_points():
    rng = np.random.default_rng(0)
    problem = make_problem(np.where(rng.uniform(size=(300, 6)) < 0.6, 1, -1), 20)
    part, whole = pair_cuts(problem, max_patterns=10), pair_cuts(problem)
    heaviest = set(np.argsort(-problem.counts, kind="stable")[:10].tolist())
    assert 0 < len(part) < len(whole)
    assert {k % problem.n_patterns for cut in part for k in cut.literals} <= heaviest


def test_of_many_trees_fewer_patterns_are_compared(monkeypatch):
    rng = np.random.default_rng(0)
    problem = make_problem(np.where(rng.uniform(size=(300, 6)) < 0.6, 1, -1), 20)
    monkeypatch.setattr(conflict_graph, "_MOST_PRODUCTS", 4 * 6 * 10**2)  # of 20 x 20 literals
    assert pair_cuts(problem) == pair_cuts(problem, max_patterns=10)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_single_pattern_has_no_pairs(n_columns):
    assert pair_cuts(make_problem(np.ones((1, n_columns)), 1, 0.1, 0.2)) == []


# Cuts


def literals_of(problem: Problem, names) -> np.ndarray:
    return np.concatenate([problem.patterns, -problem.patterns])[list(names)]


def truth(signs) -> np.ndarray:
    """Which literals a sign vector makes true."""
    z = np.array(signs, dtype=int) > 0
    return np.concatenate([z, ~z])


@given(voting_problems(max_points=8, max_trees=5), st.data())
@settings(deadline=None, max_examples=60)
def test_what_is_excluded_is_true_for_no_weights(problem, data):
    names = st.integers(0, 2 * problem.n_patterns - 1)
    chosen = data.draw(st.lists(names, min_size=2, max_size=6, unique=True))
    k = len(chosen)
    y = np.array(data.draw(st.lists(st.integers(0, 3), min_size=k, max_size=k)))
    if excludes(problem, literals_of(problem, chosen), y.astype(float)):
        for signs in sign_vectors(problem):
            assert y[truth(signs)[chosen]].sum() < y.sum()


@given(voting_problems(max_points=8, max_trees=5))
@settings(max_examples=40)
def test_multipliers_never_exclude_what_some_weights_do(problem):
    rng = np.random.default_rng(problem.n_points)
    for signs in sign_vectors(problem):
        literals = np.array(signs)[:, None] * problem.patterns
        for y in rng.exponential(size=(5, len(literals))):
            assert not excludes(problem, literals, y)


@given(voting_problems(max_points=2, max_trees=5))
@settings(deadline=None, max_examples=60)
def test_equal_multipliers_are_complete_for_two_patterns(problem):
    n = problem.n_patterns
    for a in range(2 * n):
        for b in range(a + 1, 2 * n):
            if a + n != b:
                both = realisable(problem, [a % n, b % n], [1 if k < n else -1 for k in (a, b)])
                alone = [realisable(problem, [k % n], [1 if k < n else -1]) for k in (a, b)]
                if all(alone):
                    literals = literals_of(problem, (a, b))
                    assert excludes(problem, literals, np.ones(2)) == (not both)


def test_four_literals_with_every_tree_in_two_supports_are_not_all_true():
    members = [(0, 1, 2), (0, 3, 4), (1, 3, 5), (2, 4, 5)]
    votes = np.full((4, 6), -1)
    for row, trees in enumerate(members):
        votes[row, list(trees)] = 1
    problem = make_problem(votes, 4)
    assert excludes(problem, problem.patterns, np.ones(4))
    assert not excludes(problem, problem.patterns[:3], np.ones(3))


@pytest.mark.parametrize("y", [[-1, -1], [0, 0], [1, 0], [np.nan, np.nan]])
def test_multipliers_that_prove_nothing_are_refused(y):
    problem = make_problem([[1, -1, -1], [-1, 1, 1]], 1)
    assert excludes(problem, problem.patterns, np.ones(2))
    assert not excludes(problem, problem.patterns, np.array(y, dtype=float))


@pytest.mark.parametrize("literals", [(2, 5), (2, 11), (8, 11), (0, 1, 9)])
def test_the_row_of_a_cut_holds_where_the_cut_does(literals):
    cut = Cut(literals, len(literals) - 1)
    matrix, upper = cut_rows([cut], 6)
    for z in product((0, 1), repeat=6):
        value = np.concatenate([z, 1 - np.array(z)])
        assert (matrix @ np.array(z) <= upper)[0] == (value[list(literals)].sum() <= cut.most)
