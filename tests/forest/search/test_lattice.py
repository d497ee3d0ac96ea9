"""The odd lattice against enumeration, and the chains on it against the Boltzmann distribution."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import c2rf.forest.search.lattice
from c2rf.forest.problem import Problem, make_problem
from c2rf.forest.search.lattice import OddLattice, Tempering, odd_lattice_point

SEEDS = st.integers(0, 2**32 - 1)
ends = st.integers(-12, 12).map(lambda k: k / 4)


@st.composite
def boxes(draw):
    """Boxes of their own for up to four columns, with ends at quarters."""
    pairs = draw(st.lists(st.tuples(ends, ends).map(sorted), min_size=1, max_size=4))
    patterns = draw(arrays(np.int8, (5, len(pairs)), elements=st.sampled_from([-1, 1])))
    lower, upper = np.array(pairs, dtype=float).T
    return Problem(patterns, np.ones(5, dtype=np.int64), 2, lower, upper)


@given(boxes())
def test_a_point_is_found_exactly_where_there_is_one(problem):
    ranges = [
        range(int(np.ceil(low)), int(np.floor(high)) + 1)
        for low, high in zip(problem.lower, problem.upper, strict=True)
    ]
    exists = any(sum(point) % 2 for point in product(*ranges))
    point = odd_lattice_point(problem)
    assert (point is not None) == exists
    if point is not None:
        assert (point >= problem.lower).all()
        assert (point <= problem.upper).all()
        assert np.abs(problem.patterns @ point).min() >= 1


@pytest.mark.parametrize("n_trees", [1, 2, 3, 100, 101])
@pytest.mark.parametrize(("lower", "upper"), [(1, 2), (0.5, 2.5), (7, 8.2)])
def test_two_consecutive_integers_are_always_enough(n_trees, lower, upper):
    rng = np.random.default_rng(n_trees)
    problem = make_problem(rng.choice([-1, 1], size=(500, n_trees)), 3, lower, upper)
    point = odd_lattice_point(problem)
    assert np.abs(problem.patterns @ point).min() >= 1


def test_boxes_without_a_point():
    votes = [[1, -1], [1, 1]]
    assert odd_lattice_point(make_problem(votes, 1, 1, 1)) is None
    assert odd_lattice_point(make_problem(votes, 1, 1, 1.9)) is None
    assert odd_lattice_point(make_problem(votes, 1, 1.1, 1.9)) is None
    assert odd_lattice_point(make_problem(votes, 1, 1, 1, offset=(0, 0.9))) is None
    assert odd_lattice_point(make_problem(votes, 1, 1, 1, offset=(-0.5, 1))).tolist() == [1, 1, 1]
    assert odd_lattice_point(make_problem([[1, 1, -1]], 1, 1, 1)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("offset", [(1e30, 1e30), (-1e30, -1e30), (1e17, 2e17)])
def test_offsets_beyond_whole_numbers_have_no_lattice(offset):
    assert OddLattice.of(make_problem([[1, -1], [-1, 1]], 1, offset=offset)) is None


def random_problem(rng, n_patterns=40, n_columns=6, widest=9, n_positive=None):
    """Random votes and counts, and a box of its own for each column, some below zero."""
    patterns = np.unique(rng.choice([-1, 1], (n_patterns, n_columns)), axis=0).astype(np.int8)
    counts = rng.integers(1, 9, len(patterns))
    lower = rng.integers(-2, 4, n_columns).astype(float)
    upper = lower + rng.integers(0, widest, n_columns)
    upper[0] = lower[0] + widest
    target = int(rng.integers(counts.sum())) if n_positive is None else n_positive
    return Problem(patterns, counts, target, lower, upper)


def random_points(rng, lattice, n):
    draws = rng.uniform(lattice.lower, lattice.upper, (n, len(lattice.lower)))
    return lattice.near(lattice.scale * draws)


@given(SEEDS)
def test_lattice_points_are_in_the_box_and_meet_all_margins_of_all_votes(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    lattice = OddLattice.of(problem)
    every_vote = np.array(list(product([-1, 1], repeat=problem.n_columns)))
    for point in random_points(rng, lattice, 5):
        weights = lattice.weights(point)
        assert (weights >= problem.lower).all()
        assert (weights <= problem.upper).all()
        assert np.abs(every_vote @ weights).min() >= 1


@pytest.mark.parametrize(
    ("lower", "upper", "exists"),
    [
        ([1, 1], [1, 1], False),
        ([1, 1, 1], [1, 1, 1], True),
        ([1, 1], [1, 2], True),
        ([0.3, 0.3], [0.9, 0.9], False),
        ([2.2, 1], [2.9, 9], False),
        ([-0.5, 1], [0.5, 1], True),
        ([-0.5, 2], [0.5, 2], False),
        ([0.1, 0.1], [1.5, 2.5], True),
    ],
)
def test_the_lattice_is_known_to_be_empty_exactly_where_it_is(lower, upper, exists):
    votes = np.array([[1, -1, 1][: len(lower)]], dtype=np.int8)
    problem = Problem(votes, np.array([1]), 1, np.array(lower, float), np.array(upper, float))
    assert (OddLattice.of(problem) is not None) == exists
    assert (odd_lattice_point(problem) is not None) == exists


@pytest.mark.parametrize("offset", [None, (-1e12, 1e12), (1, 2), (-0.5, 0.5)])
@pytest.mark.parametrize("upper", [1e4, 1e9])
def test_huge_boxes_have_few_values_and_still_let_one_tree_decide(upper, offset):
    votes = np.array([[1, -1, -1], [-1, 1, 1]], dtype=np.int8)
    problem = make_problem(votes, 1, 1, upper, offset=offset)
    lattice = OddLattice.of(problem)
    assert (lattice.upper - lattice.lower).max() < 2**16
    assert lattice.upper[0] > lattice.lower[1:3].sum() + 1
    assert (lattice.weights(lattice.lower) >= problem.lower).all()
    assert (lattice.weights(lattice.upper) <= problem.upper).all()


# Chains


def random_lines(rng, n, q):
    first, second = rng.integers(q, size=(2, n))
    return first, second, np.where((first == second) | (rng.random(n) < 0.5), 1, -1)


@given(SEEDS)
def test_the_counts_along_a_line_are_those_of_its_points(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    lattice = OddLattice.of(problem)
    chains = Tempering(problem, lattice, rng)
    chains.place(random_points(rng, lattice, 3))
    seen = chains.distance.min()
    first, second, sign = random_lines(rng, 3, problem.n_columns)
    lines = chains.count_along(first, second, sign)
    for w in range(3):
        step = np.zeros(problem.n_columns, dtype=int)
        step[first[w]] += 1
        step[second[w]] += sign[w]
        for place, distance in enumerate(lines.distance[w]):
            point = chains.points[w] + (place - lines.back[w]) * step
            inside = ((point >= lattice.lower) & (point <= lattice.upper)).all()
            assert np.isfinite(distance) == inside
            if inside:
                assert lines.positives[w, place] == problem.count(lattice.weights(point))
                assert distance == problem.eta(lattice.weights(point))
    assert chains.eta == min(seen, lines.distance.min())
    assert problem.eta(lattice.weights(chains.best)) == chains.eta


@settings(max_examples=25)
@given(SEEDS)
def test_what_chains_know_of_themselves_stays_true(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    lattice = OddLattice.of(problem)
    chains = Tempering(problem, lattice, rng)
    chains.restart()
    chains.insert([problem.lower, problem.upper])
    for _ in range(20):
        chains.step()
        assert chains.eta <= chains.distance.min()
    for point, positives in zip(chains.points, chains.positives, strict=True):
        assert ((point >= lattice.lower) & (point <= lattice.upper)).all()
        assert point.sum() % 2 == 1
        assert positives == problem.count(lattice.weights(point))


@pytest.mark.parametrize("shrinkage", [0.0, 1.0])
def test_chains_visit_points_as_often_as_the_boltzmann_distribution_says(shrinkage):
    rng = np.random.default_rng(1)
    votes = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, -1]], dtype=np.int8)
    problem = Problem(votes, np.array([1, 2, 3, 4]), 3, np.ones(3), np.array([2.0, 3.0, 4.0]))
    lattice = OddLattice.of(problem)
    points = [point for point in product([1, 2], [1, 2, 3], [1, 2, 3, 4]) if sum(point) % 2 == 1]
    temperature = 2.0
    expected = np.array(
        [
            np.exp(-problem.eta(np.array(point, float)) / temperature) / np.prod(point) ** shrinkage
            for point in points
        ]
    )
    n = 200
    chains = Tempering(problem, lattice, rng)
    chains._temperature, chains._shrinkage = np.full(n, temperature), np.full(n, shrinkage)
    chains.place(random_points(rng, lattice, n))
    visits = dict.fromkeys(points, 0)
    for step in range(550):
        lines = chains.count_along(*random_lines(rng, n, 3))
        chains.move(lines)
        if step >= 50:
            for point in chains.points.tolist():
                visits[tuple(point)] += 1
    share = np.array([visits[point] for point in points]) / sum(visits.values())
    np.testing.assert_allclose(share, expected / expected.sum(), atol=0.01)


def test_shrinkage_finds_the_tree_that_decides_alone(monkeypatch):
    """Without shrinkage chains take twice as long; with as much for all of them, longer, too."""
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((150, 20)) < 0.3, 1, -1)
    votes[:, 0] = np.where(rng.random(150) < 0.85, 1, -1)
    problem = make_problem(votes, 150)
    best = int((votes[:, 0] < 0).sum())  # no other weights make so many rows positive

    def steps(seed):
        chains = Tempering(problem, OddLattice.of(problem), np.random.default_rng(seed))
        chains.restart()
        while chains.eta > best:
            chains.step()
            yield

    found = sum(1 for seed in range(4) for _ in steps(seed))
    for other in [(0.0, 0.0), (0.5, 0.5)]:
        monkeypatch.setattr(c2rf.forest.search.lattice, "_SHRINKAGE", other)
        assert sum(1 for seed in range(4) for _ in steps(seed)) > 1.3 * found
