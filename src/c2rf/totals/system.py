"""All bounds as the rows of one matrix over the table of counts of groups by classes.

    lower <= matrix @ counts.ravel() <= upper

This is what linear and integer programs are made of, here and in the assignment of labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from c2rf._typing import Bools, Codes, Floats, Ints
from c2rf.totals.bounds import Bounds, MarginBounds, counted


@dataclass(frozen=True, eq=False)
class System:
    """Bounds that say something, one per row.

    Parameters
    ----------
    matrix : csr_array of shape (n_bounds, n_groups * n_classes)
        Ones where a group and class count for a bound.
    lower, upper : ndarray of shape (n_bounds,)
        The bounds.
    places : ndarray of int, shape (n_bounds, 3)
        Of each bound the number of its part (see :meth:`Bounds.parts`), its cell and its class.
    """

    matrix: csr_array
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    places: Ints

    @classmethod
    def of(cls, bounds: Bounds) -> System:
        """Return the bounds that say more than how many rows there are.

        Examples
        --------
        >>> system = System.of(Bounds.overall([2, 0], [2, 5], 5))
        >>> system.matrix.toarray(), system.lower, system.upper
        (array([[1., 0.]]), array([2.]), array([2.]))
        """
        parts = [
            _rows(k, part, bounds.group_sizes, bounds.n_classes)
            for k, part in enumerate(bounds.parts())
        ]
        return cls(
            csr_array(vstack([part.matrix for part in parts], format="csr")),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.vstack([part.places for part in parts]),
        )

    def some(self, rows: Codes | Bools) -> System:
        """Return only some of the bounds."""
        return System(
            csr_array(self.matrix[rows]), self.lower[rows], self.upper[rows], self.places[rows]
        )

    def missed(self, counts: NDArray[np.generic]) -> Floats:
        """Return by how much counts miss each bound: negative below, positive above."""
        found: Floats = self.matrix @ counts.ravel().astype(float)
        return np.minimum(found - self.lower, 0.0) + np.maximum(found - self.upper, 0.0)


def sizes_matrix(n_groups: int, n_classes: int) -> csr_array:
    """Return the matrix that adds up the classes of each group."""
    ones = np.ones(n_groups * n_classes)
    starts = np.arange(n_groups + 1) * n_classes
    return csr_array((ones, np.arange(n_groups * n_classes), starts))


def cell_matrix(cells: Codes, n_classes: int, places: Ints) -> csr_array:
    """Return rows with a one for each group of a cell, in the column of the class."""
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], [places[:, 0], places[:, 0] + 1])
    members = [order[first:last] for first, last in ends.T]
    columns = [
        groups * n_classes + k for groups, k in zip(members, places[:, 1].tolist(), strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in columns], dtype=np.int64)])
    indices = np.concatenate([*columns, np.empty(0, dtype=np.int64)])
    shape = (len(places), len(cells) * n_classes)
    return csr_array((np.ones(len(indices)), indices, starts), shape=shape)


def _rows(number: int, part: MarginBounds, sizes: Ints, n_classes: int) -> System:
    """Return the rows of one part; a cell's bounds are left out where they say nothing."""
    most = counted(part.cells, len(part.names), sizes)[:, None]
    says = (part.lower > 0) | (part.upper < most)
    places = np.argwhere(says)
    return System(
        cell_matrix(part.cells, n_classes, places),
        part.lower[says].astype(float),
        np.minimum(part.upper, most)[says].astype(float),
        np.column_stack([np.full(len(places), number), places]).astype(np.int64),
    )
