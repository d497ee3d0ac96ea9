"""How near labels of crossing margins are to the best ones: proven, without believing a solver.

Prices of the totals bound what any labels score (:mod:`c2rf.assignment.optimality`). Where the gap
is not zero, no row whose lead exceeds it moves in any better answer: the others are few, and branch
and bound (:mod:`c2rf.assignment.branching`) looks through all their moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from c2rf._typing import Codes, Floats, Ints
from c2rf.assignment.best_class import NearRows, Standing, moved, near_rows
from c2rf.assignment.branching import CLOSE, WholeMoves, best_moves
from c2rf.assignment.handicaps import ScoredRows
from c2rf.assignment.moves import Moves
from c2rf.assignment.optimality import PricedMargin, optimality_gap
from c2rf.totals.bounds import Bounds
from c2rf.totals.system import System

MOST_FREE = 2000
"""With more rows that may move in a better answer, the gap of the linear program stays."""

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Priced:
    """Rows where they stand by prices of the totals.

    Parameters
    ----------
    scored : ScoredRows
        The rows.
    bounds : Bounds
        The totals, with what they imply.
    system : System
        Those of them that are not zero.
    handicaps : ndarray of shape (n_totals,)
        Their prices.
    offsets : ndarray of shape (n_groups, n_classes)
        What the prices add up to, as floats.
    standing : Standing
        Where the rows stand by these.
    """

    scored: ScoredRows
    bounds: Bounds
    system: System
    handicaps: Floats
    offsets: Floats
    standing: Standing

    def gap(self, labels: Codes) -> Fraction:
        """Return what no labels gain over these, which must meet all totals."""
        return optimality_gap(self.scored.scores, labels, self._margins())

    def movable(self, gap: Fraction) -> Codes:
        """Return the rows that may move in an answer that is better by up to a gap."""
        finite = self.offsets[np.isfinite(self.offsets)]
        size = np.abs(self.scored.scores).max() + np.abs(finite).max(initial=0.0)
        return np.flatnonzero(self.standing.leads <= float(gap) * (1 + 1e-9) + _ROUNDING * size)

    def program(self, near: NearRows) -> WholeMoves:
        """Return the moves of some rows, with all others where they stand."""
        moves, n_classes = near.moves, self.scored.scores.shape[1]
        _, first = np.unique(near.kind, return_index=True)
        scores = np.asarray(self.scored.scores)[near.rows[first]]
        pairs = zip(
            scores[moves.row, moves.source % n_classes].tolist(),
            scores[moves.row, moves.target % n_classes].tolist(),
            strict=True,
        )
        losses = [Fraction(own) - Fraction(other) for own, other in pairs]
        # What a range's price holds is free to move: its cost belongs to the moves.
        is_range = self.system.lower < self.system.upper
        ranges = np.where(is_range, self.handicaps, 0.0)
        costs = moves.loss + moves.effect(self.system).T @ ranges
        priced = Moves(moves.row, moves.source, moves.target, costs, moves.mass)
        prices = self.handicaps - ranges
        return WholeMoves(priced, losses, prices, self.system, self.standing.counts)

    def _margins(self) -> list[PricedMargin]:
        parts = self.bounds.parts()
        prices = [np.zeros(part.lower.shape) for part in parts]
        for price, (p, cell, k) in zip(self.handicaps, self.system.places, strict=True):
            prices[p][cell, k] = price
        full = System.of(self.bounds)
        for p, cell, k in full.places[full.upper <= 0]:
            prices[p][cell, k] = -np.inf
        return [
            PricedMargin(
                part.cells[self.scored.groups], _whole(part.lower), _whole(part.upper), own
            )
            for part, own in zip(parts, prices, strict=True)
        ]


def proven(priced: Priced, labels: Codes, seed: int) -> tuple[Codes, Fraction]:
    """Return the labels, or better ones, and what no others gain over them.

    Parameters
    ----------
    priced : Priced
        The rows.
    labels : ndarray of int, shape (n_rows,)
        They meet all totals.
    seed : int
        Draws which of equal rows move.
    """
    gap = priced.gap(labels)
    rows = priced.movable(gap)
    if gap <= CLOSE or len(rows) > MOST_FREE:
        return labels, gap
    standing = priced.standing
    near = near_rows(priced.scored, priced.offsets, standing.labels, rows)
    known = _amounts(near, standing.labels, labels)
    if not len(known) or (np.delete(labels != standing.labels, rows)).any():
        return labels, gap
    amounts, left = best_moves(priced.program(near), known)
    if not np.array_equal(amounts, known):
        rng = np.random.default_rng([seed, 7])
        labels = moved(near, near.moves, amounts, standing.labels, rng)
    return labels, min(left, priced.gap(labels))


def _amounts(near: NearRows, before: Codes, after: Codes) -> Floats:
    """Return how much of each move leads from labels to others."""
    moves = near.moves
    number = {
        (row, step): m
        for m, (row, step) in enumerate(
            zip(moves.row.tolist(), (moves.target - moves.source).tolist(), strict=True)
        )
    }
    amounts = np.zeros(len(moves.row))
    steps = (after - before)[near.rows]
    for kind, step in zip(near.kind[steps != 0].tolist(), steps[steps != 0].tolist(), strict=True):
        amounts[number[kind, step]] += 1
    return amounts


def _whole(values: Ints) -> Ints:
    return np.asarray(values, dtype=np.int64)
