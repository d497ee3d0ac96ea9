"""The odd lattice: integer weights with an odd sum, feasible for any votes.

A signed sum of integers has the parity of their sum. So where all column weights are integers
and their sum is odd, every score is odd, and every margin is at least one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from c2rf._typing import Floats, Ints
from c2rf.core.problem import Problem

# More values per column than some thousand cost time and bring nothing: a box as wide as this
# times a number gets a scale of that number, and no value is greater than _GREATEST.
_FINEST = 1 << 11
_GREATEST = 1 << 14
_MOST_EXACT = 2.0**52  # not all whole numbers above are floats


def odd_lattice_point(problem: Problem) -> Floats | None:
    """Return the smallest integer weights in the box with an odd sum, if there are any.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> odd_lattice_point(make_problem([[1, -1], [-1, 1]], 1))
    array([2., 1.])
    """
    weights = np.ceil(problem.lower)
    if (weights > problem.upper).any():
        return None
    if weights.sum() % 2 == 0:
        room = np.flatnonzero(weights + 1 <= problem.upper)
        if len(room) == 0:
            return None
        weights[room[0]] += 1
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

    @property
    def size(self) -> int:
        """Number of whole points in the box, about half of which have an odd sum."""
        return math.prod((self.upper - self.lower + 1).tolist())

    def all_points(self, at_once: int) -> Iterator[Ints]:
        """Yield all points, some at a time.

        Examples
        --------
        >>> small = OddLattice(1.0, np.array([1, 1]), np.array([2, 3]))
        >>> [points.tolist() for points in small.all_points(4)]
        [[[2, 1], [1, 2]], [[2, 3]]]
        """
        for start in range(0, self.size, at_once):
            rest = np.arange(start, min(start + at_once, self.size))
            columns = []
            for low, high in zip(self.lower.tolist(), self.upper.tolist(), strict=True):
                rest, digit = np.divmod(rest, high - low + 1)
                columns.append(low + digit)
            points = np.column_stack(columns)
            yield points[points.sum(axis=1) % 2 == 1]

    def weights(self, point: Ints) -> Floats:
        """Return the weights that a lattice point stands for."""
        return point * np.float64(self.scale)
