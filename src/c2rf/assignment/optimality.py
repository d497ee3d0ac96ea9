"""How much any other labels could gain: weak duality, then branch and bound, in exact arithmetic.

How much any other labels could gain: weak duality, in exact arithmetic.

Let x be labels, s their scores as the exact fractions that floats are, and p any prices of the
cells (group g, class k) of one or more margins. Other labels x' that meet all bounds score at most

    sum over rows of max_k (s_ik + p_ik)  -  the least that prices add up to within the bounds,

p_ik being the sum of the prices of the row's cells. The difference to the score of x is the gap.
Bad prices only give a larger gap; at a gap of zero no labels are better, and nothing needs to be
trusted for that: not the solver, not its prices, not rounding.

Rows that the linear program splits between classes: branch and bound with exact bounds.

In a node some moves have other limits. A linear program says how much of each move there should be,
and prices of the totals. Whatever these prices y are, every answer in whole numbers loses at least

    sum_f min(y_f low_f, y_f high_f)  +  min over x within the limits: sum_m (loss_m - (E'y)_m) x_m

E being what moves add to the totals, low and high what they still need. That is computed in
fractions without rounding: the linear program is asked for advice, and nothing it says is believed.

How near labels of crossing margins are to the best ones: proven, without believing a solver.

Prices of the totals bound what any labels score (:mod:`c2rf.assignment.optimality`). Where the gap
is not zero, no row whose lead exceeds it moves in any better answer: the others are few, and branch
and bound (:mod:`c2rf.assignment.optimality`) looks through all their moves.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment.duals import (
    BestClasses,
    Moves,
    NearRows,
    NoAnswerError,
    ScoredRows,
    fractional_moves,
    moved,
    near_rows,
)
from c2rf.totals.bounds import Bounds, LinearConstraints

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class PricedMargin:
    """Bounds on the sizes of classes in groups of rows, with a price for each.

    Parameters
    ----------
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    lower, upper : ndarray of int64, shape (n_groups, n_classes)
        Bounds of the sizes.
    prices : ndarray of float, shape (n_groups, n_classes)
        Any numbers; -inf stands for a class that no row of the group may have (upper is 0).
    """

    groups: Codes
    lower: Ints
    upper: Ints
    prices: Floats


def optimality_gap(scores: Floats, labels: Codes, margins: Sequence[PricedMargin]) -> Fraction:
    """Return a number that no other labels within the bounds gain more than; 0 proves optimality.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores.
    labels : ndarray of int, shape (n_rows,)
        The class of each row; they must meet all bounds.
    margins : sequence of PricedMargin
        All bounds. Prices that are dual variables give the smallest gap.

    Raises
    ------
    ValueError
        If the labels do not meet the bounds.

    Examples
    --------
    >>> scores = np.array([[3.0, 0.0], [2.0, 1.0], [5.0, 0.0]])
    >>> groups, prices = np.zeros(3, dtype=int), np.array([[0.0, 3.0]])
    >>> two_of_the_second = PricedMargin(groups, np.array([[0, 2]]), np.array([[3, 2]]), prices)
    >>> optimality_gap(scores, np.array([1, 1, 0]), [two_of_the_second])
    Fraction(0, 1)
    >>> optimality_gap(scores, np.array([0, 1, 1]), [two_of_the_second])
    Fraction(2, 1)
    """
    cells = [_sizes(margin, labels) for margin in margins]
    bounds = sum((_slack(m, sizes) for m, sizes in zip(margins, cells, strict=True)), Fraction(0))
    return bounds + _regret(scores, labels, margins)


def _sizes(margin: PricedMargin, labels: Codes) -> Ints:
    """Count the rows of each cell, and make sure that the bounds are met."""
    sizes = np.zeros(margin.lower.shape, dtype=np.int64)
    np.add.at(sizes, (margin.groups, labels), 1)
    if (sizes < margin.lower).any() or (sizes > margin.upper).any():
        raise ValueError("the labels do not meet the bounds")
    return sizes


def _slack(margin: PricedMargin, sizes: Ints) -> Fraction:
    """Return by how much the prices of the sizes exceed the least within the bounds."""
    total = Fraction(0)
    for here, low, high, prices in zip(
        sizes.tolist(), margin.lower.tolist(), margin.upper.tolist(), margin.prices, strict=True
    ):
        usable = [k for k in range(len(here)) if prices[k] != -np.inf]
        price = {k: Fraction(float(prices[k])) for k in usable}
        if any(high[k] for k in range(len(here)) if k not in price):
            raise ValueError("a class without a price may have rows")
        # All rows of a group have some class: the cheapest classes are filled first.
        left = sum(here) - sum(low[k] for k in usable)
        total += sum((price[k] * (here[k] - low[k]) for k in usable), Fraction(0))
        for k in sorted(usable, key=lambda k: price[k]):
            more = min(left, high[k] - low[k])
            total -= price[k] * more
            left -= more
    return total


def _regret(scores: Floats, labels: Codes, margins: Sequence[PricedMargin]) -> Fraction:
    """Return what the rows miss together by not having the class of the best score + price."""
    total = Fraction(0)
    for rows in (slice(k, k + _BLOCK) for k in range(0, len(scores), _BLOCK)):
        priced = (margin.prices[margin.groups[rows]] for margin in margins)
        total += _regret_of([np.asarray(scores[rows]), *priced], labels[rows])
    return total


def _regret_of(parts: list[Floats], labels: Codes) -> Fraction:
    """Return the same for some rows, whose worth in each class is the sum of the parts."""
    rows = np.arange(len(labels))
    worth = np.sum(parts, axis=0)
    own = worth[rows, labels]
    # A float sum of n terms is off by less than n * eps * sum |terms|, and so is the difference.
    size = np.abs(np.where(np.isfinite(parts), parts, 0.0)).sum(axis=0).max(axis=1)
    error = 4 * len(parts) * np.finfo(float).eps * size
    worth[rows, labels] = -np.inf
    total = Fraction(0)
    tied = np.flatnonzero(worth.max(axis=1) + error >= own)
    for row, times in _distinct(np.column_stack([labels, *parts])[tied], tied):
        near = np.flatnonzero(worth[row] + error[row] >= own[row])
        mine = _exact(parts, row, int(labels[row]))
        total += times * max(Fraction(0), *(_exact(parts, row, k) - mine for k in near.tolist()))
    return total


def _distinct(table: Floats, names: Codes) -> list[tuple[int, int]]:
    """Return the name of one of each kind of equal rows, and how many there are."""
    packed = np.ascontiguousarray(table)
    kind = np.dtype((np.void, packed.itemsize * packed.shape[1]))
    _, first, times = np.unique(packed.view(kind).ravel(), return_index=True, return_counts=True)
    return list(zip(names[first].tolist(), times.tolist(), strict=True))


def _exact(parts: list[Floats], row: int, k: int) -> Fraction:
    return sum((Fraction(float(part[row, k])) for part in parts), Fraction(0))


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
    system: LinearConstraints
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
    system: LinearConstraints
    duals: Floats
    offsets: Floats
    standing: BestClasses

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
        ranges = np.where(is_range, self.duals, 0.0)
        costs = moves.loss + moves.effect(self.system).T @ ranges
        priced = Moves(moves.row, moves.source, moves.target, costs, moves.mass)
        prices = self.duals - ranges
        return WholeMoves(priced, losses, prices, self.system, self.standing.counts)

    def _margins(self) -> list[PricedMargin]:
        parts = self.bounds.parts()
        prices = [np.zeros(part.lower.shape) for part in parts]
        for price, (p, cell, k) in zip(self.duals, self.system.places, strict=True):
            prices[p][cell, k] = price
        full = LinearConstraints.of(self.bounds)
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
