"""Moves of single rows to other classes, as the columns of a linear or integer program.

Rows stand in a class of their group. A move takes a row (or some of many equal rows) to another
class at a loss. The cheapest moves that bring all totals within their bounds are

    min  sum loss y + penalty (short + over)
    s.t. lower <= A (counts + sum of moves y) + short - over <= upper,
         sum of y over the moves of a row <= its mass,  y >= 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from c2rf._typing import Bools, Codes, Floats
from c2rf.totals.system import System

MOST_NODES = 2000
"""The most nodes an integer program may take; it is the same on every machine."""


class NoAnswerError(AssertionError):
    """A solver gave up on a linear program that has an answer."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Possible moves.

    Parameters
    ----------
    row : ndarray of int, shape (n_moves,)
        Which of the (distinct) rows moves.
    source, target : ndarray of int, shape (n_moves,)
        From which group and class to which, as group * n_classes + class.
    loss : ndarray of shape (n_moves,)
        What the move of a unit loses.
    mass : ndarray of shape (n_rows,)
        How many equal rows, or what weight, there is to move.
    """

    row: Codes
    source: Codes
    target: Codes
    loss: Floats
    mass: Floats

    def effect(self, system: System) -> csr_array:
        """Return what a unit of each move adds to each total."""
        columns = system.matrix.tocsc()
        return csr_array(columns[:, self.target] - columns[:, self.source])

    def some(self, kept: Bools) -> Moves:
        """Return only some of the moves."""
        return Moves(
            self.row[kept], self.source[kept], self.target[kept], self.loss[kept], self.mass
        )


@dataclass(frozen=True, eq=False)
class Answer:
    """How much of each move, the prices of the totals, and what is still missed.

    ``bound`` is the least that any answer loses, as far as it is proven.
    """

    amounts: Floats
    prices: Floats
    missed: float
    loss: float
    bound: float


def fractional_moves(
    moves: Moves,
    system: System,
    counts: Floats,
    penalty: float,
    limits: tuple[Floats, Floats] | None = None,
    scale: float | None = None,
) -> Answer:
    """Return the cheapest moves, in fractions, and the prices of the totals.

    Adding the prices to the handicaps of the totals makes them right for these rows. With
    ``limits`` there is no less and no more of each move. Losses are divided by a ``scale`` for the
    solver, whose tolerances are absolute.
    """
    found = system.matrix @ counts.ravel()
    if not len(moves.row) or not len(found):
        missed = float(np.abs(system.missed(counts)).sum())
        return Answer(0 * moves.loss, 0 * found, missed, 0.0, 0.0)
    effect = moves.effect(system)
    low, high = system.lower - found, system.upper - found
    n_totals, n_moves = effect.shape
    slack = eye_array(n_totals, format="csr")
    table = hstack([effect, slack, -slack], format="csr")
    same = low == high
    scale = scale or typical_loss(moves)
    costs = np.concatenate([moves.loss, np.full(2 * n_totals, penalty)]) / scale
    of_rows = hstack([_row_matrix(moves), csr_array((len(moves.mass), 2 * n_totals))], format="csr")
    upper_rows = [table[~same], -table[~same]]
    above = np.concatenate([high[~same], -low[~same], moves.mass])
    result = linprog(
        costs,
        A_ub=vstack([*upper_rows, of_rows], format="csr"),
        b_ub=above,
        A_eq=table[same] if same.any() else None,
        b_eq=low[same] if same.any() else None,
        bounds=_box(moves, n_totals, limits),
        method="highs",
    )
    if result.x is None:
        raise NoAnswerError(f"a linear program with slack has no answer: {result.message}")
    # A marginal is what the optimum gains by one more of the right-hand side.
    prices = np.zeros(n_totals)
    n_free = int((~same).sum())
    if same.any():
        prices[same] = result.eqlin.marginals
    prices[~same] = (
        result.ineqlin.marginals[:n_free] - result.ineqlin.marginals[n_free : 2 * n_free]
    )
    amounts = result.x[:n_moves]
    missed = float(result.x[n_moves:].sum())
    loss = float(moves.loss @ amounts)
    return Answer(amounts, scale * prices, missed, loss, loss)


def typical_loss(moves: Moves) -> float:
    """Return the median of the losses that are not zero."""
    some = moves.loss[moves.loss > 0]
    return float(np.median(some)) if len(some) else 1.0


def _box(moves: Moves, n_totals: int, limits: tuple[Floats, Floats] | None) -> Floats:
    """Return between which ends moves, and what totals are short and over, must be."""
    low, high = limits or (0 * moves.loss, moves.mass[moves.row])
    slack = np.full(2 * n_totals, np.inf)
    return np.column_stack(
        [np.concatenate([low, np.zeros(2 * n_totals)]), np.concatenate([high, slack])]
    )


def whole_moves(moves: Moves, system: System, counts: Floats, scale: float) -> Answer | None:
    """Return the cheapest moves in whole numbers that meet all totals; None if none were found.

    Losses are divided by a scale for the solver, whose tolerances are absolute.
    """
    if not len(moves.row):
        nothing = np.empty(0)
        fits = not np.abs(system.missed(counts)).max(initial=0.0) > 0
        return Answer(nothing, nothing, 0.0, 0.0, 0.0) if fits else None
    effect, found = moves.effect(system), system.matrix @ counts.ravel()
    limits = [LinearConstraint(effect, system.lower - found, system.upper - found)]
    if len(moves.mass) < len(moves.row):
        limits.append(LinearConstraint(_row_matrix(moves), -np.inf, moves.mass))
    result = milp(
        moves.loss / scale,
        integrality=np.ones(len(moves.loss)),
        bounds=Box(0, moves.mass[moves.row]),
        constraints=limits,
        options={"mip_rel_gap": 0.0, "node_limit": MOST_NODES},
    )
    if result.x is None:
        return None
    amounts = np.rint(result.x)
    loss = float(moves.loss @ amounts)
    proven = result.status == 0
    bound = loss if proven else float(result.mip_dual_bound or 0.0) * scale
    return Answer(amounts, np.zeros(len(found)), 0.0, loss, min(bound, loss))


def _row_matrix(moves: Moves) -> csr_array:
    shape = (len(moves.mass), len(moves.row))
    each = np.arange(len(moves.row))
    return csr_array((np.ones(len(each)), (moves.row, each)), shape=shape)
