"""What is claimed of crossing margins is true whatever solvers say."""

from fractions import Fraction

import numpy as np
import pytest

from c2rf.assignment import assign, crossing
from c2rf.assignment import duals as moves
from c2rf.assignment import optimality as branching
from c2rf.assignment.duals import Moves, NoAnswerError, ScoredRows
from c2rf.assignment.optimality import WholeMoves, best_moves, proven_bound
from c2rf.assignment.weighted import none_is_closer
from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds
from margin_cases import best_objective, crossing_case, least_deviation, weighted_case

# Of these cases the linear program splits rows: the best labels are below its bound.
SPLIT = (128, 143)


@pytest.mark.parametrize("seed", SPLIT)
def test_split_rows_are_proven_by_branching(seed, monkeypatch):
    scores, groups, bounds = crossing_case(seed)
    best = best_objective(scores, groups, bounds)
    found = assign(scores, bounds, groups, 0)
    assert found.gap <= 1e-9
    assert found.objective == pytest.approx(best, abs=1e-9)
    monkeypatch.setattr(branching, "MOST_WORK", 0)  # without it, only the linear bound is known
    linear = assign(scores, bounds, groups, 0)
    assert linear.gap > 0.1
    assert linear.objective + linear.gap >= best


@pytest.mark.parametrize("seed", [0, 5, 128, 143])
def test_a_poor_first_answer_is_made_better_or_the_gap_says_so(seed, monkeypatch):
    """The integer program is replaced by one that takes the first answer it finds."""
    scores, groups, bounds = crossing_case(seed)
    honest = moves.whole_moves

    def worst(own, system, counts, scale):
        turned = Moves(own.row, own.source, own.target, -own.loss, own.mass)
        return honest(turned, system, counts, scale)

    monkeypatch.setattr(crossing, "whole_moves", worst)
    best = best_objective(scores, groups, bounds)
    found = assign(scores, bounds, groups, 0)
    assert not LinearConstraints.of(bounds).missed(found.counts).any()
    assert best - 1e-9 <= found.objective + found.gap
    if found.gap <= 1e-9:
        assert found.objective == pytest.approx(best, abs=1e-9)


def test_prices_that_are_nonsense_prove_little_and_nothing_wrong(monkeypatch):
    scores, groups, bounds = crossing_case(SPLIT[0])
    best = best_objective(scores, groups, bounds)
    honest = moves.fractional_moves

    def lied(*given, **more):
        answer = honest(*given, **more)
        prices = np.random.default_rng(0).normal(size=len(answer.prices))
        return type(answer)(answer.amounts, prices, answer.missed, answer.loss, answer.bound)

    monkeypatch.setattr(branching, "fractional_moves", lied)
    monkeypatch.setattr(branching, "MOST_WORK", 3000)
    found = assign(scores, bounds, groups, 0)
    assert best - 1e-9 <= found.objective + found.gap


def test_a_solver_that_gives_up_leaves_what_is_proven(monkeypatch):
    def no_answer(*given, **more):
        raise NoAnswerError("not today")

    monkeypatch.setattr(branching, "fractional_moves", no_answer)
    scores, groups, bounds = crossing_case(SPLIT[1])
    found = assign(scores, bounds, groups, 0)
    assert found.gap > 0.1
    assert best_objective(scores, groups, bounds) <= found.objective + found.gap


def _triangle():
    """Return moves of three rows, of which two totals need three halves each."""
    free = np.zeros((3, 2), dtype=np.int64)
    margins = tuple(
        MarginBounds((name,), [0, 1], np.array(cells), low, low + 9 * (low == 0))
        for name, cells in (("a", [0, 0, 1]), ("b", [1, 0, 0]))
        for low in [np.array([[0, 1], [0, 0]])]
    )
    sizes = np.ones(3, dtype=np.int64)
    bounds = Bounds(free[0], free[0] + 3, free, free + 1, sizes, margins)
    row = np.arange(3)
    loss = np.array([1.0, 2.5, 1.0])
    own = Moves(row, 2 * row, 2 * row + 1, loss, np.ones(3))
    counts = np.array([[1.0, 0.0]] * 3)
    system = LinearConstraints.of(bounds)
    losses = [Fraction(x) for x in loss.tolist()]
    return WholeMoves(own, losses, np.zeros(len(system.lower)), system, counts)


def test_branching_finds_the_cheapest_whole_moves():
    program = _triangle()
    start = np.array([0.0, 1.0, 0.0])
    assert program.meets(start)
    best, gap = best_moves(program, start)
    assert best.tolist() == [1, 0, 1]
    assert (program.loss(best), gap) == (2, 0)


def test_any_prices_bound_the_loss_from_below():
    program = _triangle()
    limits = branching._Limits(np.zeros(3), np.ones(3))
    rng = np.random.default_rng(0)
    for _ in range(50):
        prices = rng.normal(0, 2, len(program.prices))
        assert proven_bound(program, limits, prices) <= 2


@pytest.mark.parametrize("first", range(0, 24, 6))
def test_closest_weights_as_enumeration_says(first):
    for seed in range(first, first + 6):
        scores, groups, weights, bounds = weighted_case(seed)
        found = assign(scores, bounds, groups, 0, weights)
        least = least_deviation(weights, scores.shape[1], groups, bounds)
        assert found.missed >= least - 1e-9
        if found.closest:
            assert found.missed == pytest.approx(least, abs=1e-9)
        is_whole = (weights == np.rint(weights)).all()
        assert found.closest == is_whole
        if is_whole:
            system = LinearConstraints.of(bounds.with_implied_bounds())
            heavy = np.flatnonzero(weights)
            scored = ScoredRows(scores, groups, weights, bounds.n_groups).taken(heavy)
            assert none_is_closer(scored, system, round(least)) or least == 0
            assert not none_is_closer(scored, system, round(least) + 1)
