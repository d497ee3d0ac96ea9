"""The search as a whole: what is tried, in which order, for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from c2rf._utils.types import Floats
from c2rf.forest.incumbent import Incumbent
from c2rf.forest.problem import Problem
from c2rf.forest.search.lattice import COLDEST, OddLattice, Tempering, heats, odd_lattice_point
from c2rf.forest.search.lines import LineWalk
from c2rf.forest.search.neighbourhood import Corners

_FIRST_EPOCH = 2000
_GROWTH = 1.5
_LINE_SHARE = 0.1
# Work at corners, as a part of the walkers' work.
_CORNER_SHARE = 1.0
# The first corner comes late: the walkers alone soon solve easy problems.
_FIRST_CORNER = 5
# Lattices with at most this number of points times votes are looked at as a whole, after the
# first epoch.
_SMALL = 2 * 10**9
_POINTS_AT_ONCE = 1 << 12


class Searcher(Incumbent):
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
    >>> from c2rf.forest.problem import make_problem
    >>> searcher = Searcher(make_problem([[1, 1, -1], [-1, 1, -1], [-1, 1, 1]], 1), 0)
    >>> searcher.run(10**6), searcher.eta
    (True, 0)
    """

    def __init__(
        self, problem: Problem, random_state: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(problem)
        self.target = 0
        self._rng = np.random.default_rng(random_state)
        self._starts: list[Floats] = []
        self._corners = Corners(problem, self._rng)
        self._corner_work = -_FIRST_CORNER * float(self._corners.program_work)
        self._plan = self._search()

    def offer(self, weights: Floats) -> bool:
        """Take weights found elsewhere as a start; keep them if they are the best so far.

        Returns
        -------
        bool
            Whether they meet all margins.
        """
        self._starts.append(np.clip(weights, self.problem.lower, self.problem.upper))
        return self._keep(weights)

    def run(self, work: int, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Search on until the target is reached or ``work`` is done.

        Parameters
        ----------
        work : int
            How much to do; a unit is one multiply-add, 10**9 is of the order of a second.
        should_stop : callable
            Asked often; the search pauses when it says so.

        Returns
        -------
        bool
            Whether the target is reached.
        """
        done = 0
        while not self._reached and done < work and not should_stop():
            step = next(self._plan, None)
            if step is None:
                break
            done += step
        return self._reached

    @property
    def _reached(self) -> bool:
        return self.eta is not None and self.eta <= self.target

    def _search(self) -> Iterator[int]:
        """Do all there is to do, telling after each step how much work it was."""
        problem = self.problem
        for weights in (odd_lattice_point(problem), problem.lower, problem.upper):
            if weights is not None:
                self._keep(weights)
                yield problem.patterns.size
        if problem.n_patterns == 0 or (problem.lower == problem.upper).all():
            return
        lattice = OddLattice.of(problem)
        if lattice is None or (lattice.lower == lattice.upper).all():
            yield from self._search_lines()
        else:
            yield from self._search_lattice(lattice, Tempering(problem, lattice, self._rng))

    def _search_lattice(self, lattice: OddLattice, tempering: Tempering) -> Iterator[int]:
        """Walk on the odd lattice, from ever new starts; polish the best along real lines."""
        for _ in tempering.survey():
            yield self._note(tempering)
        length = float(_FIRST_EPOCH)
        while True:
            tempering.restart()
            for _ in range(int(length)):
                if self._starts:
                    tempering.insert(self._starts)
                    self._starts.clear()
                tempering.step()
                yield self._note(tempering)
                if self._is_turn_of_corners(tempering.work_per_step):
                    yield self._look_at_corner(tempering.any_weights())
            assert self.best is not None
            walk = LineWalk(self.problem, self.best, self._rng)
            share = _LINE_SHARE * length * tempering.work_per_step
            for _ in range(int(share / walk.work_per_step)):
                yield self._step(walk, COLDEST)
            if length == _FIRST_EPOCH and lattice.size * self.problem.patterns.size <= _SMALL:
                yield from self._sweep(lattice)
            length *= _GROWTH

    def _sweep(self, lattice: OddLattice) -> Iterator[int]:
        """Look at all points of a lattice."""
        problem = self.problem
        votes = problem.patterns.T.astype(np.float32)  # scores are small whole numbers
        counts = problem.counts.astype(np.float64)
        for points in lattice.all_points(_POINTS_AT_ONCE):
            positive = (points.astype(np.float32) @ votes > 0).astype(np.float64) @ counts
            distance = np.abs(positive - problem.n_positive)
            if self.eta is None or distance.min(initial=np.inf) < self.eta:
                self._keep(lattice.weights(points[distance.argmin()]))
            yield len(points) * (problem.patterns.size // 4 + 2 * problem.n_patterns)

    def _search_lines(self) -> Iterator[int]:
        """Walk along real lines, from ever new starts: offered, or anywhere in the box."""
        if self.best is not None:
            self._starts.append(self.best)
        length = float(_FIRST_EPOCH)
        while True:
            start = self._rng.uniform(self.problem.lower, self.problem.upper)
            walk = LineWalk(self.problem, self._starts.pop() if self._starts else start, self._rng)
            for heat in heats(self.problem, int(length))[::-1]:
                yield self._step(walk, float(heat))
                if self._is_turn_of_corners(walk.work_per_step):
                    yield self._look_at_corner(walk.weights)
            length *= _GROWTH

    def _is_turn_of_corners(self, work: int) -> bool:
        """Count work of the walkers, and say whether corners have had less than their share."""
        self._corner_work += _CORNER_SHARE * work
        return self._corner_work > 0 and self.eta is not None

    def _look_at_corner(self, weights: Floats) -> int:
        """Choose the signs of patterns near zero at these weights; return the work of that."""
        assert self.eta is not None
        for found in self._corners.look(weights, self.eta):
            self._keep(found)
        self._corner_work -= self._corners.work
        return self._corners.work

    def _note(self, tempering: Tempering) -> int:
        """Keep what the walkers found if it is the best so far; return the work of their step."""
        walkers = tempering.walkers
        if walkers.best is not None and (self.eta is None or walkers.eta < self.eta):
            # Integers with an odd sum: all margins are met. Only counts can be beyond floats.
            best = walkers.lattice.weights(walkers.best)
            eta = self.problem.eta(best)
            if self.eta is None or eta < self.eta:
                self.best, self.eta = best, eta
        return tempering.work_per_step

    def _step(self, walk: LineWalk, heat: float) -> int:
        """Take a step, keep where it leads to if that is the best so far; return its work."""
        walk.step(heat)
        if walk.distance < (np.inf if self.eta is None else self.eta):
            self._keep(walk.weights)
        return walk.work_per_step
