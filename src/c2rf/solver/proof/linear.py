"""A linear program that is solved again and again, each time a little different.

HiGHS keeps its basis between the solves, so a program that grew by a few rows or has other costs
costs a few steps only. Solvers of integer programs are in :mod:`c2rf.solver.backends`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from c2rf._typing import Floats, Ints
from c2rf.solver.backends.base import Options, watching

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
        with watching(Options()) as watch:
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
