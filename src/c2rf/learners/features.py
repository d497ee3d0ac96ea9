"""Features for the base learners: imputed columns, one-hot columns, ranks, components, kernels.

The preprocessing is fitted to labeled rows and rows of the population together, without their
classes. :class:`Preprocessor` fits every step once; :data:`FeatureMatrices` are what it makes of
some rows, and each base learner takes the matrix it needs:

1. :class:`MedianImputer` fills missing cells and adds indicators of them.
2. :class:`Encoder` standardizes numbers (or transforms their ranks) and makes columns of few values
   one-hot. Of many columns it makes random projections, so that what follows costs no more.
3. :class:`PrincipalComponents` of the encoded columns.
4. :class:`KernelMap` gives similarities to a few hundred landmarks (the Nyström approximation of a
   kernel), whatever the number of labeled rows.

Most steps exist in scikit-learn. They are by hand here because they give all columns the same
weight, because all threads work on blocks of rows into arrays that are given, and because
predictions go block by block, where checks of the input would take longer than the step itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import block_diag, eigh
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from c2rf._utils.types import Floats, Ints, Singles
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


MOST_ENCODED = 400
"""Encoded columns; more are projected to this number at random."""

_SIGNS = 4  # of each projected column


class Encoder:
    """Standardizes columns of numbers and makes columns of few values one-hot.

    Every column of the data weighs the same, whatever its kind: the total variance of what it
    becomes is one. Constant columns are dropped; a missing value becomes the mean. Of more than
    :data:`MOST_ENCODED` columns random sums are taken, which keep the distances of rows nearly.

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
        # of each column its place, how it is encoded, and two arrays or numbers for that
        self._columns: list[tuple[int, str, Any, Any]] = []
        width = 0
        for j, (values, counts) in enumerate(counted):
            if len(values) > MOST_LEVELS:
                fitted = _rank_normal(values, counts) if ranks else _moments(values, counts)
                self._columns.append((j, "ranks" if ranks else "standardize", *fitted))
                width += 1
            elif len(values) > 1:
                self._columns.append((j, "one-hot", values, counts / counts.sum()))
                width += len(values)
        self._projection = _random_signs(width) if width > MOST_ENCODED else None

    def encode(self, X: Floats, n_jobs: int | None = 1) -> Floats:
        """Return the encoded columns; a single one of zeros where no column varies."""
        calls = [(X[:, j], *how) for j, *how in self._columns]
        blocks = in_threads(_encoded, calls, n_jobs)
        encoded = np.hstack(blocks) if blocks else np.zeros((len(X), 1))
        return encoded if self._projection is None else encoded @ self._projection


def _moments(values: Floats, counts: Ints) -> tuple[float, float]:
    """Return the mean and the deviation of a column."""
    share = counts / counts.sum()
    mean = float(share @ values)
    # Squares of very small numbers would be zero.
    scale = float(np.abs(values - mean).max())
    return mean, scale * float(np.sqrt(share @ ((values - mean) / scale) ** 2))


def _rank_normal(values: Floats, counts: Ints) -> tuple[Floats, Floats]:
    """Return values of a column and what becomes of them: normal quantiles of their ranks.

    A few huge values, as in incomes, then are no further away than the few largest of any column.
    """
    scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
    scores /= np.sqrt(counts @ scores**2 / counts.sum())
    # Between some hundred values linear interpolation will do.
    knots = np.unique(np.linspace(0, len(values) - 1, _MOST_KNOTS).astype(int))
    return values[knots], scores[knots]


def _encoded(column: Floats, how: str, one: Any, other: Any) -> Floats:
    """Return what becomes of a column; an indicator of each value if it has few."""
    if how == "one-hot":  # all with mean 0, and together of variance 1
        deviation = np.sqrt((other * (1 - other)).sum())
        encoded = ((column[:, None] == one) - other) / deviation
    elif how == "ranks":
        encoded = np.interp(column, one, other)[:, None]
    else:
        encoded = ((column - one) / other)[:, None]
    encoded[np.isnan(column)] = 0.0
    return encoded


def _random_signs(width: int) -> Any:
    """Return a sparse matrix that adds each of many columns to a few of the projected ones."""
    rng = np.random.RandomState(0)
    signs = rng.choice([-1.0, 1.0], _SIGNS * width) / np.sqrt(_SIGNS)
    places = rng.randint(MOST_ENCODED, size=_SIGNS * width)
    return csr_matrix((signs, places, np.arange(width + 1) * _SIGNS), (width, MOST_ENCODED))


MOST_BINS = 250
"""Values that boosted trees tell apart in a column, at most: scikit-learn takes so few as they are,
while its own binning takes longer than the trees."""


def bin_edges(values: Floats, counts: Ints) -> Floats:
    """Return what separates bins of a column: its distinct values, or quantiles of many.

    Examples
    --------
    >>> bin_edges(np.array([1.0, 4.0, 9.0]), np.array([5, 1, 1])).tolist()
    [4.0, 9.0]
    >>> len(bin_edges(np.arange(10_000.0), np.ones(10_000, dtype=int)))
    249
    """
    if len(values) <= MOST_BINS:
        return values[1:]
    shares = np.cumsum(counts) / counts.sum()
    places = np.searchsorted(shares, np.arange(1, MOST_BINS) / MOST_BINS)
    return values[np.unique(np.maximum(places, 1))]


_MOST_COMPONENTS = 40
_LEAST_VARIANCE = 1e-6  # of the first component's


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
    [[5.0], [5.0], [10.0], [10.0]]
    """

    def __init__(self, encoded: Floats) -> None:
        self._mean = encoded.mean(axis=0)
        centred = encoded - self._mean
        values, vectors = eigh(centred.T @ centred)
        # Directions without variance are rounding errors, and so is the sign of an axis.
        axes = vectors[:, values > _LEAST_VARIANCE * values[-1]][:, ::-1][:, :_MOST_COMPONENTS]
        large = (np.abs(axes) > 0.5 * np.abs(axes).max(axis=0)).argmax(axis=0)
        self._axes = axes * np.sign(axes[large, np.arange(axes.shape[1])])

    def of(self, encoded: Floats) -> Floats:
        """Return the components of rows."""
        return (encoded - self._mean) @ self._axes


_KERNEL_ROWS = 1 << 10
_LEAST_SCALE = 1e-12


def gaussian_kernel(scale: float, X: Floats, others: Floats) -> Floats:
    """Return similarities that fall with the squared distance: exp(-|x - z|² / scale).

    Examples
    --------
    >>> rows, others = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])
    >>> gaussian_kernel(1.0, rows, others).round(3).tolist()
    [[1.0, 0.368], [0.018, 0.368]]
    """
    squares = (X**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * X @ others.T
    return np.exp(np.minimum(squares / -max(scale, _LEAST_SCALE), 0.0))


def laplacian_kernel(scale: float, X: Floats, others: Floats) -> Floats:
    """Return similarities that fall with the sum of all differences: exp(-sum |x - z| / scale).

    It has an edge at zero, so it suits functions with steps, and a single column that is far off
    counts less than in a Gaussian.

    Examples
    --------
    >>> laplacian_kernel(2.0, np.array([[0.0, 0.0]]), np.array([[1.0, 3.0]])).round(3).tolist()
    [[0.135]]
    """
    return np.exp(cdist(X, others, "cityblock") / -max(scale, _LEAST_SCALE))


Kernel = Callable[[Floats, Floats], Floats]
"""One of these functions, given its scale."""

# Directions in which landmarks hardly differ carry nothing but rounding errors.
_SMALLEST_EIGENVALUE = 1e-5
_LANDMARKS = 400, 200  # of the labeled rows, of the population
_LAPLACIAN_WIDTH = 1.0  # in median distances


class KernelMap:
    """Similarities of any rows to landmarks, by one kernel (Nyström's method).

    Parameters
    ----------
    kernel : Kernel
        Gives similarities.
    landmarks : ndarray of shape (n_landmarks, n_encoded)
        Some rows, encoded.

    Attributes
    ----------
    basis : ndarray of shape (n_landmarks + 1, n_kept + 1)
        Turns similarities to landmarks (and a constant) into features whose inner products are
        those of the kernel. These are never computed for all rows: moments and coefficients are
        turned instead.
    """

    def __init__(self, kernel: Kernel, landmarks: Floats) -> None:
        self._kernel, self._landmarks = kernel, landmarks
        values, vectors = np.linalg.eigh(kernel(landmarks, landmarks))
        kept = values > _SMALLEST_EIGENVALUE * values.max()
        self.basis = block_diag(vectors[:, kept] / np.sqrt(values[kept]), 1.0)

    def similarities(self, encoded: Floats, n_jobs: int | None = None) -> Singles:
        """Return the similarities of encoded rows to the landmarks, and a constant."""
        found = np.ones((len(encoded), len(self._landmarks) + 1), np.float32)

        def fill(rows: slice) -> None:
            found[rows, :-1] = self._kernel(encoded[rows], self._landmarks)

        in_row_parts(fill, len(encoded), _KERNEL_ROWS, n_jobs)
        return found


def gaussian_map(labeled: Floats, population: Floats) -> KernelMap:
    """Return the map of a Gaussian kernel, as wide as the population's encoded rows vary."""
    variance = float(population.var(axis=0).sum())
    return KernelMap(partial(gaussian_kernel, variance), _landmarks(labeled, population))


def laplacian_map(labeled: Floats, population: Floats) -> KernelMap:
    """Return the map of a Laplacian kernel, as wide as the median distance of rows."""
    landmarks = _landmarks(labeled, population)
    median = float(np.median(cdist(population[: _LANDMARKS[1]], landmarks, "cityblock")))
    return KernelMap(partial(laplacian_kernel, _LAPLACIAN_WIDTH * median), landmarks)


def _landmarks(labeled: Floats, population: Floats) -> Floats:
    """Return labeled rows at even steps, and the first rows of the population."""
    n_labeled, n_others = _LANDMARKS
    return np.vstack([_evenly(labeled, n_labeled), population[:n_others]])


def _evenly(rows: Floats, most: int) -> Floats:
    """Return at most a number of rows, at even steps."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(int)]


FeatureMatrices = Mapping[str, Any]
"""Some rows as the base learners take them: a matrix by the name of each of :data:`KINDS`."""


def take(features: FeatureMatrices, rows: Any) -> FeatureMatrices:
    """Return some of the rows."""
    return {kind: X[rows] for kind, X in features.items()}


KINDS = ("columns", "bins", "pca_columns", "ranks", "encoded", "linear", "gaussian", "laplacian")
"""The columns without missing cells; the numbers of the bins of their values; the columns and their
principal components over the population; encoded columns, numbers by rank; encoded columns, and the
same with a constant; and similarities to landmarks by a Gaussian kernel of encoded columns, and by
a Laplacian one of ranks."""

_MOST_ROWS_FITTED = 20_000  # labeled ones that the preprocessing is fitted to, at most


class Preprocessor:
    """All preprocessing, fitted to labeled rows and rows of the population, without labels.

    Parameters
    ----------
    X, population : ndarray of shape (n_rows, n_columns)
        The labeled rows, and rows of the population; NaN where a cell is missing.
    kinds : collection of str
        The matrices that are needed, of :data:`KINDS`.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    population : FeatureMatrices
        Of these rows.
    bases : dict of ndarray
        What turns matrices with a constant into features, by kind.
    """

    def __init__(
        self, X: Floats, population: Floats, kinds: Collection[str], n_jobs: int | None = None
    ) -> None:
        own = _evenly(X, _MOST_ROWS_FITTED)
        both = np.vstack([own, population])
        self.imputer = MedianImputer(both, len(own))
        filled = self.imputer.fill(both)
        counted = count_values(filled, n_jobs)
        self._edges = [bin_edges(values, counts) for values, counts in counted]
        self.encoder = Encoder(counted)
        self._rank_encoder = Encoder(counted, ranks=True)
        own, others = filled[: len(own)], filled[len(own) :]
        encoded = self.encoder.encode(others, n_jobs)
        self._components = PrincipalComponents(encoded)
        self._maps: dict[str, KernelMap] = {}
        if "gaussian" in kinds:
            self._maps["gaussian"] = gaussian_map(self.encoder.encode(own), encoded)
        if "laplacian" in kinds:
            ranks = self._rank_encoder.encode(others, n_jobs)
            self._maps["laplacian"] = laplacian_map(self._rank_encoder.encode(own), ranks)
        self.bases = {kind: own_map.basis for kind, own_map in self._maps.items()}
        self.bases["linear"] = np.eye(encoded.shape[1] + 1)
        self.population = self._matrices(others, {"pca_columns", "encoded", *kinds}, n_jobs)

    def matrices(
        self, X: Floats, kinds: Collection[str], n_jobs: int | None = None
    ) -> FeatureMatrices:
        """Return some kinds of matrices of any rows."""
        return self._matrices(self.imputer.fill(X), kinds, n_jobs)

    def _matrices(
        self, filled: Floats, kinds: Collection[str], n_jobs: int | None
    ) -> FeatureMatrices:
        columns = np.ascontiguousarray(filled, dtype=np.float32)
        found: dict[str, Any] = {"columns": columns}
        if "bins" in kinds:
            found["bins"] = np.empty(columns.shape, np.float32, order="F")
            for j, edges in enumerate(self._edges):
                found["bins"][:, j] = np.searchsorted(edges, filled[:, j], "right")
        if not {"pca_columns", "encoded", "linear", "gaussian"}.isdisjoint(kinds):
            encoded = self.encoder.encode(filled, n_jobs)
            found["encoded"] = encoded
            if "linear" in kinds:
                found["linear"] = np.column_stack([encoded, np.ones(len(encoded))])
            if "pca_columns" in kinds:
                components = self._components.of(encoded).astype(np.float32)
                found["pca_columns"] = np.hstack([columns, components])
            if "gaussian" in self._maps:
                found["gaussian"] = self._maps["gaussian"].similarities(encoded, n_jobs)
        if not {"ranks", "laplacian"}.isdisjoint(kinds):
            ranks = self._rank_encoder.encode(filled, n_jobs)
            found["ranks"] = ranks.astype(np.float32)
            if "laplacian" in self._maps:
                found["laplacian"] = self._maps["laplacian"].similarities(ranks, n_jobs)
        return {k: v for k, v in found.items() if k in {"columns", *kinds}}
