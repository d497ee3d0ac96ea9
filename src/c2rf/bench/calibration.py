"""How true the probabilities of a method are, judged by labels that it never saw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, log_loss

from c2rf._typing import Floats, Signs

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

    In each bin of confidence the distance of the mean confidence to the share of right labels;
    the mean of these distances, a bin counting as many times as it has rows.

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
    of_class = [calibration_error(confidence[own], right[own]) for own in _by_label(labels)]
    positive = truth > 0
    return {
        "calibration_error": calibration_error(confidence, right),
        "class_calibration_error": float(np.mean(of_class)),
        "brier": float(brier_score_loss(positive, probability, pos_label=True)),
        "log_loss": float(log_loss(positive, probability, labels=[False, True])),
    }


def _by_label(labels: Signs) -> list[NDArray[np.bool_]]:
    return [own for own in (labels < 0, labels > 0) if own.any()]
