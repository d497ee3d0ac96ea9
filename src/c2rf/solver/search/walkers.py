"""Walkers on the odd lattice that see whole lines at once.

On the odd lattice every score is odd, so every margin is met and only the count matters. The
steps that stay on it are e_j + e_k, e_j - e_k and 2 e_j. Along a line of such steps every score
changes by -2, 0 or 2 at a time, so one histogram gives the counts at all points of the line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf._typing import Floats, Ints
from c2rf.core.problem import Problem
from c2rf.solver.search.odd_lattice import OddLattice


class Lines(NamedTuple):
    """For each walker the line of steps e_first + sign * e_second, and what is on it."""

    first: Ints
    second: Ints
    sign: Ints
    slopes: NDArray[np.int8]
    """Half the change of each pattern's score per step: -1, 0 or 1."""
    back: Ints
    """Number of steps that the box allows backwards."""
    positives: Floats
    """Count after -back, -back + 1, ... steps, a row for each walker."""
    distance: Floats
    """Distance of these counts from the wished one, infinite outside of the box."""


class Walkers:
    """Some points of the odd lattice, their scores, and the best point any of them has seen.

    Parameters
    ----------
    problem : Problem
        Patterns, counts and the wished number of positives.
    lattice : OddLattice
        Where to walk.
    """

    def __init__(self, problem: Problem, lattice: OddLattice) -> None:
        self.lattice = lattice
        self.best: Ints | None = None
        self.eta = np.inf
        self._wished = problem.n_positive
        self._counts = problem.counts.astype(np.float64)
        self._votes = np.ascontiguousarray(problem.patterns.T)
        self._longest = 1 + int((lattice.upper - lattice.lower).max())
        self._log = np.log1p(np.arange(self._longest))

    def place(self, points: Ints) -> None:
        """Put a walker on each of these points."""
        self.points = points.copy()
        self._everyone = np.arange(len(points))
        self._scores = np.zeros((len(points), len(self._counts)), dtype=np.int32)
        for weights, votes in zip(points.T.astype(np.int32), self._votes, strict=True):
            self._scores += weights[:, None] * votes
        self.positives = (self._scores > 0) @ self._counts
        self._note(np.abs(self.positives - self._wished), points)

    @property
    def distance(self) -> Floats:
        """How far the count of each walker is from the wished one."""
        return np.abs(self.positives - self._wished)

    def look(self, first: Ints, second: Ints, sign: Ints) -> Lines:
        """Read off the counts along a line through each walker, and remember the best point."""
        slopes = (self._votes[first] + sign.astype(np.int8)[:, None] * self._votes[second]) >> 1
        back, ahead = self._room(first, second, sign)
        positives = self._count(slopes, back, ahead)
        distance = np.abs(positives - self._wished)
        distance[np.arange(distance.shape[1]) > (back + ahead)[:, None]] = np.inf
        lines = Lines(first, second, sign, slopes, back, positives, distance)
        if distance.min() < self.eta:
            nearest = distance.argmin(axis=1)
            self._note(distance[self._everyone, nearest], self._points_on(lines, nearest - back))
        return lines

    def move(self, lines: Lines, heat: Floats, thrift: Floats, rng: np.random.Generator) -> None:
        """Draw a new point on each line and go there.

        A point is drawn with probability proportional to exp(-distance / heat) times
        prod_j (1 + point_j - lower_j) ** -thrift: thrifty walkers like few heavy columns.
        """
        # The smallest  energy - heat * Gumbel noise  is a draw from exp(-energy / heat).
        noise = np.log(rng.standard_exponential(lines.distance.shape))
        noise += thrift[:, None] * self._log_above_lower(lines)
        drawn = (lines.distance + heat[:, None] * noise).argmin(axis=1)
        steps = drawn - lines.back
        self.points = self._points_on(lines, steps)
        self.positives = lines.positives[self._everyone, drawn]
        self._scores += (2 * steps).astype(np.int32)[:, None] * lines.slopes

    def _room(self, first: Ints, second: Ints, sign: Ints) -> tuple[Ints, Ints]:
        """Return how many steps the box allows backwards and ahead."""
        below = self.points - self.lattice.lower
        above = self.lattice.upper - self.points
        who = self._everyone
        other_below = np.where(sign > 0, below[who, second], above[who, second])
        other_above = np.where(sign > 0, above[who, second], below[who, second])
        stride = np.where(first == second, 2, 1)
        return (
            np.minimum(below[who, first], other_below) // stride,
            np.minimum(above[who, first], other_above) // stride,
        )

    def _count(self, slopes: NDArray[np.int8], back: Ints, ahead: Ints) -> Floats:
        """Return the counts after -back, ..., ahead steps (beyond: anything), row by row."""
        n, width = len(back), self._longest + 1
        # Only scores within reach can change their sign, 2 * slope at a time.
        reach = (2 * np.maximum(back, ahead)).astype(np.int32)[:, None]
        within = np.flatnonzero((np.abs(self._scores) < reach) & (slopes != 0))
        row = within // slopes.shape[1]
        slope = slopes.ravel()[within]
        # The sign of  score + 2 * slope * s  is a new one from  s = (1 - slope * score) / 2  on.
        place = back[row] + ((1 - slope * self._scores.ravel()[within]) >> 1)
        place = np.minimum(np.maximum(place, 0), (back + ahead + 1)[row])
        gain = slope * self._counts[within - row * slopes.shape[1]]
        gains = np.bincount(width * row + place, gain, n * width)
        positives = gains.reshape(n, width).cumsum(axis=1)
        return positives + (self.positives - positives[self._everyone, back])[:, None]

    def _points_on(self, lines: Lines, steps: Ints) -> Ints:
        """Return the points that many steps along the lines."""
        points = self.points.copy()
        points[self._everyone, lines.first] += steps
        points[self._everyone, lines.second] += lines.sign * steps
        return points

    def _log_above_lower(self, lines: Lines) -> Floats:
        """Return log prod (1 + point - lower) over the columns that change along the lines."""
        height = self.points - self.lattice.lower
        steps = np.arange(lines.positives.shape[1]) - lines.back[:, None]
        alone = (lines.first == lines.second)[:, None]
        one = height[self._everyone, lines.first][:, None] + np.where(alone, 2, 1) * steps
        two = height[self._everyone, lines.second][:, None] + lines.sign[:, None] * steps
        logs = self._log.take(one, mode="clip")
        return logs + np.where(alone, 0.0, self._log.take(two, mode="clip"))

    def _note(self, distance: Floats, points: Ints) -> None:
        """Remember the best of these points if it is better than any before."""
        nearest = int(distance.argmin())
        if distance[nearest] < self.eta:
            self.eta, self.best = float(distance[nearest]), points[nearest].copy()
