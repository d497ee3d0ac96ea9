"""Stacking: scores of base learners made comparable, and weighted by cross-validation.

The known rate of a class sets a threshold: that part of the population has scores above it. A row's
scaled margin is its distance to this threshold, in units of the mean distance of the population's
rows. Whatever the scores of a base learner look like, a margin of zero is where it is in doubt, and
margins of classes can be compared: a row's likeliest class is the one of its greatest margin.

The accuracy at known rates is estimated from held-out labeled rows: those of a class below its
threshold, and those of other classes above it, are two estimates of one and the same rate of
errors, because as many rows are wrongly taken in as are left out. Each is weighted by how many rows
it rests on. No threshold is estimated from few labeled rows, and the bias of a labeled sample that
holds too many of one class is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from c2rf._utils.types import Codes, Floats
from c2rf.learners.base_learners import Fit, TrainingSet
from c2rf.learners.calibration import poststratified
from c2rf.learners.features import FeatureMatrices, take
from c2rf.learners.threads import in_threads

LARGEST_MARGIN = 5.0
"""Scaled margins are clipped at plus and minus this."""

_ROUNDING = 1e-12


def threshold(values: Floats, rate: float) -> tuple[float, float, float]:
    """Return the threshold above which a given share of ascending values lies.

    Returns
    -------
    at : float
        The threshold; infinite for a rate of zero.
    tied, part : float
        Where the threshold would separate equal values: this value (else NaN), and the part of them
        that counts as above.

    Examples
    --------
    >>> threshold(np.array([0.0, 1.0, 2.0, 3.0]), 0.25)
    (2.25, nan, 0.0)
    >>> threshold(np.array([0.0, 1.0, 1.0, 2.0]), 0.5)
    (1.0, 1.0, 0.5)
    """
    if rate <= 0:
        return np.inf, np.nan, 0.0
    n_rows = len(values)
    position = (n_rows - 1) * (1 - rate)
    below = int(position)
    low, high = values[below], values[min(below + 1, n_rows - 1)]
    if low < high:
        return float(low + (position - below) * (high - low)), np.nan, 0.0
    first, end = np.searchsorted(values, low, "left"), np.searchsorted(values, low, "right")
    part = float(np.clip((end - n_rows * (1 - rate)) / (end - first), 0.0, 1.0))
    # The more of them are above, the closer the threshold is to those that are certainly below.
    under = (low + values[max(first - 1, 0)]) / 2
    over = (low + values[min(end, n_rows - 1)]) / 2
    return float(part * under + (1 - part) * over), float(low), part


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds of a base learner's scores, one per class, and the scale of its margins.

    Parameters
    ----------
    at, tied, part : ndarray of shape (n_classes,)
        As :func:`threshold` returns them.
    unit : float
        The mean distance of the population's scores to the thresholds.
    """

    at: Floats
    tied: Floats
    part: Floats
    unit: float

    @classmethod
    def of(cls, scores: Floats, rates: Floats) -> Self:
        """Return the thresholds of a population.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)
            Of rows of the population.
        rates : ndarray of shape (n_classes,)
            The known rates of the classes.

        Examples
        --------
        >>> scores = np.array([[0.0, 9.0], [1.0, 8.0], [4.0, 5.0], [7.0, 2.0]])
        >>> thresholds = Thresholds.of(scores, np.array([0.5, 0.5]))
        >>> thresholds.at.tolist(), thresholds.unit
        ([2.5, 6.5], 2.5)
        >>> thresholds.scaled_margins(np.array([[5.0, 4.0]])).tolist()
        [[1.0, -1.0]]
        """
        pairs = zip(np.sort(scores, axis=0).T, rates, strict=True)
        at, tied, part = np.array([threshold(values, rate) for values, rate in pairs]).T
        return cls(at, tied, part, float(np.abs(scores - at)[:, np.isfinite(at)].mean()))

    def scaled_margins(self, scores: Floats) -> Floats:
        """Return the scaled margins of any rows, from their scores."""
        least = _ROUNDING * max(1.0, float(np.abs(self.at[np.isfinite(self.at)]).max()))
        margins = (scores - self.at) / max(self.unit, least)
        return np.clip(margins, -LARGEST_MARGIN, LARGEST_MARGIN)

    def above(self, scores: Floats) -> Floats:
        """Return whether scores are above: 1 or 0, or a part where equal ones are on both sides.

        Examples
        --------
        >>> thresholds = Thresholds.of(np.array([[1.0], [2.0], [2.0], [2.0]]), np.array([0.25]))
        >>> thresholds.above(np.array([[1.0], [2.0], [3.0]])).round(2).tolist()
        [[0.0], [0.33], [1.0]]
        """
        return np.where(scores == self.tied, self.part, scores > self.at)


def accuracy_at_rates(
    above: Floats, codes: Codes, rates: Floats, weight: Floats | None = None
) -> float:
    """Estimate the accuracy of labels that have the known rates.

    Parameters
    ----------
    above : ndarray of shape (n_held_out, n_classes)
        Whether held-out rows are above the thresholds; a part where that is a matter of chance.
    codes : ndarray of shape (n_held_out,)
        Numbers of their classes.
    rates : ndarray of shape (n_classes,)
        The known rates.
    weight : ndarray of shape (n_held_out,), optional
        How much each row counts.

    Examples
    --------
    >>> above = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    >>> accuracy_at_rates(above, np.array([0, 0, 1, 1]), np.array([0.5, 0.5]))
    0.75
    """
    weights = poststratified(codes, rates, weight)
    errors = 0.0
    for k in range(len(rates)):
        inside, taken = codes == k, weights * above[:, k]
        left_out = weights[inside].sum() - taken[inside].sum()
        taken_in = taken[~inside].sum()
        # The variance of a sum of indicators goes with the sum of the squared weights.
        variances = (weights[inside] ** 2).sum(), (weights[~inside] ** 2).sum()
        if inside.any() and not inside.all():
            errors += (left_out * variances[1] + taken_in * variances[0]) / sum(variances)
        else:
            errors += left_out + taken_in
    return float(1 - errors)


def standard_error(accuracy: float, row_weight: Floats) -> float:
    """Return the standard error of an accuracy estimated from weighted rows, never zero."""
    within = np.clip(accuracy, 0.5, 1 - 0.5 / len(row_weight))
    return float(np.sqrt(within * (1 - within) * (row_weight**2).sum()))


FOLDS = (300, 5, 2), (5000, 3, 1)
"""Up to a number of labeled rows: folds, and how often rows are split into them."""

MOST_REPEATED = 10
"""Classes up to which rows are split more than once."""

FEW_OF_A_CLASS = 10
"""With fewer labeled rows for each class there are so many folds, once: a learner that lacks a
fifth of them is so much worse that the blend would seem less sure than it is. Of seven data sets of
7 to 25 classes (KEEL, two samples of 60 to 156 labeled rows) calibration error falls from 8.7 to
7.9."""

ONE_SPLIT = 4, 10_000
"""With more labeled rows a single part is held out: this fraction of them, and at most so many."""

N_CALIBRATION_ROWS = 1000
"""Rows of the population, at most, that set the thresholds in cross-validation; and as many others
that leaf estimates are corrected by."""

TEMPERATURE = 0.5
"""A base learner that is less accurate than the best by this many standard errors has 1/e of its
weight. Chosen by samples 0 and 1 of the paper's 13 data sets; samples 2 to 4 test it."""

LEAST_ERROR = 0.015
"""The standard error counts as this at least: of many rows, too, base learners that are nearly as
accurate are better together."""

ENOUGH_LABELS = 10
"""With fewer labeled rows in a class, held-out rows say little, and trees are preferred."""


@dataclass(frozen=True, eq=False)
class StackingWeights:
    """The weights of base learners, and what they rest on.

    Parameters
    ----------
    weights : ndarray of shape (n_learners,)
        They add up to one.
    accuracies : ndarray of shape (n_learners,), or None
        The estimated accuracies; None where no labeled row can be held out.
    margins : ndarray of shape (n_held_out, n_classes)
        Blended scaled margins of the labeled rows that were held out.
    held_out : ndarray of int
        Numbers of these rows.
    """

    weights: Floats
    accuracies: Floats | None
    margins: Floats
    held_out: Codes


def folds(codes: Codes, n_folds: int, rng: np.random.RandomState) -> Iterator[tuple[Codes, Codes]]:
    """Yield rows to keep and rows to hold out; some of every class are always kept.

    The only row of a class is never held out, which scikit-learn's StratifiedKFold would do.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 2])
    >>> parts = list(folds(codes, 2, np.random.RandomState(0)))
    >>> [np.unique(codes[kept]).tolist() for kept, _ in parts]
    [[0, 1, 2], [0, 1, 2]]
    >>> sorted(np.concatenate([held for _, held in parts]).tolist())
    [0, 1, 2, 3, 4]
    """
    fold = np.full(len(codes), -1)
    turn = 0
    for k in range(codes.max() + 1):
        rows = rng.permutation(np.flatnonzero(codes == k))
        if len(rows) > 1:
            # The next class begins where this one ends, so that folds are of equal size.
            fold[rows] = (turn + np.arange(len(rows))) % n_folds
            turn += len(rows)
    for f in range(n_folds):
        if (fold == f).any():
            yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def splits(codes: Codes, rng: np.random.RandomState) -> list[list[tuple[Codes, Codes]]]:
    """Return, for each repeat, rows to keep and rows to hold out: the fewer rows, the more often.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> for n_rows in (100, 1000, 100_000):
    ...     parts = splits(np.arange(n_rows) % 2, rng)
    ...     len(parts), len(parts[0]), len(parts[0][0][1])
    (2, 5, 20)
    (1, 3, 334)
    (1, 1, 10000)
    >>> len(splits(np.arange(100) % 20, rng)[0])
    10
    """
    n_rows = len(codes)
    if n_rows < FEW_OF_A_CLASS * (codes.max() + 1):
        return [list(folds(codes, FEW_OF_A_CLASS, rng))]
    for most, n_folds, n_repeats in FOLDS:
        if n_rows <= most:
            n_repeats = n_repeats if codes.max() < MOST_REPEATED else 1
            return [list(folds(codes, n_folds, rng)) for _ in range(n_repeats)]
    n_folds, most = ONE_SPLIT
    return [list(folds(codes, max(n_folds, -(-n_rows // most)), rng))[:1]]


def cross_validate(
    learners: Mapping[str, Fit],
    training: TrainingSet,
    population: FeatureMatrices,
    rng: np.random.RandomState,
    n_jobs: int | None,
) -> StackingWeights:
    """Weigh base learners by the accuracy of their labels of held-out rows at the known rates.

    Parameters
    ----------
    learners : mapping of str to Fit
        Unfitted base learners by their names.
    training : TrainingSet
        All labeled rows.
    population : FeatureMatrices
        Rows of the population, of which the first set the thresholds.
    rng : RandomState
        Draws the folds.
    n_jobs : int or None
        Number of threads.
    """
    prior = prior_weights(list(learners), training.codes)
    repeats = splits(training.codes, rng)
    n_classes, n_rows = len(training.rates), len(population["columns"])
    unweighted = StackingWeights(prior, None, np.empty((0, n_classes)), np.empty(0, dtype=np.intp))
    if not any(repeats):
        return unweighted
    n_calibration = min(N_CALIBRATION_ROWS, (n_rows + 1) // 2)
    calibration_rows = take(population, slice(n_calibration))
    if n_rows > 1:
        leaf_rows = slice(n_calibration, n_calibration + N_CALIBRATION_ROWS)
        training = replace(training, leaf_rows=leaf_rows)
    fits = list(learners.values())
    numbers = [(r, kept, held) for r, parts in enumerate(repeats) for kept, held in parts]
    calls = [(fits, training, kept, held, calibration_rows) for _, kept, held in numbers]
    found = in_threads(_held_out_margins, calls, n_jobs, "cross-validating base learners")
    held_out = np.unique(np.concatenate([held for _, held in repeats[0]]))
    # two x learners x repeats x held-out rows x classes
    table = np.empty((2, len(fits), len(repeats), len(held_out), n_classes))
    for (repeat, _, held), both in zip(numbers, found, strict=True):
        table[:, :, repeat, np.searchsorted(held_out, held)] = both
    margins, above = table
    codes, weight = training.codes[held_out], training.weight[held_out]
    row_weights = poststratified(codes, training.rates, weight)
    if not row_weights.any():  # all are of classes that the population does not have
        return unweighted
    accuracies = np.array([
        np.mean([accuracy_at_rates(a, codes, training.rates, weight) for a in own])
        for own in above
    ])  # fmt: skip
    error = max(LEAST_ERROR, standard_error(accuracies.max(), row_weights))
    weights = stacking_weights(prior, accuracies, error)
    blended = np.tensordot(weights, margins.mean(axis=1), axes=1)
    return StackingWeights(weights, accuracies, blended, held_out)


def _held_out_margins(
    fits: Sequence[Fit],
    training: TrainingSet,
    kept: Codes,
    held: Codes,
    calibration_rows: FeatureMatrices,
) -> Floats:
    """Return margins of held-out rows by each base learner, and whether they are above zero."""
    part, held_out = training.take(kept), take(training.features, held)
    found = np.empty((2, len(fits), len(held), len(training.rates)))
    for k, fit in enumerate(fits):
        predict = fit(part)
        thresholds = Thresholds.of(predict(calibration_rows), training.rates)
        scores = predict(held_out)
        found[:, k] = thresholds.scaled_margins(scores), thresholds.above(scores)
    return found


def stacking_weights(prior: Floats, accuracies: Floats, error: float) -> Floats:
    """Return the weights of base learners from their accuracies and the standard error of these.

    Examples
    --------
    >>> stacking_weights(np.array([0.5, 0.5]), np.array([0.9, 0.8]), 0.1).round(3).tolist()
    [0.881, 0.119]
    """
    weights = prior * np.exp((accuracies - accuracies.max()) / (TEMPERATURE * error))
    weights /= weights.sum()
    return weights


def prior_weights(names: Sequence[str], codes: Codes) -> Floats:
    """Return the weights of base learners before cross-validation.

    They are the same; but with few labels of a class trees are the safest: they get what the
    others lack.

    Examples
    --------
    >>> names = ["trees", "svc"]
    >>> prior_weights(names, np.repeat([0, 1], [30, 20])).tolist()
    [0.5, 0.5]
    >>> prior_weights(names, np.repeat([0, 1], [30, 2])).round(2).tolist()
    [0.9, 0.1]
    """
    weights = np.full(len(names), 1 / len(names))
    are_trees = np.array(["trees" in name for name in names])
    if not are_trees.any():
        return weights
    known = min(1.0, float(np.bincount(codes).min()) / ENOUGH_LABELS)
    trees = np.where(are_trees, weights, 0.0)
    return known * weights + (1 - known) * trees / trees.sum()
