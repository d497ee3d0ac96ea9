"""Similarities of rows: one at no distance, and the less the further rows are apart.

They are worked out part by part: in threads, and with little memory beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from c2rf._typing import Floats
from c2rf.learners.threads import in_row_parts

_ROWS_PER_PART = 1 << 10
_LEAST_SCALE = 1e-12


@dataclass(frozen=True)
class Gaussian:
    """Falls with the squared distance: exp(-|x - z|² / scale).

    Examples
    --------
    >>> rows, others = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])
    >>> Gaussian(1.0)(rows, others).round(3).tolist()
    [[1.0, 0.368], [0.018, 0.368]]
    """

    scale: float

    def __call__(
        self, X: Floats, others: Floats, n_jobs: int | None = None, out: Floats | None = None
    ) -> Floats:
        """Return the similarities of each row to each of the others."""
        near = np.empty((len(X), len(others))) if out is None else out
        gamma = 1.0 / max(self.scale, _LEAST_SCALE)
        directions, sizes = 2 * gamma * others.T, gamma * (others**2).sum(axis=1)

        def fill(rows: slice) -> None:
            own, part = X[rows], near[rows]
            np.matmul(own, directions, out=part)
            part -= sizes
            part -= gamma * (own**2).sum(axis=1, keepdims=True)
            np.exp(np.minimum(part, 0.0, out=part), out=part)

        in_row_parts(fill, len(X), _ROWS_PER_PART, n_jobs)
        return near


@dataclass(frozen=True)
class Laplacian:
    """Falls with the sum of the differences in all columns: exp(-sum |x - z| / scale).

    It has an edge at zero, so it suits functions with steps, and a single column that is far off
    counts less than in a Gaussian.

    Examples
    --------
    >>> Laplacian(2.0)(np.array([[0.0, 0.0]]), np.array([[1.0, 3.0]])).round(3).tolist()
    [[0.135]]
    """

    scale: float

    def __call__(
        self, X: Floats, others: Floats, n_jobs: int | None = None, out: Floats | None = None
    ) -> Floats:
        """Return the similarities of each row to each of the others."""
        near = np.empty((len(X), len(others))) if out is None else out

        def fill(rows: slice) -> None:
            distances = cdist(X[rows], others, "cityblock")
            distances /= -max(self.scale, _LEAST_SCALE)
            np.exp(distances, out=near[rows])

        in_row_parts(fill, len(X), _ROWS_PER_PART, n_jobs)
        return near
