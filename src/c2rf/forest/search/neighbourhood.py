"""Corners: where many scores are near zero, their signs can nearly all be chosen freely.

Around any weights, the patterns with the smallest scores are those that small changes turn round.
Which of them should be positive for the count to be right is a question about sums only: the sums
of all subsets of one half of them are sorted, and for each subset of the other half the one that
fits best is looked up. That sees 2**r counts for the price of 2**(r/2). A linear program then
looks for weights with these signs; near a corner, there often are some.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Floats, Ints
from c2rf.forest.bounds.feasibility import realise
from c2rf.forest.problem import Problem, scores

MOST_PATTERNS = 26
"""The most patterns whose signs are chosen at once."""

# Subsets looked at for every number that the count could be.
_PER_NUMBER = 64
# The most linear programs at a corner.
_MOST_TRIED = 3


class Corners:
    """Chooses the signs of the patterns near zero such that the count is right.

    Parameters
    ----------
    problem : Problem
        What is searched for.
    rng : numpy Generator
        Chooses between patterns that are equally near.

    Attributes
    ----------
    work : int
        Work of the last look, about nanoseconds.
    program_work : int
        Work of one linear program.
    """

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        self.program_work = 2 * 10**6 + 1000 * problem.patterns.size
        self.work = 0

    def look(self, weights: Floats, eta: int) -> Iterator[Floats]:
        """Yield weights that should be nearer to the wished count than ``eta``, best first."""
        problem = self._problem
        score = scores(problem.patterns, weights)
        signs = np.where(score > 0, 1, -1).astype(np.int8)
        near = self._near(np.abs(score), eta)
        others = signs > 0
        others[near] = False
        missing = problem.n_positive - int(problem.counts[others].sum())
        costs = np.abs(score[near]) * 2
        chosen = closest_subsets(problem.counts[near], missing, eta, signs[near] > 0, costs)
        self.work = 2 * 10**5 + 300 * (1 << len(near) // 2)
        for subset in chosen[:_MOST_TRIED]:
            self.work += self.program_work
            signs[near] = np.where(subset, 1, -1)
            found = realise(problem, signs).weights
            if found is not None:
                yield found

    def _near(self, size: Floats, eta: int) -> Ints:
        """Return the patterns nearest to zero: as many as it takes to hit the count, or so."""
        order = np.argsort(size + self._rng.random(len(size)))[:MOST_PATTERNS]
        numbers = np.cumsum(self._problem.counts[order], dtype=float) / max(1, 2 * eta - 1)
        subsets = 2.0 ** np.arange(1, len(order) + 1)
        enough = np.flatnonzero(subsets >= _PER_NUMBER * numbers)
        return order[: enough[0] + 1] if len(enough) else order


def closest_subsets(
    counts: Ints, wished: int, within: int, now: NDArray[np.bool_], costs: Floats
) -> NDArray[np.bool_]:
    """Return subsets whose counts add up to nearly a wished number, the nearest first.

    Parameters
    ----------
    counts : ndarray of int64, shape (n,)
        What to add up.
    wished : int
        The number.
    within : int
        The sum must be less than this away from it.
    now : ndarray of bool, shape (n,)
        The subset to change as little as possible: of those equally near, the cheapest come first.
    costs : ndarray of float, shape (n,)
        What it costs to change each.

    Returns
    -------
    ndarray of bool, shape (n_subsets, n)
        Not all there are: for each subset of one half the nearest of the other.

    Examples
    --------
    >>> nothing = np.zeros(4, dtype=bool)
    >>> closest_subsets(np.array([3, 5, 8, 13]), 16, 1, nothing, np.ones(4)).astype(int)
    array([[1, 0, 0, 1],
           [1, 1, 1, 0]])
    """
    half = len(counts) // 2
    left, right = (
        _Half(counts[part], now[part], costs[part]) for part in (slice(half), slice(half, None))
    )
    order = np.argsort(right.sums, kind="stable")
    ends = right.sums[order]
    place = np.searchsorted(ends, wished - left.sums)
    places = np.concatenate([np.minimum(place, len(ends) - 1), np.maximum(place - 1, 0)])
    masks = np.tile(np.arange(len(left.sums)), 2)
    other = order[places]
    distance = np.abs(left.sums[masks] + ends[places] - wished)
    kept = np.flatnonzero(distance < within)
    kept = kept[np.lexsort((left.costs[masks[kept]] + right.costs[other[kept]], distance[kept]))]
    both = np.column_stack([left.members(masks[kept]), right.members(other[kept])])
    _, first = np.unique(both, axis=0, return_index=True)
    chosen: NDArray[np.bool_] = both[np.sort(first)]
    return chosen


class _Half:
    """All subsets of some patterns: their sums, and what it costs to get them."""

    def __init__(self, counts: Ints, now: NDArray[np.bool_], costs: Floats) -> None:
        self._n = len(counts)
        self.sums = np.zeros(1, dtype=np.int64)
        self.costs = np.zeros(1)
        for count, is_in, cost in zip(counts, now, costs, strict=True):
            self.sums = np.concatenate([self.sums, self.sums + count])
            without, within = cost * is_in, cost * (not is_in)
            self.costs = np.concatenate([self.costs + without, self.costs + within])

    def members(self, masks: Ints) -> NDArray[np.bool_]:
        return (masks[:, None] >> np.arange(self._n)) & 1 > 0
