"""Calibration: what labeled rows say, corrected to the known rates of the classes.

A labeled sample seldom has the classes at the rates of the population. Four corrections share that
knowledge: weights of labeled rows (post-stratification), the means of classes (calibration as in
survey statistics), offsets of log-probabilities (a change of class priors), and the inverse
temperature, a factor that makes log-probabilities more or less certain.

The inverse temperature of the blend is estimated from held-out labeled rows by likelihood, with a
prior that needs no labels: the more the base learners disagree on rows of the population, the
smaller it is. That relation is similar for data of many kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from c2rf._utils.types import Codes, Floats
from c2rf.assignment import duals
from c2rf.assignment.parts import ScoredRows


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


def calibrated_means(
    means: Floats, counts: Floats, rates: Floats, population_mean: Floats
) -> Floats:
    """Return the means of classes, moved such that together they have the population's mean.

    Parameters
    ----------
    means : ndarray of shape (n_classes, n_features)
        Of the labeled rows of each class.
    counts, rates : ndarray of shape (n_classes,)
        How many labeled rows there are of each class, and the known rates of the classes.
    population_mean : ndarray of shape (n_features,)
        Mean over the population.

    Notes
    -----
    With n_k labeled rows of class k, the variance of their mean goes with 1 / n_k. The means m
    minimize the sum of n_k |m_k - mean_k|² subject to sum of rate_k m_k = population mean.

    Examples
    --------
    >>> means, counts, half = np.array([[0.0], [1.0]]), np.array([3.0, 1.0]), np.array([0.5, 0.5])
    >>> calibrated_means(means, counts, half, np.array([0.9])).ravel().round(2).tolist()
    [0.2, 1.6]
    """
    gap = population_mean - rates @ means
    share = rates / counts / (rates**2 / counts).sum()
    return means + share[:, None] * gap


def matching_offsets(scores: Floats, rates: Floats) -> Floats:
    """Return offsets with which the mean of softmax(scores + offsets) has the known rates.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite logarithms of probabilities.
    rates : ndarray of shape (n_classes,)
        They add up to one. A class of rate zero gets -inf.

    Examples
    --------
    >>> from scipy.special import softmax
    >>> scores = np.log([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> offsets = matching_offsets(scores, np.array([0.5, 0.5]))
    >>> softmax(scores + offsets, axis=1).mean(axis=0).round(9).tolist()
    [0.5, 0.5]
    """
    rows = ScoredRows(scores, np.zeros(len(scores), dtype=np.intp), None, 1)
    return duals.matching_offsets(rows, len(scores) * rates[None])[0]


class HeldOut(NamedTuple):
    """What a learner says of labeled rows that it has not seen, and of rows of the population.

    Parameters
    ----------
    scores : ndarray of shape (n_held_out, n_classes)
        Of the labeled rows: log-probabilities or margins.
    codes, weight : ndarray of shape (n_held_out,)
        Numbers of their classes, and how much each counts.
    population : ndarray of shape (n_rows, n_classes)
        Scores of the rows in which the classes have the known rates.
    """

    scores: Floats
    codes: Codes
    weight: Floats
    population: Floats


Prior = tuple[float, float]
"""The logarithm of an inverse temperature is normal with this mean and this deviation."""


class Calibration(NamedTuple):
    """What makes scores probabilities: the factor of them, and how sure that is.

    Parameters
    ----------
    inverse_temperature : float
        It gives probabilities that are as sure as those of the posterior are in the mean.
    deviation : float
        The standard deviation of the posterior of its logarithm.
    """

    inverse_temperature: float
    deviation: float


N_GRID = 19
"""Inverse temperatures that are tried, first over all the prior allows, then around the best."""

_WIDEST = 4.0  # deviations of the prior
_LEAST_LIKELY = 12.0  # differences of logarithms beyond which a posterior is nothing
_MOST_CELLS = 1 << 12  # of a population's scores


def calibrate(parts: Sequence[HeldOut], rates: Floats, prior: Prior) -> Calibration:
    """Return the inverse temperature, fitted together with class offsets at the known rates.

    Parameters
    ----------
    parts : sequence of HeldOut
        One per learner that rows were held out from; the populations' rows are in random order.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.
    prior : Prior
        What is known without labels.

    Notes
    -----
    For each inverse temperature s, offsets b(s) give the population the known rates. The posterior
    of log s is the prior times the likelihood of the held-out rows, weighted to the known rates,
    under softmax(s * scores + b(s)). A row at the threshold of a known rate is not in doubt by
    half: without b(s), weak signals of rare classes would seem to be strong ones.

    Probabilities are averaged over the posterior in this sense: of all s, the one is taken whose
    probabilities have the posterior's mean of sum_k p_k², by which s only grows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=4000) - 3
    >>> codes = (rng.random(4000) < 1 / (1 + np.exp(-z))).astype(int)
    >>> scores, rate = np.column_stack([0 * z, 2 * (z + 9)]), codes.mean()
    >>> found = calibrate(
    ...     [HeldOut(scores, codes, np.ones(4000), scores)], np.array([1 - rate, rate]), (0.0, 1.0)
    ... )
    >>> 0.4 < found.inverse_temperature < 0.6
    True
    """
    (mean, deviation), most = prior, max(1, _MOST_CELLS // len(rates))
    parts = [part._replace(population=part.population[:most]) for part in parts]
    codes = np.concatenate([part.codes for part in parts])
    weights = poststratified(codes, rates, np.concatenate([part.weight for part in parts]))
    n_effective = weights.sum() ** 2 / max((weights**2).sum(), np.finfo(float).tiny)

    def tried(log_factors: Floats) -> tuple[Floats, Floats]:
        """Return logarithms of posteriors, and the means of sum_k p_k²."""
        points = [_at_rates(parts, rates, np.exp(each)) for each in log_factors]
        chances, sureness = (np.array(each) for each in zip(*points, strict=True))
        fit = n_effective * chances[:, weights > 0] @ weights[weights > 0]
        return fit - ((log_factors - mean) / deviation) ** 2 / 2, sureness

    grid = np.linspace(mean - _WIDEST * deviation, mean + _WIDEST * deviation, N_GRID)
    posterior, _ = tried(grid)
    near = np.flatnonzero(posterior > posterior.max() - _LEAST_LIKELY)
    first, last = grid[max(near[0] - 1, 0)], grid[min(near[-1] + 1, N_GRID - 1)]
    grid = np.linspace(first, last, N_GRID)
    posterior, sureness = tried(grid)
    posterior = np.exp(posterior - posterior.max())
    posterior /= posterior.sum()
    sureness = np.maximum.accumulate(sureness)
    if sureness[-1] > sureness[0]:
        log_factor = float(np.interp(posterior @ sureness, sureness, grid))
    else:
        log_factor = float(posterior @ grid)
    spread = np.sqrt(posterior @ (grid - posterior @ grid) ** 2)
    return Calibration(float(np.exp(log_factor)), float(spread))


def _at_rates(parts: Sequence[HeldOut], rates: Floats, factor: float) -> tuple[Floats, float]:
    """Return log-probabilities of held-out rows' classes, and the population's mean sum_k p_k²."""
    chances, sureness = [], []
    for part in parts:
        offsets, own = _sureness(factor * part.population, rates)
        logs = log_softmax(factor * part.scores + offsets, axis=1)
        chances.append(logs[np.arange(len(part.codes)), part.codes])
        sureness.append(own)
    return np.concatenate(chances), float(np.mean(sureness))


def _sureness(scores: Floats, rates: Floats) -> tuple[Floats, float]:
    """Return offsets that give rows the known rates, and the mean of sum_k p_k² with them."""
    offsets = matching_offsets(scores, rates)
    return offsets, float(np.mean((softmax(scores + offsets, axis=1) ** 2).sum(axis=1)))


_FACTORS = np.exp(np.linspace(-1.0, 1.0, 9))


def as_sure_as(scores: Floats, others: Floats, rates: Floats) -> float:
    """Return the factor of scores with which rows are as sure, in the mean, as by other scores.

    A mean of two models that differ by chance is less sure than either, and more often right.

    Parameters
    ----------
    scores, others : ndarray of shape (n_rows, n_classes)
        Log-probabilities of rows in random order, up to a constant per row.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(500, 2))
    >>> round(as_sure_as(scores, 1.5 * scores, np.array([0.3, 0.7])), 1)
    1.5
    """
    most = max(1, _MOST_CELLS // len(rates))
    each = [_sureness(factor * scores[:most], rates)[1] for factor in _FACTORS]
    found = np.maximum.accumulate(each)
    if found[-1] <= found[0]:
        return 1.0
    return float(np.interp(_sureness(others[:most], rates)[1], found, _FACTORS))


WIDE_PRIOR = (-0.3, 1.0)
"""The prior of any learner: with few labels most are too sure. Chosen, as the next ones, by the
data that ``benchmarks.calibration`` lists as tuned on."""

PRIOR_LEVEL, PRIOR_SLOPE, PRIOR_BY_CLASSES, PRIOR_DEVIATION = -1.7, -0.9, 0.35, 1.0
"""The prior of the blend: the logarithm of its inverse temperature is normal around PRIOR_LEVEL +
PRIOR_SLOPE log(disagreement) + PRIOR_BY_CLASSES log(n_classes - 1). The best ones of 196 samples of
60 labeled rows are 0.75 from it in the mean square, and more on other kinds of data: whatever the
deviation from 0.6 to 3, calibration error differs by 0.2 points at most."""

_LEAST_DISAGREEMENT = 1e-2


def blend_prior(differ: float | None, n_classes: int) -> Prior:
    """Return the prior of the blend's inverse temperature, from the base learners' disagreement.

    Examples
    --------
    >>> blend_prior(0.1, 2)[0] > blend_prior(0.5, 2)[0]  # the more they agree, the surer
    True
    """
    if differ is None:
        return WIDE_PRIOR
    mean = PRIOR_LEVEL + PRIOR_SLOPE * float(np.log(max(differ, _LEAST_DISAGREEMENT)))
    return mean + PRIOR_BY_CLASSES * float(np.log(n_classes - 1)), PRIOR_DEVIATION


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
