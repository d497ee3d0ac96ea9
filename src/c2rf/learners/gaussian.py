"""Gaussian similarities of rows, part by part: in threads, and with little memory beside them."""

from __future__ import annotations

import numpy as np

from c2rf._typing import Floats
from c2rf.learners.threads import in_row_parts

_ROWS_PER_PART = 1 << 10


def gaussian(
    X: Floats,
    others: Floats,
    gamma: float,
    n_jobs: int | None = None,
    out: Floats | None = None,
) -> Floats:
    """Return exp(-gamma |x - z|²) of rows x and other rows z.

    Parameters
    ----------
    X, others : ndarray of shape (n_rows, n_columns) and (n_others, n_columns)
        Rows.
    gamma : float
        How fast similarities fall with distance.
    n_jobs : int or None
        Number of threads.
    out : ndarray of shape (n_rows, n_others), optional
        Where to write them.

    Examples
    --------
    >>> gaussian(np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]]), 1.0).round(3).tolist()
    [[1.0, 0.368], [0.018, 0.368]]
    """
    near = np.empty((len(X), len(others))) if out is None else out
    directions, sizes = 2 * gamma * others.T, gamma * (others**2).sum(axis=1)

    def fill(rows: slice) -> None:
        own, part = X[rows], near[rows]
        np.matmul(own, directions, out=part)
        part -= sizes
        part -= gamma * (own**2).sum(axis=1, keepdims=True)
        np.exp(np.minimum(part, 0.0, out=part), out=part)

    in_row_parts(fill, len(X), _ROWS_PER_PART, n_jobs)
    return near
