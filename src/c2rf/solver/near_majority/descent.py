"""Walks towards equal weights along exact lines, for totals that small changes do not meet."""

from __future__ import annotations

import numpy as np

from c2rf._typing import Floats, Signs
from c2rf.core.problem import scores
from c2rf.core.tolerances import MARGIN_TOLERANCE
from c2rf.solver.near_majority.incumbent import Nearest, distance
from c2rf.solver.search.lines import cut_line

# Work in about nanoseconds of a walk, and how many walks in a row may find nothing.
_WALK = 2 * 10**8
_PATIENCE = 3
# How often all trees go at once, another one goes anywhere, and the shift changes, too.
_ALL, _OTHER, _SHIFTED = 0.1, 0.5, 0.7
# A margin met but for rounding is met.
_ROUNDING = MARGIN_TOLERANCE / 100


def descend(nearest: Nearest, seed: int) -> None:
    """Walk, find the closest weights for the labels met, and walk on, as long as it helps."""
    rng = np.random.default_rng(seed)
    failures = 0
    while failures < _PATIENCE and not nearest.over:
        walk = _Walk(nearest, rng)
        walk.run(_WALK)
        failures = 0 if nearest.try_signs(walk.signs) else failures + 1


class _Walk:
    """A walk on which the distance only falls, from weights scaled up in the box.

    The larger the weights, the easier it is to keep the margins; the linear program that follows
    scales them down again.
    """

    def __init__(self, nearest: Nearest, rng: np.random.Generator) -> None:
        self.nearest, self.problem, self._rng = nearest, nearest.problem, rng
        size = self.problem.patterns.size
        self._work_per_step = 100_000 + 2 * size + 200 * self.problem.n_patterns
        self.weights = nearest.weights
        self._go_to(self.weights * (1 + self._room(self.weights) * rng.uniform() ** 2))

    @property
    def signs(self) -> Signs:
        """The labels where the walk is."""
        return np.where(self._scores > 0, 1, -1).astype(np.int8)

    def run(self, work: int) -> None:
        """Take as many steps as the work allows."""
        for _ in range(max(1, work // self._work_per_step)):
            if self.nearest.over:
                return
            self._step()

    def _step(self) -> None:
        """Go as far towards the common level along a random line as the total allows."""
        direction, problem = self._draw_direction(), self.problem
        slopes = scores(problem.patterns, direction)
        room = min(1.0, self._room(direction))
        pieces = cut_line(self._scores, slopes, problem.counts, 0.0, room)
        low, high = self.nearest.totals
        good = (pieces.short == 0) & (low <= pieces.positives) & (pieces.positives <= high)
        if good.any():
            there = self.weights + direction * pieces.right[good].max()
            trees = slice(self.nearest.n_trees)
            if distance(there[trees]) <= distance(self.weights[trees]):
                self._go_to(there)

    def _room(self, direction: Floats) -> float:
        """Return how far the direction can be followed in the box."""
        moving = direction != 0
        ends = np.where(direction > 0, self.problem.upper, self.problem.lower) - self.weights
        return max(0.0, float(np.min(ends[moving] / direction[moving], initial=np.inf)))

    def _draw_direction(self) -> Floats:
        """Draw some trees that go to the common level, one that goes anywhere, and a shift."""
        rng, n = self._rng, self.nearest.n_trees
        home = np.median(self.weights[:n]) - self.weights[:n]
        off = np.flatnonzero(home)
        direction = np.zeros(self.problem.n_columns)
        chosen = rng.permutation(off)[: len(off) if rng.uniform() < _ALL else rng.integers(1, 4)]
        direction[chosen] = home[chosen]
        size = np.abs(direction).max()
        if rng.uniform() < _OTHER:
            direction[rng.integers(n)] += size * rng.uniform(-1, 1)
        if rng.uniform() < _SHIFTED:
            direction[n:] = size * rng.standard_normal()
        return direction

    def _go_to(self, weights: Floats) -> None:
        self.weights = np.clip(weights, self.problem.lower, self.problem.upper)
        found = scores(self.problem.patterns, self.weights)
        self._scores = np.where(np.abs(np.abs(found) - 1) < _ROUNDING, np.sign(found), found)
