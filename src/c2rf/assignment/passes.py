"""Passes over all rows: after them, only the rows near a decision boundary matter.

1. A random part of the rows gives first class offsets.
2. Where there are very many rows, passes return the sizes of classes at the offsets so far. What
   the random part says too much or too little there corrects its totals, and with them the offsets.
3. A pass returns the rows within a bracket around the boundaries, and sums of all others
   (:class:`~c2rf.assignment.parts.Elsewhere`). The rows are assigned exactly, here, within what
   the others leave of each total. Of very many equal rows on a boundary a hash of their numbers
   says who is in the bracket (:class:`TieSplits`).
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
from scipy.special import softmax

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
    TIES,
    Elsewhere,
    Parts,
    ScoredRows,
    best_classes,
    distinct_scores,
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
_MANY_EQUAL = 64  # rows of the sample
_MORE_COOLING = 8


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


class TieSplits(NamedTuple):
    """Kinds of very many equal rows on a boundary: by a hash of its number each has a class.

    Only rows whose hash is near the end of a class are looked at. As long as some of them are in
    every class, to swap others would change nothing.

    Parameters
    ----------
    groups : ndarray of int, shape (n_kinds,)
        Their groups.
    scores : ndarray of shape (n_kinds, n_classes)
        Their scores, in ascending order of :func:`_keys`.
    ends : ndarray of shape (n_kinds, n_classes - 1)
        The hashes at which one class ends and the next begins; the last class comes first.
    widths : ndarray of shape (n_kinds, 1)
        Hashes within so much of an end are near.
    seed : int
        Of the hash, which is that of ties among the rows that are looked at.
    """

    groups: Codes
    scores: Floats
    ends: Floats
    widths: Floats
    seed: int

    def split(self, part: ScoredRows) -> tuple[Codes, Codes, Codes, NDArray[np.bool_]]:
        """Return rows of these kinds, their kinds, their classes, and which are near an end."""
        places = np.searchsorted(_keys(self), _keys(part))
        places = np.minimum(places, len(self.groups) - 1)
        equal = (self.scores[places] == part.scores).all(axis=1)
        rows = np.flatnonzero(equal & (self.groups[places] == part.groups))
        kinds = places[rows]
        hashes = random_numbers(part.row_numbers[rows], self.seed, TIES)[:, None]
        labels = self.ends.shape[1] - (hashes > self.ends[kinds]).sum(axis=1)
        is_near = np.abs(hashes - self.ends[kinds]) <= self.widths[kinds]
        return rows, kinds, labels, np.any(is_near, axis=1, keepdims=True)[:, 0]

    def hold(self, near: ScoredRows, labels: Codes) -> bool:
        """Say whether rows near an end are in all classes in which there are rows elsewhere."""
        rows, kinds, _, _ = self.split(near)
        there = np.zeros((len(self.groups), near.n_classes), dtype=bool)
        there[kinds, near.n_classes - 1 - labels[rows]] = True
        first = np.hstack([0 * self.widths, self.ends + self.widths])
        last = np.hstack([self.ends - self.widths, 0 * self.widths + 1])
        return bool(there[first < last].all())


def _keys(rows: TieSplits | ScoredRows) -> Floats:
    """Return a number for each row: of equal rows the same one, of others hardly ever."""
    total = np.sqrt(2) * rows.groups
    for k, column in enumerate(rows.scores.T):
        total += np.sqrt(k + 3) * column
    return total


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
    splits : TieSplits or None
        Equal rows on a boundary of which not all are near.
    """

    duals: Floats
    offsets: Floats
    radii: Floats
    temperature: float | None = None
    largest: float | None = None
    splits: TieSplits | None = None

    def widened(self) -> FirstDuals:
        """Return the same duals, but for more rows near the boundaries."""
        splits = self.splits and self.splits._replace(widths=_WIDEN * self.splits.widths)
        return self._replace(radii=_WIDEN * self.radii, splits=splits)

    def classes(self, part: ScoredRows) -> tuple[Codes, NDArray[np.bool_], Codes]:
        """Return the classes of rows, which are near a boundary, and which are split off."""
        best = best_classes(part, self.offsets)
        labels, is_near = best.labels, best.distances <= self.radii[part.groups]
        if self.splits is None:
            return labels, is_near, labels[:0]
        rows, _, labels[rows], is_near[rows] = self.splits.split(part)
        return labels, is_near, rows[~is_near[rows]]

    def hold(self, near: ScoredRows, labels: Codes) -> bool:
        """Say whether the labels of rows near the boundaries agree with where ties were split."""
        return self.splits is None or self.splits.hold(near, labels)


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
    shares = n_near / np.maximum(parts.sizes, 1)
    radii, distances = _radii(sample, offsets, shares)
    plain = FirstDuals(duals, offsets, radii, last, largest)
    near = sample.taken(np.flatnonzero(distances <= _wider(radii, largest)[sample.groups]))
    few_near = parts.is_weighted or near.weight <= _WIDEN * MOST_NEAR
    if few_near or distinct_scores(near)[2].max() < _MANY_EQUAL:
        return plain
    for _ in range(_MORE_COOLING):  # what is expected of equal rows is to be exact
        last /= _WIDEN
        duals = smooth_duals(sample, right, closed, duals, last, 2 / sample.n_rows)
    offsets = class_offsets(constraints, duals, closed)
    radii, distances = _radii(sample, offsets, shares)
    radii = _wider(radii, largest)
    near = sample.taken(np.flatnonzero(distances <= radii[sample.groups]))
    splits = _tie_splits(near, offsets, last, n_near, seed)
    return FirstDuals(duals, offsets, radii, last, largest, splits)


def _radii(sample: ScoredRows, offsets: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return distances within which there are shares of the groups, and that of each row."""
    distances, radii = best_classes(sample, offsets).distances, np.full(len(shares), np.inf)
    order = np.argsort(sample.groups, kind="stable")
    places = np.searchsorted(np.asarray(sample.groups)[order], np.arange(len(shares) + 1))
    for g, share in enumerate(shares):
        own = distances[order[places[g] : places[g + 1]]]
        own = own[np.isfinite(own)]  # no boundary where only one class is open
        if share < 1:
            radii[g] = np.quantile(own, share, method="higher") if len(own) else 0.0
    return radii, distances


def _wider(radii: Floats, largest: float) -> Floats:
    """Return wider radii: of scores that differ, distances are equal but for rounding."""
    return _WIDEN * radii + 2.0**-40 * largest


def _tie_splits(
    near: ScoredRows, offsets: Floats, temperature: float, n_near: Floats, seed: int
) -> TieSplits | None:
    """Return where equal rows of the sample are to be split: each class has its expected share."""
    first, kinds, times = distinct_scores(near)
    many = np.flatnonzero(times >= _MANY_EQUAL)
    if not len(many):
        return None
    many = many[np.argsort(_keys(near.taken(first[many])))]
    groups, scores = near.groups[first[many]], near.scores[first[many]]
    ends = np.cumsum(softmax((scores + offsets[groups]) / temperature, axis=1)[:, :0:-1], axis=1)
    # Besides the error of a rank, the number of rows with a small hash differs by chance.
    masses, sizes = (np.bincount(each, near.weights) for each in (kinds, near.groups))
    widths = np.maximum((n_near[: len(sizes)] / sizes)[groups], _NEAR * masses[many] ** -0.5)
    return TieSplits(groups, scores, ends, widths[:, None], seed)


def _sizes(offsets: Floats, part: ScoredRows) -> Floats:
    return best_classes(part, offsets).counts


def bracket(parts: Parts, first: FirstDuals) -> ScoredRows:
    """Return the rows near the boundaries, with what is known of those elsewhere."""
    near, rest = parts.reduce(partial(_bracketed, first), _merge_bracketed)
    return replace(near, elsewhere=rest)


def _bracketed(first: FirstDuals, part: ScoredRows) -> tuple[ScoredRows, Elsewhere]:
    labels, is_near, split_off = first.classes(part)
    far = np.flatnonzero(~is_near)
    counts = part.taken(far).counts(labels[far])
    if len(split_off):  # their losses are those of equal rows in the bracket
        far = np.setdiff1d(far, split_off, assume_unique=True)
    losses = least_losses(part.scores[far], part.groups[far], labels[far], part.n_groups)
    return part.taken(np.flatnonzero(is_near)), Elsewhere(counts, losses, len(split_off))


def _merge_bracketed(
    found: Sequence[tuple[ScoredRows, Elsewhere]],
) -> tuple[ScoredRows, Elsewhere]:
    rests = [rest for _, rest in found]
    losses = np.minimum.reduce([rest.losses for rest in rests])
    counts, n_split = sum(rest.counts for rest in rests), sum(rest.n_split for rest in rests)
    return joined([near for near, _ in found]), Elsewhere(counts, losses, n_split)


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
    parts: Parts, first: FirstDuals, near: ScoredRows, found: Codes, duals: Sequence[Floats]
) -> tuple[Any, float, Fraction]:
    """Label all rows as the bracket was found, but for those in it.

    Parameters
    ----------
    parts : Parts
        The rows.
    first : FirstDuals
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
    work = partial(_labeled, first, near.row_numbers, small, duals)
    labels, (total, missed) = parts.label(work, _merge_labeled)
    return labels, total, missed


def _labeled(
    first: FirstDuals, rows: Ints, found: Codes, duals: Sequence[Floats], part: ScoredRows
) -> tuple[NDArray[Any], tuple[float, Fraction]]:
    numbers = part.row_numbers
    own = slice(*np.searchsorted(rows, [numbers[0], numbers[-1] + 1]))
    inside = np.searchsorted(numbers, rows[own])
    if len(inside) == part.n_rows:
        labels, missed = found[own].astype(np.intp), Fraction(0)
    else:
        labels, *_ = first.classes(part)
        labels[inside] = found[own]
        far = np.ones(part.n_rows, dtype=bool)
        far[inside] = False
        missed = Fraction(0)
        if duals:
            missed = regret(part.scores, labels, part.groups, duals, far)
    return labels.astype(found.dtype), (part.total(labels), missed)


def _merge_labeled(sums: Sequence[tuple[float, Fraction]]) -> tuple[float, Fraction]:
    totals, missed = zip(*sums, strict=True)
    return sum(totals), sum(missed, Fraction(0))
