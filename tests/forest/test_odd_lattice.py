from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brute import optimum
from c2rf.forest.problem import Problem, make_problem
from c2rf.forest.search.lattice import OddLattice, odd_lattice_point
from c2rf.forest.search.searcher import Searcher
from c2rf.forest.votes import PatternTable

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


@given(boxes(), st.integers(1, 50))
def test_all_points_are_those_of_enumeration(problem, at_once):
    lattice = OddLattice.of(problem)
    assume(lattice is not None)
    ends = zip(lattice.lower.tolist(), lattice.upper.tolist(), strict=True)
    expected = {point for point in product(*(range(a, b + 1) for a, b in ends)) if sum(point) % 2}
    found = [tuple(point) for part in lattice.all_points(at_once) for point in part.tolist()]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_small_lattices_are_looked_at_as_a_whole():
    """One point of all has the wished count, among counts that tell nothing of the way."""
    rng = np.random.default_rng(5)
    votes = np.unique(rng.choice([-1, 1], (40, 6)), axis=0)
    table = PatternTable.from_votes(votes)
    counts = rng.integers(1, 2**50, table.n_patterns)
    problem = make_problem(PatternTable(table.words, counts, 6), 0, 1, 4)
    points = np.concatenate(list(OddLattice.of(problem).all_points(1000)))
    totals = (points @ problem.patterns.T > 0) @ problem.counts
    wished = int(totals[rng.integers(len(totals))])
    searcher = Searcher(replace(problem, n_positive=wished), 0)
    assert searcher.run(3 * 10**9)
    assert searcher.eta == 0


def test_a_search_without_hope_looks_at_every_point_and_goes_on(monkeypatch):
    """Nothing reaches 0: after the first epoch come lines, all points, and the next epoch."""
    votes = np.where(np.random.default_rng(0).random((12, 5)) < 0.6, 1, -1)
    problem = make_problem(votes, 0, 1, 3)
    searcher = Searcher(problem, 0)
    looked = []
    kept = OddLattice.all_points

    def all_points(lattice, at_once):
        looked.append(at_once)
        return kept(lattice, at_once)

    monkeypatch.setattr(OddLattice, "all_points", all_points)
    assert not searcher.run(10**9)
    assert len(looked) == 1
    assert searcher.eta == optimum(problem)
