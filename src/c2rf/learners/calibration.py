"""How fast probabilities change with the blended leads: learned from two kinds of evidence.

Probabilities corrected to known totals: their mean over the unlabeled rows is as known.

How fast probabilities change with the blended leads: learned from two kinds of evidence.

Held-out labeled rows say it by their likelihood, but where they are few they say little. The
population says it, too: the more the members differ on its rows, the less sure one should be. That
relation is the same for data of many kinds, so it serves as a prior, which labels then correct.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from c2rf._utils.types import Codes, Floats
from c2rf.learners.stacking import row_weights

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


USUAL_SHARPNESS = 1.5
"""Where there is no evidence at all."""

LEVEL, SLOPE, DEVIATION = -1.6, -1.2, 0.3
"""The prior: log-sharpness is normal around LEVEL + SLOPE log(disagreement)."""

EVIDENCE = 0.5
"""What a held-out row counts here: it has been used to weigh the members, too."""

_RANGE = (0.05, 30.0)
_LEAST_DISAGREEMENT = 1e-2


def disagreement(leads: Sequence[Floats], share: Floats, rates: Floats) -> float | None:
    """Return how often two members give a row different classes, one meaning as by chance.

    Parameters
    ----------
    leads : sequence of ndarray of shape (n_rows, n_classes)
        The leads that each member gives the rows of the population.
    share : ndarray of shape (n_members,)
        Weights of the members, which add up to one.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.

    Returns
    -------
    float or None
        None where there are no two members, or no two classes.

    Examples
    --------
    >>> leads = np.array([[2.0, -2.0], [0.5, -0.5], [-1.0, 1.0], [-2.0, 2.0]])
    >>> half = np.array([0.5, 0.5])
    >>> disagreement([leads, leads], half, half)
    0.0
    >>> disagreement([leads, leads[[1, 2, 0, 3]]], half, half)
    1.0
    """
    by_chance = 1.0 - float((rates**2).sum())
    other_member = 1.0 - float((share**2).sum())
    if by_chance <= 0 or other_member <= 0:
        return None
    votes = np.zeros_like(leads[0])
    for w, own in zip(share, leads, strict=True):
        votes[np.arange(len(votes)), own.argmax(axis=1)] += w
    differ = float(np.mean(1.0 - (votes**2).sum(axis=1)))
    return max(0.0, differ) / other_member / by_chance


def likeliest_sharpness(
    leads: Floats, codes: Codes, rates: Floats, weight: Floats, differ: float | None = None
) -> float:
    """Return the likeliest sharpness.

    Parameters
    ----------
    leads : ndarray of shape (n_rows, n_classes)
        Blended leads of held-out labeled rows.
    codes, weight : ndarray of shape (n_rows,)
        Numbers of their classes, and how much each row counts.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.
    differ : float or None
        The :func:`disagreement` of the members; without, only the labeled rows decide.

    Examples
    --------
    >>> leads = np.array([[1.0, -1.0], [0.5, -0.5], [-0.5, 0.5], [1.0, -1.0]])
    >>> codes, half = np.array([0, 0, 1, 1]), np.array([0.5, 0.5])
    >>> sure, unsure = (likeliest_sharpness(leads, codes, half, np.ones(4), d) for d in (0.1, 0.5))
    >>> sure > unsure
    True
    """
    if not len(codes) and differ is None:
        return USUAL_SHARPNESS
    weights = row_weights(codes, rates, weight)
    n_effective = weights.sum() ** 2 / max((weights**2).sum(), np.finfo(float).tiny)
    expected = None
    if differ is not None:
        expected = LEVEL + SLOPE * np.log(max(differ, _LEAST_DISAGREEMENT))

    def loss(log_sharpness: float) -> float:
        chances = log_softmax(np.exp(log_sharpness) * leads, axis=1)
        unlikely = -EVIDENCE * n_effective * float(weights @ chances[np.arange(len(codes)), codes])
        if expected is None:
            return unlikely
        return unlikely + ((log_sharpness - expected) / DEVIATION) ** 2 / 2

    best = minimize_scalar(loss, bounds=np.log(_RANGE), method="bounded")
    return float(np.exp(best.x))
