"""Support vectors for few rows, by sequential minimal optimization, compiled.

With labels y = -1, 1 and b = y a for the usual multipliers a, the dual problem is to maximize
y'b - b'Kb / 2 subject to sum(b) = 0 and b between 0 and y C. A step moves one b up and another
down by the same amount, so that the sum stays. The first is the one whose gradient y - Kb is
greatest, the second the one that promises most by second order. Where Numba cannot be used,
scikit-learn solves the same problem.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.svm import SVC

from c2rf._utils.compiled import can_compile, compiled
from c2rf._utils.types import Codes, Floats

TOLERANCE = 1e-3
"""Gradients of multipliers that could move differ by no more than this."""

_LEAST_CURVATURE = 1e-12
_MOST_STEPS = 1_000_000


@compiled
def solve_dual(kernel: Any, lower: Any, upper: Any, tolerance: float) -> Any:
    """Return the multipliers b of one problem, and its intercept.

    Parameters
    ----------
    kernel : ndarray of shape (n_rows, n_rows)
        Inner products.
    lower, upper : ndarray of shape (n_rows,)
        Bounds of b: 0 and C for the rows of one class, -C and 0 for those of the other.
    tolerance : float
        When to stop.
    """
    n_rows = len(kernel)
    b, gradient = np.zeros(n_rows), np.empty(n_rows)
    for t in range(n_rows):
        gradient[t] = 1.0 if upper[t] > 0 else -1.0
    for _ in range(_MOST_STEPS):
        i, low = _widest_gap(b, gradient, lower, upper)
        if gradient[i] - low <= tolerance:
            break
        j = _best_partner(kernel, b, gradient, lower, i)
        step = (gradient[i] - gradient[j]) / _curvature(kernel, i, j)
        step = min(step, upper[i] - b[i], b[j] - lower[j])
        b[i] += step
        b[j] -= step
        for t in range(n_rows):
            gradient[t] -= step * (kernel[i, t] - kernel[j, t])
    return b, _intercept(b, gradient, lower, upper)


@compiled
def _curvature(kernel: Any, i: int, j: int) -> float:
    return max(kernel[i, i] + kernel[j, j] - 2 * kernel[i, j], _LEAST_CURVATURE)


@compiled
def _widest_gap(b: Any, gradient: Any, lower: Any, upper: Any) -> Any:
    """Return the row that should rise most, and the least gradient of those that could fall."""
    best, high, low = 0, -np.inf, np.inf
    for t in range(len(b)):
        if b[t] < upper[t] and gradient[t] > high:
            best, high = t, gradient[t]
        if b[t] > lower[t]:
            low = min(low, gradient[t])
    return best, low


@compiled
def _best_partner(kernel: Any, b: Any, gradient: Any, lower: Any, i: int) -> int:
    """Return the row that should fall while another rises, by the most that this can gain."""
    best, most = i, 0.0
    for t in range(len(b)):
        gap = gradient[i] - gradient[t]
        if b[t] > lower[t] and gap > 0:
            gain = gap * gap / _curvature(kernel, i, t)
            if gain > most:
                best, most = t, gain
    return best


@compiled
def _intercept(b: Any, gradient: Any, lower: Any, upper: Any) -> float:
    """Return the mean gradient of the rows on the margin; without any, the middle of the gap."""
    total, n_free = 0.0, 0
    for t in range(len(b)):
        if lower[t] < b[t] < upper[t]:
            total += gradient[t]
            n_free += 1
    if n_free:
        return total / n_free
    i, low = _widest_gap(b, gradient, lower, upper)
    return (gradient[i] + low) / 2


class SupportVectorMachine:
    """A support vector classifier by inner products that are given; classes are compared in pairs.

    Parameters
    ----------
    c : float
        What a row on the wrong side costs, times its weight.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> model = SupportVectorMachine(c=1.0).fit(X @ X.T, np.array([0, 0, 1, 1]), np.ones(4))
    >>> model.scores(np.array([[-1.0], [0.0], [2.0]]) @ X.T).round(2).tolist()
    [[1.0, -1.0], [-0.0, 0.0], [-2.0, 2.0]]
    """

    def __init__(self, c: float) -> None:
        self.c = c

    def fit(self, kernel: Floats, codes: Codes, weight: Floats) -> Self:
        """Find the support vectors of each pair of classes."""
        self.pairs_ = list(combinations(range(int(codes.max()) + 1), 2))
        self.coef_ = np.zeros((len(codes), len(self.pairs_)))
        self.intercept_ = np.zeros(len(self.pairs_))
        for p, (one, other) in enumerate(self.pairs_):
            rows = np.flatnonzero((codes == one) | (codes == other))
            costs, second = self.c * weight[rows], codes[rows] == other
            own = np.ascontiguousarray(kernel[np.ix_(rows, rows)])
            solve = _solve_pair if can_compile() else _solve_by_scikit_learn
            self.coef_[rows, p], self.intercept_[p] = solve(own, second, costs)
        return self

    def scores(self, kernel: Floats) -> Floats:
        """Return a score per class from inner products with the rows of the fit.

        Of two classes it is the side of the boundary; of more, the sum over the others of votes
        between -1 and 1, the clearer the further a row is from the boundary.
        """
        sides = kernel @ self.coef_ + self.intercept_
        if len(self.pairs_) == 1:
            return np.hstack([-sides, sides])
        votes = np.tanh(sides)
        scores = np.zeros((len(sides), self.pairs_[-1][1] + 1))
        for p, (one, other) in enumerate(self.pairs_):
            scores[:, one] -= votes[:, p]
            scores[:, other] += votes[:, p]
        return scores


def _solve_pair(kernel: Floats, second: Any, costs: Floats) -> tuple[Floats, float]:
    """Return the multipliers and the intercept of a pair of classes."""
    lower, upper = np.where(second, 0.0, -costs), np.where(second, costs, 0.0)
    return solve_dual(kernel, lower, upper, TOLERANCE)


def _solve_by_scikit_learn(kernel: Floats, second: Any, costs: Floats) -> tuple[Floats, float]:
    """Return the same where nothing is compiled."""
    model = SVC(C=1.0, kernel="precomputed", tol=TOLERANCE)
    model.fit(kernel, second, sample_weight=costs)
    multipliers = np.zeros(len(costs))
    multipliers[model.support_] = model.dual_coef_[0]
    return multipliers, float(model.intercept_[0])
