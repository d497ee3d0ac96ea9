"""Margins that cross: the likeliest labels that meet them all.

1. Handicaps of the totals nearly right, by :mod:`c2rf.assignment.duals`.
2. A linear program for the rows near a border makes them exactly right; if any other row would
   then stand elsewhere, it joins the near ones, and again. What it loses bounds all answers.
3. A few rows are split between classes in the linear program. An integer program moves rows whose
   loss is small to a first answer in whole numbers. No row whose loss exceeds the gap between that
   answer and the bound moves in any better one: with all others free, the integer program finds
   a better answer where there is one.
4. What the answer may be short of the best is computed in exact arithmetic, whatever the solver
   said: :mod:`c2rf.assignment.optimality`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from c2rf._utils.types import Codes, Floats
from c2rf.assignment.duals import (
    Answer,
    BestClasses,
    NearRows,
    ScoredRows,
    cooled,
    fractional_moves,
    moved,
    near_rows,
    offsets_by,
    sizes_in_groups,
    smooth_duals,
    stand,
    typical_loss,
    whole_moves,
)
from c2rf.assignment.optimality import Priced, proven
from c2rf.totals.bounds import Bounds, LinearConstraints

FEW = 2000
"""Up to this number of rows are all in the first linear program; of more, about this number."""

_SAMPLE = 1 << 16
_FEW_DRAWN = 8
_COOLING = 4.0
# Part of the rows that are near enough to a border to cross it after a sample was asked.
_NEAR = 0.05
_FIRST_WHOLE = 256
_MOST_WHOLE = 20_000
_WIDEN = 4


@dataclass(frozen=True, eq=False)
class RelaxedLabels:
    """The optimal answer in fractions.

    Parameters
    ----------
    offsets : ndarray of shape (n_groups, n_classes)
        Every row stands where score + offset is largest, but for those that are split.
    handicaps : ndarray of shape (n_totals,)
        Of the totals; the offsets are made of them.
    standing : Standing
        Where the rows stand by these offsets.
    near : NearRows
        The rows of the linear program.
    amounts : ndarray
        How much of each of their moves.
    system : System
        The totals.
    before : ndarray of int, shape (n_rows,)
        The labels that those moves begin from.
    """

    offsets: Floats
    duals: Floats
    standing: BestClasses
    near: NearRows
    amounts: Floats
    system: LinearConstraints
    before: Codes


@dataclass(frozen=True, eq=False)
class Crossed:
    """Labels in whole numbers, the offsets, and the proven gap to the best total score."""

    labels: Codes
    offsets: Floats
    duals: Floats
    gap: float


def label_crossing(scored: ScoredRows, bounds: Bounds, seed: int) -> Crossed:
    """Return the classes with the highest total score that meet all bounds.

    Parameters
    ----------
    scored : ScoredRows
        The rows, without weights.
    bounds : Bounds
        They can be met in whole numbers.
    seed : int
        Draws the sample, and which of equal rows move.
    """
    relaxed = relax(scored, bounds, seed)
    standing = relaxed.standing
    order = np.argsort(standing.leads, kind="stable")
    priced = Priced(
        scored, bounds.with_implied_bounds(), relaxed.system, relaxed.duals, relaxed.offsets,
        standing,
    )  # fmt: skip
    n_free = min(_FIRST_WHOLE, len(order))
    while True:
        near = near_rows(scored, relaxed.offsets, standing.labels, np.sort(order[:n_free]))
        answer = _whole(near, relaxed)
        if answer is None:
            if n_free == len(order):
                raise AssertionError("bounds that can be met were not met")
            n_free = min(_WIDEN * n_free, len(order))
            continue
        rng = np.random.default_rng([seed, 6])
        labels = moved(near, near.moves, answer.amounts, standing.labels, rng)
        needed = len(priced.movable(priced.gap(labels)))
        if needed <= n_free or n_free >= _MOST_WHOLE:
            break
        n_free = min(needed, max(_MOST_WHOLE, n_free + 1))
    labels, gap = proven(priced, labels, seed)
    return Crossed(labels, relaxed.offsets, relaxed.duals, rounded_up(gap))


def rounded_up(gap: Fraction) -> float:
    """Return a float that is not below an exact gap.

    Examples
    --------
    >>> rounded_up(Fraction(0)), rounded_up(Fraction(1, 3)) >= Fraction(1, 3)
    (0.0, True)
    """
    near = float(gap)
    return near if Fraction(near) >= gap else float(np.nextafter(near, np.inf))


def _whole(near: NearRows, relaxed: RelaxedLabels) -> Answer | None:
    """Return whole moves of the near rows that lose little, as far as the solver can tell."""
    system, counts = relaxed.system, relaxed.standing.counts
    moves = near.moves
    # Totals with room between their bounds: leaving the bound that the handicap holds costs it.
    ranges = np.where(system.lower < system.upper, relaxed.duals, 0.0)
    costs = moves.loss + moves.effect(system).T @ ranges
    priced = type(moves)(moves.row, moves.source, moves.target, costs, moves.mass)
    return whole_moves(priced, system, counts, typical_loss(moves) * 1e-3)


def relax(scored: ScoredRows, bounds: Bounds, seed: int) -> RelaxedLabels:
    """Return the optimal answer in fractions, checked for all rows."""
    known = bounds.with_implied_bounds()
    system, closed = open_totals(LinearConstraints.of(known), known)
    offsets, horizon, duals = _first_offsets(scored, system, closed, seed)
    standing = stand(scored, offsets)
    near = standing.leads <= horizon
    some = scored.taken(np.arange(0, len(near), max(1, len(near) // _SAMPLE)))
    spread, total = _spread(some), float(known.group_sizes.sum())
    penalty = 4 * spread
    while True:
        rows = np.flatnonzero(near)
        own = near_rows(scored, offsets, standing.labels, rows)
        answer = fractional_moves(own.moves, system, standing.counts, penalty)
        if answer.missed > 1e-9 * total:
            if near.all():
                penalty = _raised(penalty, spread)
            # Prices are not to be believed where totals are not met: more rows, same offsets.
            horizon *= _WIDEN
            near |= standing.leads <= horizon
            continue
        better = offsets_by(system, answer.prices, offsets)
        again = stand(scored, better)
        elsewhere = (again.labels != standing.labels) & ~near
        if not elsewhere.any():
            break
        near |= elsewhere | (again.leads <= horizon)
        offsets, duals, standing = better, duals + answer.prices, again
    return RelaxedLabels(
        better, duals + answer.prices, again, own, answer.amounts, system, standing.labels
    )


def _raised(penalty: float, spread: float) -> float:
    """Return a larger penalty for what is missed, which chains of moves may cost more than."""
    if penalty > 1e6 * spread:
        raise AssertionError("bounds that can be met were not met")
    return 8 * penalty


def open_totals(system: LinearConstraints, bounds: Bounds) -> tuple[LinearConstraints, Floats]:
    """Return the totals that are not zero, and offsets that forbid classes where they are."""
    closed = np.zeros(bounds.group_lower.size)
    none = system.upper <= 0
    closed[system.matrix[none].indices] = -np.inf
    return system.some(~none), closed.reshape(bounds.group_lower.shape)


def _first_offsets(
    scored: ScoredRows, system: LinearConstraints, closed: Floats, seed: int
) -> tuple[Floats, float, Floats]:
    """Return offsets that are nearly right, and within which lead the rows may still move."""
    n_rows = len(scored.scores)
    duals = np.zeros(len(system.lower))
    if n_rows <= FEW:
        return closed, np.inf, duals
    is_large = n_rows > 2 * _SAMPLE
    sample = _sample(scored, seed) if is_large else scored
    spread = max(_spread(sample), 1e-9)
    begin = [spread / _COOLING**k for k in range(2, 6)]
    duals = cooled(sample, system, closed, duals, begin)
    n_near = FEW // 8 if is_large else FEW
    duals, last = _cooled_down(sample, system, closed, duals, begin[-1], n_near)
    if is_large:
        right = _corrected(scored, sample, system, closed, duals)
        duals = cooled(sample, right, closed, duals, [16 * last, 4 * last, last])
        near, rest = _near_border(scored, system, closed, duals)
        duals, last = _cooled_down(near, rest, closed, duals, last, FEW)
    return offsets_by(system, duals, closed), 4 * last, duals


def _cooled_down(
    scored: ScoredRows,
    system: LinearConstraints,
    closed: Floats,
    duals: Floats,
    temperature: float,
    n_near: int,
) -> tuple[Floats, float]:
    """Cool down to where few rows are near a border; return handicaps, and the temperature."""
    leads, n_rows = stand(scored, offsets_by(system, duals, closed)).leads, len(scored.scores)
    leads = leads[np.isfinite(leads)]  # where only one class is open, rows have no border
    if not len(leads):
        return duals, temperature
    last = max(float(np.quantile(leads, min(1.0, n_near / len(leads)))) / 4, 1e-6 * temperature)
    last = min(last, temperature)
    rest = []
    while temperature > last:
        temperature = max(temperature / _COOLING, last)
        rest.append(temperature)
    duals = cooled(scored, system, closed, duals, rest[:-1])
    return smooth_duals(scored, system, closed, duals, last, 2 / n_rows), last


def _corrected(
    scored: ScoredRows, sample: ScoredRows, system: LinearConstraints, closed: Floats, duals: Floats
) -> LinearConstraints:
    """Return totals that are off by what the sample is off by, so that its answer is right."""
    offsets = offsets_by(system, duals, closed)
    off = system.matrix @ (stand(sample, offsets).counts - stand(scored, offsets).counts).ravel()
    # Of a rare class a sample may be off by more than there is.
    lower, upper = (np.maximum(end + off, end / 2) for end in (system.lower, system.upper))
    return LinearConstraints(system.matrix, lower, upper, system.places)


def _near_border(
    scored: ScoredRows, system: LinearConstraints, closed: Floats, duals: Floats
) -> tuple[ScoredRows, LinearConstraints]:
    """Return the rows near the borders that a sample has found, and what totals leave for them.

    The others are far enough for the error of a sample; if one is not, it is found later.
    """
    standing = stand(scored, offsets_by(system, duals, closed))
    n_near = int(_NEAR * len(standing.leads))
    rows = np.sort(np.argpartition(standing.leads, n_near)[:n_near])
    near = scored.taken(rows)
    own = sizes_in_groups(near, standing.labels[rows], closed.shape[1])
    far = system.matrix @ (standing.counts - own).ravel()
    return near, LinearConstraints(
        system.matrix, system.lower - far, system.upper - far, system.places
    )


def _sample(scored: ScoredRows, seed: int) -> ScoredRows:
    """Return some of the rows, weighted such that every group is as large as it is."""
    rng, groups = np.random.default_rng([seed, 5]), np.asarray(scored.groups)
    drawn = np.zeros(len(groups), dtype=bool)
    drawn[rng.choice(len(groups), _SAMPLE, replace=False)] = True
    # Groups of which few were drawn are taken whole.
    drawn |= (np.bincount(groups[drawn], minlength=scored.n_groups) < _FEW_DRAWN)[groups]
    rows = np.flatnonzero(drawn)
    weights = scored.weight_of(rows)
    size = np.bincount(groups, scored.weight_of(slice(None)), minlength=scored.n_groups)
    taken = np.bincount(groups[rows], weights, minlength=scored.n_groups)
    factor = size / np.maximum(taken, 1e-300)
    return ScoredRows(
        scored.scores[rows], groups[rows], weights * factor[groups[rows]], scored.n_groups
    )


def _spread(scored: ScoredRows) -> float:
    """Return the largest difference of two scores of a row."""
    parts = (np.asarray(scored.scores[rows]) for rows in scored.blocks())
    return max(float(np.ptp(part, axis=1).max()) for part in parts) or 1.0
