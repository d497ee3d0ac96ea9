"""Exact lines: the count for every step length at once.

Along ``weights + s * direction`` every score is linear in s. A pattern falls short of its margin
exactly while |score| < 1, an open interval of s, and has changed its sign after it. So the ends
of these intervals, sorted once, cut the line into pieces on which nothing changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf.problem import Floats, Problem, scores


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
    """A walk over real weights along exact lines: first to weights that meet all margins, then on.

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
        self._go_to(weights)
        self.distance = float("inf")

    def step(self, heat: float) -> None:
        """Go to a piece of a random line: fewer short patterns, or a count drawn by its distance.

        A feasible walk stays feasible, and draws proportional to exp(-distance / heat).
        """
        direction = self._draw_direction()
        slopes = scores(self._problem.patterns, direction)
        low, high = self._room(direction)
        pieces = cut_line(self._scores, slopes, self._problem.counts, low, high)
        distance = np.abs(pieces.positives - self._problem.n_positive)
        noise = np.log(self._rng.standard_exponential(len(distance)))
        if pieces.short.min() == 0:
            energy = np.where(pieces.short == 0, distance + heat * noise, np.inf)
        else:
            energy = pieces.short + 0.5 * noise
        drawn = int(np.argmin(energy))
        middle = (pieces.left[drawn] + pieces.right[drawn]) / 2
        self._go_to(self.weights + middle * direction)
        self.distance = float(distance[drawn]) if pieces.short[drawn] == 0 else float("inf")

    def _draw_direction(self) -> Floats:
        """Draw a direction that changes up to four weights that are free to change."""
        problem, rng = self._problem, self._rng
        direction = np.zeros(problem.n_columns)
        free = np.flatnonzero(problem.upper > problem.lower)
        some = rng.permutation(free)[: rng.integers(1, 5)]
        direction[some] = rng.standard_normal(len(some))
        return direction

    def _room(self, direction: Floats) -> tuple[float, float]:
        """Return the range of step lengths that stay in the box."""
        moving = direction != 0
        per_unit = direction[moving]
        ends = np.stack([self._problem.lower, self._problem.upper])[:, moving]
        steps = np.sort((ends - self.weights[moving]) / per_unit, axis=0)
        return float(steps[0].max()), float(steps[1].min())

    def _go_to(self, weights: Floats) -> None:
        self.weights = np.clip(weights, self._problem.lower, self._problem.upper)
        self._scores = scores(self._problem.patterns, self.weights)
