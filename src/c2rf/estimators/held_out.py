"""How good a classifier is at labeling a population of known rates, by held-out labeled points.

Cut the population at the known rate of a class: the points with the highest scores are of that
class. Then the labeled points of the class below the cut, and those of other classes above it, are
two estimates of one and the same rate of errors, because as many points are wrongly taken in as
are left out. Each is weighted by how many points it rests on. No estimate of a threshold from few
labeled points is needed, and the bias of a labeled sample that holds too many of one class is
gone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from c2rf.problem import Floats

Codes = NDArray[np.intp]


def folds(codes: Codes, n_folds: int, rng: np.random.RandomState) -> Iterator[tuple[Codes, Codes]]:
    """Yield rows to keep and rows to hold out; some of every class are always kept.

    The only point of a class is never held out.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 2])
    >>> parts = list(folds(codes, 2, np.random.RandomState(0)))
    >>> [np.unique(codes[kept]).tolist() for kept, _ in parts]
    [[0, 1, 2], [0, 1, 2]]
    >>> sorted(np.concatenate([held for _, held in parts]).tolist())
    [0, 1, 2, 3, 4]
    """
    fold = np.full(len(codes), -1)
    turn = 0
    for k in range(codes.max() + 1):
        members = rng.permutation(np.flatnonzero(codes == k))
        if len(members) > 1:
            # The next class begins where this one ends, so that folds are of equal size.
            fold[members] = (turn + np.arange(len(members))) % n_folds
            turn += len(members)
    for f in range(n_folds):
        if (fold == f).any():
            yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def quantiles(scores: Floats, reference: Floats) -> Floats:
    """Return which part of the reference is below each score, by interpolation.

    Parameters
    ----------
    scores : ndarray of shape (n_points, n_classes)
        What to place.
    reference : ndarray of shape (n_reference, n_classes)
        Scores of points of the population, each column in ascending order.

    Examples
    --------
    >>> quantiles(np.array([[2.0], [2.5], [9.0]]), np.array([[1.0], [2.0], [3.0], [4.0]]))
    array([[0.375],
           [0.5  ],
           [0.875]])
    """
    placed = np.empty(np.shape(scores))
    for k, column in enumerate(reference.T):
        values, first, counts = np.unique(column, return_index=True, return_counts=True)
        placed[:, k] = np.interp(scores[:, k], values, (first + counts / 2) / len(column))
    return placed


def point_weights(codes: Codes, rates: Floats) -> Floats:
    """Return weights with which labeled points have the known rates.

    Examples
    --------
    >>> point_weights(np.array([0, 0, 0, 1]), np.array([0.6, 0.4])).round(3).tolist()
    [0.2, 0.2, 0.2, 0.4]
    """
    counts = np.bincount(codes, minlength=len(rates))
    return (rates / np.maximum(counts, 1))[codes]


def accuracy_at_rates(placed: Floats, codes: Codes, rates: Floats) -> float:
    """Estimate the accuracy of labels that have the known rates.

    Parameters
    ----------
    placed : ndarray of shape (n_held_out, n_classes)
        The quantiles of the scores of held-out points among those of the population.
    codes : ndarray of shape (n_held_out,)
        Numbers of their classes.
    rates : ndarray of shape (n_classes,)
        The known rates.

    Examples
    --------
    >>> placed = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.1, 0.9]])
    >>> accuracy_at_rates(placed, np.array([0, 0, 1, 1]), np.array([0.5, 0.5]))
    0.75
    """
    weights = point_weights(codes, rates)
    errors = 0.0
    for k, rate in enumerate(rates):
        inside, above = codes == k, placed[:, k] > 1 - rate
        left_out = weights[inside & ~above].sum()
        taken_in = weights[~inside & above].sum()
        # The variance of a sum of indicators goes with the sum of the squared weights.
        variances = (weights[inside] ** 2).sum(), (weights[~inside] ** 2).sum()
        if inside.any() and not inside.all():
            errors += (left_out * variances[1] + taken_in * variances[0]) / sum(variances)
        else:
            errors += left_out + taken_in
    return float(1 - errors)


def change(before: Floats, after: Floats, codes: Codes, rates: Floats) -> tuple[float, float]:
    """Estimate by how much the accuracy has changed, and the standard error of that.

    Parameters
    ----------
    before, after : ndarray of shape (n_held_out, n_classes)
        Places of held-out points, as in :func:`accuracy_at_rates`.
    codes, rates : ndarray
        As there.

    Notes
    -----
    Only points on which the two disagree count, as in McNemar's test.

    Examples
    --------
    >>> before = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.1, 0.9]])
    >>> after = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.1, 0.9]])
    >>> change(before, after, np.array([0, 0, 1, 1]), np.array([0.5, 0.5]))
    (0.25, 0.25)
    """
    own = np.arange(len(codes)), codes
    cuts = 1 - rates[codes]
    gain = (after[own] > cuts).astype(int) - (before[own] > cuts)
    effect = gain * point_weights(codes, rates)
    return float(effect.sum()), float(np.sqrt((effect**2).sum()))


def standard_error(accuracy: float, codes: Codes, rates: Floats) -> float:
    """Return the standard error of an accuracy estimated from weighted points, never zero."""
    within = np.clip(accuracy, 0.5, 1 - 0.5 / len(codes))
    return float(np.sqrt(within * (1 - within) * (point_weights(codes, rates) ** 2).sum()))
