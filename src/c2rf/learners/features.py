"""Features for the base learners: numbers, ranks, one-hot columns, components, kernels.

Columns made fit for linear and kernel methods, by what the whole population looks like.

Similarities of rows: one at no distance, and the less the further rows are apart.

They are worked out part by part: in threads, and with little memory beside them.

Least squares that learn from the whole population and its known rates.

The least-squares fit to the indicator of a class needs two things: the second moments of the
features over the population, which need no labels and are therefore known well, and the mean of
the features within the class. The means of the labeled rows of each class are poor estimates
where these are few; but the means of all classes, weighted with their known rates, must add up to
the mean over the population. Calibration, as survey statisticians call it, moves them to where
they do, the less certain ones further. Where the gap is far beyond what chance explains, the
labeled rows are from elsewhere, whatever their class: then all means are moved alike.

Rows as the members of a blend look at them: plain for trees, encoded for the others.

What is expensive and the same for every fit (encodings, similarities to the labeled rows, features
in a kernel's space) is worked out once for all rows, and members take the rows they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.linalg import block_diag, eigh
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from c2rf._utils.types import Codes, Floats, Ints, Singles
from c2rf.learners.threads import in_row_parts, in_threads

MOST_LEVELS = 12
"""A column of at most this number of distinct values is a category: every value gets a column."""

_MOST_KNOTS = 1000


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers, to be given mean 0 and variance 1."""

    mean: float
    deviation: float

    def encode(self, column: Floats) -> Floats:
        """Return one column."""
        encoded = (column - self.mean) / self.deviation
        return np.where(np.isnan(encoded), 0.0, encoded)[:, None]


@dataclass(frozen=True, eq=False)
class NormalScores:
    """A column of numbers, of which only the order counts: what a normal one would have instead.

    A few huge values, as in incomes, then are no further away than the few largest of any column.
    """

    values: Floats
    scores: Floats

    def encode(self, column: Floats) -> Floats:
        """Return one column."""
        encoded = np.interp(column, self.values, self.scores)
        return np.where(np.isnan(encoded), 0.0, encoded)[:, None]


@dataclass(frozen=True, eq=False)
class FewLevels:
    """A column of few values: an indicator each, all with mean 0 and together of variance 1."""

    values: Floats
    means: Floats

    def encode(self, column: Floats) -> Floats:
        """Return a column per value."""
        deviation = np.sqrt((self.means * (1 - self.means)).sum())
        encoded = ((column[:, None] == self.values) - self.means) / deviation
        encoded[np.isnan(column)] = 0.0
        return encoded


class CountedValues(NamedTuple):
    """The different values of a column in ascending order, and how often each occurs."""

    values: Floats
    counts: Ints


def count_values(X: Floats, n_jobs: int | None = None) -> list[CountedValues]:
    """Count the values of each column; NaN is allowed and not counted.

    Examples
    --------
    >>> values, counts = count_values(np.array([[3.0], [1.0], [np.nan], [3.0]]))[0]
    >>> values.tolist(), counts.tolist()
    ([1.0, 3.0], [1, 2])
    """
    return in_threads(_counted, [(column,) for column in X.T], n_jobs)


def _counted(column: Floats) -> CountedValues:
    known = column[~np.isnan(column)]
    return CountedValues(*np.unique(known, return_counts=True))


class Encoder:
    """Standardizes columns of numbers and spreads out columns of few values.

    Every column of the data weighs the same, whatever its kind: the total variance of what it
    becomes is one. Constant columns are dropped; a missing value becomes the mean.

    Parameters
    ----------
    counted : sequence of CountedValues
        How the columns are distributed.
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

    def __init__(self, counted: Sequence[CountedValues], ranks: bool = False) -> None:
        kinds = ((j, _kind(column, ranks)) for j, column in enumerate(counted))
        self._columns = [(j, kind) for j, kind in kinds if kind is not None]

    def encode(self, X: Floats, n_jobs: int | None = 1) -> Floats:
        """Return the encoded columns; a single one of zeros where no column varies."""
        blocks = in_threads(lambda j, kind: kind.encode(X[:, j]), self._columns, n_jobs)
        return np.hstack(blocks) if blocks else np.zeros((len(X), 1))


def _kind(column: CountedValues, ranks: bool) -> Numbers | NormalScores | FewLevels | None:
    values, counts = column
    if len(values) < 2:
        return None
    if len(values) <= MOST_LEVELS:
        return FewLevels(values, counts / counts.sum())
    return _normal_scores(values, counts) if ranks else _numbers(values, counts)


def _numbers(values: Floats, counts: Ints) -> Numbers:
    share = counts / counts.sum()
    mean = float(share @ values)
    # Squares of very small numbers would be zero.
    scale = float(np.abs(values - mean).max())
    return Numbers(mean, scale * float(np.sqrt(share @ ((values - mean) / scale) ** 2)))


def _normal_scores(values: Floats, counts: Ints) -> NormalScores:
    scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
    scores /= np.sqrt(counts @ scores**2 / counts.sum())
    # Between some hundred values a straight line will do.
    knots = np.unique(np.linspace(0, len(values) - 1, _MOST_KNOTS).astype(int))
    return NormalScores(values[knots], scores[knots])


_KERNEL_ROWS = 1 << 10
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

        in_row_parts(fill, len(X), _KERNEL_ROWS, n_jobs)
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

        in_row_parts(fill, len(X), _KERNEL_ROWS, n_jobs)
        return near


# Directions in which landmarks hardly differ carry nothing but rounding errors.
_SMALLEST_EIGENVALUE = 1e-6
_ROWS_PER_PART = 1 << 11

MOST_BY_CHANCE = 5.0
"""Standard errors beyond which a gap between the labeled rows and the population is no chance."""


def calibrated_means(
    features: Floats,
    codes: NDArray[np.intp],
    rates: Floats,
    known: Moments,
    weight: Floats | None = None,
) -> Floats:
    """Return the mean of each class, moved such that together they have the population's mean.

    Parameters
    ----------
    features : ndarray of shape (n_labeled, n_features)
        Of the labeled rows, some in every class.
    codes : ndarray of shape (n_labeled,)
        Numbers of their classes.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    known : Moments
        Of the features over the population.
    weight : ndarray of shape (n_labeled,), optional
        How much each labeled row counts.

    Returns
    -------
    ndarray of shape (n_classes, n_kept)
        Means of the features as the population's moments turn them.

    Notes
    -----
    With n_k labeled rows of class k, the variance of their mean goes with 1 / n_k. The means m
    minimize the sum of n_k |m_k - mean_k|² subject to sum of rate_k m_k = population mean, for
    features in which the two sides of it are at most :data:`MOST_BY_CHANCE` standard errors apart.

    Examples
    --------
    >>> features = np.array([[0.0], [0.0], [0.0], [1.0]])
    >>> codes, rates = np.array([0, 0, 0, 1]), np.array([0.5, 0.5])
    >>> near, far = (Moments(mean + np.array([[-0.5], [0.5]])) for mean in (0.9, 100.0))
    >>> calibrated_means(features, codes, rates, near).ravel().round(2).tolist()
    [0.2, 1.6]
    >>> calibrated_means(features, codes, rates, far).ravel().round(2).tolist()
    [99.5, 100.5]
    """
    weight = np.ones(len(codes)) if weight is None else weight
    counts = np.bincount(codes, weights=weight, minlength=len(rates)).astype(float)
    sums = np.zeros((len(rates), features.shape[1]))
    for k in range(len(rates)):
        sums[k] = weight[codes == k] @ features[codes == k]
    turned = sums / counts[:, None] @ known.basis
    return calibrated(turned, counts, rates, known.mean, known.deviation)


def calibrated(
    means: Floats,
    counts: Floats,
    rates: Floats,
    there: Floats,
    deviation: Floats | float = np.inf,
) -> Floats:
    """Return the means of classes, which rest on some counts of rows, moved as said above.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_features)
        Of labeled rows.
    counts, rates : ndarray of shape (n_classes,)
        How many there are of each class, and the known rates of the classes.
    there, deviation : ndarray of shape (n_features,)
        Mean and standard deviation over the population; of an infinite deviation, any gap can be
        by chance.
    """
    gap = there - rates @ means
    variance = (rates**2 / counts).sum()
    most = MOST_BY_CHANCE * np.sqrt(variance) * deviation
    share = rates / counts / variance
    return means + np.where(np.abs(gap) <= most, share[:, None], 1.0) * gap


class KernelSpace:
    """The space of a kernel as seen from landmarks.

    Parameters
    ----------
    kernel : Gaussian or Laplacian
        The kernel.
    landmarks : ndarray of shape (n_landmarks, n_columns)
        Rows of the population.

    Attributes
    ----------
    basis : ndarray of shape (n_landmarks + 1, n_kept + 1)
        What turns similarities to landmarks (and a constant) into features whose inner products
        are those of the kernel. They are never worked out for all rows: moments and coefficients
        can be turned instead.
    """

    def __init__(self, kernel: Gaussian | Laplacian, landmarks: Floats) -> None:
        self._kernel, self._landmarks = kernel, landmarks
        values, vectors = np.linalg.eigh(kernel(landmarks, landmarks))
        kept = values > _SMALLEST_EIGENVALUE * values.max()
        self.basis = block_diag(vectors[:, kept] / np.sqrt(values[kept]), 1.0)

    def features(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return similarities of rows to the landmarks, and a constant."""
        features = np.ones((len(X), len(self._landmarks) + 1))
        self._kernel(X, self._landmarks, n_jobs, out=features[:, :-1])
        return features


class Moments:
    """The mean, the standard deviation and the second moments of features over a population.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Of rows of the population.
    basis : ndarray of shape (n_features, n_kept), optional
        Turns the features into those whose squares are small for smooth functions.
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
            lambda rows: features[rows].T @ features[rows], len(features), _ROWS_PER_PART, n_jobs
        )
        second = self.basis.T @ (sum(parts) / len(features)) @ self.basis
        self.mean = features.mean(axis=0) @ self.basis
        self.deviation = np.sqrt(np.maximum(np.diag(second) - self.mean**2, 0.0))
        values, self.vectors = np.linalg.eigh(second)
        self.values = np.maximum(values, 0.0)


class LeastSquares:
    """A classifier by ridge regression on the indicators of the classes.

    Parameters
    ----------
    moments : Moments
        Of the population.
    ridge : float
        What is added to the second moments.

    Examples
    --------
    >>> features = np.column_stack([np.linspace(-1, 1, 21), np.ones(21)])
    >>> model = LeastSquares(Moments(features), ridge=0.1)
    >>> rates = np.array([0.5, 0.5])
    >>> model.fit(features[[3, 12]], np.array([0, 1]), rates).scores(features[[0, 20]]).round(2)
    array([[ 0.48, -0.48],
           [-0.48,  0.48]])
    """

    def __init__(self, moments: Moments, ridge: float) -> None:
        self.moments, self.ridge = moments, ridge

    def fit(
        self,
        features: Floats,
        codes: NDArray[np.intp],
        rates: Floats,
        weight: Floats | None = None,
    ) -> Self:
        """Fit to labeled rows, some in every class, in a population of known rates."""
        known = self.moments
        means = calibrated_means(features, codes, rates, known, weight)
        # (C + ridge I) b_k = rate_k mean_k, where C = vectors diag(values) vectors'
        targets = known.vectors.T @ (rates[:, None] * means).T
        solved = known.vectors @ (targets / (known.values + self.ridge)[:, None])
        self.coef_ = known.basis @ solved
        return self

    def scores(self, features: Floats) -> Floats:
        """Return the fitted indicators, less their mean over the classes."""
        scores = features @ self.coef_
        return scores - scores.mean(axis=1, keepdims=True)


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
