"""Parallel tempering: walkers at different heats, good points are handed down to the cold ones.

Two ladders of heats run side by side. The second is thriftier, i.e. at home where few columns are
heavy: a small part of the box that holds many of the extreme counts (in the end, one tree decides
alone), and that walkers who take all points for equal hardly ever see.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from c2rf._typing import Floats
from c2rf.core.problem import Problem
from c2rf.solver.search.odd_lattice import OddLattice
from c2rf.solver.search.walkers import Walkers

_SCORES_AT_ONCE = 1 << 18
_MOST_LEVELS = 8
COLDEST = 1.0
_HOTTEST_PER_POINT = 0.004
_THRIFT = (0.5, 1.5)


def heats(problem: Problem, n_levels: int) -> Floats:
    """Return heats from the coldest, which knows one count from the next, to the hottest."""
    return np.geomspace(COLDEST, max(COLDEST, _HOTTEST_PER_POINT * problem.n_points), n_levels)


class Tempering:
    """Two ladders of walkers on the odd lattice.

    Parameters
    ----------
    problem : Problem
        What is searched for.
    lattice : OddLattice
        Where.
    rng : numpy Generator
        The source of all random choices.
    """

    def __init__(self, problem: Problem, lattice: OddLattice, rng: np.random.Generator) -> None:
        self.walkers = Walkers(problem, lattice)
        self._lattice, self._rng = lattice, rng
        levels = min(_MOST_LEVELS, max(1, _SCORES_AT_ONCE // (2 * problem.n_patterns)))
        self._ladder = heats(problem, levels)
        self._walker_at = np.arange(2 * levels).reshape(2, levels)
        self._thrift = np.repeat(_THRIFT, levels)
        self._heat = np.tile(self._ladder, 2)
        self._parity = 0
        # About nanoseconds: a fixed part, and passes over all scores and all points of the lines.
        longest = int((lattice.upper - lattice.lower).max()) + 1
        self.work_per_step = 100_000 + levels * (20 * problem.n_patterns + 60 * longest)

    def survey(self) -> Iterator[None]:
        """Look at each column alone above the lowest point: every dictator is seen."""
        n, q = len(self._heat), len(self._lattice.lower)
        lowest = self._lattice.near(self._lattice.weights(self._lattice.lower)[None, :])
        self.walkers.place(np.repeat(lowest, n, axis=0))
        for start in range(0, q, n):
            columns = np.arange(start, start + n) % q
            self.walkers.look(columns, columns, np.ones(n, dtype=np.int64))
            yield

    def restart(self) -> None:
        """Put the walkers on random points, the thrifty ones on mostly small ones."""
        lattice, levels = self._lattice, len(self._ladder)
        draws = self._rng.random((2 * levels, len(lattice.lower)))
        widths = lattice.upper - lattice.lower
        draws[levels:] = np.expm1(draws[levels:] * np.log1p(widths)) / np.maximum(widths, 1)
        self.walkers.place(lattice.near(lattice.weights(lattice.lower + draws * widths)))

    def insert(self, starts: list[Floats]) -> None:
        """Put walkers near some weights, the last ones if they are too many."""
        chosen = self._walker_at.T.ravel()[: len(starts)]  # the coldest of both ladders first
        points = self.walkers.points.copy()
        points[chosen] = self._lattice.near(np.stack(starts[::-1][: len(chosen)]))
        self.walkers.place(points)

    def any_weights(self) -> Floats:
        """Return the weights of some walker."""
        walker = self._rng.integers(len(self._heat))
        return self._lattice.weights(self.walkers.points[walker])

    def step(self) -> None:
        """Move every walker along a random line, then let neighbours swap heats."""
        n, q = self.walkers.points.shape
        first, second = self._rng.integers(q, size=(2, n))
        sign = np.where((first == second) | (self._rng.random(n) < 0.5), 1, -1)
        lines = self.walkers.look(first, second, sign)
        self.walkers.move(lines, self._heat, self._thrift, self._rng)
        self._swap()

    def _swap(self) -> None:
        """Swap the heats of neighbours in a ladder, by the rule of Metropolis."""
        lower = slice(self._parity, len(self._ladder) - 1, 2)
        upper = slice(self._parity + 1, len(self._ladder), 2)
        cold, hot = self._walker_at[:, lower], self._walker_at[:, upper]
        distance = self.walkers.distance
        # P(swap) = min(1, exp((E_cold - E_hot) (1 / T_cold - 1 / T_hot)))
        exponent = (distance[cold] - distance[hot]) * (
            1 / self._ladder[lower] - 1 / self._ladder[upper]
        )
        swap = -self._rng.standard_exponential(exponent.shape) < exponent
        self._walker_at[:, lower], self._walker_at[:, upper] = (
            np.where(swap, hot, cold),
            np.where(swap, cold, hot),
        )
        self._heat[self._walker_at] = self._ladder
        self._parity = 1 - self._parity
