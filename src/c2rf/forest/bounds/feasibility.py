"""Linear programs over signs and weights: the weights that give them.

A linear program that is solved again and again, each time a little different.

HiGHS keeps its basis between the solves, so a program that grew by a few rows or has other costs
costs a few steps only. Solvers of integer programs are in :mod:`c2rf.forest.backends`.

Is there an alpha with these signs? A small linear program with a proof either way.

The answer is weights, or a *contradiction*: a few of the wished signs, with multipliers, that no
weights in the box have together. The multipliers are checked without the LP solver, so a clause
drawn from a contradiction rests on one line of arithmetic.
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
from c2rf.forest.backends import watching
from c2rf.forest.bounds.conflict_graph import slack
from c2rf.forest.problem import Problem, scores

_Highs: Any = highspy.Highs
_Kind = highspy.HighsModelStatus

# Nanoseconds per iteration, row and column, about.
_PER_ITERATION = 12


@dataclass(frozen=True, eq=False)
class Optimum:
    """An optimal x, the duals and the values of the rows; without x, duals that prove it."""

    x: Floats | None
    duals: Floats
    rows: Floats | None = None


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
        self._solver.cbSimplexInterrupt += self._check_stop
        self._must_stop: Callable[[], bool] = bool
        self.n_cols = n
        self.work = 0
        """All solves so far, about nanoseconds, but counted and not measured."""

    def add_rows(self, matrix: sparse.csr_array, lower: Floats, upper: Floats) -> None:
        """Append rows."""
        rows = sparse.csr_array(matrix)
        starts, columns = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self._solver.addRows(
            len(lower), lower, upper, rows.nnz, starts, columns, rows.data.astype(float)
        )

    def drop_rows(self, rows: Ints) -> None:
        """Take rows out; the basis stays as it is for the others."""
        basis = self._solver.getBasis()
        self._solver.deleteRows(len(rows), rows.astype(np.int32))
        gone = set(rows.tolist())
        kept = highspy.HighsBasis()
        kept.col_status = basis.col_status
        kept.row_status = [side for k, side in enumerate(basis.row_status) if k not in gone]
        kept.valid = kept.alien = True  # if a row that mattered is gone, HiGHS mends the basis
        self._solver.setBasis(kept)

    def set_costs(self, cost: Floats) -> None:
        """Change all costs."""
        self._solver.changeColsCost(self.n_cols, np.arange(self.n_cols, dtype=np.int32), cost)

    def set_bounds(self, columns: NDArray[np.int64], lower: Floats, upper: Floats) -> None:
        """Change the bounds of some columns."""
        self._solver.changeColsBounds(len(columns), columns.astype(np.int32), lower, upper)

    def set_row(self, row: int, lower: float, upper: float) -> None:
        """Change the sides of a row."""
        self._solver.changeRowBounds(row, lower, upper)

    def solve(
        self, time_limit: float | None = None, should_stop: Callable[[], bool] = lambda: False
    ) -> Optimum | None:
        """Return an optimum, or why there is none; None if neither was found in time.

        Ctrl-C ends the solve at once, too.
        """
        if time_limit is not None:  # HiGHS counts the seconds of all runs together
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + time_limit)
        with watching() as watch:
            self._must_stop = lambda: watch.must_stop or should_stop()
            self._solver.run()
        if watch.interrupted:
            raise KeyboardInterrupt
        return self._optimum()

    def _check_stop(self, event: Any) -> None:
        """Stop HiGHS if somebody wants that; called at every step of the simplex method."""
        event.interrupt(self._must_stop())

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
        x, duals = np.array(solution.col_value), np.array(solution.row_dual)
        return Optimum(x, duals, np.array(solution.row_value))


_ROWS_AT_ONCE = 200


@dataclass(frozen=True, eq=False)
class Clause:
    """Signs that no weights in the box give together: at least one of them must differ.

    ``signs[k]`` (+1 or -1) is what pattern ``patterns[k]`` cannot be while the others are as said.
    """

    patterns: NDArray[np.int64]
    signs: NDArray[np.int8]

    def row(self) -> tuple[NDArray[np.int64], Floats, float]:
        """Return columns, coefficients and left-hand side of the row that states the clause."""
        # sum over signs=-1 of z_i  +  sum over signs=+1 of (1 - z_i)  >=  1
        return self.patterns, -self.signs.astype(float), 1.0 - float((self.signs > 0).sum())


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Signs of some patterns that exclude each other, and the multipliers that show it."""

    clause: Clause
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class SignsAnswer:
    """Weights that realise the signs, or why there are none; neither if rounding hides which.

    ``nearest`` are weights that come close, as far as the program got: a start for a search.
    """

    weights: Floats | None = None
    contradiction: Contradiction | None = None
    nearest: Floats | None = None


def realise(problem: Problem, signs: NDArray[np.int8]) -> SignsAnswer:
    """Look for weights in the box that give every pattern its wished sign with margin one.

    Parameters
    ----------
    problem : Problem
        The patterns and the box.
    signs : ndarray of -1/+1, shape (n_patterns,)
        The wished sign of each pattern.

    Examples
    --------
    >>> from c2rf.forest.problem import make_problem
    >>> problem = make_problem([[1, -1, -1], [-1, 1, 1]], 1)
    >>> realise(problem, np.array([1, -1])).weights is None
    False
    >>> realise(problem, np.array([1, 1])).contradiction.clause.patterns
    array([0, 1])
    """
    wished = signs[:, None] * problem.patterns
    weights = (problem.lower + problem.upper) / 2
    rows = np.zeros(0, dtype=np.int64)
    while True:
        margins = scores(wished, weights)
        if len(margins) == 0 or margins.min() >= 1:
            return SignsAnswer(weights=weights)
        missing = np.setdiff1d(np.flatnonzero(margins < 1), rows)
        if len(missing) == 0:  # the LP says one thing, the margins another: rounding
            return SignsAnswer(nearest=weights)
        worst = missing[np.argsort(margins[missing], kind="stable")[:_ROWS_AT_ONCE]]
        rows = np.concatenate([rows, worst])
        widest = _widest_margin(wished[rows], problem)
        if widest is None:
            return SignsAnswer(nearest=weights)
        weights, margin, multipliers = widest
        if margin < 1:
            found = _contradict(problem, signs, rows, multipliers)
            return SignsAnswer(contradiction=found, nearest=weights)


def contradicts(problem: Problem, clause: Clause, multipliers: Floats) -> bool:
    """Check that the signs of a clause exclude each other, by their multipliers alone.

    Weights with these signs would have  sum y_i s_i r_i'alpha >= sum y_i,  but the box allows at
    most  sum_j max(c_j l_j, c_j u_j)  with  c = sum y_i s_i r_i.
    """
    combined = (multipliers * clause.signs) @ problem.patterns[clause.patterns].astype(float)
    reach = np.maximum(combined * problem.lower, combined * problem.upper).sum()
    return bool((multipliers >= 0).all() and reach < multipliers.sum() * (1 - slack(problem)))


def _widest_margin(
    wished: NDArray[np.int8], problem: Problem
) -> tuple[Floats, float, Floats] | None:
    """Solve max s  s.t.  s_i r_i'alpha >= s,  l <= alpha <= u: weights, s, multipliers."""
    q = problem.n_columns
    result = linprog(
        np.append(np.zeros(q), -1.0),
        A_ub=np.hstack([-wished.astype(float), np.ones((len(wished), 1))]),
        b_ub=np.zeros(len(wished)),
        bounds=[*zip(problem.lower, problem.upper, strict=True), (None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        return None
    weights = np.clip(result.x[:q], problem.lower, problem.upper)
    return weights, float(result.x[q]), np.maximum(0.0, -result.ineqlin.marginals)


def _contradict(
    problem: Problem, signs: NDArray[np.int8], rows: NDArray[np.int64], multipliers: Floats
) -> Contradiction | None:
    """Keep the rows that matter and make sure that they do prove it."""
    used = multipliers > 1e-9
    order = np.argsort(rows[used])
    clause = Clause(rows[used][order], signs[rows[used][order]].astype(np.int8))
    kept = multipliers[used][order]
    return Contradiction(clause, kept) if contradicts(problem, clause, kept) else None
