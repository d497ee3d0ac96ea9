"""Probabilities corrected to known totals: their mean over the unlabeled rows is as known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from c2rf.core.problem import Floats

_ACCURACY = 1e-10
_MOST_STEPS = 500
_BLOCK = 1 << 14
# Far from the solution the curvature says little: no step goes further than this.
_LONGEST_STEP = 5.0


def matching_offsets(scores: Floats, rates: Floats) -> Floats:
    """Return offsets with which the mean of softmax(scores + offsets) has the known rates.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite logarithms of probabilities.
    rates : ndarray of shape (n_classes,)
        They add up to one. A class of rate zero gets -inf.

    Notes
    -----
    The offsets minimize the convex function mean(logsumexp(scores + offsets)) - rates'offsets,
    whose gradient is the difference of the means to the rates: Newton's method with short steps.

    Examples
    --------
    >>> from scipy.special import softmax
    >>> scores = np.log([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> offsets = matching_offsets(scores, np.array([0.5, 0.5]))
    >>> softmax(scores + offsets, axis=1).mean(axis=0).round(9).tolist()
    [0.5, 0.5]
    """
    offsets = np.full(len(rates), -np.inf)
    some = np.flatnonzero(rates > 0)
    among = scores if len(some) == len(rates) else scores[:, some]  # a copy may be too large
    offsets[some] = _newton(among, rates[some])
    return offsets


def _newton(scores: Floats, rates: Floats) -> Floats:
    longest = max(_LONGEST_STEP, 0.1 * float(scores.max() - scores.min()))
    offsets = np.zeros(len(rates))
    here = _look(scores, rates, offsets)
    for _ in range(_MOST_STEPS):
        gap = here.means - rates
        if np.abs(gap).max() <= _ACCURACY:
            break
        curvature = np.diag(here.means) - here.products
        # A constant added to all offsets changes nothing: the curvature has that null direction.
        damping = 1e-6 * np.abs(gap).max() * np.eye(len(gap))
        step = -np.linalg.solve(curvature + 1 / len(gap) + damping, gap)
        step *= min(1.0, longest / np.abs(step).max())
        there = _look(scores, rates, offsets + step)
        while there.value > here.value and np.abs(step).max() > _ACCURACY:
            step /= 2
            there = _look(scores, rates, offsets + step)
        offsets, here = offsets + step, there
    return offsets - offsets.mean()


@dataclass(frozen=True, eq=False)
class _Look:
    """The function at some offsets, and what its derivatives are made of."""

    value: float
    means: Floats
    products: Floats


def _look(scores: Floats, rates: Floats, offsets: Floats) -> _Look:
    value, means, products = -float(rates @ offsets), 0.0 * rates, 0.0 * np.diag(rates)
    n_rows = len(scores)
    for start in range(0, n_rows, _BLOCK):
        # A row per class: sums over few classes are quicker that way.
        share = np.ascontiguousarray(scores[start : start + _BLOCK].T)
        share = share + offsets[:, None]
        top = share.max(axis=0)
        np.exp(np.subtract(share, top, out=share), out=share)
        total = share.sum(axis=0)
        share /= total
        value += float((top + np.log(total)).sum()) / n_rows
        means += share.sum(axis=1) / n_rows
        products += share @ share.T / n_rows
    return _Look(value, means, products)
