"""Features for the base learners: imputed columns, one-hot columns, ranks, components, kernels.

The preprocessing is fitted to the labeled rows and to rows of the population together, without
labels. :class:`Preprocessor` fits every step once; :class:`FeatureMatrices` are what it makes of
some rows, and each base learner takes the matrix it needs:

1. :class:`MedianImputer` fills missing cells and adds indicators of them: the columns of trees.
2. :class:`Encoder` standardizes numbers (or transforms their ranks) and makes columns of few values
   one-hot.
3. :class:`PrincipalComponents` of the encoded columns.
4. :class:`KernelMap` gives similarities to the labeled rows, for support vectors, and to landmarks
   (the Nyström approximation of a kernel), for least squares.

Most steps exist in scikit-learn. They are by hand here because they give all columns the same
weight, because all threads work on blocks of rows into arrays that are given, and because
predictions go block by block, where checks of the input would take longer than the step itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import block_diag, eigh
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from c2rf._utils.types import Codes, Floats, Ints, Singles
from c2rf.learners.threads import in_row_parts, in_threads


class MedianImputer:
    """Fills missing cells with the median, and adds an indicator of each column with missing cells.

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
    >>> imputer = MedianImputer(np.array([[1.0, 5.0, 0.0], [np.nan, 6.0, 9.0], [3.0, 7.0, 9.0]]), 1)
    >>> imputer.fill(np.array([[np.nan, np.nan, 0.0]])).tolist()
    [[2.0, 6.0, 1.0]]
    """

    def __init__(self, X: Floats, n_labeled: int) -> None:
        missing = np.isnan(X)
        self.with_missing = np.flatnonzero(missing.any(axis=0))
        self.medians = np.zeros(X.shape[1])
        known = ~missing.all(axis=0)
        if len(self.with_missing):
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
        if len(self.with_missing):
            filled = np.hstack([filled, missing[:, self.with_missing].astype(X.dtype)])
        return filled[:, self.kept]


MOST_LEVELS = 12
"""A column of at most this number of distinct values is a category: every value gets a column."""

_MOST_KNOTS = 1000


@dataclass(frozen=True, eq=False)
class StandardizedColumn:
    """A column of numbers, to be given mean 0 and variance 1."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Floats, counts: Ints) -> StandardizedColumn:
        """Return it from the distinct values of a column, and how often each occurs."""
        share = counts / counts.sum()
        mean = float(share @ values)
        # Squares of very small numbers would be zero.
        scale = float(np.abs(values - mean).max())
        return cls(mean, scale * float(np.sqrt(share @ ((values - mean) / scale) ** 2)))

    def encode(self, column: Floats) -> Floats:
        """Return one column."""
        encoded = (column - self.mean) / self.deviation
        return np.where(np.isnan(encoded), 0.0, encoded)[:, None]


@dataclass(frozen=True, eq=False)
class RankNormalColumn:
    """A column of numbers, to be given the quantiles of a normal distribution by rank.

    A few huge values, as in incomes, then are no further away than the few largest of any column.
    """

    values: Floats
    scores: Floats

    @classmethod
    def of(cls, values: Floats, counts: Ints) -> RankNormalColumn:
        """Return it from the distinct values of a column, and how often each occurs."""
        scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
        scores /= np.sqrt(counts @ scores**2 / counts.sum())
        # Between some hundred values linear interpolation will do.
        knots = np.unique(np.linspace(0, len(values) - 1, _MOST_KNOTS).astype(int))
        return cls(values[knots], scores[knots])

    def encode(self, column: Floats) -> Floats:
        """Return one column."""
        encoded = np.interp(column, self.values, self.scores)
        return np.where(np.isnan(encoded), 0.0, encoded)[:, None]


@dataclass(frozen=True, eq=False)
class OneHotColumn:
    """A column of few values: an indicator each, all with mean 0 and together of variance 1."""

    values: Floats
    means: Floats

    def encode(self, column: Floats) -> Floats:
        """Return a column per value."""
        deviation = np.sqrt((self.means * (1 - self.means)).sum())
        encoded = ((column[:, None] == self.values) - self.means) / deviation
        encoded[np.isnan(column)] = 0.0
        return encoded


def count_values(X: Floats, n_jobs: int | None = None) -> list[tuple[Floats, Ints]]:
    """Return the distinct values of each column, ascending, and their counts; NaN is not counted.

    Examples
    --------
    >>> values, counts = count_values(np.array([[3.0], [1.0], [np.nan], [3.0]]))[0]
    >>> values.tolist(), counts.tolist()
    ([1.0, 3.0], [1, 2])
    """

    def counted(column: Floats) -> tuple[Floats, Ints]:
        return np.unique(column[~np.isnan(column)], return_counts=True)

    return in_threads(counted, [(column,) for column in X.T], n_jobs)


class Encoder:
    """Standardizes columns of numbers and makes columns of few values one-hot.

    Every column of the data weighs the same, whatever its kind: the total variance of what it
    becomes is one. Constant columns are dropped; a missing value becomes the mean.

    Parameters
    ----------
    counted : sequence of (values, counts)
        The distinct values of each column, and how often they occur.
    ranks : bool
        Whether only the order of numbers counts, not how far they are apart.

    Examples
    --------
    >>> X = np.array([[1.0, 7.0], [2.0, 7.0], [2.0, 7.0], [1.0, 7.0]])
    >>> encoder = Encoder(count_values(X))
    >>> encoder.encode(np.array([[1.0, 7.0], [2.0, 9.0]])).round(3).tolist()
    [[0.707, -0.707], [-0.707, 0.707]]
    >>> incomes = np.geomspace(1, 1e6, 13)[:, None]
    >>> encoder = Encoder(count_values(incomes), ranks=True)
    >>> encoder.encode(incomes[[0, 6, 12]]).round(3).tolist()
    [[-1.858], [0.0], [1.858]]
    """

    def __init__(self, counted: Sequence[tuple[Floats, Ints]], ranks: bool = False) -> None:
        numbers = RankNormalColumn if ranks else StandardizedColumn
        self._columns: list[Any] = []
        for j, (values, counts) in enumerate(counted):
            if len(values) > MOST_LEVELS:
                self._columns.append((j, numbers.of(values, counts)))
            elif len(values) > 1:
                self._columns.append((j, OneHotColumn(values, counts / counts.sum())))

    def encode(self, X: Floats, n_jobs: int | None = 1) -> Floats:
        """Return the encoded columns; a single one of zeros where no column varies."""
        blocks = in_threads(lambda j, column: column.encode(X[:, j]), self._columns, n_jobs)
        return np.hstack(blocks) if blocks else np.zeros((len(X), 1))


_MOST_COMPONENTS = 40


class PrincipalComponents:
    """The principal components of columns: a few directions in which the population varies most.

    Trees that split along them find what no single column shows.

    Parameters
    ----------
    encoded : ndarray of shape (n_rows, n_columns)
        Rows of the population.

    Examples
    --------
    >>> line = np.array([[3.0, 4.0], [-3.0, -4.0], [6.0, 8.0], [-6.0, -8.0]])
    >>> np.abs(PrincipalComponents(line).of(line)).round().tolist()
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


_KERNEL_ROWS = 1 << 10
_LEAST_SCALE = 1e-12


def gaussian_kernel(
    scale: float, X: Floats, others: Floats, n_jobs: int | None = None, out: Floats | None = None
) -> Floats:
    """Return similarities that fall with the squared distance: exp(-|x - z|² / scale).

    Examples
    --------
    >>> rows, others = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])
    >>> gaussian_kernel(1.0, rows, others).round(3).tolist()
    [[1.0, 0.368], [0.018, 0.368]]
    """
    similar = np.empty((len(X), len(others))) if out is None else out
    gamma = 1.0 / max(scale, _LEAST_SCALE)
    directions, sizes = 2 * gamma * others.T, gamma * (others**2).sum(axis=1)

    def fill(rows: slice) -> None:
        own, part = X[rows], similar[rows]
        np.matmul(own, directions, out=part)
        part -= sizes
        part -= gamma * (own**2).sum(axis=1, keepdims=True)
        np.exp(np.minimum(part, 0.0, out=part), out=part)

    in_row_parts(fill, len(X), _KERNEL_ROWS, n_jobs)
    return similar


def laplacian_kernel(
    scale: float, X: Floats, others: Floats, n_jobs: int | None = None, out: Floats | None = None
) -> Floats:
    """Return similarities that fall with the sum of all differences: exp(-sum |x - z| / scale).

    It has an edge at zero, so it suits functions with steps, and a single column that is far off
    counts less than in a Gaussian.

    Examples
    --------
    >>> laplacian_kernel(2.0, np.array([[0.0, 0.0]]), np.array([[1.0, 3.0]])).round(3).tolist()
    [[0.135]]
    """
    similar = np.empty((len(X), len(others))) if out is None else out

    def fill(rows: slice) -> None:
        distances = cdist(X[rows], others, "cityblock")
        distances /= -max(scale, _LEAST_SCALE)
        np.exp(distances, out=similar[rows])

    in_row_parts(fill, len(X), _KERNEL_ROWS, n_jobs)
    return similar


Kernel = Callable[..., Floats]
"""One of these functions, given its scale."""

# Directions in which landmarks hardly differ carry nothing but rounding errors.
_SMALLEST_EIGENVALUE = 1e-6
_LANDMARKS = 200, 200  # of the labeled rows, of the population
_LANDMARK_WIDTH = 3.0  # of the Laplacian kernel of landmarks, in median distances


@dataclass(frozen=True, eq=False)
class KernelMatrices:
    """What a :class:`KernelMap` makes of some rows.

    Parameters
    ----------
    encoded : ndarray
        The encoded columns.
    to_labeled : ndarray of shape (n_rows, n_labeled)
        Similarities to the labeled rows.
    to_landmarks : ndarray of shape (n_rows, n_landmarks + 1)
        Similarities to landmarks, and a constant.
    """

    encoded: Floats
    to_labeled: Floats
    to_landmarks: Floats

    def take(self, rows: Any) -> KernelMatrices:
        """Return some of the rows."""
        return KernelMatrices(self.encoded[rows], self.to_labeled[rows], self.to_landmarks[rows])


class KernelMap:
    """Similarities of any rows to the labeled rows by one kernel, and to landmarks by a wider one.

    Parameters
    ----------
    kernel : Kernel
        For similarities to the labeled rows.
    labeled : ndarray of shape (n_labeled, n_encoded)
        The labeled rows, encoded.
    wide : Kernel
        For similarities to the landmarks.
    landmarks : ndarray of shape (n_landmarks, n_encoded)
        Rows that the wide kernel is approximated by (Nyström's method).

    Attributes
    ----------
    basis : ndarray of shape (n_landmarks + 1, n_kept + 1)
        Turns similarities to landmarks (and a constant) into features whose inner products are
        those of the kernel. These are never computed for all rows: moments and coefficients are
        turned instead.
    """

    def __init__(self, kernel: Kernel, labeled: Floats, wide: Kernel, landmarks: Floats) -> None:
        self._kernel, self._labeled = kernel, labeled
        self._wide, self._landmarks = wide, landmarks
        values, vectors = np.linalg.eigh(wide(landmarks, landmarks))
        kept = values > _SMALLEST_EIGENVALUE * values.max()
        self.basis = block_diag(vectors[:, kept] / np.sqrt(values[kept]), 1.0)

    def matrices(self, encoded: Floats, n_jobs: int | None = None) -> KernelMatrices:
        """Return the matrices of encoded rows."""
        to_landmarks = np.ones((len(encoded), len(self._landmarks) + 1))
        to_labeled = self._kernel(encoded, self._labeled, n_jobs)
        self._wide(encoded, self._landmarks, n_jobs, out=to_landmarks[:, :-1])
        return KernelMatrices(encoded, to_labeled, to_landmarks)


def gaussian_map(labeled: Floats, population: Floats) -> KernelMap:
    """Return the map of Gaussian kernels, as wide as the population's encoded rows vary."""
    variance = float(population.var(axis=0).sum())
    kernel, wide = partial(gaussian_kernel, variance), partial(gaussian_kernel, 2 * variance)
    return KernelMap(kernel, labeled, wide, _landmarks(labeled, population))


def laplacian_map(labeled: Floats, population: Floats) -> KernelMap:
    """Return the map of Laplacian kernels, as wide as the median distance of rows."""
    median = float(np.median(cdist(population[: _LANDMARKS[1]], labeled, "cityblock")))
    kernel = partial(laplacian_kernel, median)
    wide = partial(laplacian_kernel, _LANDMARK_WIDTH * median)
    return KernelMap(kernel, labeled, wide, _landmarks(labeled, population))


def _landmarks(labeled: Floats, population: Floats) -> Floats:
    """Return labeled rows at even steps, and the first rows of the population."""
    n_labeled, n_others = _LANDMARKS
    steps = np.linspace(0, len(labeled) - 1, min(n_labeled, len(labeled)))
    picked: Codes = np.unique(steps.astype(int))
    return np.vstack([labeled[picked], population[:n_others]])


_MOMENT_ROWS = 1 << 11


class Moments:
    """The mean, the standard deviation and the second moments of features over a population.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Of rows of the population.
    basis : ndarray of shape (n_features, n_kept), optional
        The moments are those of ``features @ basis``.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_kept,)
        Means and standard deviations of the turned features.
    vectors, values : ndarray of shape (n_kept, n_kept) and (n_kept,)
        Principal axes of the turned features, and their second moments.
    """

    def __init__(
        self, features: Floats, basis: Floats | None = None, n_jobs: int | None = None
    ) -> None:
        self.basis = np.eye(features.shape[1]) if basis is None else basis
        parts = in_row_parts(
            lambda rows: features[rows].T @ features[rows], len(features), _MOMENT_ROWS, n_jobs
        )
        second = self.basis.T @ (sum(parts) / len(features)) @ self.basis
        self.mean = features.mean(axis=0) @ self.basis
        self.deviation = np.sqrt(np.maximum(np.diag(second) - self.mean**2, 0.0))
        values, self.vectors = np.linalg.eigh(second)
        self.values = np.maximum(values, 0.0)


@dataclass(frozen=True, eq=False)
class FeatureMatrices:
    """Some rows as the base learners take them.

    Parameters
    ----------
    columns : ndarray of float32
        The columns, without missing cells.
    pca_columns : ndarray of float32
        The same and their principal components over the population.
    ranks : ndarray of float32
        Columns transformed by rank.
    components : ndarray
        The principal components, and a constant.
    gaussian, laplacian : KernelMatrices
        Of standardized columns by Gaussian kernels, and of ranks by Laplacian ones.
    """

    columns: Singles
    pca_columns: Singles
    ranks: Singles
    components: Floats
    gaussian: KernelMatrices
    laplacian: KernelMatrices

    def take(self, rows: Any) -> FeatureMatrices:
        """Return some of the rows."""
        return FeatureMatrices(
            self.columns[rows], self.pca_columns[rows], self.ranks[rows], self.components[rows],
            self.gaussian.take(rows), self.laplacian.take(rows),
        )  # fmt: skip


class Preprocessor:
    """All preprocessing, fitted to labeled rows and rows of the population, without labels.

    Parameters
    ----------
    X, population : ndarray of shape (n_rows, n_columns)
        The labeled rows, and rows of the population; NaN where a cell is missing.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    labeled, population : FeatureMatrices
        Of these rows.
    component_moments, gaussian_moments, laplacian_moments : Moments
        Of the components and of the features of the two kernels, over the population.
    """

    def __init__(self, X: Floats, population: Floats, n_jobs: int | None = None) -> None:
        both = np.vstack([X, population])
        self.imputer = MedianImputer(both, len(X))
        filled = self.imputer.fill(both)
        own, others = filled[: len(X)], filled[len(X) :]
        counted = count_values(filled, n_jobs)
        self.encoder = Encoder(counted)
        self._rank_encoder = Encoder(counted, ranks=True)

        # The two kernels have nothing to do with each other: half of the threads for each.
        half = max(1, effective_n_jobs(n_jobs) // 2)

        def fit(make: Any, encoder: Encoder) -> tuple[KernelMap, KernelMatrices, Moments]:
            encoded = encoder.encode(others, half)
            fitted = make(encoder.encode(own), encoded)
            matrices = fitted.matrices(encoded, half)
            return fitted, matrices, Moments(matrices.to_landmarks, fitted.basis, half)

        kinds = (gaussian_map, self.encoder), (laplacian_map, self._rank_encoder)
        (
            (self._gaussian, gaussian, self.gaussian_moments),
            (self._laplacian, laplacian, self.laplacian_moments),
        ) = in_threads(fit, kinds, n_jobs)
        self._components = PrincipalComponents(gaussian.encoded)
        self.labeled = self._matrices_of(own, 1)
        self.population = self._gathered(others, gaussian, laplacian)
        self.component_moments = Moments(self.population.components, n_jobs=n_jobs)

    def matrices(self, X: Floats, n_jobs: int | None = None) -> FeatureMatrices:
        """Return the matrices of any rows."""
        return self._matrices_of(self.imputer.fill(X), n_jobs)

    def _matrices_of(self, filled: Floats, n_jobs: int | None) -> FeatureMatrices:
        gaussian = self._gaussian.matrices(self.encoder.encode(filled, n_jobs), n_jobs)
        laplacian = self._laplacian.matrices(self._rank_encoder.encode(filled, n_jobs), n_jobs)
        return self._gathered(filled, gaussian, laplacian)

    def _gathered(
        self, filled: Floats, gaussian: KernelMatrices, laplacian: KernelMatrices
    ) -> FeatureMatrices:
        columns = np.ascontiguousarray(filled, dtype=np.float32)
        components = self._components.of(gaussian.encoded)
        return FeatureMatrices(
            columns, np.hstack([columns, components.astype(np.float32)]),
            laplacian.encoded.astype(np.float32),
            np.hstack([components, np.ones((len(columns), 1))]), gaussian, laplacian,
        )  # fmt: skip
