"""Linear programs: one that is solved again and again, and the search for weights with given signs.

:class:`LinearProgram` keeps the basis of HiGHS between solves, so that a few new rows or other
costs take a few steps only. (Integer programs are solved by :mod:`c2rf.forest.backends`.)

:func:`find_weights` asks whether the box allows given signs. The answer is weights, or a Farkas
cut: a few of the signs, with multipliers which prove that no weights in the box have all of them.
The multipliers are checked without the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from c2rf._utils.types import Floats, Ints
from c2rf.forest.backends import catching_interrupts
from c2rf.forest.bounds.conflict_graph import Cut, excludes
from c2rf.forest.problem import Problem, scores

_Highs: Any = highspy.Highs
_Kind = highspy.HighsModelStatus

# Nanoseconds per iteration, row and column, about.
_PER_ITERATION = 12
# Work of one solve, at most: a program that takes longer says nothing in useful time.
_MOST_WORK = 3 * 10**10


@dataclass(frozen=True, eq=False)
class Optimum:
    """An optimal x and the duals; without x, duals that prove that there is none."""

    x: Floats | None
    duals: Floats


class LinearProgram:
    """min cost'x  s.t.  row_lower <= A x <= row_upper, lower <= x <= upper, by HiGHS.

    Examples
    --------
    >>> program = LinearProgram(np.array([1.0, 2.0]), np.zeros(2), np.ones(2))
    >>> program.add_rows(sparse.csr_array([[1.0, 1.0]]), np.array([1.5]), np.array([np.inf]))
    >>> program.solve().x
    array([1. , 0.5])
    """

    def __init__(self, cost: Floats, lower: Floats, upper: Floats, *, primal: bool = False) -> None:
        self._solver = _Highs()
        n = len(cost)
        # The number of threads stays as it is: it belongs to the whole process.
        self._solver.setOptionValue("log_to_console", False)
        self._solver.setOptionValue("simplex_strategy", 4 if primal else 1)
        empty = np.zeros(0)
        self._solver.addCols(
            n, cost, lower, upper, 0, np.zeros(n, np.int32), empty.astype(np.int32), empty
        )
        # Asked at every step of the simplex method
        self._solver.cbSimplexInterrupt += lambda event: event.interrupt(self._must_stop())
        self._must_stop: Callable[[], bool] = bool
        self.n_cols = n
        self.work = 0
        """Work of all solves, about nanoseconds, but counted and not measured."""

    def add_rows(self, matrix: sparse.csr_array, lower: Floats, upper: Floats) -> None:
        """Append rows."""
        rows = sparse.csr_array(matrix)
        starts, columns = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._solver.addRows(
            len(lower), lower, upper, rows.nnz, starts, columns, rows.data.astype(float)
        )

    def drop_rows(self, rows: Ints) -> None:
        """Remove rows; the basis of the others does not change."""
        basis = self._solver.getBasis()
        self._solver.deleteRows(len(rows), rows.astype(np.int32))
        gone = set(rows.tolist())
        kept = highspy.HighsBasis()
        kept.col_status = basis.col_status
        kept.row_status = [side for k, side in enumerate(basis.row_status) if k not in gone]
        kept.valid = kept.alien = True  # if a tight row is gone, HiGHS repairs the basis
        self._solver.setBasis(kept)

    def slack_rows(self) -> Ints:
        """Return the rows that the last solution does not meet with equality: the basic ones."""
        basic = highspy.HighsBasisStatus.kBasic
        return np.flatnonzero([side == basic for side in self._solver.getBasis().row_status])

    def set_costs(self, cost: Floats) -> None:
        """Change all costs."""
        self._solver.changeColsCost(self.n_cols, np.arange(self.n_cols, dtype=np.int32), cost)

    def set_bounds(self, columns: NDArray[np.int64], lower: Floats, upper: Floats) -> None:
        """Change the bounds of some columns."""
        self._solver.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def set_row(self, row: int, lower: float, upper: float) -> None:
        """Change the sides of a row."""
        self._solver.changeRowBounds(row, lower, upper)

    def solve(self, should_stop: Callable[[], bool] = lambda: False) -> Optimum | None:
        """Return an optimum, or why there is none; None if stopped before either is known.

        ``should_stop`` is asked at every step of the simplex method. Ctrl-C ends the solve, too,
        and so does work without end.
        """
        with catching_interrupts() as pressed:
            self._must_stop = lambda: pressed.is_set() or should_stop()
            most = _MOST_WORK // (_PER_ITERATION * (self._solver.getNumRow() + self.n_cols))
            self._solver.setOptionValue("simplex_iteration_limit", max(1, most))
            self._solver.run()
        if pressed.is_set():
            raise KeyboardInterrupt
        return self._optimum()

    def _optimum(self) -> Optimum | None:
        """Return what HiGHS has found."""
        iterations = max(0, int(self._solver.getInfo().simplex_iteration_count))
        self.work += _PER_ITERATION * iterations * (self._solver.getNumRow() + self.n_cols)
        # From now on the last basis is a better start than what presolve leaves.
        self._solver.setOptionValue("presolve", "off")
        kind = self._solver.getModelStatus()
        if kind == _Kind.kInfeasible:
            _, there_is, ray = self._solver.getDualRay()
            return Optimum(None, np.array(ray)) if there_is else None
        if kind != _Kind.kOptimal:
            return None
        solution = self._solver.getSolution()
        return Optimum(np.array(solution.col_value), np.array(solution.row_dual))


# Margins are added to the linear program this many at a time, the most violated first.
_ROWS_AT_ONCE = 200


def find_weights(problem: Problem, signs: NDArray[np.int8]) -> tuple[Floats, bool, Cut | None]:
    """Look for weights in the box that give every pattern the given sign with margin one.

    Parameters
    ----------
    problem : Problem
        The patterns and the box.
    signs : ndarray of -1/+1, shape (n_patterns,)
        The sign of each pattern.

    Returns
    -------
    weights : ndarray of float
        The weights; where they do not have all signs, the closest that the program came to.
    found : bool
        Whether they have all signs.
    cut : Cut or None
        If there are no such weights, a cut that proves it; None if rounding errors prevent that.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, 1]], 1)
    >>> find_weights(problem, np.array([1, -1]))[1:]
    (True, None)
    >>> find_weights(problem, np.array([1, 1]))[2].literals
    (0, 1)
    """
    literals = signs[:, None] * problem.patterns
    weights = (problem.lower + problem.upper) / 2
    rows = np.zeros(0, dtype=np.int64)
    while True:
        margins = scores(literals, weights)
        if len(margins) == 0 or margins.min() >= 1:
            return weights, True, None
        missing = np.setdiff1d(np.flatnonzero(margins < 1), rows)
        if len(missing) == 0:  # the LP says one thing, the margins another: rounding
            return weights, False, None
        worst = missing[np.argsort(margins[missing], kind="stable")[:_ROWS_AT_ONCE]]
        rows = np.concatenate([rows, worst])
        widest = _widest_margin(literals[rows], problem)
        if widest is None:
            return weights, False, None
        weights, margin, multipliers = widest
        if margin < 1:
            return weights, False, _farkas_cut(problem, signs, rows, multipliers)


def _widest_margin(
    literals: NDArray[np.int8], problem: Problem
) -> tuple[Floats, float, Floats] | None:
    """Solve max s  s.t.  a_i'alpha >= s,  l <= alpha <= u: return alpha, s and multipliers."""
    q = problem.n_columns
    result = linprog(
        np.append(np.zeros(q), -1.0),
        A_ub=np.hstack([-literals.astype(float), np.ones((len(literals), 1))]),
        b_ub=np.zeros(len(literals)),
        bounds=[*zip(problem.lower, problem.upper, strict=True), (None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        return None
    weights = np.clip(result.x[:q], problem.lower, problem.upper)
    return weights, float(result.x[q]), np.maximum(0.0, -result.ineqlin.marginals)


def _farkas_cut(
    problem: Problem, signs: NDArray[np.int8], rows: Ints, multipliers: Floats
) -> Cut | None:
    """Return the cut on the rows with a multiplier, if the multipliers do prove it."""
    used = multipliers > 1e-9
    rows, y = rows[used], multipliers[used]
    order = np.argsort(rows + problem.n_patterns * (signs[rows] < 0))
    rows, y = rows[order], y[order]
    if not excludes(problem, signs[rows, None] * problem.patterns[rows], y):
        return None
    names = rows + problem.n_patterns * (signs[rows] < 0)
    return Cut(tuple(names.tolist()), len(names) - 1, tuple(y.tolist()))
