"""Whether figures can hold together: tables of counts of groups by classes that meet them.

The sizes of the groups are counted, so they hold whatever the figures say:

    lower <= A n <= upper,   sum_k n_jk = size_j,   n >= 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array, eye_array, hstack

from c2rf._typing import Codes, Floats
from c2rf.totals.system import sizes_matrix

_MET = 1e-7
# Integer programs of tables of counts are nearly always solved at the root.
_MOST_NODES = 5000


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures about the counts of groups by classes.

    Parameters
    ----------
    matrix : csr_array of shape (n_figures, n_groups * n_classes)
        What each figure adds up.
    lower, upper : ndarray of shape (n_figures,)
        Between which each must be.
    sizes : ndarray of shape (n_groups,)
        Rows of each group, or the sum of their weights.
    """

    matrix: csr_array
    lower: Floats
    upper: Floats
    sizes: Floats

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.matrix.shape[1] // len(self.sizes)

    def between(self, lower: Floats, upper: Floats) -> Figures:
        """Return the same figures with other bounds."""
        return Figures(self.matrix, lower, upper, self.sizes)

    def some(self, rows: Codes) -> Figures:
        """Return only some of the figures."""
        return Figures(csr_array(self.matrix[rows]), self.lower[rows], self.upper[rows], self.sizes)


@dataclass(frozen=True, eq=False)
class NearestTable:
    """Counts, and by how much they miss each figure: negative below, positive above.

    ``proven`` says that no table comes closer.
    """

    counts: Floats
    missed: Floats
    proven: bool

    @property
    def total(self) -> float:
        """How far off all figures are together."""
        return float(np.abs(self.missed).sum())


def nearest_table(
    figures: Figures, *, whole: bool = False, slope: Floats | None = None
) -> NearestTable:
    """Return the counts that miss the figures by the least in sum.

    Parameters
    ----------
    figures : Figures
        What should hold.
    whole : bool
        Whether counts must be whole numbers.
    slope : ndarray of shape (n_figures,), optional
        What a unit more of each figure costs, from -1 to 1: a preference within the bounds. To miss
        a bound costs more than any of that.
    """
    n_figures, n_counts = figures.matrix.shape
    wishes = np.zeros(n_figures) if slope is None else slope
    price = np.full(n_figures, 1.0 if slope is None else 4.0 * n_figures)
    slack = eye_array(n_figures, format="csr")
    sizes = hstack([sizes_matrix(len(figures.sizes), figures.n_classes),
                    csr_array((len(figures.sizes), 2 * n_figures))], format="csr")  # fmt: skip
    limits = [LinearConstraint(sizes, figures.sizes, figures.sizes)]
    if n_figures:
        table = hstack([figures.matrix, slack, -slack], format="csr")
        limits.append(LinearConstraint(table, figures.lower, figures.upper))
    most = np.repeat(figures.sizes, figures.n_classes)
    result = milp(
        np.concatenate([figures.matrix.T @ wishes, price, price]),
        integrality=np.concatenate([np.full(n_counts, int(whole)), np.zeros(2 * n_figures)]),
        bounds=Box(0, np.concatenate([most, np.full(2 * n_figures, np.inf)])),
        constraints=limits,
        options={"mip_rel_gap": 0.0, "node_limit": _MOST_NODES},
    )
    if result.x is None:
        raise AssertionError(f"a table with slack was not found: {result.message}")
    counts = result.x[:n_counts]
    counts = np.rint(counts) if whole else counts
    found = figures.matrix @ counts
    missed = np.minimum(found - figures.lower, 0) + np.maximum(found - figures.upper, 0)
    missed[np.abs(missed) <= _MET * max(1.0, float(figures.sizes.sum()))] = 0.0
    return NearestTable(counts.reshape(len(figures.sizes), -1), missed, result.status == 0)


def fit_together(figures: Figures) -> bool:
    """Say whether the figures can hold together, in fractions of rows."""
    return not nearest_table(figures).missed.any()


def contradiction(figures: Figures) -> list[int]:
    """Return figures that cannot hold together, none of which could be left out.

    By halves, as QuickXplain does it: a part is looked into only if the rest does not contradict
    itself without it.

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> figures = Figures(csr_array(eye_array(2)), np.array([3.0, 3.0]), np.array([3.0, 9.0]),
    ...                   np.array([5.0]))
    >>> contradiction(figures)
    [0, 1]
    """

    def find(kept: list[int], candidates: list[int], check: bool) -> list[int]:
        if check and not fit_together(figures.some(np.array(kept, dtype=np.intp))):
            return []
        if len(candidates) == 1:
            return candidates
        half = len(candidates) // 2
        first, second = candidates[:half], candidates[half:]
        of_second = find(kept + first, second, True)
        of_first = find(kept + of_second, first, bool(of_second))
        return of_first + of_second

    return sorted(find([], list(range(len(figures.lower))), False))
