"""How good a classifier is at labeling a population of known rates, by held-out labeled rows.

Cut the population at the known rate of a class: the rows with the highest scores are of that
class. Then the labeled rows of the class below the cut, and those of other classes above it, are
two estimates of one and the same rate of errors, because as many rows are wrongly taken in as
are left out. Each is weighted by how many rows it rests on. No estimate of a threshold from few
labeled rows is needed, and the bias of a labeled sample that holds too many of one class is
gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logit

from c2rf._typing import Codes, Floats
from c2rf.learners.members import Lesson, Member
from c2rf.learners.threads import in_threads
from c2rf.learners.views import View

N_FOLDS = 5
N_REPEATS = 2
N_CROWD = 1000
"""Rows of the population, at most, among which held-out rows find their places; and as many others
that leaves of trees are to know."""

LEAST_PLACE = 1e-3
"""Places closer to an end of the population than this are as good as each other."""

TEMPERATURE = 0.5
"""A member that is less accurate than another by this many standard errors has 1/e of its
weight."""

ENOUGH_LABELS = 10
"""With fewer labeled rows in a class, held-out rows say little, and trees are preferred."""


def folds(codes: Codes, n_folds: int, rng: np.random.RandomState) -> Iterator[tuple[Codes, Codes]]:
    """Yield rows to keep and rows to hold out; some of every class are always kept.

    The only row of a class is never held out.

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
        members = rng.permutation(np.flatnonzero(codes == k))
        if len(members) > 1:
            # The next class begins where this one ends, so that folds are of equal size.
            fold[members] = (turn + np.arange(len(members))) % n_folds
            turn += len(members)
    for f in range(n_folds):
        if (fold == f).any():
            yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)


def quantiles(scores: Floats, reference: Floats) -> Floats:
    """Return which part of the reference is below each score, by interpolation.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        What to place.
    reference : ndarray of shape (n_reference, n_classes)
        Scores of rows of the population, each column in ascending order.

    Examples
    --------
    >>> quantiles(np.array([[2.0], [2.5], [9.0]]), np.array([[1.0], [2.0], [3.0], [4.0]]))
    array([[0.375],
           [0.5  ],
           [0.875]])
    """
    placed = np.empty(np.shape(scores))
    for k, column in enumerate(reference.T):
        values, first, counts = np.unique(column, return_index=True, return_counts=True)
        placed[:, k] = np.interp(scores[:, k], values, (first + counts / 2) / len(column))
    return placed


def own_quantiles(scores: Floats) -> tuple[Floats, Floats]:
    """Return each column in ascending order, and the :func:`quantiles` of its own rows.

    Examples
    --------
    >>> reference, placed = own_quantiles(np.array([[4.0], [2.0], [2.0], [9.0]]))
    >>> reference.ravel().tolist(), placed.ravel().tolist()
    ([2.0, 2.0, 4.0, 9.0], [0.625, 0.25, 0.25, 0.875])
    """
    reference, placed = np.empty(scores.shape), np.empty(scores.shape)
    for k, column in enumerate(scores.T):
        order = np.argsort(column)
        reference[:, k] = column[order]
        is_new = np.diff(reference[:, k], prepend=-np.inf) > 0
        first = np.append(np.flatnonzero(is_new), len(column))
        middle = (first[:-1] + np.diff(first) / 2) / len(column)
        placed[order, k] = middle[np.cumsum(is_new) - 1]
    return reference, placed


def log_odds(placed: Floats, rates: Floats) -> Floats:
    """Return log-odds of places, zero at the cut that leaves the known rate above it.

    Examples
    --------
    >>> log_odds(np.array([[0.5, 0.9]]), np.array([0.5, 0.1])).round(3).tolist()
    [[0.0, 0.0]]
    """
    inside = np.clip(placed, LEAST_PLACE, 1 - LEAST_PLACE)
    return logit(inside) - logit(np.clip(1 - rates, LEAST_PLACE, 1 - LEAST_PLACE))


def row_weights(codes: Codes, rates: Floats, weight: Floats | None = None) -> Floats:
    """Return weights with which labeled rows have the known rates.

    Examples
    --------
    >>> row_weights(np.array([0, 0, 0, 1]), np.array([0.6, 0.4])).round(3).tolist()
    [0.2, 0.2, 0.2, 0.4]
    """
    weight = np.ones(len(codes)) if weight is None else weight
    counts = np.bincount(codes, weights=weight, minlength=len(rates))
    return weight * np.divide(rates, counts, out=np.zeros(len(rates)), where=counts > 0)[codes]


def accuracy_at_rates(
    placed: Floats, codes: Codes, rates: Floats, weight: Floats | None = None
) -> float:
    """Estimate the accuracy of labels that have the known rates.

    Parameters
    ----------
    placed : ndarray of shape (n_held_out, n_classes)
        The quantiles of the scores of held-out rows among those of the population.
    codes : ndarray of shape (n_held_out,)
        Numbers of their classes.
    rates : ndarray of shape (n_classes,)
        The known rates.
    weight : ndarray of shape (n_held_out,), optional
        How much each row counts.

    Examples
    --------
    >>> placed = np.array([[0.9, 0.1], [0.3, 0.7], [0.2, 0.8], [0.1, 0.9]])
    >>> accuracy_at_rates(placed, np.array([0, 0, 1, 1]), np.array([0.5, 0.5]))
    0.75
    """
    weights = row_weights(codes, rates, weight)
    errors = 0.0
    for k, rate in enumerate(rates):
        inside, above = codes == k, placed[:, k] > 1 - rate
        left_out = weights[inside & ~above].sum()
        taken_in = weights[~inside & above].sum()
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


@dataclass(frozen=True, eq=False)
class Verdict:
    """How far each member is trusted.

    Parameters
    ----------
    share : ndarray of shape (n_members,)
        The weights, which add up to one.
    accuracies : ndarray of shape (n_members,), or None
        The estimated accuracies; None where no labeled row can be held out.
    odds : ndarray of shape (n_judged, n_classes)
        Blended log-odds of the places of the labeled rows that were held out.
    judged : ndarray of int
        Numbers of these rows.
    """

    share: Floats
    accuracies: Floats | None
    odds: Floats
    judged: Codes


def judge(
    members: Sequence[Member],
    lesson: Lesson,
    population: View,
    rng: np.random.RandomState,
    n_jobs: int | None,
) -> Verdict:
    """Hold out labeled rows, and see which members would have labeled them well.

    Parameters
    ----------
    members : sequence of Member
        Unfitted.
    lesson : Lesson
        All labeled rows.
    population : View
        Rows of the population, among which held-out rows find their places.
    rng : RandomState
        Draws the folds.
    n_jobs : int or None
        Number of threads.
    """
    share = prior_shares(members, lesson.codes)
    repeats = [list(folds(lesson.codes, N_FOLDS, rng)) for _ in range(N_REPEATS)]
    n_classes = len(lesson.rates)
    if not repeats[0]:
        return Verdict(share, None, np.empty((0, n_classes)), np.empty(0, dtype=np.intp))
    n_there = len(population.raw)
    n_crowd = min(N_CROWD, (n_there + 1) // 2)
    crowd = population.take(slice(n_crowd))
    if n_there > 1:
        lesson = replace(lesson, others=slice(n_crowd, n_crowd + N_CROWD))
    calls = [(member, lesson, parts, crowd) for member in members for parts in repeats]
    found = in_threads(_held_out_places, calls, n_jobs, "judging members by held-out rows")
    # members x repeats x rows x classes; rows that were never held out are left out
    table = np.reshape(found, (len(members), N_REPEATS, len(lesson.codes), n_classes))
    judged = np.flatnonzero(~np.isnan(table[0, 0, :, 0]))
    table, codes, weight = table[:, :, judged], lesson.codes[judged], lesson.weight[judged]
    accuracies = np.array(
        [np.mean([accuracy_at_rates(p, codes, lesson.rates, weight) for p in row]) for row in table]
    )
    error = standard_error(accuracies.max(), row_weights(codes, lesson.rates, weight))
    share = share * np.exp((accuracies - accuracies.max()) / (TEMPERATURE * error))
    share /= share.sum()
    odds = np.tensordot(share, log_odds(table, lesson.rates).mean(axis=1), axes=1)
    return Verdict(share, accuracies, odds, judged)


def prior_shares(members: Sequence[Member], codes: Codes) -> Floats:
    """Return the weights of members before any row is held out, the same for each family.

    With few labels of a class trees are the safest: they get what the others lack.

    Examples
    --------
    >>> both = [Member("trees", print), Member("svc", print), Member("svc", print)]
    >>> prior_shares(both, np.repeat([0, 1], [30, 20])).tolist()
    [0.5, 0.25, 0.25]
    >>> prior_shares(both, np.repeat([0, 1], [30, 2])).round(2).tolist()
    [0.9, 0.05, 0.05]
    """
    families = [member.family for member in members]
    shares = np.array([1.0 / families.count(family) for family in families])
    shares /= shares.sum()
    are_trees = np.array(["trees" in family for family in families])
    if not are_trees.any():
        return shares
    known = min(1.0, float(np.bincount(codes).min()) / ENOUGH_LABELS)
    trees = np.where(are_trees, shares, 0.0)
    return known * shares + (1 - known) * trees / trees.sum()


def _held_out_places(
    member: Member, lesson: Lesson, parts: Sequence[tuple[Codes, Codes]], crowd: View
) -> Floats:
    """Return the places of held-out rows among a crowd; NaN where a row was never held out."""
    placed = np.full((len(lesson.codes), len(lesson.rates)), np.nan)
    for kept, held in parts:
        scores = member.fit(lesson.take(kept))
        reference = np.sort(scores(crowd), axis=0)
        placed[held] = quantiles(scores(lesson.view.take(held)), reference)
    return placed
