"""Probabilities corrected to known totals: their mean over the unlabeled points is as known."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

from c2rf.problem import Floats

_ACCURACY = 1e-10
_MOST_STEPS = 500
# Far from the solution the curvature says little: no step goes further than this.
_LONGEST_STEP = 5.0


def matching_offsets(scores: Floats, rates: Floats) -> Floats:
    """Return offsets with which the mean of softmax(scores + offsets) has the known rates.

    Parameters
    ----------
    scores : ndarray of shape (n_points, n_classes)
        Finite logarithms of probabilities.
    rates : ndarray of shape (n_classes,)
        They add up to one. A class of rate zero gets -inf.

    Notes
    -----
    The offsets minimize the convex function mean(logsumexp(scores + offsets)) - rates'offsets,
    whose gradient is the difference of the means to the rates: Newton's method with short steps.

    Examples
    --------
    >>> scores = np.log([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> offsets = matching_offsets(scores, np.array([0.5, 0.5]))
    >>> softmax(scores + offsets, axis=1).mean(axis=0).round(9).tolist()
    [0.5, 0.5]
    """
    offsets = np.full(len(rates), -np.inf)
    some = np.flatnonzero(rates > 0)
    offsets[some] = _newton(scores[:, some], rates[some])
    return offsets


def _newton(scores: Floats, rates: Floats) -> Floats:
    # Where one class would do, begin with offsets that are right on average.
    offsets = np.log(rates) - np.log(np.maximum(softmax(scores, axis=1).mean(axis=0), 1e-12))
    value = _potential(scores, rates, offsets)
    for _ in range(_MOST_STEPS):
        share = softmax(scores + offsets, axis=1)
        gap = share.mean(axis=0) - rates
        if np.abs(gap).max() <= _ACCURACY:
            break
        curvature = np.diag(share.mean(axis=0)) - share.T @ share / len(share)
        # A constant added to all offsets changes nothing: the curvature has that null direction.
        damping = np.abs(gap).max() * 1e-6 * np.eye(len(gap))
        step = -np.linalg.solve(curvature + 1 / len(gap) + damping, gap)
        step *= min(1.0, _LONGEST_STEP / np.abs(step).max())
        while (tried := _potential(scores, rates, offsets + step)) > value and (
            np.abs(step).max() > _ACCURACY
        ):
            step /= 2
        offsets, value = offsets + step, tried
    return offsets - offsets.mean()


def _potential(scores: Floats, rates: Floats, offsets: Floats) -> float:
    return float(logsumexp(scores + offsets, axis=1).mean() - rates @ offsets)
