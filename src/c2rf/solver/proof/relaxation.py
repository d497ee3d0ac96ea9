"""The linear program over z with all rows known so far: it guesses bounds and their multipliers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from c2rf._typing import Bools, Floats
from c2rf.core.problem import Problem
from c2rf.solver.proof.exact import Case, Guess
from c2rf.solver.proof.linear import LinearProgram
from c2rf.solver.proof.rows import AtMost, cut_matrix

# Counts are scaled so that none is greater than this: large ones would blur the solver's numbers.
_LARGEST_COUNT = 2.0**17
_SMALLEST_DUAL = 1e-9
# Rows that were not tight in this number of solves are idle, and taken out if they are many.
_TIGHT = 1e-6
_IDLE_SOLVES = 6
_MANY_IDLE = 500


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What the relaxation says of a case: the z it wishes for, its eta, and multipliers.

    Without z the program has no solution, and the multipliers should show it.
    """

    z: Floats | None
    eta: float
    guess: Guess


class Relaxation:
    """Min eta over [z | eta] with rows on z, for one case after the other.

    Parameters
    ----------
    problem : Problem
        Patterns and counts.
    sure : int
        Points that are positive whatever the weights, beside those of the patterns.

    Examples
    --------
    >>> from c2rf.core.problem import make_problem
    >>> problem = make_problem([[1, -1, -1]] * 3 + [[-1, 1, 1]] * 2, 1)
    >>> relaxation = Relaxation(problem)
    >>> relaxation.add({0: AtMost((0, 1), 1), 1: AtMost((2, 3), 1)})  # opposite patterns
    2
    >>> case = Case(np.zeros(2, np.int8), np.ones(2, np.int8), (1, 1))
    >>> relaxation.solve(case, (1, 1)).z.round(6) + 0.0  # the pattern of two rows is positive
    array([0., 1.])
    """

    def __init__(self, problem: Problem, sure: int = 0) -> None:
        n = problem.n_patterns
        self._n, self._sure = n, sure
        heaviest = float(problem.counts.max(initial=1))
        self._scale = max(1.0, 2.0 ** np.ceil(np.log2(heaviest / _LARGEST_COUNT)))
        self._program = LinearProgram(
            np.append(np.zeros(n), 1.0), np.zeros(n + 1), np.append(np.ones(n), np.inf)
        )
        counts = problem.counts / self._scale
        rows = np.vstack([np.append(counts, 1.0), np.append(counts, -1.0)])
        infinite = np.array([np.inf, np.inf])
        self._program.add_rows(sparse.csr_array(rows), -infinite, infinite)
        self._lower, self._upper = np.zeros(n, np.int8), np.ones(n, np.int8)
        # For each row of the program its number in the store, its side, and for how many solves
        # it was idle
        self._rows, self._idle = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._sides = np.zeros(0)

    @property
    def work(self) -> int:
        """How much work all solves were, about nanoseconds."""
        return self._program.work

    def add(self, cuts: Mapping[int, AtMost]) -> int:
        """Append the rows that state the cuts, under their numbers; return how many are new."""
        present = set(self._rows.tolist())
        new = {row: cut for row, cut in cuts.items() if row not in present}
        if new:
            matrix, upper = cut_matrix(list(new.values()), self._n)
            matrix.resize((len(new), self._n + 1))
            self._program.add_rows(matrix, np.full(len(new), -np.inf), upper)
            self._rows = np.append(self._rows, np.array(list(new), dtype=np.int64))
            self._idle = np.append(self._idle, np.zeros(len(new), dtype=np.int64))
            self._sides = np.append(self._sides, upper)
        return len(new)

    def drop(self, rows: Collection[int]) -> None:
        """Take rows out."""
        self._drop(np.isin(self._rows, list(rows)))

    def drop_idle(self) -> None:
        """Take rows out that have said nothing for long, where they are many."""
        idle = self._idle >= _IDLE_SOLVES
        if idle.sum() > max(_MANY_IDLE, len(idle) // 3):
            self._drop(idle)

    def _drop(self, which: Bools) -> None:
        if which.any():
            self._program.drop_rows(np.flatnonzero(which) + 2)
            self._rows, self._idle = self._rows[~which], self._idle[~which]
            self._sides = self._sides[~which]

    def solve(
        self,
        case: Case,
        wished: tuple[int, int],
        time_limit: float | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Relaxed | None:
        """Solve the program in a case; None if that failed or took too long.

        Parameters
        ----------
        case : Case
            Bounds of z.
        wished : (int, int)
            Eta is how far the count T is above the second number or below the first.
        time_limit : float or None
            Seconds.
        should_stop : callable
            Asked now and then.
        """
        self._go_to(case)
        low, high = ((end - self._sure) / self._scale for end in wished)
        # sum w_i z_i + eta >= low   and   sum w_i z_i - eta <= high
        self._program.set_row(0, low, np.inf)
        self._program.set_row(1, -np.inf, high)
        optimum = self._program.solve(time_limit, should_stop)
        if optimum is None:
            return None
        guess = self._guess(optimum.duals)
        if optimum.x is None or optimum.rows is None:
            return Relaxed(None, np.inf, guess)
        tight = optimum.rows[2:] > self._sides - _TIGHT
        self._idle = np.where(tight, 0, self._idle + 1)
        return Relaxed(np.clip(optimum.x[:-1], 0, 1), float(optimum.x[-1]) * self._scale, guess)

    def _go_to(self, case: Case) -> None:
        """Change the bounds of z to those of a case."""
        moved = np.flatnonzero((case.lower != self._lower) | (case.upper != self._upper))
        if len(moved):
            self._lower, self._upper = case.lower.copy(), case.upper.copy()
            self._program.set_bounds(
                moved, case.lower[moved].astype(float), case.upper[moved].astype(float)
            )

    def _guess(self, duals: Floats) -> Guess:
        """Return the multipliers of the total and of the rows, in points."""
        values = np.maximum(0.0, -duals[2:])
        used = values > _SMALLEST_DUAL
        # eta >= low - T with the first dual, eta >= T - high with the second
        total = float(-duals[1] - duals[0])
        return Guess(total, self._rows[used], values[used] * self._scale)
