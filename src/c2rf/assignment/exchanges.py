"""Exchanges of weighted rows near the cut-off that bring totals nearer to what they should be.

What is missing is first spread over pairs of classes in groups: the least mass that would have to
go from one class to another in some groups, a small linear program. In each such group a row, or
one row there and another one back, is found whose weight, or difference of weights, is that mass
as nearly as possible. What is left is spread again, until nothing more is gained.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack

from c2rf._typing import Codes, Floats
from c2rf.assignment.best_class import sizes_in_groups
from c2rf.assignment.handicaps import ScoredRows
from c2rf.totals.system import System

_MOST_ROUNDS = 40
_POOL = 400
_POOLS = (25, 50, 100, 200, 400)


def exchanged(
    scored: ScoredRows,
    offsets: Floats,
    labels: Codes,
    leads: Floats,
    system: System,
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
    system: System, missed: Floats, pool: _Pool, tolerance: float
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
