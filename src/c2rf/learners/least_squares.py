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
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

from c2rf._typing import Floats

# Directions in which landmarks hardly differ carry nothing but rounding errors.
_SMALLEST_EIGENVALUE = 1e-6

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
    counts = np.bincount(codes, weights=weight, minlength=len(rates))
    sums = np.zeros((len(rates), features.shape[1]))
    for k in range(len(rates)):
        sums[k] = weight[codes == k] @ features[codes == k]
    means = sums / counts[:, None]
    gap = known.mean - rates @ means
    variance = (rates**2 / counts).sum()
    most = MOST_BY_CHANCE * np.sqrt(variance) * known.deviation
    share = rates / counts / variance
    return means + np.where(np.abs(gap) <= most, share[:, None], 1.0) * gap


class LinearSpace:
    """The features themselves, and a constant."""

    def features(self, X: Floats) -> Floats:
        """Return the features of rows."""
        return np.column_stack([X, np.ones(len(X))])


class KernelSpace:
    """Features whose inner products are those of a Gaussian kernel, as seen from landmarks.

    Parameters
    ----------
    landmarks : ndarray of shape (n_landmarks, n_columns)
        Rows of the population.
    variance : float
        Total variance of the columns, which sets the width of the kernel.
    """

    def __init__(self, landmarks: Floats, variance: float) -> None:
        self._landmarks, self._gamma = landmarks, 0.5 / max(variance, 1e-12)
        values, vectors = eigh(rbf_kernel(landmarks, gamma=self._gamma))
        kept = values > _SMALLEST_EIGENVALUE * values.max()
        self._whiten = vectors[:, kept] / np.sqrt(values[kept])

    def features(self, X: Floats) -> Floats:
        """Return the features of rows."""
        kernel = rbf_kernel(X, self._landmarks, gamma=self._gamma)
        return np.column_stack([kernel @ self._whiten, np.ones(len(X))])


class Moments:
    """The mean, the standard deviation and the second moments of features over a population.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Of rows of the population.
    """

    def __init__(self, features: Floats) -> None:
        self.mean, self.deviation = features.mean(axis=0), features.std(axis=0)
        values, self.vectors = eigh(features.T @ features / len(features))
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
    >>> features = LinearSpace().features(np.linspace(-1, 1, 21)[:, None])
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
        self.coef_ = known.vectors @ (targets / (known.values + self.ridge)[:, None])
        return self

    def scores(self, features: Floats) -> Floats:
        """Return the fitted indicators, less their mean over the classes."""
        scores = features @ self.coef_
        return scores - scores.mean(axis=1, keepdims=True)
