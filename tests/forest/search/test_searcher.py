"""The search as a whole against enumeration, and the neighbourhood search on its own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from brute import optimum
from c2rf.forest.problem import MARGIN_TOLERANCE, Problem, make_problem
from c2rf.forest.search.searcher import Searcher, closest_subsets, search_neighbourhood
from c2rf.forest.votes import PatternTable
from strategies import problems


def assert_feasible(problem, weights):
    assert (weights >= problem.lower).all()
    assert (weights <= problem.upper).all()
    margins = np.abs(problem.patterns.astype(float) @ weights)
    assert margins.min(initial=np.inf) >= 1 - MARGIN_TOLERANCE


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
        searcher.goal = optimum(problem)
        assert searcher.run(10**8)


@pytest.mark.parametrize("offset", [(-1, 1), (-30, 30), (0.25, 0.75)])
def test_the_search_uses_a_shift(offset):
    rng = np.random.default_rng(8)
    for seed in range(4):
        problem = make_problem(rng.choice([-1, 1], (8, 4)), 2, 1, 20, offset)
        searcher = Searcher(problem, seed)
        searcher.goal = optimum(problem)
        assert searcher.run(2 * 10**8)
        assert_feasible(problem, searcher.best)


@pytest.mark.parametrize("merged", [False, True])
def test_a_count_that_some_weights_have_is_found_among_thousands_of_patterns(merged):
    rng = np.random.default_rng(9)
    votes = rng.choice([-1, 1], (3000, 25), p=[0.4, 0.6])
    planted = rng.integers(1, 101, 25) | 1
    target = int((votes @ planted > 0).sum())
    problem = make_problem(votes, target)
    if merged:  # some columns stand for several equal trees
        copies = rng.integers(1, 4, 25)
        problem = Problem(problem.patterns, problem.counts, target, copies * 1.0, copies * 100.0)
    searcher = Searcher(problem, 0)
    assert searcher.run(3 * 10**9)
    assert_feasible(problem, searcher.best)
    assert problem.eta(searcher.best) == 0


def test_flipping_all_votes_mirrors_the_answer():
    rng = np.random.default_rng(10)
    votes = rng.choice([-1, 1], (40, 7), p=[0.3, 0.7])
    for target in (0, 5, 40):
        one = Searcher(make_problem(votes, target), 0)
        other = Searcher(make_problem(-votes, 40 - target), 0)
        one.run(6 * 10**7)
        other.run(6 * 10**7)
        assert one.eta == other.eta


def unreachable(seed):
    """A search that never ends by itself."""
    rng = np.random.default_rng(11)
    searcher = Searcher(make_problem(rng.choice([-1, 1], (300, 9)), 0), seed)
    searcher.goal = -1
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
    searcher.goal = -1
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


# What was chosen by experiment: the constants of searcher.py and lattice.py


def large_counts(seed, n_trees=12, n_patterns=60, upper=20):
    """A total that some weights meet, of counts so large that few others do."""
    rng = np.random.default_rng(seed)
    patterns = np.unique(rng.choice([-1, 1], (n_patterns, n_trees)), axis=0).astype(np.int8)
    counts = rng.integers(1, 10**9, len(patterns))
    weights = rng.integers(1, upper, n_trees)
    weights[0] += 1 - weights.sum() % 2
    target = int(counts[patterns.astype(int) @ weights > 0].sum())
    return Problem(patterns, counts, target, np.ones(n_trees), np.full(n_trees, float(upper)))


def missed(work=2 * 10**8):
    """How many of some such totals are missed after that work."""
    found = [Searcher(large_counts(seed), 0) for seed in range(6)]
    return sum(not searcher.run(work) for searcher in found)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("searcher._NEIGHBOURHOOD_SHARE", 0.0),
        ("searcher._PER_NUMBER", 0),
        ("searcher._MOST_PATTERNS", 6),
        ("lattice._MOST_TEMPERATURES", 1),
        ("lattice._HIGHEST_PER_POINT", 1.0),
    ],
)
def test_other_values_of_the_constants_meet_fewer_totals(name, other, monkeypatch):
    chosen = missed()
    monkeypatch.setattr(f"c2rf.forest.search.{name}", other)
    assert missed() > chosen


# Neighbourhood search


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_sum_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    counts = rng.integers(1, 10 ** int(rng.integers(1, 16)), n)
    target, within = int(rng.integers(-5, counts.sum() + 5)), int(rng.integers(1, counts.sum() + 2))
    now, costs = rng.random(n) < 0.5, rng.random(n)
    found = closest_subsets(counts, target, within, now, costs)
    distance = [abs(int(counts[subset].sum()) - target) for subset in found]
    nearest = min(
        abs(int(counts[np.array(subset)].sum()) - target)
        for subset in itertools.product([False, True], repeat=n)
    )
    assert distance == sorted(distance)
    assert all(value < within for value in distance)
    assert min(distance, default=None) == (nearest if nearest < within else None)
    assert len({subset.tobytes() for subset in found}) == len(found)


def test_of_equally_near_subsets_the_cheapest_change_comes_first():
    now = np.array([True, False, True, False])
    costs = np.array([4.0, 3.0, 2.0, 1.0])
    found = closest_subsets(np.ones(4, dtype=np.int64), 2, 1, now, costs)
    spent = [costs[subset != now].sum() for subset in found]
    assert spent == sorted(spent)
    assert spent[0] == 0


def planted(seed, largest=10**9, n_patterns=50, n_trees=12, upper=20):
    """Counts so large that hardly any weights have just the total of those drawn here."""
    rng = np.random.default_rng(seed)
    votes = np.unique(rng.choice(np.array([-1, 1], np.int8), (n_patterns, n_trees)), axis=0)
    weights = rng.integers(1, upper, n_trees)
    weights[0] += 1 - weights.sum() % 2
    table = PatternTable.from_votes(votes)
    counts = rng.integers(1, largest, table.n_patterns)
    table = PatternTable(table.words, counts, table.n_trees)
    total = int(counts[table.patterns @ weights > 0].sum())
    return make_problem(table, total, 1, upper)


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_are_closer_and_meet_all_margins(seed):
    problem = planted(seed, largest=1000)
    rng = np.random.default_rng(seed)
    steps = [
        step
        for _ in range(10)
        for step in search_neighbourhood(
            problem, rng.uniform(problem.lower, problem.upper), 500, rng
        )
    ]
    found = [weights for weights, _ in steps if weights is not None]
    assert found
    for weights in found:
        assert problem.eta(weights) < 500
        assert_feasible(problem, weights)
    assert all(work > 0 for _, work in steps)


@pytest.mark.parametrize("seed", range(3))
def test_totals_that_hardly_any_weights_have_are_found(seed):
    searcher = Searcher(planted(seed), 0)
    assert searcher.run(3 * 10**9)
    assert searcher.eta == 0
