"""How fast probabilities change with the blended leads: learned from two kinds of evidence.

Held-out labeled rows say it by their likelihood, but where they are few they say little. The
population says it, too: the more the members differ on its rows, the less sure one should be. That
relation is the same for data of many kinds, so it serves as a prior, which labels then correct.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from c2rf._typing import Codes, Floats
from c2rf.learners.judgement import row_weights

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
