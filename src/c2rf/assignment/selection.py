"""Two classes: the rows with the largest gains are of the second class.

Within every group some rows must be of the second class and some may be; of those that may,
the overall bounds allow some number, and the best of all groups get it.
"""

from __future__ import annotations

import numpy as np

from c2rf._typing import Codes, Floats
from c2rf.totals.bounds import Bounds


def select(gains: Floats, groups: Codes, bounds: Bounds, ties: Floats) -> Codes:
    """Return the class, 0 or 1, of each row, with the highest total gain of those in 1.

    Parameters
    ----------
    gains : ndarray of shape (n_rows,)
        What a row gains in class 1 over class 0.
    groups : ndarray of int, shape (n_points,)
        The group of each row.
    bounds : Bounds
        They can be met.
    ties : ndarray of shape (n_rows,)
        Random numbers: of equal gains the smallest number comes first.

    Examples
    --------
    >>> gains, groups = np.array([0.5, 2.0, -1.0, -3.0]), np.zeros(4, dtype=int)
    >>> bounds = Bounds.overall([0, 3], [4, 4], 4)
    >>> select(gains, groups, bounds, np.zeros(4))
    array([1, 1, 1, 0])
    """
    sizes, n_points = bounds.group_sizes, len(gains)
    must = np.maximum(bounds.group_lower[:, 1], sizes - bounds.group_upper[:, 0])
    may = np.minimum(bounds.group_upper[:, 1], sizes - bounds.group_lower[:, 0])
    order = np.lexsort((ties, -gains))
    by_group = order[np.argsort(groups[order], kind="stable")]
    rank = np.empty(n_points, dtype=np.int64)
    rank[by_group] = np.arange(n_points) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    labels = (rank < must[groups]).astype(np.intp)
    open_rows = order[((rank >= must[groups]) & (rank < may[groups]))[order]]
    fewest = max(bounds.lower[1], n_points - bounds.upper[0]) - labels.sum()
    most = min(bounds.upper[1], n_points - bounds.lower[0]) - labels.sum()
    labels[open_rows[: np.clip((gains[open_rows] > 0).sum(), fewest, most)]] = 1
    return labels
