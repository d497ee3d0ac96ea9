"""Rows with weights: a row stands for some people, and totals are about people.

Whether any labels of rows with whole weights come closer to the totals: all sums they reach.

Row after row, the set of sums that labels of the rows so far can reach in all totals; sums that can
no longer end closer than what is known are dropped. If none is left at the end, nothing is closer.
All of it is in whole numbers.

Exchanges of weighted rows near the cut-off that bring totals nearer to what they should be.

What is missing is first spread over pairs of classes in groups: the least mass that would have to
go from one class to another in some groups, a small linear program. In each such group a row, or
one row there and another one back, is found whose weight, or difference of weights, is that mass
as nearly as possible. What is left is spread again, until nothing more is gained.

Rows with weights: a row stands for some people, and totals are about people.

What counts is the sum of weight times score. The optimal answer in fractions ranks rows by their
scores as ever and cuts where the weights add up; at the cut-off a few rows are split, and each of
them goes where most of it is. What the totals are off by then, at most about half a row's weight
for each, is brought down by exchanges of rows near the cut-off, whose weights differ by what is
missing. With whole weights and few rows an integer program finds the smallest deviation. That it is
the smallest is claimed only where it is proven in whole numbers (:mod:`c2rf.assignment.weighted`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment.crossing import RelaxedLabels, relax
from c2rf.assignment.duals import ScoredRows, sizes_in_groups, stand
from c2rf.totals.bounds import Bounds, LinearConstraints

MOST_SUMS = 200_000
"""With more different sums than this, nothing is claimed."""


def none_is_closer(scored: ScoredRows, system: LinearConstraints, deviation: int) -> bool:
    """Return True if it is proven that no labels miss the totals by less in sum.

    Parameters
    ----------
    scored : ScoredRows
        The rows; weights and totals are whole.
    system : System
        The totals.
    deviation : int
        What is to be beaten.

    Examples
    --------
    >>> from c2rf.totals.bounds import Bounds
    >>> two = ScoredRows(np.zeros((2, 2)), np.zeros(2, dtype=int), np.array([3.0, 5.0]), 1)
    >>> system = LinearConstraints.of(Bounds.overall([4, 4], [4, 4], 8))  # 3 and 5 miss them by 1 each
    >>> none_is_closer(two, system, 2), none_is_closer(two, system, 3)
    (True, False)
    """
    weights = scored.weight_of(slice(None)).astype(np.int64)
    order = np.argsort(-weights, kind="stable")
    matrix = system.matrix.toarray().astype(np.int64)
    n_classes = scored.scores.shape[1]
    lower, upper = np.ceil(system.lower).astype(int), np.floor(system.upper).astype(int)
    sums = np.zeros((1, len(lower)), dtype=np.int64)
    left = _still_to_come(scored, weights, order, matrix, n_classes)
    for row, rest in zip(order.tolist(), left, strict=True):
        g = int(scored.groups[row])
        steps = [weights[row] * matrix[:, g * n_classes + k] for k in range(n_classes)]
        sums = np.unique(np.concatenate([sums + step for step in steps]), axis=0)
        # Sums only grow: too much stays too much, and no more than the rest can be added.
        over = np.maximum(sums - upper, 0).sum(axis=1)
        short = np.maximum(lower - sums - rest, 0).sum(axis=1)
        sums = sums[over + short < deviation]
        if not len(sums):
            return True
        if len(sums) > MOST_SUMS:
            return False
    return False


def _still_to_come(
    scored: ScoredRows, weights: Ints, order: Ints, matrix: Ints, n_classes: int
) -> list[Ints]:
    """Return for each row the most that all later ones can add to each total."""
    groups = np.asarray(scored.groups)[order]
    most = matrix.reshape(len(matrix), -1, n_classes).max(axis=2)  # of totals by groups
    each = most[:, groups] * weights[order]
    after = each.sum(axis=1, keepdims=True) - np.cumsum(each, axis=1)
    return list(after.T)


_MOST_ROUNDS = 40
_POOL = 400
_POOLS = (25, 50, 100, 200, 400)


def exchanged(
    scored: ScoredRows,
    offsets: Floats,
    labels: Codes,
    leads: Floats,
    system: LinearConstraints,
    tolerance: float,
) -> Codes:
    """Return labels with smaller deviations from the totals.

    Parameters
    ----------
    scored : ScoredRows
        The rows with their weights, all above zero.
    offsets : ndarray of shape (n_groups, n_classes)
        By which losses are counted.
    labels : ndarray of int, shape (n_rows,)
        To begin with.
    leads : ndarray of shape (n_rows,)
        How far each row is from a border.
    system : System
        The totals.
    tolerance : float
        No total need be nearer than this.
    """
    pool = _Pool.of(scored, offsets, labels, leads)
    counts = sizes_in_groups(scored, labels, offsets.shape[1])
    best, found = labels, float(np.abs(system.missed(counts)).sum())
    current, rounds_without = labels.copy(), 0
    for _ in range(_MOST_ROUNDS):
        missed = system.missed(counts)
        if np.abs(missed).max(initial=0.0) <= tolerance or rounds_without == 3:
            break
        wanted = _spread_out(system, missed, pool, tolerance)
        changed = False
        for (g, a, b), mass in wanted:
            rows, targets = pool.find(current, g, a, b, mass, tolerance / 8)
            changed |= len(rows) > 0
            current[rows] = targets
        if not changed:
            break
        counts = sizes_in_groups(scored, current, offsets.shape[1])
        now = float(np.abs(system.missed(counts)).sum())
        rounds_without = 0 if now < found else rounds_without + 1
        if now < found:
            best, found = current.copy(), now
    return best


@dataclass(frozen=True, eq=False)
class _Pool:
    """Rows of each group near the cut-off, nearest first."""

    rows: list[Codes]
    losses: list[Floats]
    weights: list[Floats]
    open_: Floats

    @classmethod
    def of(cls, scored: ScoredRows, offsets: Floats, labels: Codes, leads: Floats) -> _Pool:
        """Collect the rows of each group and class that are nearest to a border."""
        assert scored.weights is not None
        n_groups, n_classes = offsets.shape
        cells = np.asarray(scored.groups) * n_classes + labels
        some = _candidates(cells, leads, n_groups * n_classes)
        order = some[np.lexsort((leads[some], cells[some]))]
        ends = np.searchsorted(cells[order], np.arange(n_groups * n_classes + 1))
        nearest = [order[first : min(first + _POOL, last)] for first, last in pairwise(ends)]
        rows = [
            np.concatenate(nearest[g * n_classes : (g + 1) * n_classes]) for g in range(n_groups)
        ]
        losses = []
        for g, members in enumerate(rows):
            shifted = np.asarray(scored.scores[members]) + offsets[g]
            losses.append(shifted.max(axis=1, initial=-np.inf)[:, None] - shifted)
        return cls(rows, losses, [scored.weights[own] for own in rows], np.isfinite(offsets))

    def find(
        self, labels: Codes, g: int, a: int, b: int, mass: float, close: float
    ) -> tuple[Codes, Codes]:
        """Return rows whose exchange takes a mass from class a to class b, and their classes."""
        rows, losses, weights = self.rows[g], self.losses[g], self.weights[g]
        own = labels[rows]
        there, back = np.flatnonzero(own == a), np.flatnonzero(own == b)
        there = there[np.argsort((losses[there, b] - losses[there, a]), kind="stable")]
        back = back[np.argsort((losses[back, a] - losses[back, b]), kind="stable")]
        best: tuple[float, Codes, Codes] = (mass, rows[:0], rows[:0])
        for size in _POOLS:
            p, q = there[:size], back[:size]
            for option in (_single(weights, p, mass), _pair(weights, p, q, mass)):
                if option is not None and option[0] < best[0]:
                    moved = np.array(option[1], dtype=np.intp)
                    best = option[0], rows[moved], np.array([b, a][: len(moved)])
            if best[0] <= close or size >= max(len(there), len(back)):
                break
        return best[1], best[2]


def _candidates(cells: Codes, leads: Floats, n_cells: int) -> Codes:
    """Return rows among which the nearest ones of each cell are: of very many, the near ones."""
    n_near = 4 * _POOL * n_cells
    if n_near >= len(leads):
        return np.arange(len(leads))
    near = leads <= np.partition(leads, n_near)[n_near]
    # Cells of which few are near are taken whole.
    few = np.bincount(cells[near], minlength=n_cells) < _POOL
    return np.flatnonzero(near | few[cells])


def _single(weights: Floats, p: Codes, mass: float) -> tuple[float, list[int]] | None:
    """Return the row whose weight is nearest to a mass, and by how much it is not."""
    if not len(p):
        return None
    off = np.abs(weights[p] - mass)
    k = int(off.argmin())
    return float(off[k]), [int(p[k])]


def _pair(weights: Floats, p: Codes, q: Codes, mass: float) -> tuple[float, list[int]] | None:
    """Return a row there and one back whose weights differ by nearly a mass."""
    if not len(p) or not len(q):
        return None
    order = np.argsort(weights[q], kind="stable")
    sorted_ = weights[q][order]
    wanted = weights[p] - mass
    place = np.clip(np.searchsorted(sorted_, wanted), 1, max(len(q) - 1, 1))
    place = np.minimum(place, len(q) - 1)
    lower = np.maximum(place - 1, 0)
    nearer = np.where(
        np.abs(sorted_[lower] - wanted) < np.abs(sorted_[place] - wanted), lower, place
    )
    off = np.abs(sorted_[nearer] - wanted)
    k = int(off.argmin())
    return float(off[k]), [int(p[k]), int(q[order[nearer[k]]])]


def _spread_out(
    system: LinearConstraints, missed: Floats, pool: _Pool, tolerance: float
) -> list[tuple[tuple[int, int, int], float]]:
    """Return which mass should go from class to class in which groups, as few as will do."""
    n_classes = pool.open_.shape[1]
    groups = np.array([g for g, rows in enumerate(pool.rows) if len(rows)])
    pairs = [(a, b) for a in range(n_classes) for b in range(n_classes) if a != b]
    arcs = np.array(
        [(g, a, b) for g in groups for a, b in pairs if pool.open_[g, a] and pool.open_[g, b]]
    )
    matrix = system.matrix.tocsc()
    effect = (
        matrix[:, arcs[:, 0] * n_classes + arcs[:, 2]]
        - matrix[:, arcs[:, 0] * n_classes + arcs[:, 1]]
    )
    n_totals = len(missed)
    slack = eye_array(n_totals, format="csr")
    costs = np.concatenate([np.ones(len(arcs)), np.full(2 * n_totals, 100.0)])
    # Totals with room may use it; the others must change by what they miss.
    result = linprog(
        costs, A_eq=hstack([csr_array(effect), slack, -slack], format="csr"), b_eq=-missed,
        method="highs",
    )  # fmt: skip
    if result.x is None:
        return []
    masses = result.x[: len(arcs)]
    used = np.flatnonzero(masses > max(tolerance / 8, 1e-12 * np.abs(missed).max()))
    return [((int(arcs[k, 0]), int(arcs[k, 1]), int(arcs[k, 2])), float(masses[k])) for k in used]


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
    duals: Floats
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
        everyone, relaxed.offsets, relaxed.duals, missed, cost, gap,
        whole and _is_closest(heavy, bounds, missed), float(losses.max(initial=0.0)),
    )  # fmt: skip


def _priced(relaxed: RelaxedLabels, counts: Floats) -> float:
    """Return by how much the prices of the sizes exceed the least within the totals."""
    system, prices = relaxed.system, relaxed.duals
    least = np.where(prices > 0, system.lower, system.upper)
    return float(prices @ (system.matrix @ counts.ravel() - least))


def _is_closest(scored: ScoredRows, bounds: Bounds, missed: Floats) -> bool:
    """Return whether nothing comes closer, proven in whole numbers: sums of floats are exact."""
    system, off = LinearConstraints.of(bounds.with_implied_bounds()), float(np.abs(missed).sum())
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


def _is_whole(scored: ScoredRows, system: LinearConstraints) -> bool:
    """Say whether weights and totals are whole, and small enough for floats to be exact."""
    numbers = (scored.weight_of(slice(None)), system.lower, system.upper)
    return all(bool((x == np.rint(x)).all() and x.sum() <= 2**53) for x in numbers)


def _least_deviation(scored: ScoredRows, system: LinearConstraints) -> float:
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
