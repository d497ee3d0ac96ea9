"""Exact lines: the count for every step length at once.

Along ``weights + s * direction`` every score is linear in s. A pattern falls short of its margin
exactly while |score| < 1, an open interval of s, and has changed its sign after it. So the ends
of these intervals, sorted once, cut the line into pieces on which nothing changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Floats
from c2rf.forest.problem import MARGIN_TOLERANCE, Problem, scores

_MOST_COLUMNS = 4
_RESTLESSNESS = 0.5
_ROUNDING = MARGIN_TOLERANCE / 100


class Pieces(NamedTuple):
    """Pieces [left, right] of a line; where none falls short, the margins hold on all of it."""

    left: Floats
    right: Floats
    short: NDArray[np.int64]
    positives: NDArray[np.int64]


def cut_line(
    scores: Floats, slopes: Floats, counts: NDArray[np.int64], low: float, high: float
) -> Pieces:
    """Cut the line ``scores + s * slopes``, low <= s <= high, into pieces.

    Parameters
    ----------
    scores, slopes : ndarray of float, shape (n_patterns,)
        Score of each pattern at s = 0, and its change per unit of s.
    counts : ndarray of int64, shape (n_patterns,)
        Number of points with each pattern.
    low, high : float
        The part of the line that is asked for.

    Returns
    -------
    Pieces
        In order. ``short`` is the number of patterns whose margin is not met inside the piece,
        ``positives`` the count, exact where ``short`` is zero.

    Examples
    --------
    >>> cut_line(np.array([3.0]), np.array([-1.0]), np.array([7]), 0.0, 9.0)
    Pieces(left=array([0., 2., 4.]), right=array([2., 4., 9.]), short=array([0, 1, 0]), \
positives=array([7, 7, 0]))
    """
    moving = slopes != 0
    still = scores[~moving]
    short = int((np.abs(still) < 1).sum())
    positives = int(counts[~moving][still > 0].sum() + counts[slopes < 0].sum())
    # |score + s slope| < 1  <=>  |s - centre| < 1 / |slope|
    centre, radius = -scores[moving] / slopes[moving], 1 / np.abs(slopes[moving])
    gain = np.where(slopes[moving] > 0, counts[moving], -counts[moving])
    events = np.concatenate([centre + radius, centre - radius])
    order = np.argsort(events, kind="stable")  # at ties ends before starts: a point in between
    none, one = np.zeros_like(gain), np.ones_like(gain)
    edges = np.clip(events[order], low, high)
    pieces = Pieces(
        np.append(low, edges),
        np.append(edges, high),
        short + np.append(0, np.concatenate([-one, one])[order].cumsum()),
        positives + np.append(0, np.concatenate([gain, none])[order].cumsum()),
    )
    inside = np.append(low <= events[order], True) & np.append(True, events[order] <= high)
    return Pieces(*(part[inside] for part in pieces))


class LineWalk:
    """A walk over real weights: first to where all margins are met, then among such weights.

    Parameters
    ----------
    problem : Problem
        What is searched for.
    weights : ndarray of float
        Where to start, in the box.
    rng : numpy Generator
        The source of all random choices.
    """

    def __init__(self, problem: Problem, weights: Floats, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng
        self._free = np.flatnonzero(problem.upper > problem.lower)
        self.distance = np.inf
        # About nanoseconds: a fixed part, the new scores, and sorting.
        self.work_per_step = 100_000 + 2 * problem.patterns.size + 200 * problem.n_patterns
        self._go_to(weights)

    def step(self, heat: float) -> None:
        """Go along a random line to where fewer patterns are short of their margins.

        Where none is, the place is drawn with probability proportional to exp(-distance / heat).
        """
        problem, columns = self._problem, self._draw_columns()
        changes = self._rng.standard_normal(len(columns))
        pieces = cut_line(
            self._scores,
            scores(problem.patterns[:, columns], changes),
            problem.counts,
            *self._room(columns, changes),
        )
        distance = np.abs(pieces.positives - problem.n_positive)
        noise = np.log(self._rng.standard_exponential(len(distance)))
        if pieces.short.min() == 0:
            energy = np.where(pieces.short == 0, distance + heat * noise, np.inf)
        else:
            energy = pieces.short + _RESTLESSNESS * noise
        drawn = int(np.argmin(energy))
        # The middle has the widest margins, but the only way may be along the edges of the box.
        where = self._rng.integers(3) / 2
        length = (1 - where) * pieces.left[drawn] + where * pieces.right[drawn]
        weights = self.weights.copy()
        weights[columns] += changes * length
        self._go_to(weights)
        self.distance = float(distance[drawn]) if pieces.short[drawn] == 0 else np.inf

    def _draw_columns(self) -> NDArray[np.int64]:
        """Draw the few columns whose weights will change."""
        return self._rng.permutation(self._free)[: self._rng.integers(1, _MOST_COLUMNS + 1)]

    def _room(self, columns: NDArray[np.int64], changes: Floats) -> tuple[float, float]:
        """Return the range of step lengths that stay in the box."""
        ends = np.stack([self._problem.lower[columns], self._problem.upper[columns]])
        steps = np.sort((ends - self.weights[columns]) / changes, axis=0)
        return float(steps[0].max()), float(steps[1].min())

    def _go_to(self, weights: Floats) -> None:
        self.weights = np.clip(weights, self._problem.lower, self._problem.upper)
        found = scores(self._problem.patterns, self.weights)
        # A margin met but for rounding is met, or the walk could not stay at an edge.
        self._scores = np.where(np.abs(np.abs(found) - 1) < _ROUNDING, np.sign(found), found)
