"""Prices near the right ones, by setting one class after the other exactly right.

With all other prices fixed, a row goes to a class if the class's price reaches the row's
threshold: sorted thresholds say which price lets in as many rows as the bounds want. Doing
this in turn is coordinate descent on the dual problem. It may stop short of the optimum, but it is
cheap for many rows at a time, and what is left is little.
"""

from __future__ import annotations

import numpy as np

from c2rf._typing import Codes, Floats, Ints
from c2rf.assignment.residual import Nodes
from c2rf.totals.bounds import Bounds


def swept(scores: Floats, groups: Codes, bounds: Bounds, prices: Floats, sweeps: int) -> Floats:
    """Return better prices of all nodes, the end's being zero.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores.
    groups : ndarray of int, shape (n_points,)
        The group of each row.
    bounds : Bounds
        Of cells and classes.
    prices : ndarray of shape (n_nodes,)
        Prices to begin with.
    sweeps : int
        How many times to go through all classes.
    """
    nodes, better = Nodes(bounds.n_groups, bounds.n_classes), prices.copy()
    cells, classes, _ = nodes.split(better)
    own = cells - classes  # what a group adds to the price of a class
    bound = (bounds.group_lower > 0) | (bounds.group_upper < bounds.group_sizes[:, None])
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(bounds.group_sizes)
    worth = np.ascontiguousarray((scores + cells[groups]).T)
    for _ in range(sweeps):
        for k in range(bounds.n_classes):
            worth[k] = -np.inf
            threshold = worth.max(axis=0) - scores[:, k]
            classes[k] = _price(threshold - own[groups, k], bounds.lower[k], bounds.upper[k])
            rest = (threshold - classes[k])[order]
            for g in np.flatnonzero(bound[:, k]):
                inside = rest[ends[g] - bounds.group_sizes[g] : ends[g]]
                own[g, k] = _price(inside, bounds.group_lower[g, k], bounds.group_upper[g, k])
            worth[k] = scores[:, k] + (classes[k] + own[:, k])[groups]
    cells[:] = classes + own
    return better


def _price(thresholds: Floats, low: int | Ints, high: int | Ints) -> float:
    """Return the price nearest to zero that lets in a number of rows within the bounds."""
    n_in = int((thresholds < 0).sum())
    wanted = int(np.clip(n_in, low, high))
    if wanted == n_in or not len(thresholds):
        return 0.0
    if not 0 < wanted < len(thresholds):
        end = thresholds.min() if wanted <= 0 else thresholds.max()
        return float(end + (1.0 if wanted > 0 else -1.0))
    around = np.partition(thresholds, [wanted - 1, wanted])[wanted - 1 : wanted + 1]
    return float(around.mean())
