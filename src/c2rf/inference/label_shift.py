"""Rates of classes in a population, estimated from a labeled sample under label shift.

Within a class the sample is like the population; only the rates of the classes differ. Then the
population's density at row i is sum over k of rate_k f_k(x_i), where f_k(x) is in proportion to
p_k(x) / prior_k, with p the calibrated probabilities of a classifier and prior the rates in its
sample. The rates with the highest likelihood, those that the EM algorithm converges to
[Saerens et al. 2002], are where

    rate_k = mean over i of rate_k p_ik / prior_k / sum over l of rate_l p_il / prior_l.

Probabilities are calibrated by held-out labeled rows: log-probabilities times an inverse
temperature, plus an offset per class [Alexandari et al. 2020].
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from c2rf._utils.types import Codes, Floats

_RIDGE = 1e-2  # of the offsets and the logarithm of the inverse temperature: few rows, few changes


def calibrated(logs: Floats, codes: Codes, others: Floats, weight: Floats) -> Floats:
    """Return probabilities of other rows, calibrated by held-out rows whose class is known.

    Parameters
    ----------
    logs : ndarray of shape (n_held, n_classes)
        Logarithms of probabilities of the held-out rows.
    codes, weight : ndarray of shape (n_held,)
        Their classes, and how much each counts.
    others : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities of the other rows.
    """
    n_classes = logs.shape[1]
    own = np.arange(len(codes))
    target = np.zeros_like(logs)
    target[own, codes] = 1.0

    def loss(parameters: Floats) -> tuple[float, Floats]:
        factor, offsets = np.exp(parameters[0]), np.append(parameters[1:], 0.0)
        chances = log_softmax(factor * logs + offsets, axis=1)
        off = (np.exp(chances) - target) * weight[:, None]
        value = -float(weight @ chances[own, codes]) + _RIDGE * float(parameters @ parameters)
        slope = np.append((off * logs).sum() * factor, off.sum(axis=0)[:-1])
        return value, slope + 2 * _RIDGE * parameters

    bounds = [(-4.0, 4.0), *[(-12.0, 12.0)] * (n_classes - 1)]
    best = minimize(loss, np.zeros(n_classes), jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.asarray(softmax(np.exp(best[0]) * others + np.append(best[1:], 0.0), axis=1))


def likeliest_rates(probabilities: Floats, prior: Floats, weight: Floats | None = None) -> Floats:
    """Return the rates of the classes with the highest likelihood.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Calibrated probabilities of the rows of the population, at the rates of the sample.
    prior : ndarray of shape (n_classes,)
        The rates of the classes in the sample.
    weight : ndarray of shape (n_rows,), optional
        How many people each row stands for.

    Examples
    --------
    >>> sure = np.repeat(np.eye(2), [70, 30], axis=0)
    >>> likeliest_rates(sure, np.array([0.5, 0.5])).round(3).tolist()
    [0.7, 0.3]
    """
    ratios = probabilities / prior
    share = np.full(len(ratios), 1 / len(ratios)) if weight is None else weight / weight.sum()

    def loss(logs: Floats) -> tuple[float, Floats]:
        rates = softmax(logs)
        joint = ratios * rates
        density = np.maximum(joint.sum(axis=1), np.finfo(float).tiny)
        return -float(share @ np.log(density)), rates - share @ (joint / density[:, None])

    bounds = [(-20.0, 20.0)] * len(prior)
    best = minimize(loss, np.log(prior), jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12)
    return np.asarray(softmax(best.x))


def bootstrap_rates(
    held: Floats,
    codes: Codes,
    weight: Floats,
    population: Floats,
    groups: Codes,
    n_groups: int,
    n_bootstrap: int,
    rng: np.random.Generator,
    people: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the rates of the classes in each group, and their standard errors.

    In each bootstrap the held-out rows are drawn anew within their classes, and so is the
    population; the calibration and the rates are found again.

    Parameters
    ----------
    held : ndarray of shape (n_held, n_classes)
        Logarithms of probabilities of labeled rows, by models that did not learn from them.
    codes, weight : ndarray of shape (n_held,)
        Their classes, and how much each counts.
    population : ndarray of shape (n_rows, n_classes)
        Logarithms of probabilities of rows of the population.
    groups : ndarray of int, shape (n_rows,)
        Their groups.
    n_groups, n_bootstrap : int
        How many groups, and how many bootstraps.
    rng : Generator
        Source of random numbers.
    people : ndarray of shape (n_rows,), optional
        How many people each row stands for.

    Returns
    -------
    tuple of ndarray of shape (n_groups, n_classes)
    """
    n_classes = held.shape[1]
    by_class = [np.flatnonzero(codes == k) for k in range(n_classes)]
    by_group = [np.flatnonzero(groups == g) for g in range(n_groups)]
    prior = np.bincount(codes, weight, n_classes) / weight.sum()
    each = np.ones(len(population)) if people is None else people

    def found(rows: Codes, others: list[Codes]) -> Floats:
        table = calibrated(held[rows], codes[rows], population, weight[rows])
        return np.array([likeliest_rates(table[own], prior, each[own]) for own in others])

    estimate = found(np.arange(len(codes)), by_group)
    drawn = np.array(
        [
            found(
                np.concatenate([rng.choice(own, len(own)) for own in by_class]),
                [rng.choice(own, len(own)) for own in by_group],
            )
            for _ in range(n_bootstrap)
        ]
    )
    return estimate, drawn.std(axis=0, ddof=1)
