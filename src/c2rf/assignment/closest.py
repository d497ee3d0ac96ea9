"""Whether any labels of rows with whole weights come closer to the totals: all sums they reach.

Row after row, the set of sums that labels of the rows so far can reach in all totals; sums that can
no longer end closer than what is known are dropped. If none is left at the end, nothing is closer.
All of it is in whole numbers.
"""

from __future__ import annotations

import numpy as np

from c2rf._typing import Ints
from c2rf.assignment.handicaps import ScoredRows
from c2rf.totals.system import System

MOST_SUMS = 200_000
"""With more different sums than this, nothing is claimed."""


def none_is_closer(scored: ScoredRows, system: System, deviation: int) -> bool:
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
    >>> system = System.of(Bounds.overall([4, 4], [4, 4], 8))  # 3 and 5 miss them by 1 each
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
