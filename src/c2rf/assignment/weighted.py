"""Rows with weights: a row stands for some people, and totals are about people.

What counts is the sum of weight times score. The relaxation ranks rows by their scores as ever and
splits a few rows at the decision boundary; each of them goes where most of it is. What the totals
are off by then, at most about half a row's weight for each, is brought down by **swaps** of rows
near the boundary whose weights differ by what is missing:

- what is missing is spread over pairs of classes in groups, by a small linear program for the least
  weight that would have to go from one class to another in some groups;
- in each such group a row, or a row there and another one back, is found whose weight, or
  difference of weights, is nearly that; and again, until nothing more is gained.

The deviation is the sum of what all totals that were stated are missed by; what these imply is not
counted. With whole weights and few rows an integer program finds the smallest one. That it is the
smallest is claimed only where it is proven in whole numbers: row after row, :func:`none_is_closer`
keeps the set of sums that labels of the rows so far can reach in all totals, without those that can
no longer end closer than what is known. If none is left at the end, nothing is closer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment.crossing_margins import Relaxation, relaxations
from c2rf.assignment.duals import Assignment
from c2rf.assignment.parts import Parts, ScoredRows, best_classes
from c2rf.assignment.passes import label_all
from c2rf.totals.bounds import Bounds, LinearConstraints
from c2rf.totals.reconcile import nearest_table

CLOSE = 5e-4
"""Swaps go on until no total is off by more than this part of the mean weight."""
FEW_ROWS = 60
"""With whole weights and at most this number of rows, the smallest deviation is sought."""
MOST_SUMS = 200_000
"""With more different sums than this, nothing is claimed."""

_MOST_NODES = 20_000
_ROUNDED = 1e-12  # part of all weights that a sum may be off for rounding alone
_MOST_ROUNDS = 40
_CANDIDATES = 400
_N_TRIED = (25, 50, 100, 200, 400)


def label_weighted(parts: Parts, bounds: Bounds, seed: int) -> Assignment:
    """Return likely labels whose weights meet the bounds nearly, and say how nearly.

    Parameters
    ----------
    parts : Parts
        The rows; those of weight zero are labeled, and count nothing.
    bounds : Bounds
        Of sums of weights; they can be met nearly.
    seed : int
        Draws the sample.
    """
    first, near, relaxed = next(relaxations(parts, in_fractions(bounds), seed))
    heavy, stated = relaxed.scored, LinearConstraints.of(bounds)
    step = parts.reduce(_common_divisor, _divisor_of_all)
    ends = np.concatenate([stated.lower, stated.upper])
    whole = step > 0 and bool((ends == np.rint(ends)).all())
    is_small = heavy.is_alone and 0 < heavy.n_rows <= FEW_ROWS
    labels = _smallest_deviation(heavy, relaxed, stated) if whole and is_small else None
    if labels is None:
        tolerance = 0.0 if whole else CLOSE * heavy.weight / max(heavy.n_rows, 1)
        labels = swapped(relaxed, _rounded(relaxed), tolerance)
    counts = heavy.counts(labels)
    missed = float(np.abs(stated.missed(counts)).sum())
    cost = float(heavy.weight_of(slice(None)) @ _losses(heavy, relaxed, labels))
    gap = max(0.0, cost + _dual_slack(relaxed, counts))
    closest = whole and (
        missed <= _least_deviation(step, stated)
        or (is_small and none_is_closer(heavy, stated, round(missed)))
    )
    own = best_classes(near, relaxed.offsets).labels
    own[np.flatnonzero(near.weight_of(slice(None)) > 0)] = labels
    every, total, _ = label_all(parts, first, near, own, ())
    return Assignment(every, relaxed.offsets, counts, total, gap, missed, cost, closest)


def _common_divisor(part: ScoredRows) -> float:
    """Return the divisor of all weights; 0 if they are not whole."""
    weights = part.weight_of(slice(None))
    if (weights != np.rint(weights)).any():
        return 0.0
    return float(np.gcd.reduce(weights.astype(np.int64))) or np.inf


def _divisor_of_all(divisors: Sequence[float]) -> float:
    if not all(divisors):
        return 0.0
    return float(np.gcd.reduce([int(each) for each in divisors if each < np.inf])) or np.inf


def _dual_slack(relaxed: Relaxation, counts: Floats) -> float:
    """Return by how much duals times sizes exceed the least within the totals."""
    constraints, duals = relaxed.constraints, relaxed.duals
    least = np.where(duals > 0, constraints.lower, constraints.upper)
    return float(duals @ (constraints.matrix @ counts.ravel() - least))


def _losses(scored: ScoredRows, relaxed: Relaxation, labels: Codes) -> Floats:
    """Return by how much rows are behind their best class, those that are."""
    rows = np.flatnonzero(labels != relaxed.best.labels)
    shifted = np.asarray(scored.scores[rows]) + relaxed.offsets[scored.groups[rows]]
    losses = np.zeros(len(labels))
    losses[rows] = (
        shifted.max(axis=1, initial=-np.inf) - shifted[np.arange(len(rows)), labels[rows]]
    )
    return losses


def in_fractions(bounds: Bounds) -> Bounds:
    """Return the bounds, widened by as little as it takes for fractions of rows to meet them."""
    constraints = LinearConstraints.of(bounds)
    least = np.minimum(constraints.lower, constraints.upper)
    counts, *_ = nearest_table(constraints.between(least, constraints.upper))
    off = float(np.abs(constraints.missed(counts)).max(initial=0.0))
    if off <= _ROUNDED * float(constraints.group_sizes.sum()):
        return bounds
    margins = []
    for margin in bounds.all_margins():
        found = margin.sums(counts)
        lower, upper = np.minimum(margin.lower, found), np.maximum(margin.upper, found)
        margins.append(replace(margin, lower=lower, upper=upper))
    return bounds.with_all_margins(margins)


def _rounded(relaxed: Relaxation) -> Codes:
    """Give every row that the relaxation splits the class that most of it has."""
    labels, near = relaxed.before.copy(), relaxed.candidates.rows
    columns = relaxed.candidates.columns
    share = relaxed.amounts / np.maximum(columns.mass[columns.row], 1e-300)
    order = np.lexsort((share, columns.row))
    last = order[np.append(np.diff(columns.row[order]) > 0, True)] if len(order) else order
    left = np.ones(len(near))
    np.subtract.at(left, columns.row, share)
    go = last[share[last] > left[columns.row[last]]]
    labels[near[columns.row[go]]] += columns.target[go] - columns.source[go]
    return labels


def _least_deviation(step: float, constraints: LinearConstraints) -> float:
    """Return what any labels miss in sum: sums of whole weights are multiples of their divisor."""
    above = np.ceil(constraints.lower / step) * step
    below = np.floor(constraints.upper / step) * step
    off = np.minimum(above - constraints.lower, np.abs(constraints.upper - below))
    return float(np.where(above <= constraints.upper, 0.0, off).sum())


def _smallest_deviation(
    scored: ScoredRows, relaxed: Relaxation, constraints: LinearConstraints
) -> Codes | None:
    """Return the likeliest labels of those with the smallest deviation that the solver finds."""
    weights = scored.weight_of(slice(None))
    shifted = np.asarray(scored.scores) + relaxed.offsets[scored.groups]
    n_rows, n_classes = shifted.shape
    n_totals = len(constraints.lower)
    columns = (np.asarray(scored.groups)[:, None] * n_classes + np.arange(n_classes)).ravel()
    slack = eye_array(n_totals, format="csr")
    effect = csr_array(constraints.matrix.tocsc()[:, columns] * np.repeat(weights, n_classes))
    each = kron(eye_array(n_rows), np.ones((1, n_classes)), format="csr")
    empty = csr_array((n_rows, 2 * n_totals))
    table = vstack([hstack([effect, slack, -slack]), hstack([each, empty])], format="csr")
    low = np.concatenate([constraints.lower, np.ones(n_rows)])
    high = np.concatenate([constraints.upper, np.ones(n_rows)])
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


def swapped(relaxed: Relaxation, labels: Codes, tolerance: float) -> Codes:
    """Return labels with smaller deviations from the totals.

    Parameters
    ----------
    relaxed : Relaxation
        The rows, all of a weight above zero, and the offsets by which losses are counted.
    labels : ndarray of int, shape (n_rows,)
        To begin with.
    tolerance : float
        No total need be nearer than this.
    """
    scored, constraints = relaxed.scored, relaxed.constraints
    candidates = _SwapCandidates.of(relaxed, labels)
    counts = scored.counts(labels)
    best, found = labels, float(np.abs(constraints.missed(counts)).sum())
    current, rounds_without = labels.copy(), 0
    for _ in range(_MOST_ROUNDS):
        missed = constraints.missed(counts)
        if np.abs(missed).max(initial=0.0) <= tolerance or rounds_without == 3:
            break
        wanted = _masses_to_swap(constraints, missed, candidates, tolerance)
        changed = False
        for (g, a, b), mass in wanted:
            rows, targets = candidates.find(current, g, a, b, mass, tolerance / 8)
            changed |= len(rows) > 0
            current[rows] = targets
        if not changed:
            break
        counts = scored.counts(current)
        now = float(np.abs(constraints.missed(counts)).sum())
        rounds_without = 0 if now < found else rounds_without + 1
        if now < found:
            best, found = current.copy(), now
    return best


@dataclass(frozen=True, eq=False)
class _SwapCandidates:
    """Rows of each group near the decision boundary, nearest first."""

    rows: list[Codes]
    losses: list[Floats]
    weights: list[Floats]
    open_: Floats

    @classmethod
    def of(cls, relaxed: Relaxation, labels: Codes) -> _SwapCandidates:
        """Collect the rows of each group and class that are nearest to the boundary."""
        scored, offsets, distances = relaxed.scored, relaxed.offsets, relaxed.best.distances
        assert scored.weights is not None
        n_groups, n_classes = offsets.shape
        cells = np.asarray(scored.groups) * n_classes + labels
        some = _preselected(cells, distances, n_groups * n_classes)
        order = some[np.lexsort((distances[some], cells[some]))]
        ends = np.searchsorted(cells[order], np.arange(n_groups * n_classes + 1))
        nearest = [order[first : min(first + _CANDIDATES, last)] for first, last in pairwise(ends)]
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
        """Return rows whose swap takes a mass from class a to class b, and their classes."""
        rows, losses, weights = self.rows[g], self.losses[g], self.weights[g]
        own = labels[rows]
        there, back = np.flatnonzero(own == a), np.flatnonzero(own == b)
        there = there[np.argsort((losses[there, b] - losses[there, a]), kind="stable")]
        back = back[np.argsort((losses[back, a] - losses[back, b]), kind="stable")]
        best: tuple[float, Codes, Codes] = (mass, rows[:0], rows[:0])
        for size in _N_TRIED:
            p, q = there[:size], back[:size]
            for option in (_single(weights, p, mass), _pair(weights, p, q, mass)):
                if option is not None and option[0] < best[0]:
                    chosen = np.array(option[1], dtype=np.intp)
                    best = option[0], rows[chosen], np.array([b, a][: len(chosen)])
            if best[0] <= close or size >= max(len(there), len(back)):
                break
        return best[1], best[2]


def _preselected(cells: Codes, distances: Floats, n_cells: int) -> Codes:
    """Preselect rows that certainly contain the nearest ones of each group and class."""
    n_near = 4 * _CANDIDATES * n_cells
    if n_near >= len(distances):
        return np.arange(len(distances))
    near = distances <= np.partition(distances, n_near)[n_near]
    # Cells of which few are near are taken whole.
    few = np.bincount(cells[near], minlength=n_cells) < _CANDIDATES
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


def _masses_to_swap(
    constraints: LinearConstraints, missed: Floats, candidates: _SwapCandidates, tolerance: float
) -> list[tuple[tuple[int, int, int], float]]:
    """Return which mass should go from class to class in which groups, as few as will do."""
    n_classes = candidates.open_.shape[1]
    groups = np.array([g for g, rows in enumerate(candidates.rows) if len(rows)])
    pairs = [(a, b) for a in range(n_classes) for b in range(n_classes) if a != b]
    open_ = candidates.open_
    arcs = np.array([(g, a, b) for g in groups for a, b in pairs if open_[g, a] and open_[g, b]])
    matrix = constraints.matrix.tocsc()
    effect = (
        matrix[:, arcs[:, 0] * n_classes + arcs[:, 2]]
        - matrix[:, arcs[:, 0] * n_classes + arcs[:, 1]]
    )
    n_totals = len(missed)
    slack = eye_array(n_totals, format="csr")
    costs = np.concatenate([np.ones(len(arcs)), np.full(2 * n_totals, 100.0)])
    # Every total must change by what it misses.
    result = linprog(
        costs, A_eq=hstack([csr_array(effect), slack, -slack], format="csr"), b_eq=-missed,
        method="highs",
    )  # fmt: skip
    if result.x is None:
        return []
    masses = result.x[: len(arcs)]
    used = np.flatnonzero(masses > max(tolerance / 8, 1e-12 * np.abs(missed).max()))
    return [((int(arcs[k, 0]), int(arcs[k, 1]), int(arcs[k, 2])), float(masses[k])) for k in used]


def none_is_closer(scored: ScoredRows, constraints: LinearConstraints, deviation: int) -> bool:
    """Return True if it is proven that no labels miss the totals by less in sum.

    Parameters
    ----------
    scored : ScoredRows
        The rows; weights and totals are whole.
    constraints : LinearConstraints
        The totals.
    deviation : int
        What is to be beaten.

    Examples
    --------
    >>> from c2rf.totals.bounds import Bounds
    >>> two = ScoredRows(np.zeros((2, 2)), np.zeros(2, dtype=int), np.array([3.0, 5.0]), 1)
    >>> constraints = LinearConstraints.of(Bounds.overall([4, 4], [4, 4], 8))  # off by 1 each
    >>> none_is_closer(two, constraints, 2), none_is_closer(two, constraints, 3)
    (True, False)
    """
    weights = scored.weight_of(slice(None)).astype(np.int64)
    order = np.argsort(-weights, kind="stable")
    matrix = constraints.matrix.toarray().astype(np.int64)
    n_classes = scored.scores.shape[1]
    lower, upper = np.ceil(constraints.lower).astype(int), np.floor(constraints.upper).astype(int)
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
