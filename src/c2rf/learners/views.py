"""Rows as the members of a blend look at them: plain for trees, encoded for the others.

What is expensive and the same for every fit (encodings, similarities to the labeled rows, features
in a kernel's space) is worked out once for all rows, and members take the rows they need.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from c2rf._typing import Codes, Floats, Singles
from c2rf.learners.encode import Encoder
from c2rf.learners.least_squares import KernelSpace, LinearSpace, Moments

_LANDMARKS = 200, 200  # of the labeled rows, of the population
_LEAST_VARIANCE = 1e-12


class Filler:
    """Fills missing cells with the median, and adds a column that says where they were missing.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows that show which columns have missing cells; NaN where they have.

    Examples
    --------
    >>> filler = Filler(np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]]))
    >>> filler.fill(np.array([[np.nan, np.nan]])).tolist()
    [[2.0, 6.0, 1.0]]
    """

    def __init__(self, X: Floats) -> None:
        missing = np.isnan(X)
        self.gaps = np.flatnonzero(missing.any(axis=0))
        self.medians = np.zeros(X.shape[1])
        known = ~missing.all(axis=0)
        if len(self.gaps):
            self.medians[known] = np.nanmedian(X[:, known], axis=0)
        else:
            self.medians = np.median(X, axis=0)

    def fill(self, X: Floats) -> Floats:
        """Return rows without missing cells."""
        missing = np.isnan(X)
        if not len(self.gaps) and not missing.any():
            return X
        filled = np.where(missing, self.medians, X)
        return np.hstack([filled, missing[:, self.gaps].astype(X.dtype)])


@dataclass(eq=False)
class View:
    """Some rows, as members see them.

    Parameters
    ----------
    raw : ndarray of float32
        The columns, for trees.
    encoded : ndarray
        Standardized columns and indicators of few values, for the others.
    similar : ndarray of shape (n_rows, n_labeled)
        Gaussian similarities to the labeled rows.
    linear, kernel : ndarray
        Features for least squares.
    """

    raw: Singles
    encoded: Floats
    similar: Floats
    linear: Floats
    kernel: Floats

    def take(self, rows: Any) -> View:
        """Return some of the rows."""
        return View(
            self.raw[rows], self.encoded[rows], self.similar[rows], self.linear[rows],
            self.kernel[rows],
        )  # fmt: skip


class Scenery:
    """What all members know of the columns and of the population, before they see a label.

    Parameters
    ----------
    X, population : ndarray of shape (n_rows, n_columns)
        The labeled rows, and rows of the population; NaN where a cell is missing.
    """

    def __init__(self, X: Floats, population: Floats) -> None:
        both = np.vstack([X, population])
        self.filler = Filler(both)
        filled = self.filler.fill(both)
        self._encoder = Encoder(filled)
        encoded = self._encoder.encode(filled)
        self._labeled = encoded[: len(X)]
        there = encoded[len(X) :]
        variance = float(there.var(axis=0).sum())
        self._gamma = 1.0 / max(variance, _LEAST_VARIANCE)
        n_own, n_others = _LANDMARKS
        marks = np.vstack([_spread(self._labeled, n_own), there[:n_others]])
        self._kernel_space = KernelSpace(marks, variance)
        self.labeled = self._view(filled[: len(X)], self._labeled)
        self.population = self._view(filled[len(X) :], there)

    @cached_property
    def linear_moments(self) -> Moments:
        """Second moments of the columns over the population."""
        return Moments(self.population.linear)

    @cached_property
    def kernel_moments(self) -> Moments:
        """Second moments of the kernel's features over the population."""
        return Moments(self.population.kernel)

    def view(self, X: Floats) -> View:
        """Return any rows as members see them."""
        filled = self.filler.fill(X)
        return self._view(filled, self._encoder.encode(filled))

    def _view(self, filled: Floats, encoded: Floats) -> View:
        squared = cdist(encoded, self._labeled, "sqeuclidean")
        return View(
            np.ascontiguousarray(filled, dtype=np.float32),
            encoded,
            np.exp(-self._gamma * squared),
            LinearSpace().features(encoded),
            self._kernel_space.features(encoded),
        )


def _spread(rows: Floats, most: int) -> Floats:
    """Return at most that number of rows, evenly from all of them."""
    picked: Codes = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))
    return rows[picked]
