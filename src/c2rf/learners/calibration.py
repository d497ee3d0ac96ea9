"""Calibration: what labeled rows say, corrected to the known rates of the classes.

A labeled sample seldom has the classes at the rates of the population. Four corrections share that
knowledge: weights of labeled rows (post-stratification), the means of classes (calibration as in
survey statistics), offsets of log-probabilities (a change of class priors), and the inverse
temperature, a factor that makes log-probabilities more or less certain.

The inverse temperature of the blend is estimated from held-out labeled rows by likelihood, with a
prior that needs no labels: the more the base learners disagree on rows of the population, the
smaller it is. That relation is about the same for data of many kinds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from c2rf._utils.types import Codes, Floats


def poststratified(codes: Codes, rates: Floats, weight: Floats | None = None) -> Floats:
    """Return weights with which labeled rows have the known rates.

    Examples
    --------
    >>> poststratified(np.array([0, 0, 0, 1]), np.array([0.6, 0.4])).round(3).tolist()
    [0.2, 0.2, 0.2, 0.4]
    """
    weight = np.ones(len(codes)) if weight is None else weight
    counts = np.bincount(codes, weights=weight, minlength=len(rates))
    return weight * np.divide(rates, counts, out=np.zeros(len(rates)), where=counts > 0)[codes]


MOST_BY_CHANCE = 5.0
"""Standard errors beyond which a gap between labeled rows and population is not due to chance."""


def calibrated_means(
    means: Floats,
    counts: Floats,
    rates: Floats,
    population_mean: Floats,
    deviation: Floats | float = np.inf,
) -> Floats:
    """Return the means of classes, moved such that together they have the population's mean.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_features)
        Of the labeled rows of each class.
    counts, rates : ndarray of shape (n_classes,)
        How many labeled rows there are of each class, and the known rates of the classes.
    population_mean, deviation : ndarray of shape (n_features,)
        Mean and standard deviation over the population; with an infinite deviation, any gap can be
        due to chance.

    Notes
    -----
    With n_k labeled rows of class k, the variance of their mean goes with 1 / n_k. The means m
    minimize the sum of n_k |m_k - mean_k|² subject to sum of rate_k m_k = population mean, for
    features in which the two sides of it are at most :data:`MOST_BY_CHANCE` standard errors apart.
    Where the gap is larger, the labeled rows are from elsewhere, whatever their class: then the
    means of all classes are moved by the same amount.

    Examples
    --------
    >>> means, counts, half = np.array([[0.0], [1.0]]), np.array([3.0, 1.0]), np.array([0.5, 0.5])
    >>> calibrated_means(means, counts, half, np.array([0.9]), 0.5).ravel().round(2).tolist()
    [0.2, 1.6]
    >>> calibrated_means(means, counts, half, np.array([100.0]), 0.5).ravel().round(2).tolist()
    [99.5, 100.5]
    """
    gap = population_mean - rates @ means
    variance = (rates**2 / counts).sum()
    most = MOST_BY_CHANCE * np.sqrt(variance) * deviation
    share = rates / counts / variance
    return means + np.where(np.abs(gap) <= most, share[:, None], 1.0) * gap


_ACCURACY = 1e-10
_MOST_STEPS = 500
_BLOCK = 1 << 14
# Far from the solution the curvature is misleading: no step goes further than this.
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
    value, means, products = _objective(scores, rates, offsets)
    for _ in range(_MOST_STEPS):
        gap = means - rates
        if np.abs(gap).max() <= _ACCURACY:
            break
        curvature = np.diag(means) - products
        # A constant added to all offsets changes nothing: the curvature has that null direction.
        damping = 1e-6 * np.abs(gap).max() * np.eye(len(gap))
        step = -np.linalg.solve(curvature + 1 / len(gap) + damping, gap)
        step *= min(1.0, longest / np.abs(step).max())
        new_value, means, products = _objective(scores, rates, offsets + step)
        while new_value > value and np.abs(step).max() > _ACCURACY:
            step /= 2
            new_value, means, products = _objective(scores, rates, offsets + step)
        offsets, value = offsets + step, new_value
    return offsets - offsets.mean()


def _objective(scores: Floats, rates: Floats, offsets: Floats) -> tuple[float, Floats, Floats]:
    """Return the function at some offsets, and the means and mean products of the softmax."""
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
    return value, means, products


# The inverse temperature of any classifier: a normal prior of its logarithm around 0
# (probabilities as they are) with this deviation, and its range.
_PRIOR_DEVIATION = 1.0
_RANGE = (0.2, 8.0)


def inverse_temperature(
    logs: Floats, codes: Codes, rates: Floats | None, weight: Floats | None = None
) -> float:
    """Return the factor of log-probabilities with the highest likelihood of held-out rows.

    Parameters
    ----------
    logs : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities of held-out labeled rows.
    codes : ndarray of int, shape (n_rows,)
        Their classes.
    rates : ndarray of shape (n_classes,), or None
        Rates of the classes in the population: rows are weighted such that classes have them.
    weight : ndarray of shape (n_rows,), optional
        How much each row counts.

    Examples
    --------
    >>> logs = np.log([[0.6, 0.4], [0.6, 0.4], [0.4, 0.6], [0.4, 0.6]] * 20)
    >>> inverse_temperature(logs, np.array([0, 0, 1, 1] * 20), None) > 2  # they were always right
    True
    """
    own = np.ones(len(codes)) if weight is None else weight
    sizes = np.bincount(codes, own, minlength=logs.shape[1])
    present = sizes > 0 if rates is None else (sizes > 0) & (rates > 0)
    if present.sum() < 2:
        return 1.0
    # Only classes that are both in the held-out rows and in the population tell anything.
    kept = present[codes]
    logs, codes = logs[kept][:, present], (np.cumsum(present) - 1)[codes[kept]]
    own = own[kept] / own[kept].mean()
    in_sample = sizes[present] / sizes[present].sum()
    in_population = in_sample if rates is None else rates[present] / rates[present].sum()
    weights = own * (in_population / in_sample)[codes]
    # With these offsets classes are as frequent as in the sample; from there to the rates of the
    # population is a change of priors.
    centred = logs + matching_offsets(logs, in_sample)
    prior_change = np.log(in_population / in_sample)

    def loss(log_factor: float) -> float:
        chances = log_softmax(np.exp(log_factor) * centred + prior_change, axis=1)
        fit = float(weights @ chances[np.arange(len(codes)), codes])
        return -fit + (log_factor / _PRIOR_DEVIATION) ** 2 / 2

    best = minimize_scalar(loss, bounds=np.log(_RANGE), method="bounded")
    return float(np.exp(best.x))


DEFAULT_INVERSE_TEMPERATURE = 1.5
"""Of the blend, where there is no evidence at all."""

PRIOR_LEVEL, PRIOR_SLOPE, PRIOR_DEVIATION = -1.6, -1.2, 0.3
"""The prior of the blend: the logarithm of its inverse temperature is normal around
PRIOR_LEVEL + PRIOR_SLOPE log(disagreement). Fitted to samples 0 and 1 of the paper's 13 data sets
and to the 17 other ones of ``benchmarks.other_data --looked-at``."""

EVIDENCE = 0.5
"""What a held-out row counts here: it has been used for the stacking weights, too. Chosen by
samples 0 and 1 of the paper's 13 data sets; samples 2 to 4 test it."""

_BLEND_RANGE = (0.05, 30.0)
_LEAST_DISAGREEMENT = 1e-2


def disagreement(margins: Sequence[Floats], weights: Floats, rates: Floats) -> float | None:
    """Return how often two base learners give a row different classes, one meaning as by chance.

    Parameters
    ----------
    margins : sequence of ndarray of shape (n_rows, n_classes)
        The scaled margins that each base learner gives the rows of the population.
    weights : ndarray of shape (n_learners,)
        Stacking weights, which add up to one.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.

    Returns
    -------
    float or None
        None where there are no two base learners, or no two classes.

    Examples
    --------
    >>> margins = np.array([[2.0, -2.0], [0.5, -0.5], [-1.0, 1.0], [-2.0, 2.0]])
    >>> half = np.array([0.5, 0.5])
    >>> disagreement([margins, margins], half, half)
    0.0
    >>> disagreement([margins, margins[[1, 2, 0, 3]]], half, half)
    1.0
    """
    by_chance = 1.0 - float((rates**2).sum())
    other_learner = 1.0 - float((weights**2).sum())
    if by_chance <= 0 or other_learner <= 0:
        return None
    votes = np.zeros_like(margins[0])
    for w, own in zip(weights, margins, strict=True):
        votes[np.arange(len(votes)), own.argmax(axis=1)] += w
    differ = float(np.mean(1.0 - (votes**2).sum(axis=1)))
    return max(0.0, differ) / other_learner / by_chance


def blend_inverse_temperature(
    margins: Floats, codes: Codes, rates: Floats, weight: Floats, differ: float | None = None
) -> float:
    """Return the inverse temperature of the blend with the highest posterior.

    Parameters
    ----------
    margins : ndarray of shape (n_rows, n_classes)
        Blended scaled margins of held-out labeled rows.
    codes, weight : ndarray of shape (n_rows,)
        Numbers of their classes, and how much each row counts.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.
    differ : float or None
        The :func:`disagreement` of the base learners; without, only the labeled rows decide.

    Examples
    --------
    >>> margins = np.array([[1.0, -1.0], [0.5, -0.5], [-0.5, 0.5], [1.0, -1.0]])
    >>> codes, half = np.array([0, 0, 1, 1]), np.array([0.5, 0.5])
    >>> sure, unsure = (
    ...     blend_inverse_temperature(margins, codes, half, np.ones(4), d) for d in (0.1, 0.5)
    ... )
    >>> sure > unsure
    True
    """
    if not len(codes) and differ is None:
        return DEFAULT_INVERSE_TEMPERATURE
    weights = poststratified(codes, rates, weight)
    n_effective = weights.sum() ** 2 / max((weights**2).sum(), np.finfo(float).tiny)
    expected = None
    if differ is not None:
        expected = PRIOR_LEVEL + PRIOR_SLOPE * np.log(max(differ, _LEAST_DISAGREEMENT))

    def loss(log_factor: float) -> float:
        chances = log_softmax(np.exp(log_factor) * margins, axis=1)
        unlikely = -EVIDENCE * n_effective * float(weights @ chances[np.arange(len(codes)), codes])
        if expected is None:
            return unlikely
        return unlikely + ((log_factor - expected) / PRIOR_DEVIATION) ** 2 / 2

    best = minimize_scalar(loss, bounds=np.log(_BLEND_RANGE), method="bounded")
    return float(np.exp(best.x))
