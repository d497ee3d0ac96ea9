"""Rows as the members of a blend look at them: plain for trees, encoded for the others.

What is expensive and the same for every fit (encodings, similarities to the labeled rows, features
in a kernel's space) is worked out once for all rows, and members take the rows they need.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from c2rf._typing import Codes, Floats, Singles
from c2rf.learners.encode import Encoder
from c2rf.learners.kernels import Gaussian, Laplacian
from c2rf.learners.least_squares import KernelSpace, Moments

_LANDMARKS = 200, 200  # of the labeled rows, of the population
_WIDE = 3.0  # of the kernel for least squares, in usual distances
_MOST_COMPONENTS = 40


class Filler:
    """Fills missing cells with the median, and adds a column that says where they were missing.

    Leaves out the columns in which all rows of the population are alike: they cannot tell these
    rows apart, and what labeled rows show by them would only mislead.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows that show which columns have missing cells; NaN where they have.
    n_labeled : int
        Number of the first rows that are not of the population.

    Examples
    --------
    >>> filler = Filler(np.array([[1.0, 5.0, 0.0], [np.nan, 6.0, 9.0], [3.0, 7.0, 9.0]]), 1)
    >>> filler.fill(np.array([[np.nan, np.nan, 0.0]])).tolist()
    [[2.0, 6.0, 1.0]]
    """

    def __init__(self, X: Floats, n_labeled: int) -> None:
        missing = np.isnan(X)
        self.gaps = np.flatnonzero(missing.any(axis=0))
        self.medians = np.zeros(X.shape[1])
        known = ~missing.all(axis=0)
        if len(self.gaps):
            self.medians[known] = np.nanmedian(X[:, known], axis=0)
        else:
            self.medians = np.median(X, axis=0)
        self.kept: Any = slice(None)
        population = self.fill(X[n_labeled:])
        varied = (population != population[:1]).any(axis=0)
        if not varied.all():
            self.kept = np.flatnonzero(varied) if varied.any() else [0]

    def fill(self, X: Floats) -> Floats:
        """Return rows without missing cells."""
        missing = np.isnan(X)
        filled = np.where(missing, self.medians, X) if missing.any() else X
        if len(self.gaps):
            filled = np.hstack([filled, missing[:, self.gaps].astype(X.dtype)])
        return filled[:, self.kept]


class Components:
    """The principal components of columns: a few directions in which the population varies most.

    Trees that split along them find what no single column shows.

    Parameters
    ----------
    encoded : ndarray of shape (n_rows, n_columns)
        Rows of the population.

    Examples
    --------
    >>> line = np.array([[3.0, 4.0], [-3.0, -4.0], [6.0, 8.0], [-6.0, -8.0]])
    >>> np.abs(Components(line).of(line)).round().tolist()
    [[5.0, 0.0], [5.0, 0.0], [10.0, 0.0], [10.0, 0.0]]
    """

    def __init__(self, encoded: Floats) -> None:
        self._mean = encoded.mean(axis=0)
        centred = encoded - self._mean
        _, vectors = eigh(centred.T @ centred)
        self._axes = vectors[:, ::-1][:, :_MOST_COMPONENTS]

    def of(self, encoded: Floats) -> Singles:
        """Return the components of rows."""
        return ((encoded - self._mean) @ self._axes).astype(np.float32)


@dataclass(eq=False)
class View:
    """Some rows, as members see them.

    Parameters
    ----------
    raw : ndarray of float32
        The columns, for trees.
    wide : ndarray of float32
        The same and their principal components over the population, for other trees.
    encoded : ndarray
        Standardized columns and indicators of few values, for the others.
    similar, rank_similar : ndarray of shape (n_rows, n_labeled)
        Similarities to the labeled rows: Gaussian ones, and Laplacian ones of ranks.
    kernel, rank_kernel : ndarray
        Features for least squares: such similarities to landmarks, and a constant.
    """

    raw: Singles
    wide: Singles
    encoded: Floats
    similar: Floats
    rank_similar: Floats
    kernel: Floats
    rank_kernel: Floats

    def take(self, rows: Any) -> View:
        """Return some of the rows."""
        return View(
            self.raw[rows], self.wide[rows], self.encoded[rows], self.similar[rows],
            self.rank_similar[rows], self.kernel[rows], self.rank_kernel[rows],
        )  # fmt: skip


class Scenery:
    """What all members know of the columns and of the population, before they see a label.

    Parameters
    ----------
    X, population : ndarray of shape (n_rows, n_columns)
        The labeled rows, and rows of the population; NaN where a cell is missing.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(self, X: Floats, population: Floats, n_jobs: int | None = None) -> None:
        both = np.vstack([X, population])
        self.filler = Filler(both, len(X))
        filled = self.filler.fill(both)
        self.encoder, self._ranks = Encoder(filled), Encoder(filled, ranks=True)
        encoded, ranked = self.encoder.encode(filled), self._ranks.encode(filled)
        n_labeled = len(X)
        self._labeled, self._ranked = encoded[:n_labeled], ranked[:n_labeled]
        self._components = Components(encoded[n_labeled:])
        self._set_kernels(encoded[n_labeled:], ranked[n_labeled:])
        self._n_jobs = n_jobs
        self.labeled = self._view(filled[:n_labeled], self._labeled, self._ranked, n_jobs)
        self.population = self._view(
            filled[n_labeled:], encoded[n_labeled:], ranked[n_labeled:], n_jobs
        )

    def _set_kernels(self, encoded: Floats, ranked: Floats) -> None:
        """Set how wide kernels are, by rows of the population, and from where they are seen."""
        n_own, n_others = _LANDMARKS
        variance = float(encoded.var(axis=0).sum())
        self._gaussian = Gaussian(variance)
        marks = np.vstack([_spread(self._labeled, n_own), encoded[:n_others]])
        self._kernel_space = KernelSpace(Gaussian(2 * variance), marks)
        usual = float(np.median(cdist(ranked[:n_others], self._ranked, "cityblock")))
        self._laplacian = Laplacian(usual)
        marks = np.vstack([_spread(self._ranked, n_own), ranked[:n_others]])
        self._rank_space = KernelSpace(Laplacian(_WIDE * usual), marks)

    @cached_property
    def kernel_moments(self) -> Moments:
        """Second moments of the Gaussian kernel's features over the population."""
        return Moments(self.population.kernel, self._kernel_space.basis, self._n_jobs)

    @cached_property
    def rank_moments(self) -> Moments:
        """Second moments of the Laplacian kernel's features over the population."""
        return Moments(self.population.rank_kernel, self._rank_space.basis, self._n_jobs)

    def view(self, X: Floats, n_jobs: int | None = None) -> View:
        """Return any rows as members see them."""
        filled = self.filler.fill(X)
        return self._view(filled, self.encoder.encode(filled), self._ranks.encode(filled), n_jobs)

    def _view(self, filled: Floats, encoded: Floats, ranked: Floats, n_jobs: int | None) -> View:
        raw = np.ascontiguousarray(filled, dtype=np.float32)
        return View(
            raw,
            np.hstack([raw, self._components.of(encoded)]),
            encoded,
            self._gaussian(encoded, self._labeled, n_jobs),
            self._laplacian(ranked, self._ranked, n_jobs),
            self._kernel_space.features(encoded, n_jobs),
            self._rank_space.features(ranked, n_jobs),
        )


def _spread(rows: Floats, most: int) -> Floats:
    """Return at most that number of rows, evenly from all of them."""
    picked: Codes = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))
    return rows[picked]
