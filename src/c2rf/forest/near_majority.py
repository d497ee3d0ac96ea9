"""Among weights with the smallest eta, those that change the majority vote the least.

The closest weights known so far, and what is proven about them.

Walks towards equal weights along exact lines, for totals that small changes do not meet.

Given labels, the weights with these labels that are closest to a common level: an LP.

Weights close to equal ones as an integer program, in whole numbers.

Weights are written ``level + p - n``, and only those with ``sum(p + n)`` below D, the distance
known, are of interest. That is what makes the program small. A change of total size D moves no
score by more than D, so

- at a level of D - 1 and above it can only tell apart patterns with equally many votes;
- below D - 1 the level is small, and so are all scores that can change their sign.

These are two programs. Each fixes the signs that the bounds of the scores fix, and takes its
big-M from them. All that they are made of is a whole number of small parts, rounded so that the
program allows more than it should, never less: what it excludes is excluded for all weights that
``verify`` accepts.

The proof, in whole numbers, that no weights as good as those known are closer to equal ones.

Suppose there were some. They are a solution of one of the programs of
:mod:`c2rf.forest.near_majority`, for some z. A tree of cases over z shows that there is
none: in each case a linear program guesses multipliers y of the rows, and for any y

    sum(p + n)  >=  sum of y_i b_i  +  the least of (c - A'y)'x over the bounds of x,

where b_i is the lower side of a row if y_i > 0, and the upper side if y_i < 0. The right-hand side
is computed in whole numbers; a case is closed if it is not below the distance known.

Something closer, or a solver's word that there is nothing: the programs given to a solver.

Labels close to those of equal weights: cut-offs, and small whole changes of a few weights.

With weights ``level + d`` and whole numbers d the scores of patterns with equally many votes are
whole numbers of one parity, so every cut between two of them leaves margins of one. A change of
size k = sum |d_j| has k such cuts. Counting the positives of all cuts of all small changes takes
milliseconds, and most totals are met by one of them.

Among weights with the smallest eta, those that change the majority vote the least.

What is tried, cheapest first; whatever is found is checked, and its labels are given to a linear
program that finds the closest weights with these labels:

- cut-offs of the plain vote: equal weights and a shift
  (:mod:`c2rf.forest.near_majority`);
- equal weights with a few small whole changes (:mod:`c2rf.forest.near_majority`);
- walks from the weights at hand towards equal ones (:mod:`c2rf.forest.near_majority`);
- integer programs, given to a solver to find something closer
  (:mod:`c2rf.forest.near_majority`);
- where it finds nothing, a proof in whole numbers (:mod:`c2rf.forest.near_majority`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from c2rf._utils.types import Floats, Ints, Signs
from c2rf.exceptions import BackendError
from c2rf.forest.backends.base import MatrixModel
from c2rf.forest.bounds.feasibility import LinearProgram, Optimum
from c2rf.forest.certificate import TOLERANCE
from c2rf.forest.problem import MARGIN_TOLERANCE, Problem, scores
from c2rf.forest.run import Run, with_margins
from c2rf.forest.search.lines import cut_line

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


# Asked of the LP a little wider than 1, so that its own tolerance does not undo it; where the
# box allows no more than 1, just that.
_MARGINS = (1 + 1e-8, 1.0)
_LP_ROWS_AT_ONCE = 200


def closest(
    problem: Problem,
    signs: NDArray[np.int8],
    n_trees: int,
    time_left: Callable[[], float | None] = lambda: None,
) -> Floats | None:
    """Return the weights with these labels and the smallest L1 distance to a common level.

    Parameters
    ----------
    problem : Problem
        Patterns and boxes; columns from ``n_trees`` on (a shift) are free.
    signs : ndarray of -1/+1
        The label of each pattern.
    n_trees : int
        Number of columns that the distance is about.
    time_left : callable
        Says how many seconds are left, None without a limit.

    Returns
    -------
    ndarray or None
        Weights whose margins hold; None if there are none, or rounding or time leaves none.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, 1, -1], [1, -1, 1], [-1, 1, 1]], 1)
    >>> problem.patterns
    array([[ 1,  1, -1],
           [ 1, -1,  1],
           [-1,  1,  1]], dtype=int8)
    >>> closest(problem, np.array([1, 1, -1]), 3).round(6)
    array([3., 1., 1.])
    """
    wished = signs[:, None] * problem.patterns
    for margin in _MARGINS:
        found = _solve(problem, wished, n_trees, margin, time_left)
        nearest = None if found is None else with_margins(problem, found, scale=False)
        if nearest is not None:
            return nearest
    return None


def _solve(
    problem: Problem,
    wished: NDArray[np.int8],
    n_trees: int,
    least: float,
    time_left: Callable[[], float | None],
) -> Floats | None:
    """Solve the LP over [alpha | level | d], adding rows of patterns as they are violated."""
    q = problem.n_columns
    eye, one = np.eye(n_trees, q), np.ones((n_trees, 1))
    # min sum d   s.t.   alpha_j - level <= d_j,   level - alpha_j <= d_j
    distance = np.vstack(
        [np.hstack([eye, -one, -np.eye(n_trees)]), np.hstack([-eye, one, -np.eye(n_trees)])]
    )
    cost = np.concatenate([np.zeros(q + 1), np.ones(n_trees)])
    box = zip(problem.lower, problem.upper, strict=True)
    bounds = [*box, (None, None), *[(0.0, None)] * n_trees]
    rows = np.zeros(0, dtype=np.int64)
    while time_left() != 0:
        # s_i r_i'alpha >= 1
        margins = np.hstack([-wished[rows].astype(float), np.zeros((len(rows), 1 + n_trees))])
        result = linprog(
            cost,
            A_ub=np.vstack([distance, margins]),
            b_ub=np.concatenate([np.zeros(2 * n_trees), np.full(len(rows), -least)]),
            bounds=bounds,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "time_limit": time_left()},
        )
        if result.status != 0:
            return None
        weights: Floats = np.clip(result.x[:q], problem.lower, problem.upper)
        margin = scores(wished, weights)
        missing = np.setdiff1d(np.flatnonzero(margin < 1), rows)
        if len(missing) == 0:
            return weights
        worst = missing[np.argsort(margin[missing], kind="stable")[:_LP_ROWS_AT_ONCE]]
        rows = np.concatenate([rows, worst])
    return None


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


# Multipliers are rounded to multiples of one over this.
_FINENESS = 1 << 30
# Cases of a tree times entries of the program; what takes more is left unproven.
_PROOF_WORK = 10**7
_WHOLE = 1e-6

Case = tuple[Whole, Whole]
"""Bounds of all columns, in parts."""


def prove(nearest: Nearest) -> None:
    """Prove that nothing is closer, as long as that is little work; closer weights are kept."""
    lowest = float(nearest.problem.lower[: nearest.n_trees].min())
    if Fraction(lowest) < TOLERANCE:  # the programs are for levels that are not negative
        return
    tried = -1.0
    while not nearest.over and tried != nearest.distance:  # once more if something closer was met
        tried = nearest.distance
        found = programs(nearest)
        if all(_Tree(nearest, program).close() for program in found):
            nearest.raise_bound(min(program.most for program in found) / PARTS)


class _Tree:
    """Goes through the cases of a program, depth first."""

    def __init__(self, nearest: Nearest, program: Program) -> None:
        self.nearest, self.program = nearest, program

    def close(self) -> bool:
        """Say whether every case is impossible."""
        program = self.program
        if program.empty:
            return True
        if len(program.free) > MOST_FREE:
            return False
        self._solver = self._start()
        waiting: list[Case] = [(program.col_low, program.col_high)]
        for _ in range(max(1, _PROOF_WORK // (len(program.low) * program.size))):
            if self.nearest.over or not waiting:
                break
            cases = self._visit(*waiting.pop())
            if cases is None:
                return False
            waiting += cases
        return not waiting

    def _start(self) -> LinearProgram:
        model = self.program.model()
        solver = LinearProgram(model.objective, model.col_lower, model.col_upper)
        solver.add_rows(model.matrix, model.row_lower, model.row_upper)
        return solver

    def _visit(self, lower: Whole, upper: Whole) -> list[Case] | None:
        """Close a case, or split it in two; None if neither can be done."""
        program, first = self.program, self.program.size
        z = np.arange(first, len(lower))
        self._solver.set_bounds(z, in_floats(lower[z]), in_floats(upper[z]))
        while True:
            found = self._solver.solve(self.nearest.run.time_left())
            if found is None:
                return None
            spare, slope = self._spare(found, lower, upper)
            if spare >= 0:
                return []
            if found.x is None:
                return None
            n_rows = len(program.low)
            if not program.tighten(found.x):
                break
            self._solver.add_rows(*program.rows(n_rows))
        lower, upper = _decide(lower, upper, spare, slope, first)
        return self._split(lower, upper, found.x[first:])

    def _split(self, lower: Whole, upper: Whole, z: Floats) -> list[Case] | None:
        """Split by a z far from whole; None if all are whole: weights have these signs, perhaps."""
        program, first = self.program, self.program.size
        open_ = np.asarray(lower[first:] < upper[first:], dtype=bool)
        unsure = np.minimum(z, 1 - z) * open_
        if unsure.max(initial=0.0) < _WHOLE:
            self.nearest.try_signs(program.signs(z))
            return None
        place = int((unsure * self.nearest.problem.counts[program.free]).argmax())
        below, above = upper.copy(), lower.copy()
        below[first + place], above[first + place] = 0, PARTS
        cases = [(lower, below), (above, upper)]
        return cases if z[place] > 0.5 else cases[::-1]

    def _spare(self, found: Optimum, lower: Whole, upper: Whole) -> tuple[int, Whole]:
        """Return by how much multipliers prove more than is needed, and the slopes c - A'y.

        Without x, they are to show that  0 >= something positive.
        """
        program, duals = self.program, found.duals
        scale = _FINENESS if found.x is not None else _FINENESS / np.abs(duals).max(initial=1e-9)
        slope = np.zeros(len(lower), dtype=object)
        if found.x is not None:
            slope[2 : program.size] = PARTS * _FINENESS
        constant = 0
        for row in np.flatnonzero(duals).tolist():
            y = round(float(duals[row]) * scale)
            side = program.low[row] if y > 0 else program.high[row]
            if y and side is not None:
                constant += y * side
                slope[: program.size] -= y * program.left[row]
                for place, value in program.right[row].items():
                    slope[program.size + place] -= y * value
        least = constant * PARTS + int((np.where(slope > 0, lower, upper) * slope).sum())
        needed = 1 if found.x is None else program.most * _FINENESS * PARTS
        return least - needed, slope


def _decide(lower: Whole, upper: Whole, spare: int, slope: Whole, first: int) -> Case:
    """Decide the z whose worse end would close the case."""
    decided = np.asarray(spare + np.abs(slope) * PARTS >= 0, dtype=bool)
    decided[:first] = False
    down = decided & np.asarray(slope > 0, dtype=bool)
    return np.where(decided & ~down, upper, lower), np.where(down, lower, upper)


# Nodes of branch and bound times entries of the matrix; what takes more is left unproven.
_MILP_WORK = 5 * 10**5
MOST_FREE = 500
"""Programs with more free signs are not tried."""


def search(nearest: Nearest) -> float:
    """Look for something closer than what is known; return what the solver says is the least."""
    bound = np.inf
    for program in programs(nearest):
        bound = min(bound, _settle(nearest, program))
        if bound <= nearest.bound:  # nothing will be proven: save the rest
            break
    return float(bound)


def _settle(nearest: Nearest, program: Program) -> float:
    """Look among the weights of a program; return the solver's bound on their distance."""
    most = program.most / PARTS
    while not nearest.over:
        if program.empty:
            return most
        if len(program.free) > MOST_FREE:
            break
        model = program.model()
        try:
            raw = nearest.run.solve_raw(model, node_limit=max(1, _MILP_WORK // model.matrix.nnz))
        except BackendError as error:
            nearest.run.trouble(str(error))
            break
        if raw.status == "infeasible":
            return most
        if raw.status == "failed" or raw.x is None:
            return min(max(0.0, raw.bound), most)
        nearest.try_signs(program.signs(raw.x[program.size :]))
        if nearest.distance <= raw.bound + same(raw.bound) or not program.tighten(raw.x):
            return max(0.0, raw.bound)
    return 0.0


Small = NDArray[np.int16]

LARGEST = 6
"""Size of the largest changes that are looked at."""

# Entries looked at for one size and level; where there are more, a sample is taken.
_WORK = 4 * 10**8
# Labels of one size and level that are worth a linear program each.
_MOST = 3


def cut_offs(nearest: Nearest) -> Iterator[Signs]:
    """Yield the labels of all cut-offs of the plain vote whose total is good enough."""
    low, high = nearest.totals
    for least in np.append(np.unique(nearest.surplus), np.inf):
        positive = nearest.surplus >= least
        if low <= nearest.problem.counts[positive].sum() <= high:
            yield np.where(positive, 1, -1).astype(np.int8)


def small_changes(nearest: Nearest, seed: int) -> Iterator[Signs]:
    """Yield labels of equal weights with small whole changes that meet the total, small first."""
    critical, rng = nearest.critical, np.random.default_rng(seed)
    if critical is None:
        return
    lowest = int(np.ceil(nearest.problem.lower[: nearest.n_trees].max()))
    for size in range(1, LARGEST + 1):
        # At a level not below its size a change tells apart what is tied, and nothing else.
        for level in (None, *range(lowest, size)):
            if size >= nearest.distance or nearest.over:
                return
            yield from _Changes(nearest, critical, level, size).that_meet_the_total(rng)


class _Changes:
    """Whole changes of one size of equal weights at one level.

    Parameters
    ----------
    nearest : Nearest
        The problem and its total.
    critical : int
        Surplus of votes of the patterns that have to be told apart.
    level : int or None
        The common level; None stands for any that is high enough.
    size : int
        Sum of the absolute changes.
    """

    def __init__(self, nearest: Nearest, critical: int, level: int | None, size: int) -> None:
        problem, trees = nearest.problem, slice(nearest.n_trees)
        lower, upper = problem.lower[trees].max(), problem.upper[trees].min()
        self.nearest, self.size = nearest, size
        self.above = nearest.surplus - critical
        # A score changes by no more than the size: others are on their side of all cuts.
        reach = 0 if level is None else 2 * size // level
        self.rows = np.flatnonzero(np.abs(self.above) <= reach)
        self.base = self.above[self.rows] * (level or 0)
        self.sure = int(problem.counts[self.above > reach].sum())
        # Trees that agree on these rows are one tree here.
        self.votes = np.unique(problem.patterns[self.rows, trees], axis=1).astype(np.int16)
        levels = np.array([lower, upper] if level is None else [level, level])
        self.fall, self.rise = levels[1] - lower, upper - levels[0]
        self.cuts = self._cuts(-critical * levels)

    def _cuts(self, shifts: NDArray[np.float64]) -> list[int]:
        """Return the cuts that some shift in its range makes."""
        low, high = self.nearest.shift
        cuts = range(1 - self.size, self.size, 2)
        return [cut for cut in cuts if low <= shifts.max() - cut and shifts.min() - cut <= high]

    def that_meet_the_total(self, rng: np.random.Generator) -> Iterator[Signs]:
        """Yield labels, those of changes spread over many trees first."""
        counts = self.nearest.problem.counts[self.rows].astype(float)
        low, high = (total - self.sure for total in self.nearest.totals)
        found: list[tuple[int, int, Small]] = []
        for changes in self._all(rng) if self.cuts else ():
            scores = changes @ self.votes.T + self.base
            for cut in self.cuts:
                positives = (scores >= cut) @ counts
                hits = changes[(low <= positives) & (positives <= high)]
                found += [(int((change**2).sum()), cut, change) for change in hits]
        for _, cut, change in sorted(found, key=lambda hit: hit[0])[:_MOST]:
            signs = np.where(self.above > 0, 1, -1).astype(np.int8)
            signs[self.rows] = np.where(self.votes @ change + self.base >= cut, 1, -1)
            yield signs

    def _all(self, rng: np.random.Generator) -> list[Small]:
        """Return all changes of the size, in blocks, or a sample of them."""
        n_rows, n_trees = self.votes.shape
        most = max(1, _WORK // (2 * n_trees * n_rows * self.size))
        changes, last = np.zeros((1, n_trees), dtype=np.int16), np.zeros(1, dtype=np.int64)
        blocks: list[tuple[int, Small]] = []
        for _ in range(self.size):
            if blocks:
                changes = np.concatenate([block for _, block in blocks])
                last = np.repeat([tree for tree, _ in blocks], [len(block) for _, block in blocks])
            if len(changes) > most:
                kept = np.sort(rng.choice(len(changes), most, replace=False))
                changes, last = changes[kept], last[kept]
            blocks = list(self._one_more(changes, last))
        return [block for _, block in blocks]

    def _one_more(self, changes: Small, last: Ints) -> Iterator[tuple[int, Small]]:
        """Yield the changes with one unit more on a tree, none of them twice."""
        for tree in range(changes.shape[1]):
            for unit in (1, -1):
                here = changes[:, tree] * unit
                may = (
                    (last <= tree)
                    & (here >= 0)
                    & (here + 1 <= (self.rise if unit > 0 else self.fall))
                )
                if may.any():
                    block = changes[may]
                    block[:, tree] += unit
                    yield tree, block


__all__ = ["nearest_to_majority"]


def nearest_to_majority(run: Run, problem: Problem, n_trees: int, weights: Floats) -> Floats:
    """Return weights with no greater eta and the smallest L1 distance to a common level known.

    Parameters
    ----------
    run : Run
        Its backend, clock, seed and stats are used; ``stats["prefer"]`` says what is proven.
    problem : Problem
        All patterns; columns from ``n_trees`` on (a shift) are not part of the distance.
    n_trees : int
        Number of trees.
    weights : ndarray
        The weights to begin with.
    """
    nearest = Nearest(run, problem, n_trees, weights)
    with run.phase("prefer"):
        try:
            _improve(nearest, run.seed)
        except KeyboardInterrupt:
            run.interrupted = True
    run.stats["prefer"] = nearest.report()
    return nearest.weights


def _improve(nearest: Nearest, seed: int) -> None:
    """Try one means after the other until the distance is proven to be the smallest."""
    nearest.try_signs(nearest.signs)
    for signs in chain(cut_offs(nearest), small_changes(nearest, seed)):
        if nearest.over:
            return
        nearest.try_signs(signs)
    if nearest.distance > LARGEST:
        descend(nearest, seed)
    if not nearest.over:
        said = search(nearest)
        if nearest.nothing_below <= said:  # what a solver cannot prove is not tried
            prove(nearest)
