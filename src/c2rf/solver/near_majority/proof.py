"""The proof, in whole numbers, that no weights as good as those known are closer to equal ones.

Suppose there were some. They are a solution of one of the programs of
:mod:`c2rf.solver.near_majority.program`, for some z. A tree of cases over z shows that there is
none: in each case a linear program guesses multipliers y of the rows, and for any y

    sum(p + n)  >=  sum of y_i b_i  +  the least of (c - A'y)'x over the bounds of x,

where b_i is the lower side of a row if y_i > 0, and the upper side if y_i < 0. The right-hand side
is computed in whole numbers; a case is closed if it is not below the distance known.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from c2rf._typing import Floats
from c2rf.core.certificate import TOLERANCE
from c2rf.solver.near_majority.incumbent import Nearest
from c2rf.solver.near_majority.milp import MOST_FREE
from c2rf.solver.near_majority.program import PARTS, Program, Whole, in_floats, programs
from c2rf.solver.proof.linear import LinearProgram, Optimum

# Multipliers are rounded to multiples of one over this.
_FINENESS = 1 << 30
# Cases of a tree times entries of the program; what takes more is left unproven.
_WORK = 10**7
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
        for _ in range(max(1, _WORK // (len(program.low) * program.size))):
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
