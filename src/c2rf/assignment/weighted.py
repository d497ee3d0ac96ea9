"""Rows with weights: a row stands for some people, and totals are about people.

What counts is the sum of weight times score. The optimal answer in fractions ranks rows by their
scores as ever and cuts where the weights add up; at the cut-off a few rows are split, and each of
them goes where most of it is. What the totals are off by then, at most about half a row's weight
for each, is brought down by exchanges of rows near the cut-off, whose weights differ by what is
missing. With whole weights and few rows an integer program finds the smallest deviation. That it is
the smallest is claimed only where it is proven in whole numbers (:mod:`c2rf.assignment.closest`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from c2rf._typing import Codes, Floats
from c2rf.assignment.best_class import sizes_in_groups, stand
from c2rf.assignment.closest import none_is_closer
from c2rf.assignment.crossing import RelaxedLabels, relax
from c2rf.assignment.exchanges import exchanged
from c2rf.assignment.handicaps import ScoredRows
from c2rf.totals.bounds import Bounds
from c2rf.totals.system import System

CLOSE = 5e-4
"""Exchanges go on until no total is off by more than this part of the mean weight."""

FEW_ROWS = 60
"""With whole weights and at most this number of rows, the smallest deviation is sought."""

_MOST_NODES = 20_000


@dataclass(frozen=True, eq=False)
class Weighted:
    """Labels, offsets, and how far the totals are off.

    Parameters
    ----------
    labels, offsets
        As for labels without weights.
    handicaps : ndarray of shape (n_totals,)
        Of the totals.
    missed : ndarray of shape (n_totals,)
        By how much each total is missed, in weight: negative below, positive above.
    cost : float
        What rows that are not in their best class lose, in weighted score.
    gap : float
        What labels that meet the totals could gain in weighted score, by the prices of the totals.
    closest : bool
        Whether no labels come closer in sum; only with proof.
    reach : float
        The largest loss of a single row: how far from the cut-off the exchanges went.
    """

    labels: Codes
    offsets: Floats
    handicaps: Floats
    missed: Floats
    cost: float
    gap: float
    closest: bool
    reach: float


def label_weighted(scored: ScoredRows, bounds: Bounds, seed: int) -> Weighted:
    """Return likely labels whose weights meet the bounds nearly, and say how nearly.

    Parameters
    ----------
    scored : ScoredRows
        The rows; those of weight zero are labeled, and count nothing.
    bounds : Bounds
        Of sums of weights; they can be met in fractions of rows.
    seed : int
        Draws the sample.
    """
    assert scored.weights is not None
    rows = np.flatnonzero(scored.weights > 0)
    heavy = scored.taken(rows) if len(rows) < len(scored.weights) else scored
    relaxed = relax(heavy, bounds, seed)
    whole = _is_whole(heavy, relaxed.system)
    labels = _smallest_deviation(heavy, relaxed) if whole and len(rows) <= FEW_ROWS else None
    if labels is None:
        tolerance = 0.0 if whole else CLOSE * float(heavy.weight_of(slice(None)).mean())
        labels = exchanged(
            heavy, relaxed.offsets, _cut(relaxed), relaxed.standing.leads, relaxed.system, tolerance
        )
    missed = relaxed.system.missed(_counts(heavy, labels))
    losses = _losses(heavy, relaxed, labels)
    everyone = labels if heavy is scored else stand(scored, relaxed.offsets).labels
    everyone[rows] = labels
    cost = float(heavy.weight_of(slice(None)) @ losses)
    gap = max(0.0, cost + _priced(relaxed, _counts(heavy, labels)))
    return Weighted(
        everyone, relaxed.offsets, relaxed.handicaps, missed, cost, gap,
        whole and _is_closest(heavy, bounds, missed), float(losses.max(initial=0.0)),
    )  # fmt: skip


def _priced(relaxed: RelaxedLabels, counts: Floats) -> float:
    """Return by how much the prices of the sizes exceed the least within the totals."""
    system, prices = relaxed.system, relaxed.handicaps
    least = np.where(prices > 0, system.lower, system.upper)
    return float(prices @ (system.matrix @ counts.ravel() - least))


def _is_closest(scored: ScoredRows, bounds: Bounds, missed: Floats) -> bool:
    """Return whether nothing comes closer, proven in whole numbers: sums of floats are exact."""
    system, off = System.of(bounds.with_implied_bounds()), float(np.abs(missed).sum())
    if off <= _least_deviation(scored, system):
        return True
    return len(scored.groups) <= FEW_ROWS and none_is_closer(scored, system, round(off))


def _counts(scored: ScoredRows, labels: Codes) -> Floats:
    return sizes_in_groups(scored, labels, scored.scores.shape[1])


def _losses(scored: ScoredRows, relaxed: RelaxedLabels, labels: Codes) -> Floats:
    """Return by how much rows are behind their best class, those that are."""
    rows = np.flatnonzero(labels != relaxed.standing.labels)
    shifted = np.asarray(scored.scores[rows]) + relaxed.offsets[scored.groups[rows]]
    losses = np.zeros(len(labels))
    losses[rows] = (
        shifted.max(axis=1, initial=-np.inf) - shifted[np.arange(len(rows)), labels[rows]]
    )
    return losses


def _cut(relaxed: RelaxedLabels) -> Codes:
    """Put every row where most of it is in the answer in fractions."""
    labels, moves, near = relaxed.before.copy(), relaxed.near.moves, relaxed.near.rows
    share = relaxed.amounts / np.maximum(moves.mass[moves.row], 1e-300)
    order = np.lexsort((share, moves.row))
    last = order[np.append(np.diff(moves.row[order]) > 0, True)] if len(order) else order
    left = np.ones(len(near))
    np.subtract.at(left, moves.row, share)
    go = last[share[last] > left[moves.row[last]]]
    labels[near[moves.row[go]]] += moves.target[go] - moves.source[go]
    return labels


def _is_whole(scored: ScoredRows, system: System) -> bool:
    """Say whether weights and totals are whole, and small enough for floats to be exact."""
    numbers = (scored.weight_of(slice(None)), system.lower, system.upper)
    return all(bool((x == np.rint(x)).all() and x.sum() <= 2**53) for x in numbers)


def _least_deviation(scored: ScoredRows, system: System) -> float:
    """Return what any labels miss in sum: sums of whole weights are multiples of their divisor."""
    weights = scored.weight_of(slice(None))
    step = float(np.gcd.reduce(weights.astype(np.int64)))
    above = np.ceil(system.lower / step) * step
    below = np.floor(system.upper / step) * step
    off = np.minimum(above - system.lower, np.abs(system.upper - below))
    return float(np.where(above <= system.upper, 0.0, off).sum())


def _smallest_deviation(scored: ScoredRows, relaxed: RelaxedLabels) -> Codes | None:
    """Return the likeliest labels of those with the smallest deviation that the solver finds."""
    system, weights = relaxed.system, scored.weight_of(slice(None))
    shifted = np.asarray(scored.scores) + relaxed.offsets[scored.groups]
    n_rows, n_classes = shifted.shape
    n_totals = len(system.lower)
    columns = (np.asarray(scored.groups)[:, None] * n_classes + np.arange(n_classes)).ravel()
    slack = eye_array(n_totals, format="csr")
    effect = csr_array(system.matrix.tocsc()[:, columns] * np.repeat(weights, n_classes))
    each = csr_array(
        (
            np.ones(n_rows * n_classes),
            np.arange(n_rows * n_classes),
            np.arange(n_rows + 1) * n_classes,
        )
    )
    empty = csr_array((n_rows, 2 * n_totals))
    table = vstack([hstack([effect, slack, -slack]), hstack([each, empty])], format="csr")
    low, high = (np.concatenate([ends, np.ones(n_rows)]) for ends in (system.lower, system.upper))
    open_ = np.isfinite(shifted).ravel()
    box = Box(0, np.concatenate([open_, np.full(2 * n_totals, np.inf)]))
    kinds = np.concatenate([np.ones(n_rows * n_classes), np.zeros(2 * n_totals)])
    deviation = np.concatenate([np.zeros(n_rows * n_classes), np.ones(2 * n_totals)])
    options = {"mip_rel_gap": 0.0, "node_limit": _MOST_NODES}
    rows = LinearConstraint(table, low, high)
    first = milp(deviation, integrality=kinds, bounds=box, constraints=rows, options=options)
    if first.status != 0:
        return None
    least = LinearConstraint(csr_array(deviation[None]), -np.inf, round(first.fun) + 0.5)
    losses = (shifted.max(axis=1)[:, None] - shifted) * weights[:, None]
    gains = np.concatenate([np.where(open_, losses.ravel(), 0.0), np.zeros(2 * n_totals)])
    best = milp(gains, integrality=kinds, bounds=box, constraints=[rows, least], options=options)
    chosen = first if best.x is None else best
    return chosen.x[: n_rows * n_classes].reshape(n_rows, n_classes).argmax(axis=1)
