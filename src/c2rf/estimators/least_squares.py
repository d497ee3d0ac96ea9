"""Least squares that learn from the whole population and its known rates.

The least-squares fit to the indicator of a class needs two things: the second moments of the
features over the population, which need no labels and are therefore known well, and the mean of
the features within the class. The means of the labeled points of each class are poor estimates
where these are few; but the means of all classes, weighted with their known rates, must add up to
the mean over the population. Calibration, as survey statisticians call it, moves them to where
they do, the less certain ones further.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

from c2rf.problem import Floats

_CHUNK_ROWS = 10_000
# Directions in which landmarks hardly differ carry nothing but rounding errors.
_SMALLEST_EIGENVALUE = 1e-6


def calibrated_means(
    features: Floats, codes: NDArray[np.intp], rates: Floats, population_mean: Floats
) -> Floats:
    """Return the mean of each class, moved such that together they have the population's mean.

    Parameters
    ----------
    features : ndarray of shape (n_labeled, n_features)
        Of the labeled points, some in every class.
    codes : ndarray of shape (n_labeled,)
        Numbers of their classes.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    population_mean : ndarray of shape (n_features,)
        Mean over all points of the population.

    Notes
    -----
    With n_k labeled points of class k, the variance of their mean goes with 1 / n_k. The means m
    that minimize the sum of n_k |m_k - mean_k|² subject to sum of rate_k m_k = population mean.

    Examples
    --------
    >>> features = np.array([[0.0], [0.0], [0.0], [1.0]])
    >>> codes = np.array([0, 0, 0, 1])
    >>> calibrated_means(features, codes, np.array([0.5, 0.5]), np.array([0.9])).ravel().tolist()
    [0.2, 1.6]
    """
    counts = np.bincount(codes, minlength=len(rates))
    means = np.stack([features[codes == k].mean(axis=0) for k in range(len(rates))])
    gap = population_mean - rates @ means
    share = (rates / counts) / (rates**2 / counts).sum()
    return means + share[:, None] * gap


class LinearSpace:
    """The features themselves, and a constant."""

    def features(self, X: Floats) -> Floats:
        """Return the features of points."""
        return np.column_stack([X, np.ones(len(X))])


class KernelSpace:
    """Features whose inner products are those of a Gaussian kernel, as seen from landmarks.

    Parameters
    ----------
    landmarks : ndarray of shape (n_landmarks, n_columns)
        Points of the population.
    variance : float
        Total variance of the columns, which sets the width of the kernel.
    """

    def __init__(self, landmarks: Floats, variance: float) -> None:
        self._landmarks, self._gamma = landmarks, 0.5 / max(variance, 1e-12)
        values, vectors = eigh(rbf_kernel(landmarks, gamma=self._gamma))
        kept = values > _SMALLEST_EIGENVALUE * values.max()
        self._whiten = vectors[:, kept] / np.sqrt(values[kept])

    def features(self, X: Floats) -> Floats:
        """Return the features of points."""
        kernel = rbf_kernel(X, self._landmarks, gamma=self._gamma)
        return np.column_stack([kernel @ self._whiten, np.ones(len(X))])


class Moments:
    """The mean and the second moments of features over a population.

    Parameters
    ----------
    space : LinearSpace or KernelSpace
        Makes the features.
    population : ndarray of shape (n_points, n_columns)
        Points of the population.
    """

    def __init__(self, space: LinearSpace | KernelSpace, population: Floats) -> None:
        features = space.features(population)
        self.space = space
        self.mean = features.mean(axis=0)
        values, self.vectors = eigh(features.T @ features / len(features))
        self.values = np.maximum(values, 0.0)


class CalibratedLeastSquares:
    """A classifier by ridge regression on the indicators of the classes.

    Parameters
    ----------
    moments : Moments
        Of the population.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    ridge : float
        What is added to the second moments.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> moments = Moments(LinearSpace(), X)
    >>> model = CalibratedLeastSquares(moments, np.array([0.5, 0.5]), ridge=0.1)
    >>> scores = model.fit(X[[3, 12]], np.array([0, 1])).decision_function(X[[0, 20]])
    >>> scores.argmax(axis=1).tolist()
    [0, 1]
    """

    def __init__(self, moments: Moments, rates: Floats, ridge: float) -> None:
        self.moments, self.rates, self.ridge = moments, rates, ridge

    def fit(self, X: Floats, codes: NDArray[np.intp]) -> Self:
        """Fit to labeled points, some in every class."""
        known = self.moments
        means = calibrated_means(known.space.features(X), codes, self.rates, known.mean)
        # (C + ridge I) b_k = rate_k mean_k, where C = vectors diag(values) vectors'
        targets = known.vectors.T @ (self.rates[:, None] * means).T
        self.coef_ = known.vectors @ (targets / (known.values + self.ridge)[:, None])
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return the fitted indicators, less their mean over the classes."""
        scores = np.vstack(
            [self.moments.space.features(part) @ self.coef_ for part in _chunks(X)]
            or [np.zeros((0, len(self.rates)))]
        )
        return scores - scores.mean(axis=1, keepdims=True)


def _chunks(X: Floats) -> Iterator[Floats]:
    """Yield so many rows at a time that their features fit in memory."""
    for start in range(0, len(X), _CHUNK_ROWS):
        yield X[start : start + _CHUNK_ROWS]
