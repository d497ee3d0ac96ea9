"""The search as a whole: what is tried, in which order, for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from c2rf.lattice import odd_lattice_point
from c2rf.problem import Floats, Problem
from c2rf.run import with_margins
from c2rf.search.lattice import OddLattice
from c2rf.search.walkers import Walkers

_SCORES_AT_ONCE = 20_000
_MOST_WALKERS = 32


class Searcher:
    """Resumable, deterministic search for weights whose count is closest to the wished one.

    Parameters
    ----------
    problem : Problem
        Patterns, counts, the wished number of positives and the box.
    random_state : int, Generator or None
        Seed of the search.

    Attributes
    ----------
    best : ndarray or None
        The best weights found, all margins met; None as long as none are known.
    eta : int or None
        How far their count is from the wished one.
    target : int
        The search is over as soon as eta is not above it: a proven lower bound.

    Examples
    --------
    >>> from c2rf.problem import make_problem
    >>> searcher = Searcher(make_problem([[1, 1, -1], [-1, 1, -1], [-1, 1, 1]], 1), 0)
    >>> searcher.run(10**6), searcher.eta
    (True, 0)
    """

    def __init__(
        self, problem: Problem, random_state: int | np.random.Generator | None = None
    ) -> None:
        self.problem = problem
        self.best: Floats | None = None
        self.eta: int | None = None
        self.target = 0
        self._rng = np.random.default_rng(random_state)
        self._starts: list[Floats] = []
        self._plan = self._search()

    def offer(self, weights: Floats) -> bool:
        """Take weights found elsewhere: a candidate if all margins are met, and a start."""
        self._starts.append(weights)
        return self._keep(weights)

    def run(self, work: int, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Search on for about ``work`` units, a unit being about one multiply-add.

        Parameters
        ----------
        work : int
            How much to do; 10**9 is of the order of a second.
        should_stop : callable
            Asked often; the search pauses when it says so.

        Returns
        -------
        bool
            Whether the target is reached.
        """
        spent = 0
        while not self._done and spent < work and not should_stop():
            step = next(self._plan, None)
            if step is None:
                break
            spent += step
        return self._done

    @property
    def _done(self) -> bool:
        return self.eta is not None and self.eta <= self.target

    def _keep(self, weights: Floats) -> bool:
        """Remember weights if all margins are met and they are better than any before."""
        feasible = with_margins(self.problem, weights)
        if feasible is None:
            return False
        eta = self.problem.eta(feasible)
        if self.eta is None or eta < self.eta:
            self.best, self.eta = feasible, eta
        return True

    def _search(self) -> Iterator[int]:
        """Do all there is to do, and say after each step how much work it was."""
        problem = self.problem
        size = problem.patterns.size + problem.n_columns
        for weights in (problem.lower, problem.upper, odd_lattice_point(problem)):
            if weights is not None:
                self._keep(weights)
                yield size
        lattice = OddLattice.of(problem)
        if lattice is not None and problem.n_patterns and problem.n_columns:
            yield from self._walk(lattice)

    def _walk(self, lattice: OddLattice) -> Iterator[int]:
        problem, q = self.problem, self.problem.n_columns
        n_walkers = int(np.clip(_SCORES_AT_ONCE // problem.n_patterns, 1, _MOST_WALKERS))
        walkers = Walkers(problem, lattice, n_walkers, self._rng)
        cost = 20_000 + 16 * n_walkers * problem.n_patterns
        for column in range(q):
            dictator = problem.lower.copy()
            dictator[column] = problem.upper[column]
            self._keep(lattice.weights(lattice.near(dictator)[0]))
            yield problem.patterns.size
        while True:
            starts = self._rng.uniform(problem.lower, problem.upper, (n_walkers, q))
            offered = self._starts[:n_walkers]
            del self._starts[:n_walkers]
            if offered:
                starts[: len(offered)] = offered
            walkers.place(lattice.near(starts))
            yield n_walkers * problem.patterns.size
            for heat in np.geomspace(0.004 * problem.n_points + 1, 1.0, 1500):
                walkers.step(float(heat))
                if walkers.best is not None and (self.eta is None or walkers.eta < self.eta):
                    self._keep(lattice.weights(walkers.best))
                yield cost
