"""The closest weights known so far, and what is proven about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from c2rf._typing import Floats, Signs
from c2rf.core.problem import Problem, scores
from c2rf.core.tolerances import MARGIN_TOLERANCE
from c2rf.solver.near_majority.lp import closest
from c2rf.solver.run import Run, with_margins

# Distances that differ by less, relative above one, are the same to a solver.
_SAME = 1e-5
# Weights are rounded to this number of decimals where that costs nothing.
_DECIMALS = 6


class Nearest:
    """The closest weights among those whose eta is the smallest known.

    Parameters
    ----------
    run : Run
        For its clock, its backend and its stats.
    problem : Problem
        All patterns, with the shift, if there is one, as the last column.
    n_trees : int
        Columns that the distance is about.
    weights : ndarray
        The weights to begin with; their margins hold.
    """

    def __init__(self, run: Run, problem: Problem, n_trees: int, weights: Floats) -> None:
        self.run, self.problem, self.n_trees = run, problem, n_trees
        self.weights, self.eta = weights, problem.eta(weights)
        self.distance = distance(weights[:n_trees])
        self.bound = 0.0
        """Proven in whole numbers: no weights with such an eta are closer."""
        # Each tree's vote counts one: what equal weights say.
        self.surplus = problem.patterns[:, :n_trees].sum(axis=1, dtype=np.int64)
        self._closest_for_labels = False
        if self.critical is not None:
            # Patterns with equally many votes have to be told apart.
            self.raise_bound(1.0 - 2 * MARGIN_TOLERANCE)

    @property
    def signs(self) -> Signs:
        """The labels of the weights."""
        return np.where(scores(self.problem.patterns, self.weights) > 0, 1, -1).astype(np.int8)

    @property
    def totals(self) -> tuple[int, int]:
        """The least and the greatest number of positives that are as good as the best known."""
        return self.problem.n_positive - self.eta, self.problem.n_positive + self.eta

    @property
    def critical(self) -> int | None:
        """The surplus of votes whose patterns cannot all have one label if a total is to be met.

        None where a cut-off of the plain vote meets one.
        """
        low, high = self.totals
        groups, which = np.unique(-self.surplus, return_inverse=True)
        sizes = np.zeros(len(groups), dtype=np.int64)
        np.add.at(sizes, which, self.problem.counts)
        positives = sizes.cumsum()
        if low <= 0 or ((low <= positives) & (positives <= high)).any():
            return None
        return int(-groups[np.argmax(positives > high)])

    @property
    def shift(self) -> tuple[float, float]:
        """The range of the shift, zero without one."""
        low, high = self.problem.lower[self.n_trees :], self.problem.upper[self.n_trees :]
        return float(low.sum()), float(high.sum())

    @property
    def proven(self) -> bool:
        """Whether no weights with such an eta are closer."""
        return self.nothing_below <= self.bound

    @property
    def nothing_below(self) -> float:
        """The distance up to which nothing must be left for the weights to be the closest."""
        return self.distance - same(self.distance)

    @property
    def over(self) -> bool:
        """Whether to stop: proven, out of time or interrupted."""
        return self.proven or self.run.interrupted or self.run.time_left() == 0

    def try_signs(self, signs: Signs) -> bool:
        """Find the closest weights with these labels; say whether they are the closest so far."""
        found = closest(self.problem, signs, self.n_trees, self.run.time_left)
        if found is not None and self.offer(found):
            self._closest_for_labels = True
            return True
        if found is None and np.array_equal(signs, self.signs):
            self.run.trouble("no weights closer to the majority vote were found")
        return False

    def offer(self, weights: Floats) -> bool:
        """Keep weights if their margins hold and they are better; say whether they are."""
        for candidate in (np.round(weights, _DECIMALS), weights):
            feasible = with_margins(self.problem, candidate, scale=False)
            if feasible is not None and self._keep(feasible):
                return True
        return False

    def _keep(self, weights: Floats) -> bool:
        """Keep feasible weights if eta is smaller, or the same and the distance smaller."""
        eta, far = self.problem.eta(weights), distance(weights[: self.n_trees])
        if (eta, far) >= (self.eta, self.distance):
            return False
        self.weights, self.eta, self.distance = weights, eta, far
        return True

    def raise_bound(self, bound: float) -> None:
        """Note that no weights with such an eta are closer than this."""
        self.bound = max(self.bound, bound)

    def report(self) -> dict[str, Any]:
        """Return what is known, for the stats."""
        unproven = "for these labels" if self._closest_for_labels else "no"
        proven = "yes" if self.proven else unproven
        return {"distance": self.distance, "bound": self.bound, "proven": proven}


def distance(trees: Floats) -> float:
    """Return the L1 distance of weights to the common level that is nearest, their median.

    Examples
    --------
    >>> distance(np.array([5.0, 5.0, 4.0, 5.0, 7.0]))
    3.0
    """
    return float(np.abs(trees - np.median(trees)).sum())


def same(value: float) -> float:
    """Return by how much distances near ``value`` must differ to count as different."""
    return _SAME * max(1.0, value)
