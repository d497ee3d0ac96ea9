"""Very many rows: only those near a decision boundary are assigned.

The offsets of a sample say where the boundaries between the classes are, up to the sampling error.
Rows farther away than that (the candidate radius) keep their class; the others are assigned
exactly, within what the bounds leave them. That the whole is optimal is checked in the residual
network of all rows, and if it is not, the radius grows. Scores are read block by block: they may be
on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment.one_margin import (
    clipped_to_sizes,
    is_optimal,
    label,
    least_losses,
    n_ties,
    offsets_of,
    residual_networks,
    shrunk,
    sizes_of,
)
from c2rf.totals.bounds import Bounds, find_conflict

# A rank in a sample of s is known up to 0.5 / sqrt(s) of all, as a standard deviation; there are
# two sides of a boundary, and several deviations on each are near.
_NEAR = 8.0
_WIDEN = 4.0


class Sizes(NamedTuple):
    """How many rows are many, and how many of them are looked at.

    Parameters
    ----------
    few : int
        With more rows than this, those far from all boundaries are set apart.
    sample, sample_per_group : int
        Rows by which boundaries are found: so many, or so many for each group if that is more.
    block : int
        Rows that are read at once.
    """

    few: int = 1 << 18
    sample: int = 1 << 16
    sample_per_group: int = 1 << 9
    block: int = 1 << 16


@dataclass(frozen=True, eq=False)
class _Split:
    """Labels of the rows far from the boundaries, their sizes and losses, and the other rows."""

    labels: Codes
    counts: Ints
    losses: Floats
    rows: Codes
    scores: Floats
    ties: Floats
    groups: Codes


def label_large(
    scores: Floats, groups: Codes, bounds: Bounds, jitter: float, seed: int, sizes: Sizes
) -> tuple[Codes, Ints, Floats]:
    """Return the classes with the highest total score that meet the bounds.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores; they may be mapped from disk.
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    bounds : Bounds
        They can be met.
    jitter : float
        See :func:`c2rf.assignment.one_margin.label`.
    seed : int
        Of all random numbers.
    sizes : Sizes
        How many rows to look at.

    Returns
    -------
    labels : ndarray of int, shape (n_rows,)
        Class of each row, in the smallest type that holds it.
    counts : ndarray of int, shape (n_groups, n_classes)
        Sizes of the classes.
    losses : ndarray of shape (n_groups, n_classes, n_classes)
        See :func:`c2rf.assignment.one_margin.least_losses`.
    """
    rows = _sampled_rows(len(scores), bounds.n_groups, seed, sizes)
    sample, members = scores[rows], groups[rows]
    offsets = _sample_offsets(sample, members, bounds, jitter, seed)
    distances = _distances(sample + offsets[members])
    widened = 1.0
    while True:
        radii = _radii(distances, members, bounds.n_groups, _NEAR * widened)
        split = _split(scores, groups, offsets, radii, seed, sizes.block)
        found = _finish(split, bounds, jitter, seed)
        if found is not None:
            return found
        widened *= _WIDEN


def sample_bounds(bounds: Bounds, groups: Codes) -> tuple[Bounds, Codes, Codes]:
    """Return bounds in proportion to a sample of the rows, given their groups.

    By chance the groups in the sample may be so large that overall bounds cannot be met, too:
    then they are left out.

    Returns
    -------
    bounds : Bounds
        Of the groups that are in the sample.
    codes : ndarray of int
        The group of each row, counted among these.
    there : ndarray of int
        Which groups these are.
    """
    there, codes = np.unique(groups, return_inverse=True)
    small = clipped_to_sizes(_of_groups(shrunk(bounds, groups), there))
    if find_conflict(small) is not None:
        free = np.full_like(small.upper, small.n_rows)
        small = replace(small, lower=np.zeros_like(free), upper=free)
    return small, codes, there


def _sampled_rows(n_rows: int, n_groups: int, seed: int, sizes: Sizes) -> Codes:
    size = min(n_rows // 4, max(sizes.sample, sizes.sample_per_group * n_groups))
    return np.sort(np.random.default_rng([seed, 1]).choice(n_rows, size, replace=False))


def _sample_offsets(
    scores: Floats, groups: Codes, bounds: Bounds, jitter: float, seed: int
) -> Floats:
    """Return the offsets of each group by a sample; zero where there is none of it."""
    offsets = np.zeros(bounds.group_lower.shape)
    small, codes, there = sample_bounds(bounds, groups)
    rng = np.random.default_rng([seed, 2])
    ties = rng.random((len(scores), n_ties(scores.shape[1])))
    labels = label(scores, ties, codes, small, jitter, rng)
    losses = least_losses(scores, codes, labels, len(there))
    offsets[there] = offsets_of(
        residual_networks(losses, small, sizes_of(labels, codes, small), 4 * jitter)
    )
    return offsets


def _of_groups(bounds: Bounds, there: Codes) -> Bounds:
    """Return the bounds of some of the groups."""
    inner = bounds.group_lower[there], bounds.group_upper[there], bounds.group_sizes[there]
    return Bounds(bounds.lower, bounds.upper, *inner)


def _radii(distances: Floats, groups: Codes, n_groups: int, near: float) -> Floats:
    """Return the distances within which the boundary of each group may be; inf if unknown."""
    radii = np.full(n_groups, np.inf)
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(n_groups + 1))
    for g in range(n_groups):
        own = distances[order[ends[g] : ends[g + 1]]]
        share = near / max(1, len(own)) ** 0.5
        if share < 1:
            radii[g] = np.quantile(own, share, method="higher")
    return radii


def _distances(values: Floats) -> Floats:
    """Return by how much the largest value of each row exceeds the next."""
    if values.shape[1] == 2:
        return np.abs(values[:, 1] - values[:, 0])
    two = np.partition(values, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    return (slice(k, min(k + size, n_rows)) for k in range(0, n_rows, size))


def _split(
    scores: Floats, groups: Codes, offsets: Floats, radii: Floats, seed: int, block: int
) -> _Split:
    """Label the rows far from the boundaries, and gather the others."""
    n_rows, n_classes = scores.shape
    n_groups = len(offsets)
    labels: Codes = np.empty(n_rows, dtype=np.min_scalar_type(n_classes - 1))
    counts = np.zeros((n_groups, n_classes), dtype=np.int64)
    losses = np.full((n_groups, n_classes, n_classes), np.inf)
    rng = np.random.default_rng(seed)
    near_rows = []
    for rows in _blocks(n_rows, block):
        table, members = np.asarray(scores[rows]), groups[rows]
        # Block by block these are the numbers that all rows would get at once.
        ties = rng.random((len(table), n_ties(n_classes)))
        values = table + offsets[members]
        best = values.argmax(axis=1)
        labels[rows] = best
        near = _distances(values) <= radii[members]
        kept, far = np.flatnonzero(near), np.flatnonzero(~near)
        near_rows.append((rows.start + kept, table[kept], ties[kept], members[kept]))
        cells = members[far] * n_classes + best[far]
        counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)
        lost = least_losses(table[far], members[far], best[far], n_groups)
        np.minimum(losses, lost, out=losses)
    return _Split(labels, counts, losses, *map(np.concatenate, zip(*near_rows, strict=True)))


def _finish(
    split: _Split, bounds: Bounds, jitter: float, seed: int
) -> tuple[Codes, Ints, Floats] | None:
    """Assign the rows near the boundaries; None if they cannot make the whole optimal."""
    there, codes = np.unique(split.groups, return_inverse=True)
    left = _left(bounds, split.counts)
    if left is None:
        return None
    labels, counts, losses = split.labels, split.counts, split.losses
    strict = losses - 8 * jitter  # a row that was set apart must not even be tied
    if len(there):
        rest = _of_groups(left, there)
        if find_conflict(rest) is not None:
            return None
        rng = np.random.default_rng([seed, 3])
        found = label(split.scores, split.ties, codes, clipped_to_sizes(rest), jitter, rng)
        labels[split.rows] = found
        counts = counts + sizes_of(found, split.groups, bounds)
        lost = least_losses(split.scores, split.groups, found, bounds.n_groups)
        losses, strict = np.minimum(losses, lost), np.minimum(strict, lost)
    if all(
        is_optimal(network) for network in residual_networks(strict, bounds, counts, 4 * jitter)
    ):
        return labels, counts, losses
    return None


def _left(bounds: Bounds, counts: Ints) -> Bounds | None:
    """Return the bounds that are left for other rows; None if some are exceeded already."""
    total = counts.sum(axis=0)
    left = Bounds(
        np.maximum(bounds.lower - total, 0),
        bounds.upper - total,
        np.maximum(bounds.group_lower - counts, 0),
        bounds.group_upper - counts,
        bounds.group_sizes - counts.sum(axis=1),
    )
    full = left.group_sizes == 0
    if (left.upper < 0).any() or (left.group_upper < 0).any() or left.group_lower[full].any():
        return None
    return left
