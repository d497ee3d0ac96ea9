"""Least squares that learn from the whole population and its known rates.

The least-squares fit to the indicator of a class needs two things: the second moments of the
features over the population, which need no labels and are therefore known well, and the mean of
the features within the class. The means of the labeled rows of each class are poor estimates
where these are few; but the means of all classes, weighted with their known rates, must add up to
the mean over the population. Calibration, as survey statisticians call it, moves them to where
they do, the less certain ones further. Where the gap is far beyond what chance explains, the
labeled rows are from elsewhere, whatever their class: then all means are moved alike.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from c2rf._typing import Floats
from c2rf.learners.kernels import Gaussian, Laplacian
from c2rf.learners.threads import in_row_parts

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
