"""Passes over all rows: after them, only the rows near a decision boundary matter.

1. A random part of the rows gives first class offsets.
2. Where there are very many rows, passes return the sizes of classes at the offsets so far. What
   the random part says too much or too little there corrects its totals, and with them the offsets.
3. A pass returns the rows within a bracket around the boundaries, and sums of all others
   (:class:`~c2rf.assignment.parts.Elsewhere`). The rows are assigned exactly, here, within what
   the others leave of each total.
4. If the others are not in their best class then, the bracket was too narrow, and is widened.
5. A last pass labels all rows where they are, and adds up what they miss by not having their best
   class: the exact proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment.duals import (
    anneal_to_few,
    annealed_duals,
    class_offsets,
    drop_zero_totals,
    regret,
    smooth_duals,
)
from c2rf.assignment.parts import (
    Elsewhere,
    Parts,
    ScoredRows,
    best_classes,
    joined,
    random_numbers,
)
from c2rf.totals.bounds import Bounds, LinearConstraints

FEW = 1 << 17
"""Rows that are assigned at once; of more, those far from all boundaries are set apart."""
SAMPLE = 1 << 16
"""Rows by which first offsets are found."""
MOST_NEAR = 1 << 18
"""The bracket is narrowed until it is expected to hold no more rows, or is as narrow as it gets."""

# A rank in a sample of s is known up to 0.5 / sqrt(s) of all, as a standard deviation; there are
# two sides of a boundary, and several deviations on each are near.
_NEAR = 8.0
# Rows of the sample that are still near a boundary at the last temperature: so many in all, and so
# many for each total, as Newton's method needs many steps where few rows decide about a total.
_FEW_BOUNDARY = 250
_FEW_PER_TOTAL = 8
_WIDEN = 4.0
_MOST_CORRECTIONS = 4


def are_many(parts: Parts) -> bool:
    """Say whether rows far from the boundaries are to be set apart."""
    return parts.n_rows > FEW


def draw(parts: Parts, masses: NDArray[Any], seed: int, least: int) -> tuple[ScoredRows, float]:
    """Draw about ``SAMPLE`` rows: of each group the same share, and the least at least.

    With them comes the largest absolute score of all rows.

    No more than a quarter of all rows are drawn for the sake of small groups. The rows get weights
    with which each group has its mass.
    """
    share = min(SAMPLE / parts.n_rows, 1.0)
    own = min(least, parts.n_rows // (4 * parts.n_groups)) / np.maximum(parts.sizes, 1)
    drawn, largest = parts.reduce(partial(_drawn, np.maximum(share, own), seed), _merge_drawn)
    weights, groups = drawn.weight_of(slice(None)), drawn.groups
    taken = np.bincount(groups, weights, minlength=parts.n_groups)
    weights = weights * (masses / np.where(taken > 0, taken, 1.0))[groups]
    return replace(drawn, weights=weights), largest


def _drawn(shares: Floats, seed: int, part: ScoredRows) -> tuple[ScoredRows, float]:
    numbers = random_numbers(part.row_numbers, seed, 5)
    rows = np.flatnonzero(numbers < shares[part.groups])
    return part.taken(rows), float(max(part.scores.max(), -part.scores.min()))


def _merge_drawn(drawn: Sequence[tuple[ScoredRows, float]]) -> tuple[ScoredRows, float]:
    rows, largest = zip(*drawn, strict=True)
    return joined(rows), max(largest)


class FirstDuals(NamedTuple):
    """Approximate duals, computed from a sample of all rows.

    Parameters
    ----------
    duals : ndarray of shape (n_totals,)
        Of the totals that are not zero.
    offsets : ndarray of shape (n_groups, n_classes)
        What they add up to.
    radii : ndarray of shape (n_groups,)
        Distances to the boundaries within which the right ones are; infinite for a group of which
        all rows may be near.
    temperature : float or None
        To which they were annealed, None if they were not.
    largest : float or None
        The largest absolute score of all rows, where they were looked through for it.
    """

    duals: Floats
    offsets: Floats
    radii: Floats
    temperature: float | None = None
    largest: float | None = None

    def widened(self) -> FirstDuals:
        """Return the same duals, but for more rows near the boundaries."""
        return self._replace(radii=_WIDEN * self.radii)


def first_duals(parts: Parts, bounds: Bounds, seed: int, least: int) -> FirstDuals:
    """Return nearly right duals by a sample of many rows; zeros for few rows, which are all near.

    Parameters
    ----------
    parts : Parts
        The rows.
    bounds : Bounds
        They can be met.
    seed : int
        Draws the sample.
    least : int
        So many rows of each group are in it, if there are.
    """
    known = bounds.with_implied_bounds()
    constraints, closed = drop_zero_totals(LinearConstraints.of(known), known)
    duals, radii = np.zeros(len(constraints.lower)), np.full(parts.n_groups, np.inf)
    if not are_many(parts):
        return FirstDuals(duals, closed, radii)
    sample, largest = draw(parts, bounds.group_sizes, seed, least)
    # Nothing is asked of groups of which no row was drawn.
    there = constraints.matrix @ np.repeat(sample.sizes > 0, parts.n_classes).astype(float) > 0
    right = constraints.between(there * constraints.lower, there * constraints.upper)
    duals, first = annealed_duals(sample, right, closed, duals)
    few = max(_FEW_BOUNDARY, _FEW_PER_TOTAL * len(duals))
    duals, last = anneal_to_few(sample, right, closed, duals, first, few)
    offsets = class_offsets(constraints, duals, closed)
    taken = np.maximum(sample.sizes, 1)
    factors = parts.sizes / taken
    error = np.zeros(offsets.shape)
    n_near = _NEAR * parts.sizes / np.sqrt(taken)
    for _ in range(_MOST_CORRECTIONS):
        if np.minimum(n_near, parts.sizes).sum() <= MOST_NEAR:
            break
        before, counts = error, parts.reduce(partial(_sizes, offsets), sum)
        error = _sizes(offsets, sample) - counts
        # The sample errs by the root of how many of its rows stand for those that are to change.
        moved = np.abs(error - before).sum(axis=1) / 2 * (parts.n_rows / parts.weight)
        n_near = np.minimum(n_near, _NEAR * np.sqrt(np.maximum(moved, factors) * factors))
        # Totals corrected by the error make the duals of the sample right; of a rare class a
        # sample may be off by more than there is.
        off = constraints.matrix @ error.ravel()
        ends = (np.maximum(end + off, end / 2) for end in (constraints.lower, constraints.upper))
        right = constraints.between(*(there * end for end in ends))
        for temperature in (16 * last, 4 * last):
            duals = smooth_duals(sample, right, closed, duals, temperature, 1e-3)
        duals = smooth_duals(sample, right, closed, duals, last, 2 / sample.n_rows)
        offsets = class_offsets(constraints, duals, closed)
    best = best_classes(sample, offsets)
    order = np.argsort(sample.groups, kind="stable")
    places = np.searchsorted(np.asarray(sample.groups)[order], np.arange(parts.n_groups + 1))
    for g, share in enumerate(n_near / np.maximum(parts.sizes, 1)):
        own = best.distances[order[places[g] : places[g + 1]]]
        own = own[np.isfinite(own)]  # no boundary where only one class is open
        if share < 1:
            radii[g] = np.quantile(own, share, method="higher") if len(own) else 0.0
    return FirstDuals(duals, offsets, radii, last, largest)


def _sizes(offsets: Floats, part: ScoredRows) -> Floats:
    return best_classes(part, offsets).counts


def bracket(parts: Parts, first: FirstDuals) -> ScoredRows:
    """Return the rows near the boundaries, with what is known of those elsewhere."""
    near, rest = parts.reduce(partial(_bracketed, first.offsets, first.radii), _merge_bracketed)
    return replace(near, elsewhere=rest)


def _bracketed(offsets: Floats, radii: Floats, part: ScoredRows) -> tuple[ScoredRows, Elsewhere]:
    best = best_classes(part, offsets)
    is_near = best.distances <= radii[part.groups]
    far = np.flatnonzero(~is_near)
    rest, labels = part.taken(far), best.labels[far]
    losses = least_losses(rest.scores, rest.groups, labels, part.n_groups)
    return part.taken(np.flatnonzero(is_near)), Elsewhere(rest.counts(labels), losses)


def _merge_bracketed(
    found: Sequence[tuple[ScoredRows, Elsewhere]],
) -> tuple[ScoredRows, Elsewhere]:
    rests = [rest for _, rest in found]
    losses = np.minimum.reduce([rest.losses for rest in rests])
    counts = sum(rest.counts for rest in rests)
    return joined([near for near, _ in found]), Elsewhere(counts, losses)


def least_losses(scores: Floats, groups: Codes, labels: Codes, n_groups: int) -> Floats:
    """Return the least that a row of each group and class would lose in each other class.

    Of parts these tables are merged by their minimum.
    """
    n_classes = scores.shape[1]
    losses = np.full((n_groups, n_classes, n_classes), np.inf)
    for a in range(n_classes):
        rows = np.flatnonzero(labels == a)
        for b in range(n_classes):
            if b != a:
                lost = scores[rows, a] - scores[rows, b]
                if n_groups == 1:
                    losses[0, a, b] = lost.min(initial=np.inf)
                else:
                    np.minimum.at(losses[:, a, b], groups[rows], lost)
    return losses


def reach(rest: Elsewhere | None, offsets: Floats) -> float:
    """Return how far rows elsewhere are from changing class at some offsets; below 0 some would."""
    if rest is None:
        return np.inf
    gains = np.where(np.isfinite(offsets), offsets, -np.inf)
    with np.errstate(invalid="ignore"):
        left = rest.losses - (gains[:, None, :] - gains[:, :, None])
    left[np.isposinf(rest.losses)] = np.inf
    return float(np.nan_to_num(left, nan=-np.inf, posinf=np.inf, neginf=-np.inf).min())


def label_all(
    parts: Parts, offsets: Floats, near: ScoredRows, found: Codes, duals: Sequence[Floats]
) -> tuple[Any, float, Fraction]:
    """Label all rows by the offsets of the bracket, but for those in it.

    Parameters
    ----------
    parts : Parts
        The rows.
    offsets : ndarray of shape (n_groups, n_classes)
        By which the bracket was found.
    near : ScoredRows
        The rows in it, with their numbers.
    found : ndarray of int
        Their classes.
    duals : sequence of ndarray of shape (n_groups, n_classes)
        Added up they are the offsets that the others are judged by; nothing is judged without.

    Returns
    -------
    labels : ndarray of int, shape (n_rows,), or a lazy collection
        Classes.
    total : float
        The (weighted) sum of the scores that they choose.
    regret : Fraction
        What rows outside of the bracket miss by not having their best class.
    """
    small: NDArray[Any] = found.astype(np.min_scalar_type(parts.n_classes - 1))
    work = partial(_labeled, offsets, near.row_numbers, small, duals)
    labels, (total, missed) = parts.label(work, _merge_labeled)
    return labels, total, missed


def _labeled(
    offsets: Floats, rows: Ints, found: Codes, duals: Sequence[Floats], part: ScoredRows
) -> tuple[NDArray[Any], tuple[float, Fraction]]:
    numbers = part.row_numbers
    first, last = np.searchsorted(rows, [numbers[0], numbers[-1] + 1])
    inside = np.searchsorted(numbers, rows[first:last])
    if len(inside) == part.n_rows:
        labels, missed = found[first:last].astype(np.intp), Fraction(0)
    else:
        labels = best_classes(part, offsets).labels
        labels[inside] = found[first:last]
        far = np.ones(part.n_rows, dtype=bool)
        far[inside] = False
        missed = Fraction(0)
        if duals:
            missed = regret(part.scores, labels, part.groups, duals, far)
    return labels.astype(found.dtype), (part.total(labels), missed)


def _merge_labeled(sums: Sequence[tuple[float, Fraction]]) -> tuple[float, Fraction]:
    totals, missed = zip(*sums, strict=True)
    return sum(totals), sum(missed, Fraction(0))
