"""Weights close to equal ones as an integer program, in whole numbers.

Weights are written ``level + p - n``, and only those with ``sum(p + n)`` below D, the distance
known, are of interest. That is what makes the program small. A change of total size D moves no
score by more than D, so

- at a level of D - 1 and above it can only tell apart patterns with equally many votes;
- below D - 1 the level is small, and so are all scores that can change their sign.

These are two programs. Each fixes the signs that the bounds of the scores fix, and takes its
big-M from them. All that they are made of is a whole number of small parts, rounded so that the
program allows more than it should, never less: what it excludes is excluded for all weights that
``verify`` accepts.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._typing import Floats, Signs
from c2rf.core.certificate import TOLERANCE
from c2rf.solver.matrix_model import MatrixModel
from c2rf.solver.near_majority.incumbent import Nearest

Whole = NDArray[np.object_]
Entries = dict[int, int]
"""What a row has in the columns z: places and values."""

PARTS = 1 << 40
"""Numbers of parts in a whole."""

# A margin that a solver's x misses by more is missing.
_SHORT = 1e-6
_ROWS_AT_ONCE = 200
# The greatest coefficient in the row of the total.
_LARGEST_BITS = 17


def programs(nearest: Nearest) -> list[Program]:
    """Return the programs of all weights that are closer than what is known."""
    trees = slice(nearest.n_trees)
    low, high = nearest.problem.lower[trees].min(), nearest.problem.upper[trees].max()
    middle = np.clip(nearest.distance - 1, low, high)
    ranges = [ends for ends in ((middle, high), (low, middle)) if ends[0] < ends[1]]
    return [Program(nearest, ends, nearest.nothing_below) for ends in ranges or [(low, high)]]


class Program:
    """Weights of a level in a range and a distance below ``most``.

    Its columns are [level | shift | p | n | z], z for the patterns whose sign is free. The shift
    is relative to the critical patterns, with v their surplus of votes:
    score_i = level (v_i - v) + shift + (p - n)'r_i.

    Attributes
    ----------
    left, right, low, high
        The rows: entries before z, entries in z, and sides, None without one. All in parts.
    col_low, col_high : ndarray of int
        The bounds of the columns, in parts.
    """

    def __init__(self, nearest: Nearest, levels: tuple[float, float], most: float) -> None:
        problem, t = nearest.problem, nearest.n_trees
        self.n_trees, self.size = t, 2 + 2 * t
        self.most = _up(most)
        slack = _up(TOLERANCE)
        self._one = PARTS - slack
        self._levels = _down(levels[0]) - slack, _up(levels[1]) + slack
        self._box = [
            (_down(low) - slack, _up(high) + slack)
            for low, high in zip(problem.lower, problem.upper, strict=True)
        ]
        self._offset = self._box[t] if problem.n_columns > t else (0, 0)
        self._set_signs(nearest)
        self._set_columns()
        self.left = np.zeros((0, self.size), dtype=object)
        self.right: list[Entries] = []
        self.low: list[int | None] = []
        self.high: list[int | None] = []
        self._add_box()
        self._add_total(nearest)
        self._add_free()
        self._kept = np.zeros(0, dtype=np.int64)

    def _set_signs(self, nearest: Nearest) -> None:
        """Bound the scores, and fix the signs that the bounds fix."""
        critical, one, most = nearest.critical, self._one, self.most
        # Some pattern with at most v is positive, some with at least v negative: |shift| < most.
        self._shift = self._offset if critical is None else (one - most, most - one)
        self._critical = critical or 0
        above = (nearest.surplus - self._critical).astype(object)
        votes = nearest.problem.patterns[:, : self.n_trees].astype(object)
        self._scores = np.hstack([above[:, None], np.ones_like(above)[:, None], votes, -votes])
        ends = above * self._levels[0], above * self._levels[1]
        lower, upper = np.array(self._box[: self.n_trees], dtype=object).T
        least = (votes > 0) @ lower - (votes < 0) @ upper + self._offset[0]
        greatest = (votes > 0) @ upper - (votes < 0) @ lower + self._offset[1]
        self.least = np.maximum(least, np.minimum(*ends) - most + self._shift[0])
        self.greatest = np.minimum(greatest, np.maximum(*ends) + most + self._shift[1])
        self._positive = np.asarray(self.least > -one, dtype=bool)
        self._negative = np.asarray(self.greatest < one, dtype=bool)
        self.free = np.flatnonzero(~self._positive & ~self._negative)

    @property
    def empty(self) -> bool:
        """Whether no weights at all can be in it."""
        reversed_shift = self._shift[0] > self._shift[1]
        return self.most < 0 or reversed_shift or bool((self._positive & self._negative).any())

    def signs(self, z: Floats) -> Signs:
        """Return the labels that the z of a solution stand for."""
        signs = np.where(self._positive, 1, -1).astype(np.int8)
        signs[self.free] = np.where(z > 0.5, 1, -1)
        return signs

    # Rows

    def _set_columns(self) -> None:
        """Set the bounds of the columns."""
        changes, z = [(0, self.most)] * (2 * self.n_trees), [(0, PARTS)] * len(self.free)
        ends = np.array([self._levels, self._shift, *changes, *z], dtype=object)
        self.col_low, self.col_high = ends.T

    def _add(
        self, left: Whole, right: list[Entries], low: list[int | None], high: list[int | None]
    ) -> None:
        self.left = np.vstack([self.left, left])
        self.right += right
        self.low += low
        self.high += high

    def _add_box(self) -> None:
        """Append the rows of the shift and of the box."""
        t = self.n_trees
        left = np.zeros((1 + t, self.size), dtype=object)
        # lo <= shift - level v <= hi
        left[0, :2] = -self._critical, 1
        # l <= level + p - n <= u
        left[1:, 0] = 1
        left[1:, 2 : 2 + t] = np.eye(t, dtype=int)
        left[1:, 2 + t :] = -np.eye(t, dtype=int)
        low, high = zip(self._offset, *self._box[:t], strict=True)
        self._add(left * PARTS, [{}] * (1 + t), [*low], [*high])

    def _add_total(self, nearest: Nearest) -> None:
        """Append  low <= sum of w_i z_i <= high,  less what is fixed, in small numbers."""
        counts = [int(count) for count in nearest.problem.counts]
        sure = sum(counts[i] for i in np.flatnonzero(self._positive))
        free = [counts[i] for i in self.free]
        bits = max(free, default=1).bit_length() - _LARGEST_BITS
        unit = PARTS >> min(40, max(0, bits))
        low, high = ((end - sure) * unit for end in nearest.totals)
        entries = {k: count * unit for k, count in enumerate(free)}
        self._add(np.zeros((1, self.size), dtype=object), [entries], [low], [high])

    def _add_free(self) -> None:
        """Append the rows that tie the free z to scores."""
        n, one, left = len(self.free), self._one, self._scores[self.free] * PARTS
        # score + 1 <= (greatest + 1) z      and      score - 1 >= (least - 1) (1 - z)
        most, least = self.greatest[self.free] + one, self.least[self.free] - one
        self._add(left, [{k: -m} for k, m in enumerate(most)], [None] * n, [-one] * n)
        low = [value + one for value in least]
        self._add(left, [{k: m} for k, m in enumerate(least)], low, [None] * n)

    def tighten(self, x: Floats) -> bool:
        """Append margins of fixed patterns that a solution misses; say whether there are any."""
        fixed = np.setdiff1d(np.flatnonzero(self._positive | self._negative), self._kept)
        signs = np.where(self._positive[fixed], 1, -1)
        margin = signs * (self._scores[fixed].astype(float) @ x[: self.size])
        worst = np.argsort(margin, kind="stable")[:_ROWS_AT_ONCE]
        worst = worst[margin[worst] < 1 - _SHORT]
        n = len(worst)
        if n:
            self._kept = np.concatenate([self._kept, fixed[worst]])
            left = signs[worst, None] * self._scores[fixed[worst]] * PARTS
            self._add(left, [{}] * n, [self._one] * n, [None] * n)
        return n > 0

    # For solvers

    def rows(self, start: int = 0) -> tuple[sparse.csr_array, Floats, Floats]:
        """Return the rows from one on in floating point: the matrix, lower and upper sides."""
        right = sparse.lil_array((len(self.low) - start, len(self.free)))
        for row, entries in enumerate(self.right[start:]):
            for place, value in entries.items():
                right[row, place] = value / PARTS
        left = sparse.csr_array(in_floats(self.left[start:]))
        low = np.array([-np.inf if x is None else x / PARTS for x in self.low[start:]])
        high = np.array([np.inf if x is None else x / PARTS for x in self.high[start:]])
        return sparse.csr_array(sparse.hstack([left, right])), low, high

    def model(self) -> MatrixModel:
        """Return the program for a solver of integer programs."""
        matrix, low, high = self.rows()
        t, f = self.n_trees, len(self.free)
        return MatrixModel(
            objective=np.concatenate([[0, 0], np.ones(2 * t), np.zeros(f)]),
            matrix=matrix,
            row_lower=low,
            row_upper=high,
            col_lower=in_floats(self.col_low),
            col_upper=in_floats(self.col_high),
            integrality=np.repeat([False, True], [self.size, f]),
        )


def in_floats(values: Whole) -> Floats:
    """Return whole numbers of parts as floats."""
    return np.asarray(values / PARTS, dtype=float)


def _down(value: float | Fraction) -> int:
    return floor(Fraction(value) * PARTS)


def _up(value: float | Fraction) -> int:
    return ceil(Fraction(value) * PARTS)
