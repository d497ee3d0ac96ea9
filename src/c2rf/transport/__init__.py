"""The labels with the highest total score that meet bounds on the sizes of classes, exactly.

This is a transportation problem: points are brought to classes. Its dual variables are offsets,
one per class (and group): every point is where its score + offset is largest, but for ties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from c2rf.exceptions import InputError
from c2rf.transport.bounds import Bounds, Conflict, find_conflict
from c2rf.transport.paths import Codes, augment
from c2rf.transport.residual import Floats, Ints, Residual
from c2rf.transport.selection import select

__all__ = [
    "Assignment",
    "Bounds",
    "Conflict",
    "assign",
    "find_conflict",
    "log_scores",
    "zero_floor",
]

JITTER = 2.0**-40
"""Ties are broken by random numbers up to this part of the largest score."""

_LARGEST_FLOOR = 1e-3
_SMALLEST_FLOOR = 1e-300


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels of points, and what they are optimal by.

    Parameters
    ----------
    labels : ndarray of int, shape (n_points,)
        Class of each point, from 0.
    offsets : ndarray of shape (n_groups, n_classes)
        Every point is where score + offset of its group is largest, but for ties. Zero where the
        bounds change nothing, -inf where there may be no points of the class.
    counts : ndarray of int, shape (n_groups, n_classes)
        Sizes of the classes in the groups.
    objective : float
        Total score.
    """

    labels: Codes
    offsets: Floats
    counts: Ints
    objective: float


def assign(
    scores: ArrayLike, bounds: Bounds, groups: ArrayLike | None = None, random_state: Any = None
) -> Assignment:
    """Return the labels with the highest total score that meet the bounds.

    Parameters
    ----------
    scores : array-like of shape (n_points, n_classes)
        Logarithms of probabilities, say. -inf counts as a score below all others by as much as
        these differ, and one more.
    bounds : Bounds
        Bounds that can be met (see :func:`find_conflict`).
    groups : array-like of int, shape (n_points,), or None
        The group of each point, from 0; None if there is a single one.
    random_state : int, RandomState or None
        Decides between equal scores, because the order of rows may know the classes.

    Returns
    -------
    Assignment

    Notes
    -----
    Of two classes it is a selection by sorting. With more, paths of shortest loss lead from
    an unbounded assignment to one within the bounds. Scores that differ by less than 1e-12 of
    the largest count as equal there.

    Examples
    --------
    >>> scores = np.log([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    >>> found = assign(scores, Bounds.overall([1, 1, 1], [1, 1, 1], 3), random_state=0)
    >>> found.labels
    array([0, 1, 2])
    >>> (scores + found.offsets[0]).argmax(axis=1)
    array([0, 1, 2])
    """
    table = _finite(np.asarray(scores, dtype=float))
    n_points, n_classes = table.shape
    codes = np.zeros(n_points, dtype=np.intp) if groups is None else np.asarray(groups)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.default_rng(seed)
    cells = _tightened(bounds)
    jitter = JITTER * (float(np.abs(table).max()) or 1.0)
    if n_classes == 2:
        labels = select(table[:, 1] - table[:, 0], codes, cells, rng)
    else:
        labels = _many(table + jitter * rng.random(table.shape), codes, cells, jitter * 2**-5, rng)
    counts = _counts(labels, codes, cells)
    return Assignment(
        labels,
        _offsets(table, codes, labels, cells, counts, 4 * jitter),
        counts,
        float(table[np.arange(n_points), labels].sum()),
    )


def log_scores(probabilities: ArrayLike, floor: float | None = None) -> Floats:
    """Return logarithms of probabilities, those below a floor counting as the floor.

    Parameters
    ----------
    probabilities : array-like of shape (n_points, n_classes)
        Numbers from 0 to 1.
    floor : float, optional
        By default that of :func:`zero_floor`.

    Examples
    --------
    >>> np.exp(log_scores([[0.0, 1.0], [0.5, 0.5]])).round(4).tolist()
    [[0.001, 1.0], [0.5, 0.5]]
    """
    table = np.asarray(probabilities, dtype=float)
    return np.log(np.maximum(table, zero_floor(table) if floor is None else floor))


def zero_floor(probabilities: ArrayLike) -> float:
    """Return what a probability of zero counts as: half of the least above zero, at most 0.001.

    So a zero says less in a forest, whose probabilities are multiples of 1 / n_trees, than in a
    model of densities, and it is always below what was said of any other point and class.

    Examples
    --------
    >>> zero_floor([[0.0, 1.0], [0.0004, 0.9996]])
    0.0002
    """
    table = np.asarray(probabilities, dtype=float)
    least = float(table.min(initial=1.0, where=table > 0))
    return min(max(least / 2, _SMALLEST_FLOOR), _LARGEST_FLOOR)


def _finite(scores: Floats) -> Floats:
    """Return scores without infinite ones, or refuse them."""
    if scores.ndim != 2 or not scores.size:
        raise InputError(
            f"scores must be a table of points by classes; found the shape {scores.shape}"
        )
    if np.isnan(scores).any() or (scores == np.inf).any():
        raise InputError("scores must be numbers or -inf; found NaN or inf")
    known = scores[np.isfinite(scores)]
    if len(known) == scores.size:
        return scores
    least, most = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.where(np.isfinite(scores), scores, 2 * least - most - 1)


def _tightened(bounds: Bounds) -> Bounds:
    """Return the same bounds without more than there are points."""
    return replace(
        bounds,
        upper=np.minimum(bounds.upper, bounds.n_points),
        group_upper=np.minimum(bounds.group_upper, bounds.group_sizes[:, None]),
    )


def _many(
    scores: Floats, groups: Codes, bounds: Bounds, tolerance: float, rng: np.random.Generator
) -> Codes:
    """Label points of more than two classes: group by group unless overall bounds couple them."""
    if bounds.couple():
        merged, member = _merged(bounds)
        return augment(scores, member[groups], merged, tolerance, rng)
    labels = np.empty(len(scores), dtype=np.intp)
    order = np.argsort(groups, kind="stable")
    for g, rows in enumerate(np.split(order, np.cumsum(bounds.group_sizes)[:-1])):
        one = np.zeros(len(rows), dtype=np.intp)
        labels[rows] = augment(scores[rows], one, bounds.of_group(g), tolerance, rng)
    return labels


def _merged(bounds: Bounds) -> tuple[Bounds, Codes]:
    """Make one group of all that have no bounds of their own; return the new group of each."""
    sizes = bounds.group_sizes
    free = (bounds.group_lower <= 0).all(axis=1)
    free &= (bounds.group_upper >= sizes[:, None]).all(axis=1)
    bound = np.flatnonzero(~free)
    member = np.full(bounds.n_groups, len(bound))
    member[bound] = np.arange(len(bound))
    rest = int(sizes[free].sum())
    keep = slice(None if rest else len(bound))
    lower = np.vstack([bounds.group_lower[bound], np.zeros_like(bounds.lower)])[keep]
    upper = np.vstack([bounds.group_upper[bound], np.full_like(bounds.upper, rest)])[keep]
    merged = Bounds(bounds.lower, bounds.upper, lower, upper, np.append(sizes[bound], rest)[keep])
    return merged, member


def _counts(labels: Codes, groups: Codes, bounds: Bounds) -> Ints:
    shape = bounds.group_lower.shape
    found = np.bincount(groups * shape[1] + labels, minlength=shape[0] * shape[1])
    return found.reshape(shape)


def _offsets(
    scores: Floats, groups: Codes, labels: Codes, bounds: Bounds, counts: Ints, tolerance: float
) -> Floats:
    """Return the offsets of every group."""
    losses = least_losses(scores, groups, labels, bounds.n_groups)
    if bounds.couple():
        residual = Residual(losses, bounds, tolerance)
        residual.open_arcs(counts, counts.sum(axis=0))
        return residual.offsets()
    offsets = np.empty(counts.shape)
    for g in range(bounds.n_groups):
        residual = Residual(losses[g : g + 1], bounds.of_group(g), tolerance)
        residual.open_arcs(counts[g : g + 1], counts[g])
        offsets[g] = residual.offsets()[0]
    return offsets


def least_losses(scores: Floats, groups: Codes, labels: Codes, n_groups: int) -> Floats:
    """Return the least that a point of each group and class would lose in each other class.

    Of chunks of points these tables are merged by their minimum.
    """
    n_classes = scores.shape[1]
    losses = np.full((n_groups, n_classes, n_classes), np.inf)
    for a in range(n_classes):
        rows = np.flatnonzero(labels == a)
        for b in range(n_classes):
            if b != a:
                np.minimum.at(losses[:, a, b], groups[rows], scores[rows, a] - scores[rows, b])
    return losses
