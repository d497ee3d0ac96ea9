"""Walkers on the odd lattice that move along whole lines at once.

On the odd lattice every score is odd, so every margin is met and only the count has to be looked
at. The steps that stay on the lattice are e_j + e_k, e_j - e_k and 2 e_j. Along a line of such
steps every score changes by -2, 0 or 2 at a time: the counts of all points of the line come from
one histogram.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from c2rf.problem import Floats, Problem
from c2rf.search.lattice import Ints, OddLattice


class Walkers:
    """Walkers on the odd lattice that move along whole lines at once.

    A step takes a random line through each walker, reads off the count at all of its points
    and draws one with probability proportional to exp(-distance to the wished count / heat).
    """

    def __init__(
        self, problem: Problem, lattice: OddLattice, n_walkers: int, rng: np.random.Generator
    ) -> None:
        self.lattice = lattice
        self.rng = rng
        self.wished = problem.n_positive
        self.counts = problem.counts.astype(np.float64)
        self.votes = np.ascontiguousarray(problem.patterns.T)
        self.n_walkers = n_walkers
        self.length = 1 + int((lattice.upper - lattice.lower).max())
        self.best: Ints | None = None
        self.eta = np.inf

    def place(self, points: Ints) -> None:
        """Put the walkers on lattice points, a row each."""
        self.points = points.copy()
        self.scores = np.stack([_integer_scores(self.votes, point) for point in points])
        self.positives = np.array([self.counts[row > 0].sum() for row in self.scores])
        distance = np.abs(self.positives - self.wished)
        self._note(distance, self.points)

    def step(self, heat: float) -> None:
        """Move every walker along a random line."""
        rng, walker = self.rng, np.arange(self.n_walkers)
        first, second, sign = self._draw_lines()
        # The score of pattern i changes by 2 * slope_i per step, slope in {-1, 0, 1}.
        slopes = (self.votes[first] + sign.astype(np.int8)[:, None] * self.votes[second]) >> 1
        back, ahead = self._room(first, second, sign)
        positives = self._read_lines(slopes, back, ahead)
        distance = np.abs(positives - self.wished)
        distance[np.arange(self.length + 1) > (back + ahead)[:, None]] = np.inf
        self._note_lines(distance, first, second, sign, back)
        # argmin of distance - heat * Gumbel noise is a draw from the Boltzmann distribution.
        drawn = (distance + heat * np.log(rng.standard_exponential(distance.shape))).argmin(axis=1)
        self.positives = positives[walker, drawn]
        steps = drawn - back
        self.points[walker, first] += steps
        self.points[walker, second] += sign * steps
        self.scores += (2 * steps)[:, None] * slopes

    def _draw_lines(self) -> tuple[Ints, Ints, Ints]:
        """Draw two columns j, k and a sign for each walker: the steps are e_j ± e_k."""
        q, n = self.votes.shape[0], self.n_walkers
        first, second = self.rng.integers(q, size=(2, n))
        sign = np.where((first == second) | (self.rng.random(n) < 0.5), 1, -1)
        return first, second, sign

    def _room(self, first: Ints, second: Ints, sign: Ints) -> tuple[Ints, Ints]:
        """Return how many steps the box allows back and ahead."""
        walker, lattice = np.arange(self.n_walkers), self.lattice
        below = self.points - lattice.lower
        above = lattice.upper - self.points
        back, ahead = below[walker, first], above[walker, first]
        other_back, other_ahead = below[walker, second], above[walker, second]
        up = sign > 0
        other_back, other_ahead = (
            np.where(up, other_back, other_ahead),
            np.where(up, other_ahead, other_back),
        )
        # e_j + e_j = 2 e_j takes two units at a time.
        twice = np.where(first == second, 2, 1)
        return np.minimum(back, other_back) // twice, np.minimum(ahead, other_ahead) // twice

    def _read_lines(self, slopes: NDArray[np.int8], back: Ints, ahead: Ints) -> Floats:
        """Return the number of positives after -back, ..., ahead steps, a row for each walker."""
        n, width = self.n_walkers, self.length + 1
        # score + 2 * slope * s has changed its sign from s = (1 - slope * score) / 2 on.
        flip = slopes * self.scores
        np.subtract(1, flip, out=flip)
        flip >>= 1
        flip += back[:, None]
        np.maximum(flip, 0, out=flip)
        np.minimum(flip, (back + ahead + 1)[:, None], out=flip)
        flip += (width * np.arange(n))[:, None]
        gains = np.bincount(flip.ravel(), (slopes * self.counts).ravel(), n * width)
        positives = gains.reshape(n, width).cumsum(axis=1)
        here = positives[np.arange(n), back]
        positives += (self.positives - here)[:, None]
        return positives

    def _note_lines(
        self, distance: Floats, first: Ints, second: Ints, sign: Ints, back: Ints
    ) -> None:
        """Remember the best point of all lines if it is better than any before."""
        walker, place = np.unravel_index(int(distance.argmin()), distance.shape)
        if distance[walker, place] < self.eta:
            steps = place - back[walker]
            point = self.points[walker].copy()
            point[first[walker]] += steps
            point[second[walker]] += sign[walker] * steps
            self._note(distance[walker, place : place + 1], point[None, :])

    def _note(self, distance: Floats, points: Ints) -> None:
        """Remember the best of some points if it is better than any before."""
        i = int(distance.argmin())
        if distance[i] < self.eta:
            self.eta, self.best = float(distance[i]), points[i].copy()


def _integer_scores(votes: NDArray[np.int8], point: Ints) -> Ints:
    """Return the scores of a lattice point; votes has a row per column."""
    scores = np.zeros(votes.shape[1], dtype=np.int64)
    for column, value in zip(votes, point, strict=True):
        scores += value * column
    return scores
