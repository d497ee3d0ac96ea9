"""Rows as the members of a blend look at them: plain for trees, encoded for the others.

What is expensive and the same for every fit (encodings, similarities to the labeled rows, features
in a kernel's space) is worked out once for all rows, and members take the rows they need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from c2rf._typing import Codes, Floats, Singles
from c2rf.learners.encode import Encoder, count_values
from c2rf.learners.kernels import Gaussian, Laplacian
from c2rf.learners.least_squares import KernelSpace, Moments
from c2rf.learners.threads import in_threads

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

    def of(self, encoded: Floats) -> Floats:
        """Return the components of rows."""
        return (encoded - self._mean) @ self._axes


@dataclass(frozen=True, eq=False)
class Similar:
    """Some rows, as a kernel sees them.

    Parameters
    ----------
    encoded : ndarray
        The columns it sees.
    to_labeled : ndarray of shape (n_rows, n_labeled)
        Similarities to the labeled rows.
    features : ndarray
        Similarities to landmarks, and a constant, for least squares.
    """

    encoded: Floats
    to_labeled: Floats
    features: Floats

    def take(self, rows: Any) -> Similar:
        """Return some of the rows."""
        return Similar(self.encoded[rows], self.to_labeled[rows], self.features[rows])


@dataclass(frozen=True, eq=False)
class Sight:
    """How a kernel sees any rows: a narrow one labeled rows, a wide one landmarks."""

    encoder: Encoder
    kernel: Gaussian | Laplacian
    labeled: Floats
    space: KernelSpace

    def of(self, filled: Floats, n_jobs: int | None) -> Similar:
        """Look at rows without missing cells."""
        return self.of_encoded(self.encoder.encode(filled, n_jobs), n_jobs)

    def of_encoded(self, encoded: Floats, n_jobs: int | None) -> Similar:
        """Look at encoded rows."""
        return Similar(
            encoded,
            self.kernel(encoded, self.labeled, n_jobs),
            self.space.features(encoded, n_jobs),
        )


def gaussian_sight(encoder: Encoder, labeled: Floats, population: Floats) -> Sight:
    """Return the sight of Gaussian kernels, as wide as the population's encoded rows vary."""
    variance = float(population.var(axis=0).sum())
    space = _space(Gaussian(2 * variance), labeled, population)
    return Sight(encoder, Gaussian(variance), labeled, space)


def laplacian_sight(encoder: Encoder, labeled: Floats, population: Floats) -> Sight:
    """Return the sight of Laplacian kernels, as wide as rows usually are apart."""
    usual = float(np.median(cdist(population[: _LANDMARKS[1]], labeled, "cityblock")))
    space = _space(Laplacian(_WIDE * usual), labeled, population)
    return Sight(encoder, Laplacian(usual), labeled, space)


def _space(kernel: Gaussian | Laplacian, labeled: Floats, population: Floats) -> KernelSpace:
    """Return a kernel's space as seen from some rows of both kinds."""
    n_own, n_others = _LANDMARKS
    return KernelSpace(kernel, np.vstack([_spread(labeled, n_own), population[:n_others]]))


@dataclass(frozen=True, eq=False)
class View:
    """Some rows, as members see them.

    Parameters
    ----------
    raw : ndarray of float32
        The columns, for trees.
    wide : ndarray of float32
        The same and their principal components over the population, for other trees.
    ranks : ndarray of float32
        Columns of ranks, for others again.
    components : ndarray
        The principal components, and a constant, for least squares.
    plain, ranked : Similar
        Standardized columns and indicators of few values, and the same of ranks, by kernels.
    """

    raw: Singles
    wide: Singles
    ranks: Singles
    components: Floats
    plain: Similar
    ranked: Similar

    def take(self, rows: Any) -> View:
        """Return some of the rows."""
        return View(
            self.raw[rows], self.wide[rows], self.ranks[rows], self.components[rows],
            self.plain.take(rows), self.ranked.take(rows),
        )  # fmt: skip


class Scenery:
    """What all members know of the columns and of the population, before they see a label.

    Parameters
    ----------
    X, population : ndarray of shape (n_rows, n_columns)
        The labeled rows, and rows of the population; NaN where a cell is missing.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    labeled, population : View
        These rows.
    linear_moments, plain_moments, rank_moments : Moments
        Of the components and of the features of the two kernels, over the population.
    """

    def __init__(self, X: Floats, population: Floats, n_jobs: int | None = None) -> None:
        both = np.vstack([X, population])
        self.filler = Filler(both, len(X))
        filled = self.filler.fill(both)
        own, others = filled[: len(X)], filled[len(X) :]
        counted = count_values(filled, n_jobs)
        self.encoder = Encoder(counted)
        kinds = (
            (gaussian_sight, self.encoder),
            (laplacian_sight, Encoder(counted, ranks=True)),
        )

        # The two kinds have nothing to do with each other: half of the threads for each.
        half = max(1, effective_n_jobs(n_jobs) // 2)

        def look(make: Any, encoder: Encoder) -> tuple[Sight, Similar, Moments]:
            encoded = encoder.encode(others, half)
            sight = make(encoder, encoder.encode(own), encoded)
            seen = sight.of_encoded(encoded, half)
            return sight, seen, Moments(seen.features, sight.space.basis, half)

        (self._plain, plain, self.plain_moments), (self._ranked, ranked, self.rank_moments) = (
            in_threads(look, kinds, n_jobs)
        )
        self._components = Components(plain.encoded)
        self.labeled = self._view(own, self._plain.of(own, 1), self._ranked.of(own, 1))
        self.population = self._view(others, plain, ranked)
        self.linear_moments = Moments(self.population.components, n_jobs=n_jobs)

    def view(self, X: Floats, n_jobs: int | None = None) -> View:
        """Return any rows as members see them."""
        filled = self.filler.fill(X)
        return self._view(filled, self._plain.of(filled, n_jobs), self._ranked.of(filled, n_jobs))

    def _view(self, filled: Floats, plain: Similar, ranked: Similar) -> View:
        raw = np.ascontiguousarray(filled, dtype=np.float32)
        components = self._components.of(plain.encoded)
        return View(
            raw, np.hstack([raw, components.astype(np.float32)]),
            ranked.encoded.astype(np.float32), np.hstack([components, np.ones((len(raw), 1))]),
            plain, ranked,
        )  # fmt: skip


def _spread(rows: Floats, most: int) -> Floats:
    """Return at most that number of rows, evenly from all of them."""
    picked: Codes = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))
    return rows[picked]
