"""The search for weights as a whole: what is tried, in which order, for how long.

Parallel tempering on the odd lattice (:mod:`c2rf.forest.search.lattice`), or exact line search in
boxes without lattice points (:mod:`c2rf.forest.search.line_search`). Both alternate with
:func:`search_neighbourhood`: around any weights, small changes turn the signs of the patterns with
the smallest scores. Which of these should be positive for the count to be right is a subset-sum
problem. Meet in the middle sees 2**r subsets for the price of 2**(r/2), and a linear program then
looks for weights with these signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from c2rf._utils.types import Bools, Floats, Ints
from c2rf.forest.bounds.feasibility import find_weights
from c2rf.forest.incumbent import Incumbent
from c2rf.forest.problem import Problem, scores
from c2rf.forest.search.lattice import (
    OddLattice,
    Tempering,
    odd_lattice_point,
    temperatures,
)
from c2rf.forest.search.line_search import HitAndRun
from c2rf.forest.search.smoothing import LargeForestSearch

# Neighbourhood search

# The most patterns whose signs are chosen at once.
_MOST_PATTERNS = 26
# Subsets for every number that the count could be.
_PER_NUMBER = 64
# The most linear programs in a neighbourhood.
_MOST_PROGRAMS = 3


def search_neighbourhood(
    problem: Problem, weights: Floats, eta: int, rng: np.random.Generator
) -> Iterator[tuple[Floats | None, int]]:
    """Choose the signs of the patterns near zero so that the count is closer than ``eta``.

    Parameters
    ----------
    problem : Problem
        Patterns, counts and the target.
    weights : ndarray of float
        The weights in the middle of the neighbourhood.
    eta : int
        The distance from the target to improve on.
    rng : numpy Generator
        Chooses between patterns that are about equally near to zero.

    Yields
    ------
    weights : ndarray of float or None
        Weights whose count is closer, the closest count first; None if a step found none.
    work : int
        The work of the step, about nanoseconds.
    """
    score = scores(problem.patterns, weights)
    signs = np.where(score > 0, 1, -1).astype(np.int8)
    # About as many patterns as it takes to hit the count
    near = np.argsort(np.abs(score) + rng.random(len(score)))[:_MOST_PATTERNS]
    numbers = np.cumsum(problem.counts[near], dtype=float) / max(1, 2 * eta - 1)
    subsets = 2.0 ** np.arange(1, len(near) + 1)
    enough = np.flatnonzero(subsets >= _PER_NUMBER * numbers)
    near = near[: enough[0] + 1] if len(enough) else near
    others = signs > 0
    others[near] = False
    missing = problem.n_positive - int(problem.counts[others].sum())
    costs = np.abs(score[near]) * 2
    chosen = closest_subsets(problem.counts[near], missing, eta, signs[near] > 0, costs)
    yield None, 2 * 10**5 + 300 * (1 << len(near) // 2)
    for subset in chosen[:_MOST_PROGRAMS]:
        signs[near] = np.where(subset, 1, -1)
        found, has_signs, _ = find_weights(problem, signs)
        yield (found if has_signs else None), _program_work(problem)


def _program_work(problem: Problem) -> int:
    """Return the work of a linear program, about nanoseconds."""
    return 2 * 10**6 + 1000 * problem.patterns.size


def closest_subsets(counts: Ints, target: int, within: int, now: Bools, costs: Floats) -> Bools:
    """Return subsets whose counts add up to nearly the target, the nearest first.

    Parameters
    ----------
    counts : ndarray of int64, shape (n,)
        The numbers to add up.
    target : int
        What they should add up to.
    within : int
        The sum must be less than this away from it.
    now : ndarray of bool, shape (n,)
        The subset to change as little as possible: of those equally near, the cheapest come first.
    costs : ndarray of float, shape (n,)
        What it costs to change each.

    Returns
    -------
    ndarray of bool, shape (n_subsets, n)
        Not all there are: for each subset of one half the nearest of the other.

    Examples
    --------
    >>> nothing = np.zeros(4, dtype=bool)
    >>> closest_subsets(np.array([3, 5, 8, 13]), 16, 1, nothing, np.ones(4)).astype(int)
    array([[1, 0, 0, 1],
           [1, 1, 1, 0]])
    """
    half = len(counts) // 2
    sums, spent = _all_subsets(counts[:half], now[:half], costs[:half])
    other_sums, other_spent = _all_subsets(counts[half:], now[half:], costs[half:])
    order = np.argsort(other_sums, kind="stable")
    ends = other_sums[order]
    place = np.searchsorted(ends, target - sums)
    places = np.concatenate([np.minimum(place, len(ends) - 1), np.maximum(place - 1, 0)])
    masks, others = np.tile(np.arange(len(sums)), 2), order[places]
    distance = np.abs(sums[masks] + ends[places] - target)
    kept = np.flatnonzero(distance < within)
    cost = spent[masks[kept]] + other_spent[others[kept]]
    kept = kept[np.lexsort((cost, distance[kept]))]
    # Bit i of the mask of a subset says whether it has its i-th number.
    bits = np.arange(len(counts))
    masks = masks[kept] + (others[kept] << half)
    both = (masks[:, None] >> bits) & 1 > 0
    _, first = np.unique(both, axis=0, return_index=True)
    chosen: Bools = both[np.sort(first)]
    return chosen


def _all_subsets(counts: Ints, now: Bools, costs: Floats) -> tuple[Ints, Floats]:
    """Return the sums of all subsets, and what the changes to get them cost."""
    sums, spent = np.zeros(1, dtype=np.int64), np.zeros(1)
    for count, is_in, cost in zip(counts, now, costs, strict=True):
        sums = np.concatenate([sums, sums + count])
        spent = np.concatenate([spent + cost * is_in, spent + cost * (not is_in)])
    return sums, spent


# The search

_FIRST_EPOCH = 2000
_GROWTH = 1.5
# Tried on 90 planted problems of counts up to 10^9: all neighbourhoods gone, 36 s where 10 do.
# Work of neighbourhood search, as a part of the chains' work, and how many linear programs later
# it begins: the chains alone soon solve easy problems.
_NEIGHBOURHOOD_SHARE = 1.0
_FIRST_NEIGHBOURHOOD = 5
# From so many trees on, smoothing and descents begin, and do this many times the work of chains.
# Tried on magic and twonorm with 100, 200 and 500 deep trees: after a minute, chains alone stand 0,
# 13 and 30 percent (magic), 0, 7 and 40 percent (twonorm) above what both find.
LARGE_FOREST = 50
_LARGE_SHARE, _LARGE_FIRST = 4.0, 5e9


class Searcher(Incumbent):
    """Resumable, deterministic search for weights whose count is closest to the target.

    Parameters
    ----------
    problem : Problem
        Patterns, counts, the number of positives that is the target, and the box.
    random_state : int, Generator or None
        Seed of the search.

    Attributes
    ----------
    best : ndarray or None
        The best weights found, all margins met; None as long as none are known.
    eta : int or None
        How far their count is from it.
    goal : int
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
        self.goal = 0
        self._rng = np.random.default_rng(random_state)
        self._starts: list[Floats] = []
        self._neighbourhood_work = -_FIRST_NEIGHBOURHOOD * float(_program_work(problem))
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
        """Search on until the goal is reached or ``work`` is done.

        Parameters
        ----------
        work : int
            How much to do; a unit is one multiply-add, 10**9 is of the order of a second.
        should_stop : callable
            Called often; the search pauses when it returns True.

        Returns
        -------
        bool
            Whether the goal is reached.
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
        return self.eta is not None and self.eta <= self.goal

    def _search(self) -> Iterator[int]:
        """Do everything, and yield the work of each step."""
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
            yield from self._search_lattice(lattice)

    def _search_lattice(self, lattice: OddLattice) -> Iterator[int]:
        """Temper on the odd lattice, from ever new starts."""
        tempering = Tempering(self.problem, lattice, self._rng)
        large, due = self._large_forest_search(lattice), _LARGE_FIRST
        length = float(_FIRST_EPOCH)
        while True:
            tempering.restart()
            for _ in range(int(length)):
                if self._starts:
                    tempering.insert(self._starts)
                    self._starts.clear()
                tempering.step()
                yield self._note(tempering, tempering.work_per_step)
                due += _LARGE_SHARE * tempering.work_per_step
                while large is not None and due > 0:
                    work = next(large)
                    due -= work
                    yield work
                if self._is_neighbourhood_due(tempering.work_per_step):
                    yield self._search_neighbourhood(tempering.any_weights())
            length *= _GROWTH

    def _large_forest_search(self, lattice: OddLattice) -> Iterator[int] | None:
        """Return the search for large forests; None where there are few trees, or an offset."""
        problem = self.problem
        if problem.n_columns < LARGE_FOREST or (problem.lower <= 0).any():
            return None
        large = LargeForestSearch(problem, lattice, self._rng)
        return (self._note(large, work) for work in large.steps())

    def _search_lines(self) -> Iterator[int]:
        """Move along real lines, from ever new starts: offered, or anywhere in the box."""
        if self.best is not None:
            self._starts.append(self.best)
        length = float(_FIRST_EPOCH)
        while True:
            start = self._rng.uniform(self.problem.lower, self.problem.upper)
            start = self._starts.pop() if self._starts else start
            chain = HitAndRun(self.problem, start, self._rng)
            for temperature in temperatures(self.problem, int(length))[::-1]:
                yield self._step(chain, float(temperature))
                if self._is_neighbourhood_due(chain.work_per_step):
                    yield self._search_neighbourhood(chain.weights)
            length *= _GROWTH

    def _is_neighbourhood_due(self, work: int) -> bool:
        """Count work of the chains; say whether neighbourhoods have had less than their share."""
        self._neighbourhood_work += _NEIGHBOURHOOD_SHARE * work
        return self._neighbourhood_work > 0 and self.eta is not None

    def _search_neighbourhood(self, weights: Floats) -> int:
        """Search the neighbourhood of some weights; return the work of that."""
        assert self.eta is not None
        done = 0
        for found, work in search_neighbourhood(self.problem, weights, self.eta, self._rng):
            done += work
            if found is not None:
                self._keep(found)
        self._neighbourhood_work -= done
        return done

    def _note(self, found: Tempering | LargeForestSearch, work: int) -> int:
        """Keep the best lattice point found if it is the best so far; return the work of that."""
        if found.best is not None and (self.eta is None or found.eta < self.eta):
            # Integers with an odd sum: all margins are met. Only counts can be beyond floats.
            best = found.lattice.weights(found.best)
            eta = self.problem.eta(best)
            if self.eta is None or eta < self.eta:
                self.best, self.eta = best, eta
        return work

    def _step(self, chain: HitAndRun, temperature: float) -> int:
        """Take a step, keep where it leads to if that is the best so far; return its work."""
        chain.step(temperature)
        if chain.distance < (np.inf if self.eta is None else self.eta):
            self._keep(chain.weights)
        return chain.work_per_step
