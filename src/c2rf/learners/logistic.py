"""Logistic regression for few rows, by limited-memory BFGS, compiled.

The problem is that of scikit-learn's ``LogisticRegression``, which solves it where Numba cannot be
used. For a few dozen rows most of the time of scikit-learn goes into what surrounds the solver.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn import linear_model

from c2rf._compiled import can_compile, compiled, summing
from c2rf._typing import Codes, Floats

TOLERANCE = 1e-5
"""Of the largest slope of the mean loss, where to stop."""

_MOST_STEPS = 1000
_MEMORY = 10
_ENOUGH = 1e-4  # part of the decrease that the slope promises
_SHORTEST = 1e-10


@summing
def _dot(one: Any, other: Any) -> float:
    """Return the product with the first part of a vector that may be longer."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@compiled
def _largest(one: Any) -> float:
    most = 0.0
    for i in range(len(one)):
        most = max(most, abs(one[i]))
    return most


@compiled
def _add(factor: float, one: Any, total: Any) -> None:
    for i in range(len(one)):
        total[i] += factor * one[i]


@compiled
def _loss(
    X: Any, codes: Any, weight: Any, penalty: float, coef: Any, scores: Any, slope: Any
) -> float:  # fmt: skip
    """Return the weighted loss, and write its slopes.

    Of two classes only the second has coefficients. The last one of a class is its constant, which
    has no penalty.
    """
    end = X.shape[1]
    first = len(scores) - len(coef)
    slope[:] = 0.0
    loss = scores[0] = 0.0
    for row in range(len(X)):
        top = 0.0
        for k in range(len(coef)):
            scores[first + k] = _dot(X[row], coef[k]) + coef[k, end]
            top = max(top, scores[first + k])
        total = 0.0
        for k in range(len(scores)):
            total += np.exp(scores[k] - top)
        loss += weight[row] * (np.log(total) + top - scores[codes[row]])
        for k in range(len(coef)):
            chance = np.exp(scores[first + k] - top) / total
            excess = weight[row] * (chance - (codes[row] == first + k))
            _add(excess, X[row], slope[k])
            slope[k, end] += excess
    for k in range(len(coef)):
        own = coef[k, :end]
        loss += penalty * _dot(own, own) / 2
        _add(penalty, own, slope[k])
    return loss


@compiled
def _downhill(slope: Any, steps: Any, changes: Any, n_known: int, direction: Any) -> None:
    """Write minus the slope times the inverse curvature that the last steps show."""
    direction[:] = 0.0
    n_kept = min(n_known, len(steps))
    size = max(1.0, np.sqrt(_dot(slope, slope)))
    _add(-1.0 if n_kept else -1.0 / size, slope, direction)
    parts = np.empty(n_kept)
    for back in range(n_kept):
        k = (n_known - 1 - back) % len(steps)
        parts[back] = _dot(steps[k], direction) / _dot(steps[k], changes[k])
        _add(-parts[back], changes[k], direction)
    if n_kept:
        k = (n_known - 1) % len(steps)
        scale = _dot(steps[k], changes[k]) / _dot(changes[k], changes[k])
        _add(scale - 1.0, direction, direction)
    for back in range(n_kept - 1, -1, -1):
        k = (n_known - 1 - back) % len(steps)
        part = _dot(changes[k], direction) / _dot(steps[k], changes[k])
        _add(parts[back] - part, steps[k], direction)


@compiled
def minimize_loss(X: Any, codes: Any, weight: Any, penalty: float, n_classes: int) -> Any:
    """Return the coefficients of the least loss: a row per class, of two only the second.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Rows.
    codes, weight : ndarray of shape (n_rows,)
        Numbers of their classes, and how much each counts; together 1.
    penalty : float
        Of the squared coefficients but the last, which is the constant.
    n_classes : int
        Number of classes.
    """
    shape = 1 if n_classes == 2 else n_classes, X.shape[1] + 1
    coef, slope, scores = np.zeros(shape), np.empty(shape), np.empty(n_classes)
    trial, new_slope = coef, np.empty(shape)
    steps, changes = np.zeros((_MEMORY, coef.size)), np.zeros((_MEMORY, coef.size))
    direction, n_known = np.empty(coef.size), 0
    loss = _loss(X, codes, weight, penalty, coef, scores, slope)
    for _ in range(_MOST_STEPS):
        if _largest(slope.ravel()) <= TOLERANCE:
            break
        _downhill(slope.ravel(), steps, changes, n_known, direction)
        promised, length, new = _dot(slope.ravel(), direction), 2.0, np.inf
        while not new <= loss + _ENOUGH * length * promised and length > _SHORTEST:
            length /= 2
            trial = coef.copy()
            _add(length, direction, trial.ravel())
            new = _loss(X, codes, weight, penalty, trial, scores, new_slope)
        k = n_known % _MEMORY
        steps[k], changes[k] = 0.0, 0.0
        _add(length, direction, steps[k])
        _add(1.0, new_slope.ravel(), changes[k])
        _add(-1.0, slope.ravel(), changes[k])
        if _dot(steps[k], changes[k]) > 0:
            n_known += 1
        coef, loss, slope, new_slope = trial, new, new_slope, slope
    return coef


class LogisticRegression:
    """Logistic regression with a squared penalty.

    Parameters
    ----------
    c : float
        How much the loss of a row counts beside the penalty.

    Examples
    --------
    >>> X, codes = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> model = LogisticRegression(c=1.0).fit(X, codes, np.ones(4))
    >>> model.predict_proba(np.array([[0.0], [2.0]])).round(2).tolist()
    [[0.53, 0.47], [0.14, 0.86]]
    """

    def __init__(self, c: float) -> None:
        self.c = c

    def fit(self, X: Floats, codes: Codes, weight: Floats) -> Self:
        """Fit to rows, some in every class."""
        if not can_compile():
            model = linear_model.LogisticRegression(C=self.c, max_iter=_MOST_STEPS)
            model.fit(X, codes, sample_weight=weight)
            self.coef_ = np.column_stack([model.coef_, model.intercept_])
            return self
        n_classes, total = int(codes.max()) + 1, float(weight.sum())
        self.coef_ = minimize_loss(
            np.ascontiguousarray(X), codes, weight / total, 1 / (self.c * total), n_classes
        )  # fmt: skip
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probability of each class."""
        scores = X @ self.coef_[:, :-1].T + self.coef_[:, -1]
        if scores.shape[1] > 1:
            return softmax(scores, axis=1)
        chances = expit(scores)
        return np.hstack([1 - chances, chances])
