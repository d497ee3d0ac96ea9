"""Rows that the linear program splits between classes: branch and bound with exact bounds.

In a node some moves have other limits. A linear program says how much of each move there should be,
and prices of the totals. Whatever these prices y are, every answer in whole numbers loses at least

    sum_f min(y_f low_f, y_f high_f)  +  min over x within the limits: sum_m (loss_m - (E'y)_m) x_m

E being what moves add to the totals, low and high what they still need. That is computed in
fractions without rounding: the linear program is asked for advice, and nothing it says is believed.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from c2rf._typing import Floats
from c2rf.assignment.moves import Moves, NoAnswerError, fractional_moves
from c2rf.totals.system import System

MOST_WORK = 100_000
"""Nodes times moves, at most: it is the same on every machine."""

CLOSE = Fraction(1, 10**10)
"""Answers that gain less than this are not looked for."""

_PENALTY = 1e3
_WHOLE = 1e-6


@dataclass(frozen=True, eq=False)
class WholeMoves:
    """Which moves there are, and what they lose, exactly.

    Parameters
    ----------
    moves : Moves
        Their losses are those at the prices so far, as floats.
    losses : list of Fraction
        What a unit of each move loses in total score.
    prices : ndarray of shape (n_totals,)
        Of the totals so far; zero where a total is a range.
    system : System
        The totals.
    counts : ndarray of shape (n_groups, n_classes)
        Sizes before any move.
    """

    moves: Moves
    losses: list[Fraction]
    prices: Floats
    system: System
    counts: Floats

    def loss(self, amounts: Floats) -> Fraction:
        """Return what whole amounts lose in all."""
        return sum((self.losses[m] * int(amounts[m]) for m in np.flatnonzero(amounts)), Fraction(0))

    def meets(self, amounts: Floats) -> bool:
        """Say whether whole amounts meet all totals."""
        change = self.moves.effect(self.system) @ amounts
        found = self.system.matrix @ self.counts.ravel() + change
        taken = np.bincount(self.moves.row, amounts, minlength=len(self.moves.mass))
        inside = (found >= self.system.lower) & (found <= self.system.upper)
        return bool(inside.all() and (taken <= self.moves.mass).all() and (amounts >= 0).all())


@dataclass(frozen=True, eq=False)
class _Limits:
    """How much of each move there is in a node, at least and at most."""

    low: Floats
    high: Floats

    def halves(self, m: int, amount: float) -> tuple[_Limits, _Limits]:
        """Return the two nodes with less, and with more, of a move than a fraction."""
        high, low = self.high.copy(), self.low.copy()
        high[m], low[m] = np.floor(amount), np.floor(amount) + 1
        return _Limits(self.low, high), _Limits(low, self.high)

    def fits(self, moves: Moves) -> bool:
        """Say whether no more must move than there is."""
        least = np.bincount(moves.row, self.low, minlength=len(moves.mass))
        return bool((least <= moves.mass).all() and (self.low <= self.high).all())


def best_moves(program: WholeMoves, known: Floats) -> tuple[Floats, Fraction]:
    """Return the best moves found, and what no other ones gain more than; 0 for a full proof.

    Parameters
    ----------
    program : WholeMoves
        The moves.
    known : ndarray of shape (n_moves,)
        Whole amounts that meet all totals.
    """
    best, least = known, program.loss(known)
    number, work = count(), 0
    first = _Limits(np.zeros(len(known)), program.moves.mass[program.moves.row])
    left = [(proven_bound(program, first, program.prices), next(number), first)]
    closed = [least]
    while left and work < MOST_WORK:
        bound, _, node = heapq.heappop(left)
        if bound >= least - CLOSE:
            closed.append(bound)
            continue
        work += len(known)
        try:
            amounts, bound = _relaxed(program, node, bound, float(least - bound))
        except NoAnswerError:  # the solver gave up: what is proven of the node stays
            closed.append(bound)
            continue
        whole = np.rint(amounts)
        if program.meets(whole) and program.loss(whole) < least:
            best, least = whole, program.loss(whole)
        split = np.abs(amounts - whole)
        if bound >= least - CLOSE or split.max() <= _WHOLE:
            closed.append(bound)
            continue
        m = int(split.argmax())
        for half in node.halves(m, float(amounts[m])):
            if half.fits(program.moves):
                heapq.heappush(left, (bound, next(number), half))
    bounds = [*closed, *(bound for bound, _, _ in left)]
    return best, max(least - min(bounds), Fraction(0))


def _relaxed(
    program: WholeMoves, node: _Limits, known: Fraction, gap: float
) -> tuple[Floats, Fraction]:
    """Return amounts in fractions, and the bound that their prices prove.

    Prices need be right to a part of the gap.
    """
    moves, limits = program.moves, (node.low, node.high)
    penalty = _PENALTY * float(moves.loss.max(initial=0.0))
    answer = fractional_moves(moves, program.system, program.counts, penalty, limits, gap / 16)
    bound = proven_bound(program, node, program.prices + answer.prices)
    return answer.amounts, max(known, bound)


def proven_bound(program: WholeMoves, node: _Limits, prices: Floats) -> Fraction:
    """Return what all whole moves within limits lose at least, by any prices of the totals."""
    system, moves = program.system, program.moves
    found = system.matrix @ program.counts.ravel()
    exact = [Fraction(float(price)) for price in prices]
    needs = zip(
        exact, (system.lower - found).tolist(), (system.upper - found).tolist(), strict=True
    )
    total = sum((min(y * int(lo), y * int(hi)) for y, lo, hi in needs if y), Fraction(0))
    effect = moves.effect(system).tocsc()
    reduced: list[list[tuple[Fraction, int, int]]] = [[] for _ in moves.mass]
    for m, loss in enumerate(program.losses):
        own = slice(effect.indptr[m], effect.indptr[m + 1])
        for f, each in zip(effect.indices[own].tolist(), effect.data[own].tolist(), strict=True):
            loss -= exact[f] * int(each)
        reduced[moves.row[m]].append((loss, int(node.low[m]), int(node.high[m])))
    rows = zip(reduced, moves.mass.tolist(), strict=True)
    return total + sum((_cheapest(own, int(mass)) for own, mass in rows), Fraction(0))


def _cheapest(moves: list[tuple[Fraction, int, int]], mass: int) -> Fraction:
    """Return the least that the moves of one row (or of equal ones) lose."""
    left = mass - sum(low for _, low, _ in moves)
    total = sum((loss * low for loss, low, _ in moves), Fraction(0))
    for loss, low, high in sorted(moves):
        if loss >= 0 or not left:
            break
        more = min(left, high - low)
        total += loss * more
        left -= more
    return total
