"""Where rows stand: the best class of each by score and offset, and how far the next one is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from c2rf._typing import Codes, Floats
from c2rf.assignment.handicaps import ScoredRows
from c2rf.assignment.moves import Moves


@dataclass(frozen=True, eq=False)
class Standing:
    """The class of each row, its lead over the next best class, and the sizes in the groups."""

    labels: Codes
    leads: Floats
    counts: Floats


def stand(scored: ScoredRows, offsets: Floats) -> Standing:
    """Put every row where its score plus the offset of its group is largest."""
    n_rows, n_classes = scored.scores.shape
    labels = np.zeros(n_rows, dtype=np.intp)
    leads = np.empty(n_rows)
    for rows in scored.blocks():
        scores, groups = np.asarray(scored.scores[rows]), scored.groups[rows]
        best = scores[:, 0] + offsets[:, 0][groups]
        second = np.full(len(best), -np.inf)
        for k in range(1, n_classes):  # a class at a time: far quicker than sorting short rows
            worth = scores[:, k] + offsets[:, k][groups]
            labels[rows][worth > best] = k
            np.maximum(second, np.minimum(best, worth), out=second)
            np.maximum(best, worth, out=best)
        leads[rows] = best - second
    return Standing(labels, leads, sizes_in_groups(scored, labels, n_classes))


def sizes_in_groups(scored: ScoredRows, labels: Codes, n_classes: int) -> Floats:
    """Return the sizes of the classes in the groups; with weights, sums of them."""
    cells = np.asarray(scored.groups) * n_classes + labels
    n_cells = scored.n_groups * n_classes
    if scored.weights is None:
        found = np.bincount(cells, minlength=n_cells).astype(float)
    else:
        found = np.bincount(cells, scored.weights, minlength=n_cells)
    return found.reshape(scored.n_groups, n_classes)


@dataclass(frozen=True, eq=False)
class NearRows:
    """Rows that may move; equal ones are one.

    Parameters
    ----------
    rows : ndarray of int
        Their numbers.
    kind : ndarray of int
        Of each the number of its distinct row.
    moves : Moves
        The moves of the distinct rows.
    """

    rows: Codes
    kind: Codes
    moves: Moves


def near_rows(scored: ScoredRows, offsets: Floats, labels: Codes, rows: Codes) -> NearRows:
    """Return the moves of some rows to all classes that are open to them."""
    some, own = scored.taken(rows), labels[rows]
    n_classes = some.scores.shape[1]
    shifted = some.scores + offsets[some.groups]
    kind, first, mass = _distinct(some, own)
    table, groups, base = shifted[first], some.groups[first], own[first]
    losses = table[np.arange(len(first)), base][:, None] - table
    losses[np.arange(len(first)), base] = np.inf
    row, target = np.nonzero(np.isfinite(losses))
    start = groups[row] * n_classes
    # Rounding may have put the best class an ulp behind: no move gains anything.
    loss = np.maximum(losses[row, target], 0.0)
    return NearRows(rows, kind, Moves(row, start + base[row], start + target, loss, mass))


def _distinct(scored: ScoredRows, labels: Codes) -> tuple[Codes, Codes, Floats]:
    """Return the number of each row among the distinct ones, one row of each, and their masses."""
    if scored.weights is not None:
        each = np.arange(len(labels))
        return each, each, scored.weights
    key = np.column_stack([scored.groups, labels, scored.scores + 0.0])
    packed = np.ascontiguousarray(key).view(np.dtype((np.void, key.itemsize * key.shape[1])))
    _, first, kind, mass = np.unique(
        packed.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    return kind, first, mass.astype(float)


def moved(
    near: NearRows, moves: Moves, amounts: Floats, labels: Codes, rng: np.random.Generator
) -> Codes:
    """Return labels after whole moves; which of equal rows move is drawn."""
    labels = labels.copy()
    order = rng.permutation(len(near.rows))
    order = order[np.argsort(near.kind[order], kind="stable")]
    starts = np.searchsorted(near.kind[order], np.arange(len(near.moves.mass)))
    for m in np.flatnonzero(amounts):
        kind, amount = int(moves.row[m]), int(amounts[m])
        taken = order[starts[kind] : starts[kind] + amount]
        starts[kind] += amount
        labels[near.rows[taken]] += int(moves.target[m] - moves.source[m])
    return labels
