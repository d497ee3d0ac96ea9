"""Leaves of trees that know how much of the population they hold.

The leaves of a tree grown on few labeled rows are pure: they say 0 or 1, whether they hold a tenth
of the population or a thousandth. But which part m of the population falls in a leaf is known, and
which part f_k of class k is estimated by its labeled rows. In a population of rates r_k these make

    score_k = r_k f_k / (m + ridge),   with f calibrated such that sum of r_k f_k = m:

the least squares of :mod:`c2rf.learners.least_squares`, whose second moments are diagonal here,
because a row is in one leaf only.
"""

from __future__ import annotations

import numpy as np

from c2rf._typing import Codes, Floats, Singles
from c2rf.learners.least_squares import calibrated
from c2rf.learners.trees import Forest

RIDGE = 0.003
"""What is added to the part of the population in a leaf, so that tiny leaves do not shout."""


def knowing_leaves(
    forest: Forest, X: Singles, codes: Codes, weight: Floats, rates: Floats, population: Singles
) -> Forest:
    """Return the same trees with leaves that know what they hold.

    Parameters
    ----------
    forest : Forest
        Grown on the labeled rows.
    X : ndarray of float32, shape (n_labeled, n_columns)
        The labeled rows.
    codes, weight : ndarray of shape (n_labeled,)
        Numbers of their classes, and how much each counts.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.
    population : ndarray of float32, shape (n_rows, n_columns)
        Rows of the population.

    Examples
    --------
    The two leaves hold 90 and 10 percent of the population; half of it is of each class. So the
    large leaf cannot be of the first class alone, though its only labeled row is.

    >>> from c2rf.learners.trees import Growth, grow_forest
    >>> X = np.array([[0.0], [1.0]], dtype=np.float32)
    >>> forest = grow_forest(X, np.eye(2), Growth(50, 1), seed=0)
    >>> population = np.repeat(X, [90, 10], axis=0)
    >>> codes, half = np.array([0, 1]), np.array([0.5, 0.5])
    >>> forest = knowing_leaves(forest, X, codes, np.ones(2), half, population)
    >>> forest.means(X).round(2).tolist()
    [[0.28, -0.28], [-2.43, 2.43]]
    """
    counts = np.bincount(codes, weights=weight, minlength=len(rates)).astype(float)
    indicators = np.eye(len(rates))[codes] * (weight / counts[codes])[:, None]
    parts = forest.leaf_sums(X, indicators).T
    each = np.full((len(population), 1), 1.0 / len(population))
    held = forest.leaf_sums(population, each)[:, 0]
    parts = calibrated(parts, counts, rates, held)
    scores = rates[:, None] * parts / (held + RIDGE)
    return forest.with_values((scores - scores.mean(axis=0)).T)
