"""The search for weights of large forests: smoothing, then lines and swaps.

With many deep trees the best weights known are nearly all at an end of the box, a few trees at the
upper one. Such weights are found in two steps.

- **Smoothing.** The count of positives is replaced by a sum of sigmoids of the scaled scores,

      min over alpha  abs( sum_i w_i sigmoid(s_i / T) - total ),   s = R alpha / (|alpha| sqrt(t)),

  whose temperature T falls. L-BFGS-B moves the logarithms of the weights.
- **Descent** on the odd lattice from there: each weight to its best value along its line, then
  pairs of weights that exchange their values, as long as the count comes closer. Then all begins
  anew from random weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

from c2rf._utils.compiled import can_compile, summing
from c2rf._utils.types import Floats, Ints
from c2rf.forest.problem import Problem
from c2rf.forest.search.lattice import OddLattice

# Temperatures fall from where all scores count to where only those near zero do. Tried on magic and
# twonorm with 200 and 500 deep trees: without the coldest two, eta is 2 to 5 percent greater.
_TEMPERATURES = (0.5, 0.25, 0.12, 0.06, 0.03, 0.015)
_ITERATIONS = 60
_MOST_ENTRIES = 1 << 24  # of the votes that are smoothed over; of more patterns some are drawn


@summing
def _positives(
    scores: Any, counts: Any, one: Any, other: Any, difference: int
) -> float:  # pragma: no cover
    """Return the number of positives after a shift of weight from one tree to another."""
    positives = 0.0
    for i in range(len(scores)):
        if scores[i] + difference * (other[i] - one[i]) > 0:
            positives += counts[i]
    return positives


def _positives_plain(scores: Any, counts: Any, one: Any, other: Any, difference: int) -> float:
    """Return the same without compiled loops."""
    return float(counts @ (scores + np.int32(difference) * (other - one) > 0))


class LargeForestSearch:
    """Finds points of the odd lattice whose count is near the target; never ends.

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
        The best point so far.
    eta : float
        How far its count is from the target.
    """

    def __init__(self, problem: Problem, lattice: OddLattice, rng: np.random.Generator) -> None:
        self._problem, self.lattice, self._rng = problem, lattice, rng
        self._votes = np.ascontiguousarray(problem.patterns.T)
        self._counts = problem.counts.astype(np.float64)
        self._count = _positives if can_compile() else _positives_plain
        self.best: Ints | None = None
        self.eta = np.inf

    def steps(self) -> Iterator[int]:
        """Search on, and yield the work of each step, about nanoseconds."""
        ends = np.log(self._problem.lower), np.log(self._problem.upper)
        weights = np.exp((ends[0] + ends[1]) / 2)
        while True:
            for temperature in _TEMPERATURES:
                weights, done = self._smoothed(weights, temperature)
                yield done
            yield from self._descended(self.lattice.near(weights[None, :])[0])
            weights = np.exp(self._rng.uniform(*ends))

    def _smoothed(self, weights: Floats, temperature: float) -> tuple[Floats, int]:
        """Return weights that meet the smoothed total at a temperature, and the work it took."""
        problem = self._problem
        rows = np.arange(problem.n_patterns)
        most = max(1, _MOST_ENTRIES // problem.n_columns)
        if len(rows) > most:
            rows = np.sort(self._rng.choice(rows, most, replace=False))
        votes = problem.patterns[rows].astype(np.float32)
        counts = self._counts[rows] / self._counts[rows].sum()
        share, size = problem.n_positive / problem.n_points, np.sqrt(problem.n_columns)

        def loss(x: Floats) -> tuple[float, Floats]:
            alpha = np.exp(x)
            scores = (votes @ alpha.astype(np.float32)).astype(float)
            norm = np.linalg.norm(alpha) * size
            sigmoid = (1 + np.tanh(scores / norm / temperature / 2)) / 2
            off = float(counts @ sigmoid - share)
            slope = counts * sigmoid * (1 - sigmoid) / temperature * np.sign(off) / norm
            gradient = (slope.astype(np.float32) @ votes).astype(float)
            gradient -= slope @ scores * alpha / (alpha @ alpha)
            return abs(off), gradient * alpha

        box = zip(np.log(problem.lower), np.log(problem.upper), strict=True)
        found = minimize(
            loss, np.log(weights), jac=True, method="L-BFGS-B", bounds=list(box),
            options={"maxiter": _ITERATIONS},
        )  # fmt: skip
        return np.exp(found.x), int(found.nfev) * votes.size

    def _descended(self, point: Ints) -> Iterator[int]:
        """Bring a point closer in place, as far as lines and swaps go; yield the work of that."""
        scores = np.zeros(len(self._counts), dtype=np.int32)
        for weight, votes in zip(point.tolist(), self._votes, strict=True):
            scores += np.int32(weight) * votes
        eta = abs(float(self._counts @ (scores > 0)) - self._problem.n_positive)
        self._note(point, eta)
        improved = True
        while improved and eta > 0:
            order = self._rng.permutation(len(point))
            before, eta = eta, self._along_lines(point, scores, eta, order)
            self._note(point, eta)
            yield 8 * self._votes.size
            improved = eta < before
            if improved:
                continue
            for j in order.tolist():
                now, eta, done = eta, *self._swaps(point, scores, eta, j)
                improved |= eta < now
                self._note(point, eta)
                yield done

    def _note(self, point: Ints, eta: float) -> None:
        """Remember a point if it is the best so far."""
        if eta < self.eta:
            self.best, self.eta = point.copy(), eta

    def _along_lines(self, point: Ints, scores: Any, eta: float, order: Ints) -> float:
        """Move each weight to its best value, in place; return eta."""
        target, lattice = self._problem.n_positive, self.lattice
        for j in order.tolist():
            votes = self._votes[j]
            back = int(point[j] - lattice.lower[j]) // 2
            steps = back + int(lattice.upper[j] - point[j]) // 2 + 1
            # A score changes its sign at  s = (1 - vote * score) / 2  steps of two.
            place = np.clip(back + ((1 - votes * scores) >> 1), 0, steps)
            gains = np.bincount(place, votes * self._counts, steps + 1)[:steps].cumsum()
            now = float(self._counts @ (scores > 0))
            distance = np.abs(gains + (now - gains[back]) - target)
            best = int(distance.argmin())
            if distance[best] < eta:
                eta = float(distance[best])
                point[j] += 2 * (best - back)
                scores += np.int32(2 * (best - back)) * votes
        return eta

    def _swaps(self, point: Ints, scores: Any, eta: float, j: int) -> tuple[float, int]:
        """Let a weight exchange its value with smaller ones, in place; return eta and work."""
        lattice, done = self.lattice, 0
        others = np.flatnonzero(point < point[j])
        for k in self._rng.permutation(others).tolist():
            difference = int(point[j] - point[k])
            if point[k] < lattice.lower[j] or point[j] > lattice.upper[k] or difference <= 0:
                continue
            positives = self._count(
                scores, self._counts, self._votes[j], self._votes[k], difference
            )
            done += len(scores)
            if abs(positives - self._problem.n_positive) < eta:
                eta = abs(positives - self._problem.n_positive)
                scores += np.int32(difference) * (self._votes[k] - self._votes[j])
                point[j], point[k] = point[k], point[j]
        return eta, done
