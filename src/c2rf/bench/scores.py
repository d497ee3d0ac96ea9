"""How good probabilities and interval estimates are, judged by labels that no method saw.

Interval estimates are of shares of the positive class in quarters of six columns, and of the share
of labels that are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, log_loss

from c2rf._utils.types import Floats, Signs
from c2rf.imputation.rubin import Pooled, pool

N_BINS = 10
"""Bins of equal width from 0 to 1 that rows are put in by their confidence."""

MEASURES = {
    "calibration_error": "calibration error",
    "class_calibration_error": "the same by class",
    "brier": "Brier score",
    "log_loss": "log loss",
}
"""What is scored, and how it is printed: all times 100, and the lower the better."""


def calibration_error(confidence: Floats, right: NDArray[np.bool_]) -> float:
    """Return the expected calibration error.

    The mean over bins of confidence, weighted by their rows, of the distance of the mean confidence
    to the share of right labels.

    Parameters
    ----------
    confidence : ndarray of float, shape (n_rows,)
        The probability given to each label, from 0 to 1.
    right : ndarray of bool, shape (n_rows,)
        Whether it is the true one.

    Examples
    --------
    >>> confidence = np.array([0.95, 0.95, 0.65, 0.65])
    >>> round(calibration_error(confidence, np.array([True, True, True, False])), 3)
    0.1
    """
    bins = np.minimum((N_BINS * confidence).astype(np.intp), N_BINS - 1)
    too_sure = np.bincount(bins, weights=confidence - right, minlength=N_BINS)
    return float(np.abs(too_sure).sum() / len(confidence))


def score_probabilities(probability: Floats, labels: Signs, truth: Signs) -> dict[str, float]:
    """Compare probabilities with the truth.

    Parameters
    ----------
    probability : ndarray of float, shape (n_rows,)
        Of each row to be positive.
    labels, truth : ndarray of ±1
        What the rows were labeled, and what is true.

    Returns
    -------
    dict
        ``calibration_error`` of the labels' probabilities over all rows.
        ``class_calibration_error``: the same among the rows labeled negative and among those
        labeled positive, and the plain mean of the two, so that a rare class counts as much as a
        frequent one (a class that no row got is left out). ``brier``: the mean square of the
        distance of the probability to 1 for positive and 0 for negative rows. ``log_loss``: the
        mean of minus the natural logarithm of the true class' probability, which is taken to be
        at least 2.2e-16.

    Examples
    --------
    >>> labels = np.array([1, 1, -1, -1])
    >>> found = score_probabilities(np.array([0.8, 0.8, 0.2, 0.2]), labels, labels)
    >>> {name: round(value, 3) for name, value in found.items()}
    {'calibration_error': 0.2, 'class_calibration_error': 0.2, 'brier': 0.04, 'log_loss': 0.223}
    """
    confidence, right = np.where(labels > 0, probability, 1 - probability), labels == truth
    by_label = [own for own in (labels < 0, labels > 0) if own.any()]
    of_class = [calibration_error(confidence[own], right[own]) for own in by_label]
    positive = truth > 0
    return {
        "calibration_error": calibration_error(confidence, right),
        "class_calibration_error": float(np.mean(of_class)),
        "brier": float(brier_score_loss(positive, probability, pos_label=True)),
        "log_loss": float(log_loss(positive, probability, labels=[False, True])),
    }


N_COLUMNS = 6
"""Columns in whose quarters shares are estimated."""
LEVEL = 0.95
"""How often an interval should hold the truth."""
_ROUNDING = 1e-12


def quarters(X: Floats) -> NDArray[np.bool_]:
    """Return which rows are in each quarter of the six columns with most different values.

    Examples
    --------
    >>> quarters(np.array([[1.0], [2.0], [3.0], [4.0]])).astype(int).tolist()
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """
    levels = np.array([len(np.unique(column)) for column in X.T])
    parts = []
    for k in np.argsort(-levels, kind="stable")[:N_COLUMNS]:
        edges = np.unique(np.quantile(X[:, k], [0.25, 0.5, 0.75]))
        places = np.searchsorted(edges, X[:, k])
        parts += [places == value for value in np.unique(places)]
    return np.array(parts)


def share_of(positive: NDArray[Any], parts: NDArray[np.bool_]) -> Floats:
    """Return the share of the positive rows in each part.

    Examples
    --------
    >>> share_of(np.array([True, False, True]), np.array([[True, True, False]])).tolist()
    [0.5]
    """
    return np.array([positive[part].mean() for part in parts])


def pooled_shares(imputed: NDArray[Any], parts: NDArray[np.bool_]) -> Pooled:
    """Return the shares that several sets of labels (True for the positive ones) give together."""
    return pool([share_of(labels, parts) for labels in imputed], level=LEVEL)


def interval_scores(low: Any, high: Any, truth: Any) -> Floats:
    """Return the scores of intervals as Gneiting and Raftery define them; the lower the better.

    The width, and for a miss its distance times 2 / (1 - level).

    Examples
    --------
    >>> interval_scores(np.array([0.4, 0.4]), 0.6, np.array([0.5, 0.61])).round(3)
    array([0.2, 0.6])
    """
    missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    return np.asarray(high - low + 2 / (1 - LEVEL) * missed)


def score_intervals(
    shares: Mapping[str, Pooled],
    right: Mapping[str, Pooled],
    parts: NDArray[np.bool_],
    labels: Signs,
    truth: Signs,
) -> dict[str, Any]:
    """Compare interval estimates with the truth; intervals of shares are clipped to [0, 1].

    Parameters
    ----------
    shares : mapping of str to Pooled
        The shares of the positive class in all parts, by the method that computed them.
    right : mapping of str to Pooled
        The share of right labels: "overall", of the "negative" and of the "positive" ones.
    parts : ndarray of bool, shape (n_parts, n_rows)
        The rows of each part that a share is about.
    labels, truth : ndarray of ±1
        The single best labels, and what is true.

    Returns
    -------
    dict
        ``shares``: for each way its ``coverage``, mean ``width``, mean interval ``score`` and mean
        ``error``; ``single labels`` have an error only. ``right``: for all, negative and positive
        labels the ``low`` and ``high`` end, the ``estimate`` and what is ``true``.
    """
    true = share_of(truth > 0, parts)
    single = np.abs(share_of(labels > 0, parts) - true).mean()
    of_shares: dict[str, Any] = {"single labels": {"error": float(single)}}
    for way, found in shares.items():
        low, high = np.clip(found.low, 0, 1), np.clip(found.high, 0, 1)
        covered = (low <= true + _ROUNDING) & (true <= high + _ROUNDING)
        of_shares[way] = {
            "coverage": float(covered.mean()),
            "width": float(np.mean(high - low)),
            "score": float(interval_scores(low, high, true).mean()),
            "error": float(np.abs(found.estimate - true).mean()),
        }
    among = {"overall": labels != 0, "negative": labels < 0, "positive": labels > 0}
    of_right = {
        name: {
            "estimate": float(found.estimate),
            "low": float(np.clip(found.low, 0, 1)),
            "high": float(np.clip(found.high, 0, 1)),
            "true": float(np.mean(labels[among[name]] == truth[among[name]])),
        }
        for name, found in right.items()
    }
    return {"shares": of_shares, "right": of_right}
