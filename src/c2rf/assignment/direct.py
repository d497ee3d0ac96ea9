"""All rows at once: labels, and the dual offsets that certify them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from c2rf._typing import Codes, Floats, Ints
from c2rf.assignment.paths import augment
from c2rf.assignment.residual import Residual
from c2rf.assignment.selection import select
from c2rf.totals.bounds import Bounds


def n_ties(n_classes: int) -> int:
    """Return how many random numbers break the ties of a row."""
    return 1 if n_classes == 2 else n_classes


def label(
    scores: Floats,
    ties: Floats,
    groups: Codes,
    bounds: Bounds,
    jitter: float,
    rng: np.random.Generator,
) -> Codes:
    """Return the classes with the highest total score that meet the bounds.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores.
    ties : ndarray of shape (n_rows, n_ties(n_classes))
        Random numbers from 0 to 1 that decide between equal scores.
    groups : ndarray of int, shape (n_points,)
        The group of each row.
    bounds : Bounds
        They can be met.
    jitter : float
        Of more than two classes, scores are changed by up to this to break ties.
    rng : Generator
        Draws samples.
    """
    if scores.shape[1] == 2:
        return select(scores[:, 1] - scores[:, 0], groups, bounds, ties[:, 0])
    return _many(scores + jitter * ties, groups, bounds, jitter * 2**-5, rng)


def _many(
    scores: Floats, groups: Codes, bounds: Bounds, tolerance: float, rng: np.random.Generator
) -> Codes:
    """Label rows of more than two classes: group by group unless overall bounds couple them."""
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


def clipped_to_sizes(bounds: Bounds) -> Bounds:
    """Return the same bounds without more than there are rows."""
    return replace(
        bounds,
        upper=np.minimum(bounds.upper, bounds.n_rows),
        group_upper=np.minimum(bounds.group_upper, bounds.group_sizes[:, None]),
    )


def sizes_of(labels: Codes, groups: Codes, bounds: Bounds) -> Ints:
    """Return the sizes of the classes in the groups."""
    shape = bounds.group_lower.shape
    found = np.bincount(groups * shape[1] + labels, minlength=shape[0] * shape[1])
    return found.reshape(shape)


def offsets_of(parts: list[Residual]) -> Floats:
    """Return the offsets of every group."""
    return np.vstack([network.offsets() for network in parts])


def networks(losses: Floats, bounds: Bounds, counts: Ints, tolerance: float) -> list[Residual]:
    """Return the residual networks: one of all groups where bounds couple them, else one each."""
    if bounds.couple():
        parts = [(losses, bounds, counts)]
    else:
        each = range(bounds.n_groups)
        parts = [(losses[g : g + 1], bounds.of_group(g), counts[g : g + 1]) for g in each]
    found = []
    for part_losses, part_bounds, part_counts in parts:
        residual = Residual(part_losses, part_bounds, tolerance)
        residual.open_arcs(part_counts, part_counts.sum(axis=0))
        found.append(residual)
    return found


def is_optimal(network: Residual) -> bool:
    """Say whether no exchange of rows would gain: the network has no negative cycle."""
    prices, _ = network.shortest(network.nodes.zeros())
    again, _ = network.shortest(prices)
    return not bool((again < prices - network.tolerance).any())


def least_losses(scores: Floats, groups: Codes, labels: Codes, n_groups: int) -> Floats:
    """Return the least that a row of each group and class would lose in each other class.

    Of chunks of rows these tables are merged by their minimum.
    """
    n_classes = scores.shape[1]
    losses = np.full((n_groups, n_classes, n_classes), np.inf)
    for a in range(n_classes):
        rows = np.flatnonzero(labels == a)
        for b in range(n_classes):
            if b != a:
                np.minimum.at(losses[:, a, b], groups[rows], scores[rows, a] - scores[rows, b])
    return losses
