"""Exact lines: pieces against single points, and a chain that keeps all margins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from c2rf.forest.problem import MARGIN_TOLERANCE, make_problem
from c2rf.forest.search.lattice import OddLattice
from c2rf.forest.search.line_search import HitAndRun, split_line

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_the_pieces_of_a_line_say_what_every_point_of_it_says(seed):
    rng = np.random.default_rng(seed)
    h = int(rng.integers(1, 12))
    scores, slopes = rng.normal(0, 4, h), rng.integers(-3, 4, h) * rng.choice([0.5, 1.0], h)
    if rng.random() < 0.5:
        scores = np.rint(scores)  # intervals that touch
    counts = rng.integers(1, 5, h)
    low, high = np.sort(rng.normal(0, 5, 2))
    pieces = left, right, _, _ = split_line(scores, slopes, counts, low, high)
    assert left[0] == low
    assert right[-1] == high
    np.testing.assert_array_equal(left[1:], right[:-1])
    for begin, end, short, positives in zip(*pieces, strict=True):
        if end - begin < 1e-9:
            continue
        here = scores + rng.uniform(begin + 1e-10, end - 1e-10) * slopes
        assert short == (np.abs(here) < 1).sum()
        if short == 0:
            assert positives == counts[here > 0].sum()


def test_a_single_point_between_two_short_stretches_is_a_piece():
    scores, slopes = np.array([2.0, 4.0]), np.array([-1.0, -1.0])
    left, right, short, positives = split_line(scores, slopes, np.array([1, 1]), 0.0, 9.0)
    point = (left == 3) & (right == 3)
    assert short[point].tolist() == [0]
    assert positives[point].tolist() == [1]


def test_hit_and_run_finds_margins_in_a_box_without_integers_and_keeps_them():
    rng = np.random.default_rng(5)
    votes = np.vstack([[1, 1, 1, -1, -1, -1], rng.choice([-1, 1], (5, 6))])
    problem = make_problem(votes, 3, 1.2, 1.9)
    assert OddLattice.of(problem) is None
    chain = HitAndRun(problem, problem.upper, rng)  # the first pattern is tied
    met = []
    for _ in range(300):
        chain.step(1.0)
        met.append(np.isfinite(chain.distance))
        if met[-1]:
            assert (chain.weights >= problem.lower).all()
            assert (chain.weights <= problem.upper).all()
            assert np.abs(problem.patterns @ chain.weights).min() >= 1 - MARGIN_TOLERANCE
            assert chain.distance == problem.eta(chain.weights)
    assert not met[0]
    assert all(met[met.index(True) :])
