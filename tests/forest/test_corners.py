"""Corners: subsets with the right sum against enumeration, and weights that have their signs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from c2rf.forest.problem import make_problem, scores
from c2rf.forest.search.neighbourhood import Corners, closest_subsets
from c2rf.forest.search.searcher import Searcher
from c2rf.forest.votes import PatternTable


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_sum_is_that_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    counts = rng.integers(1, 10 ** int(rng.integers(1, 16)), n)
    wished, within = int(rng.integers(-5, counts.sum() + 5)), int(rng.integers(1, counts.sum() + 2))
    now, costs = rng.random(n) < 0.5, rng.random(n)
    found = closest_subsets(counts, wished, within, now, costs)
    distance = [abs(int(counts[subset].sum()) - wished) for subset in found]
    nearest = min(
        abs(int(counts[np.array(subset)].sum()) - wished)
        for subset in product([False, True], repeat=n)
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
def test_what_corners_yield_is_nearer_and_meets_all_margins(seed):
    problem = planted(seed, largest=1000)
    corners = Corners(problem, np.random.default_rng(0))
    rng = np.random.default_rng(seed)
    found = [
        weights
        for _ in range(10)
        for weights in corners.look(rng.uniform(problem.lower, problem.upper), 500)
    ]
    assert found
    for weights in found:
        assert problem.eta(weights) < 500
        assert np.abs(scores(problem.patterns, weights)).min() >= 1 - 1e-9
    assert corners.work > 0


@pytest.mark.parametrize("seed", range(3))
def test_totals_that_hardly_any_weights_have_are_found(seed):
    searcher = Searcher(planted(seed), 0)
    assert searcher.run(3 * 10**9)
    assert searcher.eta == 0
