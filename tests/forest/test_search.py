"""Exact lines, the odd lattice, its walkers, and the search over weights as a whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute import optimum
from c2rf.forest.problem import MARGIN_TOLERANCE, Problem, make_problem
from c2rf.forest.search.lattice import OddLattice, Tempering, Walkers, odd_lattice_point
from c2rf.forest.search.lines import LineWalk, cut_line
from c2rf.forest.search.searcher import Searcher
from strategies import problems

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(rng, n_patterns=40, n_columns=6, widest=9, n_positive=None):
    """Random votes and counts, and a box of its own for each column, some below zero."""
    patterns = np.unique(rng.choice([-1, 1], (n_patterns, n_columns)), axis=0).astype(np.int8)
    counts = rng.integers(1, 9, len(patterns))
    lower = rng.integers(-2, 4, n_columns).astype(float)
    upper = lower + rng.integers(0, widest, n_columns)
    upper[0] = lower[0] + widest
    wished = int(rng.integers(counts.sum())) if n_positive is None else n_positive
    return Problem(patterns, counts, wished, lower, upper)


def random_points(rng, lattice, n):
    draws = rng.uniform(lattice.lower, lattice.upper, (n, len(lattice.lower)))
    return lattice.near(lattice.scale * draws)


def assert_feasible(problem, weights):
    assert (weights >= problem.lower).all()
    assert (weights <= problem.upper).all()
    margins = np.abs(problem.patterns.astype(float) @ weights)
    assert margins.min(initial=np.inf) >= 1 - MARGIN_TOLERANCE


# Exact lines


@given(SEEDS)
def test_a_cut_line_says_what_every_single_point_of_it_says(seed):
    rng = np.random.default_rng(seed)
    h = int(rng.integers(1, 12))
    scores, slopes = rng.normal(0, 4, h), rng.integers(-3, 4, h) * rng.choice([0.5, 1.0], h)
    if rng.random() < 0.5:
        scores = np.rint(scores)  # intervals that touch
    counts = rng.integers(1, 5, h)
    low, high = np.sort(rng.normal(0, 5, 2))
    pieces = cut_line(scores, slopes, counts, low, high)
    assert pieces.left[0] == low
    assert pieces.right[-1] == high
    np.testing.assert_array_equal(pieces.left[1:], pieces.right[:-1])
    for left, right, short, positives in zip(*pieces, strict=True):
        if right - left < 1e-9:
            continue
        here = scores + rng.uniform(left + 1e-10, right - 1e-10) * slopes
        assert short == (np.abs(here) < 1).sum()
        if short == 0:
            assert positives == counts[here > 0].sum()


def test_a_single_point_between_two_short_stretches_is_a_piece():
    pieces = cut_line(np.array([2.0, 4.0]), np.array([-1.0, -1.0]), np.array([1, 1]), 0.0, 9.0)
    point = (pieces.left == 3) & (pieces.right == 3)
    assert pieces.short[point].tolist() == [0]
    assert pieces.positives[point].tolist() == [1]


def test_a_line_walk_finds_margins_in_a_box_without_integers_and_keeps_them():
    rng = np.random.default_rng(5)
    votes = np.vstack([[1, 1, 1, -1, -1, -1], rng.choice([-1, 1], (5, 6))])
    problem = make_problem(votes, 3, 1.2, 1.9)
    assert OddLattice.of(problem) is None
    walk = LineWalk(problem, problem.upper, rng)  # the first pattern is tied
    met = []
    for _ in range(300):
        walk.step(1.0)
        met.append(np.isfinite(walk.distance))
        if met[-1]:
            assert_feasible(problem, walk.weights)
            assert walk.distance == problem.eta(walk.weights)
    assert not met[0]
    assert all(met[met.index(True) :])


# The odd lattice


@given(SEEDS)
def test_lattice_points_are_in_the_box_and_meet_all_margins_of_all_votes(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    lattice = OddLattice.of(problem)
    every_vote = np.array(list(itertools.product([-1, 1], repeat=problem.n_columns)))
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
def test_huge_boxes_have_few_values_and_still_every_dictator(upper, offset):
    votes = np.array([[1, -1, -1], [-1, 1, 1]], dtype=np.int8)
    problem = make_problem(votes, 1, 1, upper, offset=offset)
    lattice = OddLattice.of(problem)
    assert (lattice.upper - lattice.lower).max() < 2**16
    assert lattice.upper[0] > lattice.lower[1:3].sum() + 1
    assert (lattice.weights(lattice.lower) >= problem.lower).all()
    assert (lattice.weights(lattice.upper) <= problem.upper).all()


# Walkers


def random_lines(rng, n, q):
    first, second = rng.integers(q, size=(2, n))
    return first, second, np.where((first == second) | (rng.random(n) < 0.5), 1, -1)


@given(SEEDS)
def test_a_look_along_a_line_counts_what_every_point_of_it_has(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    lattice = OddLattice.of(problem)
    walkers = Walkers(problem, lattice)
    walkers.place(random_points(rng, lattice, 3))
    seen = walkers.distance.min()
    first, second, sign = random_lines(rng, 3, problem.n_columns)
    lines = walkers.look(first, second, sign)
    for w in range(3):
        step = np.zeros(problem.n_columns, dtype=int)
        step[first[w]] += 1
        step[second[w]] += sign[w]
        for place, distance in enumerate(lines.distance[w]):
            point = walkers.points[w] + (place - lines.back[w]) * step
            inside = ((point >= lattice.lower) & (point <= lattice.upper)).all()
            assert np.isfinite(distance) == inside
            if inside:
                assert lines.positives[w, place] == problem.count(lattice.weights(point))
                assert distance == problem.eta(lattice.weights(point))
    assert walkers.eta == min(seen, lines.distance.min())
    assert problem.eta(lattice.weights(walkers.best)) == walkers.eta


@settings(max_examples=25)
@given(SEEDS)
def test_what_walkers_know_of_themselves_stays_true_as_they_walk(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    lattice = OddLattice.of(problem)
    tempering = Tempering(problem, lattice, rng)
    tempering.restart()
    tempering.insert([problem.lower, problem.upper])
    walkers = tempering.walkers
    for _ in range(20):
        tempering.step()
        assert walkers.eta <= walkers.distance.min()
    for point, positives in zip(walkers.points, walkers.positives, strict=True):
        assert ((point >= lattice.lower) & (point <= lattice.upper)).all()
        assert point.sum() % 2 == 1
        assert positives == problem.count(lattice.weights(point))


@pytest.mark.parametrize("thrift", [0.0, 1.0])
def test_walkers_visit_points_as_often_as_the_boltzmann_distribution_says(thrift):
    rng = np.random.default_rng(1)
    votes = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, -1]], dtype=np.int8)
    problem = Problem(votes, np.array([1, 2, 3, 4]), 3, np.ones(3), np.array([2.0, 3.0, 4.0]))
    lattice = OddLattice.of(problem)
    points = [
        point for point in itertools.product([1, 2], [1, 2, 3], [1, 2, 3, 4]) if sum(point) % 2 == 1
    ]
    heat = 2.0
    expected = np.array(
        [
            np.exp(-problem.eta(np.array(point, float)) / heat) / np.prod(point) ** thrift
            for point in points
        ]
    )
    n = 200
    walkers = Walkers(problem, lattice)
    walkers.place(random_points(rng, lattice, n))
    visits = dict.fromkeys(points, 0)
    for step in range(550):
        lines = walkers.look(*random_lines(rng, n, 3))
        walkers.move(lines, np.full(n, heat), np.full(n, thrift), rng)
        if step >= 50:
            for point in walkers.points.tolist():
                visits[tuple(point)] += 1
    share = np.array([visits[point] for point in points]) / sum(visits.values())
    np.testing.assert_allclose(share, expected / expected.sum(), atol=0.01)


def test_a_survey_sees_every_dictator():
    rng = np.random.default_rng(3)
    votes = rng.choice([-1, 1], (60, 9))
    for column in range(9):
        problem = make_problem(votes, int((votes[:, column] > 0).sum()))
        tempering = Tempering(problem, OddLattice.of(problem), rng)
        for _ in tempering.survey():
            pass
        assert tempering.walkers.eta == 0


# The search


@settings(max_examples=40, deadline=None)
@given(problems())
def test_the_search_returns_real_weights_and_beats_no_enumeration(problem):
    searcher = Searcher(problem, 0)
    searcher.run(10**7)
    best = optimum(problem)
    if best is None:
        assert searcher.best is None
        assert searcher.eta is None
    elif searcher.best is not None:
        assert_feasible(problem, searcher.best)
        assert searcher.eta == problem.eta(searcher.best) >= best


@pytest.mark.parametrize("box", [(1, 100), (1, 2), (1, 1), (0.5, 3), (1, 1.25), (0.05, 20)])
def test_the_search_finds_the_optimum_of_small_problems(box):
    rng = np.random.default_rng(7)
    for seed in range(6):
        votes = rng.choice([-1, 1], (9, 5))
        problem = make_problem(votes, int(rng.integers(10)), *box)
        searcher = Searcher(problem, seed)
        searcher.target = optimum(problem)
        assert searcher.run(10**8)


@pytest.mark.parametrize("offset", [(-1, 1), (-30, 30), (0.25, 0.75)])
def test_the_search_uses_a_shift(offset):
    rng = np.random.default_rng(8)
    for seed in range(4):
        problem = make_problem(rng.choice([-1, 1], (8, 4)), 2, 1, 20, offset)
        searcher = Searcher(problem, seed)
        searcher.target = optimum(problem)
        assert searcher.run(2 * 10**8)
        assert_feasible(problem, searcher.best)


@pytest.mark.parametrize("merged", [False, True])
def test_a_count_that_some_weights_have_is_found_among_thousands_of_patterns(merged):
    rng = np.random.default_rng(9)
    votes = rng.choice([-1, 1], (3000, 25), p=[0.4, 0.6])
    planted = rng.integers(1, 101, 25) | 1
    wished = int((votes @ planted > 0).sum())
    problem = make_problem(votes, wished)
    if merged:  # some columns stand for several equal trees
        copies = rng.integers(1, 4, 25)
        problem = Problem(problem.patterns, problem.counts, wished, copies * 1.0, copies * 100.0)
    searcher = Searcher(problem, 0)
    assert searcher.run(3 * 10**9)
    assert_feasible(problem, searcher.best)
    assert problem.eta(searcher.best) == 0


def test_flipping_all_votes_mirrors_the_answer():
    rng = np.random.default_rng(10)
    votes = rng.choice([-1, 1], (40, 7), p=[0.3, 0.7])
    for wished in (0, 5, 40):
        one = Searcher(make_problem(votes, wished), 0)
        other = Searcher(make_problem(-votes, 40 - wished), 0)
        one.run(6 * 10**7)
        other.run(6 * 10**7)
        assert one.eta == other.eta


def unreachable(seed):
    """A search that never ends by itself."""
    rng = np.random.default_rng(11)
    searcher = Searcher(make_problem(rng.choice([-1, 1], (300, 9)), 0), seed)
    searcher.target = -1
    return searcher


def test_the_same_seed_gives_the_same_weights():
    one, other = unreachable(4), unreachable(4)
    one.run(10**8)
    other.run(10**8)
    np.testing.assert_array_equal(one.best, other.best)


def test_a_search_goes_on_where_it_paused():
    in_slices, at_once = unreachable(4), unreachable(4)
    for _ in range(200):
        in_slices.run(1)  # a step each
    asked = itertools.count()
    at_once.run(10**18, lambda: next(asked) == 200)
    np.testing.assert_array_equal(in_slices.best, at_once.best)


def test_more_work_never_makes_it_worse():
    searcher = unreachable(0)
    etas = []
    for _ in range(20):
        searcher.run(10**6)
        etas.append(searcher.eta)
    assert etas == sorted(etas, reverse=True)


def test_told_to_stop_at_once_it_does_nothing():
    searcher = unreachable(0)
    assert not searcher.run(10**9, lambda: True)
    assert searcher.best is None


def test_offered_weights_are_kept_if_they_hold_and_are_better():
    problem = make_problem([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], 1)
    searcher = Searcher(problem)
    assert not searcher.offer(np.array([100.0, 50.0, 50.0]))
    assert searcher.best is None
    assert searcher.offer(np.array([30.0, 40.0, 50.0]))
    assert searcher.eta == 1
    assert searcher.offer(np.array([90.0, 1.0, 1.0]))
    assert searcher.eta == 0
    assert searcher.offer(np.array([30.0, 40.0, 50.0]))
    assert searcher.eta == 0
    assert_feasible(problem, searcher.best)


@pytest.mark.parametrize("box", [(1, 50), (1.2, 1.9)])
def test_offered_weights_are_searched_from(box):
    rng = np.random.default_rng(12)
    problem = make_problem(rng.choice([-1, 1], (6, 5)), 3, *box)
    searcher = Searcher(problem, 0)
    searcher.target = -1
    searcher.run(10**7)
    for _ in range(30):
        searcher.offer(rng.uniform(*box, problem.n_columns))
    searcher.run(3 * 10**8 if box[1] < 2 else 10**7)
    assert searcher.eta == optimum(problem)


def test_a_box_of_one_point_is_searched_in_no_time():
    odd = Searcher(make_problem([[1, 1, -1], [-1, -1, 1]], 0, 1, 1))
    assert not odd.run(10**18)
    assert odd.eta == 1
    tied = Searcher(make_problem([[1, -1]], 0, 1, 1))
    assert not tied.run(10**18)
    assert tied.best is None


def test_without_patterns_any_weights_do():
    nothing = Problem(
        np.zeros((0, 2), dtype=np.int8), np.zeros(0, dtype=np.int64), -3, np.ones(2), np.ones(2) * 9
    )
    searcher = Searcher(nothing)
    assert not searcher.run(10**18)
    assert searcher.eta == 3
