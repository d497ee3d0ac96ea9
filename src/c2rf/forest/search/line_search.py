"""Exact line search over real weights: the count for every step length at once.

Along ``weights + s * direction`` every score is linear in s. The margin of a pattern is not met
exactly while |score| < 1, an open interval of s, after which its sign has changed. So the ends of
these intervals, sorted once, split the line into pieces on which nothing changes.

:class:`HitAndRun` draws a random line, then a piece of it, again and again.
"""

from __future__ import annotations

import numpy as np

from c2rf._utils.types import Floats, Ints
from c2rf.forest.problem import MARGIN_TOLERANCE, Problem, scores

# A direction changes at most this many weights.
_MOST_COLUMNS = 4
# Temperature of the number of margins that are not met
_MARGIN_TEMPERATURE = 0.5
_ROUNDING = MARGIN_TOLERANCE / 100


def split_line(
    scores: Floats, slopes: Floats, counts: Ints, low: float, high: float
) -> tuple[Floats, Floats, Ints, Ints]:
    """Split the line ``scores + s * slopes``, low <= s <= high, into pieces.

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
    left, right : ndarray of float, shape (n_pieces,)
        The ends of each piece, in order.
    short : ndarray of int64, shape (n_pieces,)
        Number of patterns whose margin is not met inside the piece.
    positives : ndarray of int64, shape (n_pieces,)
        The count, exact where ``short`` is zero.

    Examples
    --------
    >>> for part in split_line(np.array([3.0]), np.array([-1.0]), np.array([7]), 0.0, 9.0):
    ...     print(part)
    [0. 2. 4.]
    [2. 4. 9.]
    [0 1 0]
    [7 7 0]
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
    inside = np.append(low <= events[order], True) & np.append(True, events[order] <= high)
    return (
        np.append(low, edges)[inside],
        np.append(edges, high)[inside],
        (short + np.append(0, np.concatenate([-one, one])[order].cumsum()))[inside],
        (positives + np.append(0, np.concatenate([gain, none])[order].cumsum()))[inside],
    )


class HitAndRun:
    """A Markov chain of real weights: first to where all margins are met, then among such weights.

    Parameters
    ----------
    problem : Problem
        Patterns, counts and the target.
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
        self._move_to(weights)

    def step(self, temperature: float) -> None:
        """Move along a random line to where fewer margins are not met.

        Where all are met, a piece is drawn with probability proportional to
        exp(-distance / temperature).
        """
        problem, columns = self._problem, self._draw_columns()
        changes = self._rng.standard_normal(len(columns))
        left, right, short, positives = split_line(
            self._scores,
            scores(problem.patterns[:, columns], changes),
            problem.counts,
            *self._step_range(columns, changes),
        )
        distance = np.abs(positives - problem.n_positive)
        noise = np.log(self._rng.standard_exponential(len(distance)))
        if short.min() == 0:
            energy = np.where(short == 0, distance + temperature * noise, np.inf)
        else:
            energy = short + _MARGIN_TEMPERATURE * noise
        drawn = int(np.argmin(energy))
        # The middle has the widest margins, but the way to other pieces may be along the ends.
        where = self._rng.integers(3) / 2
        length = (1 - where) * left[drawn] + where * right[drawn]
        weights = self.weights.copy()
        weights[columns] += changes * length
        self._move_to(weights)
        self.distance = float(distance[drawn]) if short[drawn] == 0 else np.inf

    def _draw_columns(self) -> Ints:
        """Draw the few columns whose weights will change."""
        return self._rng.permutation(self._free)[: self._rng.integers(1, _MOST_COLUMNS + 1)]

    def _step_range(self, columns: Ints, changes: Floats) -> tuple[float, float]:
        """Return the range of step lengths that stay in the box."""
        ends = np.stack([self._problem.lower[columns], self._problem.upper[columns]])
        steps = np.sort((ends - self.weights[columns]) / changes, axis=0)
        return float(steps[0].max()), float(steps[1].min())

    def _move_to(self, weights: Floats) -> None:
        self.weights = np.clip(weights, self._problem.lower, self._problem.upper)
        found = scores(self._problem.patterns, self.weights)
        # A margin met but for rounding is met, or the chain could not stay at the end of a piece.
        self._scores = np.where(np.abs(np.abs(found) - 1) < _ROUNDING, np.sign(found), found)
