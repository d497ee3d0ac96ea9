"""The odd lattice, and parallel tempering on it.

A signed sum of integers has the parity of their sum. So where all weights are integers and their
sum is odd, every score is odd, and every margin is at least one: points of the odd lattice are
feasible for any votes, and only the count of positives matters.

The steps that stay on the lattice are e_j + e_k, e_j - e_k and 2 e_j. Along a line of such steps
every score changes by -2, 0 or 2 at a time, so that one histogram gives the counts at all points of
the line. A chain draws its next point from the whole line (a Gibbs step).

Chains at several temperatures exchange their states. There are two sets of temperatures. The chains
of the second prefer points where few weights are far above their lower bounds: a small part of the
box that has many of the extreme counts (in the end one tree decides alone), and that is hardly ever
visited otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Floats, Ints
from c2rf.forest.problem import Problem

# More values per column than some thousand cost time and bring nothing: a box as wide as this
# times a number gets a scale of that number, and no value is greater than _GREATEST.
_FINEST = 1 << 11
_GREATEST = 1 << 14
_MOST_EXACT = 2.0**52  # above, not all integers are floats


def odd_lattice_point(problem: Problem) -> Floats | None:
    """Return the smallest integer weights in the box with an odd sum, if there are any.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> odd_lattice_point(make_problem([[1, -1], [-1, 1]], 1))
    array([2., 1.])
    """
    weights = np.ceil(problem.lower)
    if (weights > problem.upper).any():
        return None
    if weights.sum() % 2 == 0:
        can_grow = np.flatnonzero(weights + 1 <= problem.upper)
        if len(can_grow) == 0:
            return None
        weights[can_grow[0]] += 1
    return weights


@dataclass(frozen=True, eq=False)
class OddLattice:
    """Weights ``scale * k`` in the box with integer k of odd sum; a scale >= 1 keeps margins.

    Parameters
    ----------
    scale : float
        Distance of neighbouring values of a weight, at least one.
    lower, upper : ndarray of int64
        Bounds of k.
    """

    scale: float
    lower: Ints
    upper: Ints

    @classmethod
    def of(cls, problem: Problem) -> OddLattice | None:
        """Return the lattice in the problem's box, None where the box holds no point of it."""
        coarse = float(np.median(problem.upper - problem.lower)) // _FINEST
        for scale in (coarse, 1.0):
            lattice = cls._scaled(problem, scale) if scale >= 1 else None
            if lattice is not None:
                return lattice
        return None

    @classmethod
    def _scaled(cls, problem: Problem, scale: float) -> OddLattice | None:
        """Return the lattice of one scale, None where the box holds no point of it."""
        lower, upper = np.ceil(problem.lower / scale), np.floor(problem.upper / scale)
        if (lower > upper).any() or ((lower == upper).all() and lower.sum() % 2 == 0):
            return None
        if (lower > _MOST_EXACT).any() or (upper < -_MOST_EXACT).any():
            return None
        # A weight above all others together decides every score; more changes nothing.
        reach = np.maximum(np.abs(lower), np.abs(upper))
        enough = np.minimum(reach.sum() - reach + 1, _GREATEST)
        return cls(
            scale,
            np.minimum(np.maximum(lower, -enough), upper).astype(np.int64),
            np.maximum(np.minimum(upper, enough), lower).astype(np.int64),
        )

    def near(self, weights: Floats) -> Ints:
        """Return lattice points near weights, row by row.

        Examples
        --------
        >>> OddLattice(1.0, np.array([1, 1]), np.array([5, 9])).near(np.array([[3.2, 7.1]]))
        array([[3, 6]])
        """
        points = np.clip(np.rint(weights / self.scale).astype(np.int64), self.lower, self.upper)
        even = points.sum(axis=1) % 2 == 0
        # One unit matters least where the box is widest.
        widest = int(np.argmax(self.upper - self.lower))
        downward = points[:, widest] > self.lower[widest]
        points[:, widest] += even * np.where(downward, -1, 1)
        return points

    def weights(self, point: Ints) -> Floats:
        """Return the weights that a lattice point stands for."""
        return point * np.float64(self.scale)


class LatticeLines(NamedTuple):
    """For each chain the line of steps e_first + sign * e_second, and the counts along it."""

    first: Ints
    second: Ints
    sign: Ints
    slopes: NDArray[np.int8]
    """Half the change of each pattern's score per step: -1, 0 or 1."""
    back: Ints
    """Number of steps that the box allows backwards."""
    positives: Floats
    """Count after -back, -back + 1, ... steps, a row for each chain."""
    distance: Floats
    """Distance of these counts from the target, infinite outside of the box."""


_SCORES_AT_ONCE = 1 << 18
_MOST_TEMPERATURES = 8
LOWEST_TEMPERATURE = 1.0
_HIGHEST_PER_POINT = 0.004
# Tried on 90 planted problems of counts up to 10^9: without shrinkage, 22 s where 10 do. In a box
# of ratio 100 and 20 trees, the tree that decides alone is found in half of the steps.
_SHRINKAGE = (0.5, 1.5)


def temperatures(problem: Problem, n: int) -> Floats:
    """Return n temperatures, from one that tells a count from the next one upwards."""
    highest = max(LOWEST_TEMPERATURE, _HIGHEST_PER_POINT * problem.n_points)
    return np.geomspace(LOWEST_TEMPERATURE, highest, n)


class Tempering:
    """Parallel tempering on the odd lattice, with two sets of temperatures.

    Parameters
    ----------
    problem : Problem
        Patterns, counts and the target.
    lattice : OddLattice
        The points.
    rng : numpy Generator
        The source of all random choices.

    Attributes
    ----------
    best : ndarray or None
        The best point seen on any line.
    eta : float
        How far its count is from the target.
    """

    def __init__(self, problem: Problem, lattice: OddLattice, rng: np.random.Generator) -> None:
        self.lattice, self._rng = lattice, rng
        self.best: Ints | None = None
        self.eta = np.inf
        self._target = problem.n_positive
        self._counts = problem.counts.astype(np.float64)
        self._votes = np.ascontiguousarray(problem.patterns.T)
        self._longest = 1 + int((lattice.upper - lattice.lower).max())
        self._log = np.log1p(np.arange(self._longest))
        n_levels = min(_MOST_TEMPERATURES, max(1, _SCORES_AT_ONCE // (2 * problem.n_patterns)))
        self._levels = temperatures(problem, n_levels)
        self._chain_at = np.arange(2 * n_levels).reshape(2, n_levels)
        self._shrinkage = np.repeat(_SHRINKAGE, n_levels)
        self._temperature = np.tile(self._levels, 2)
        self._parity = 0
        # About nanoseconds: a fixed part, and passes over all scores and all points of the lines.
        self.work_per_step = 100_000 + n_levels * (20 * problem.n_patterns + 60 * self._longest)

    def restart(self) -> None:
        """Begin new chains at random points, those of the second set at mostly small ones."""
        lattice, n_levels = self.lattice, len(self._levels)
        draws = self._rng.random((2 * n_levels, len(lattice.lower)))
        widths = lattice.upper - lattice.lower
        draws[n_levels:] = np.expm1(draws[n_levels:] * np.log1p(widths)) / np.maximum(widths, 1)
        self.place(lattice.near(lattice.weights(lattice.lower + draws * widths)))

    def insert(self, starts: list[Floats]) -> None:
        """Move chains to points near some weights, the last ones if they are too many."""
        chosen = self._chain_at.T.ravel()[: len(starts)]  # low temperatures of both sets first
        points = self.points.copy()
        points[chosen] = self.lattice.near(np.stack(starts[::-1][: len(chosen)]))
        self.place(points)

    def any_weights(self) -> Floats:
        """Return the weights of a random chain."""
        chain = self._rng.integers(len(self._temperature))
        return self.lattice.weights(self.points[chain])

    def step(self) -> None:
        """Move every chain along a random line, then let neighbours swap temperatures."""
        n, q = self.points.shape
        first, second = self._rng.integers(q, size=(2, n))
        sign = np.where((first == second) | (self._rng.random(n) < 0.5), 1, -1)
        lines = self.count_along(first, second, sign)
        self.move(lines)
        self._swap()

    def _swap(self) -> None:
        """Swap neighbouring temperatures of a set, by the rule of Metropolis."""
        lower = slice(self._parity, len(self._levels) - 1, 2)
        upper = slice(self._parity + 1, len(self._levels), 2)
        cold, hot = self._chain_at[:, lower], self._chain_at[:, upper]
        distance = self.distance
        # P(swap) = min(1, exp((E_cold - E_hot) (1 / T_cold - 1 / T_hot)))
        exponent = (distance[cold] - distance[hot]) * (
            1 / self._levels[lower] - 1 / self._levels[upper]
        )
        swap = -self._rng.standard_exponential(exponent.shape) < exponent
        self._chain_at[:, lower], self._chain_at[:, upper] = (
            np.where(swap, hot, cold),
            np.where(swap, cold, hot),
        )
        self._temperature[self._chain_at] = self._levels
        self._parity = 1 - self._parity

    # Lines

    def place(self, points: Ints) -> None:
        """Begin a chain at each of these points."""
        self.points = points.copy()
        self._all = np.arange(len(points))
        self._scores = np.zeros((len(points), len(self._counts)), dtype=np.int32)
        for weights, votes in zip(points.T.astype(np.int32), self._votes, strict=True):
            self._scores += weights[:, None] * votes
        self.positives = (self._scores > 0) @ self._counts
        self._note(np.abs(self.positives - self._target), points)

    @property
    def distance(self) -> Floats:
        """How far the count of each chain is from the target."""
        return np.abs(self.positives - self._target)

    def count_along(self, first: Ints, second: Ints, sign: Ints) -> LatticeLines:
        """Return the counts along a line through each chain, and remember the best point."""
        slopes = (self._votes[first] + sign.astype(np.int8)[:, None] * self._votes[second]) >> 1
        back, ahead = self._distances_to_bounds(first, second, sign)
        positives = self._count(slopes, back, ahead)
        distance = np.abs(positives - self._target)
        distance[np.arange(distance.shape[1]) > (back + ahead)[:, None]] = np.inf
        lines = LatticeLines(first, second, sign, slopes, back, positives, distance)
        if distance.min() < self.eta:
            nearest = distance.argmin(axis=1)
            self._note(distance[self._all, nearest], self._points_on(lines, nearest - back))
        return lines

    def move(self, lines: LatticeLines) -> None:
        """Draw a new point on each line and move there.

        A point is drawn with probability proportional to exp(-distance / temperature) times
        prod_j (1 + point_j - lower_j) ** -shrinkage, which favours few large weights.
        """
        # The smallest  energy - T * Gumbel noise  is a draw from exp(-energy / T).
        noise = np.log(self._rng.standard_exponential(lines.distance.shape))
        noise += self._shrinkage[:, None] * self._log_above_lower(lines)
        drawn = (lines.distance + self._temperature[:, None] * noise).argmin(axis=1)
        steps = drawn - lines.back
        self.points = self._points_on(lines, steps)
        self.positives = lines.positives[self._all, drawn]
        self._scores += (2 * steps).astype(np.int32)[:, None] * lines.slopes

    def _distances_to_bounds(self, first: Ints, second: Ints, sign: Ints) -> tuple[Ints, Ints]:
        """Return how many steps the box allows backwards and ahead."""
        below = self.points - self.lattice.lower
        above = self.lattice.upper - self.points
        chain = self._all
        other_below = np.where(sign > 0, below[chain, second], above[chain, second])
        other_above = np.where(sign > 0, above[chain, second], below[chain, second])
        stride = np.where(first == second, 2, 1)
        return (
            np.minimum(below[chain, first], other_below) // stride,
            np.minimum(above[chain, first], other_above) // stride,
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
        return positives + (self.positives - positives[self._all, back])[:, None]

    def _points_on(self, lines: LatticeLines, steps: Ints) -> Ints:
        """Return the points that many steps along the lines."""
        points = self.points.copy()
        points[self._all, lines.first] += steps
        points[self._all, lines.second] += lines.sign * steps
        return points

    def _log_above_lower(self, lines: LatticeLines) -> Floats:
        """Return log prod (1 + point - lower) over the columns that change along the lines."""
        height = self.points - self.lattice.lower
        steps = np.arange(lines.positives.shape[1]) - lines.back[:, None]
        alone = (lines.first == lines.second)[:, None]
        one = height[self._all, lines.first][:, None] + np.where(alone, 2, 1) * steps
        two = height[self._all, lines.second][:, None] + lines.sign[:, None] * steps
        logs = self._log.take(one, mode="clip")
        return logs + np.where(alone, 0.0, self._log.take(two, mode="clip"))

    def _note(self, distance: Floats, points: Ints) -> None:
        """Remember the best of these points if it is better than any before."""
        nearest = int(distance.argmin())
        if distance[nearest] < self.eta:
            self.eta, self.best = float(distance[nearest]), points[nearest].copy()
