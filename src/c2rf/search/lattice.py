"""The part of the odd lattice that lies in the box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from c2rf.problem import Floats, Problem

Ints = NDArray[np.int64]

_FINEST = 2048


@dataclass(frozen=True, eq=False)
class OddLattice:
    """Weights ``scale * k`` in the box, k integer with an odd sum; a scale >= 1 keeps margins.

    Parameters
    ----------
    scale : float
        Distance of neighbouring values of a weight.
    lower, upper : ndarray of int64
        Bounds of k.
    """

    scale: float
    lower: Ints
    upper: Ints

    @classmethod
    def of(cls, problem: Problem) -> OddLattice | None:
        """Return the lattice in the problem's box, None where the box holds no point of it."""
        # More than a few thousand values per column cost time and bring nothing.
        widths = (problem.upper - problem.lower)[problem.upper > problem.lower]
        scale = max(1.0, float(widths.min() // _FINEST)) if len(widths) else 1.0
        for step in {scale, 1.0}:
            # A weight beyond the sum of all others decides every score alone.
            lower, upper = np.ceil(problem.lower / step), np.floor(problem.upper / step)
            enough = np.abs(np.stack([lower, upper])).max(axis=0).sum() + 1
            lattice = cls(
                step,
                np.maximum(lower, -enough).astype(np.int64),
                np.minimum(upper, enough).astype(np.int64),
            )
            if lattice._holds_a_point():
                return lattice
        return None

    def _holds_a_point(self) -> bool:
        """Say whether some integer point of the box has an odd sum."""
        room = self.upper - self.lower
        return bool((room >= 0).all() and (room.any() or self.lower.sum() % 2))

    def near(self, weights: Floats) -> Ints:
        """Return lattice points near weights, a row each."""
        points = np.rint(np.atleast_2d(weights) / self.scale).astype(np.int64)
        points = np.clip(points, self.lower, self.upper)
        even = np.flatnonzero(points.sum(axis=1) % 2 == 0)
        column = int(np.argmax(self.upper - self.lower))
        down = points[even, column] > self.lower[column]
        points[even, column] += np.where(down, -1, 1)
        return points

    def weights(self, point: Ints) -> Floats:
        """Return the weights of a lattice point."""
        return point * np.float64(self.scale)
