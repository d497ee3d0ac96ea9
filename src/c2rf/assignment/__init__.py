"""The labels with the highest total score that meet bounds on the sizes of classes.

This is a transportation problem: rows are brought to classes. Its dual variables are class offsets,
one per class (and group): every row has the class where its score + offset is largest, but for
ties. Rows may be anywhere (:mod:`~c2rf.assignment.parts`): a few passes over them leave those near
a decision boundary (:mod:`~c2rf.assignment.passes`). There is a module for each kind of bounds by
which these are assigned: totals overall or of one grouping (:mod:`~c2rf.assignment.one_margin`),
margins that cross (:mod:`~c2rf.assignment.crossing_margins`), and sums of weights
(:mod:`~c2rf.assignment.weighted`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from c2rf._utils.types import MOST_SEEDS, Codes, Floats
from c2rf.assignment.crossing_margins import (
    FEW_DRAWN,
    label_crossing,
    relaxations,
)
from c2rf.assignment.duals import (
    Assignment,
    class_offsets,
    drop_zero_totals,
    matching_offsets,
    smooth_duals,
    sums_within,
)
from c2rf.assignment.one_margin import label_one_margin, sample_bounds
from c2rf.assignment.parts import Parts, ScoredRows, class_counts
from c2rf.assignment.passes import are_many, draw
from c2rf.assignment.weighted import in_fractions, label_weighted
from c2rf.exceptions import InputError
from c2rf.totals.bounds import Bounds, LinearConstraints
from c2rf.totals.groups import Groups
from c2rf.totals.reconcile import is_consistent
from c2rf.totals.stated import Totals

PROVEN = 1e-9
"""Labels are called the best ones if none have a total score higher by more than this."""

_LARGEST_FLOOR = 1e-3
_SMALLEST_FLOOR = 1e-300


def assign(
    scores: ArrayLike | Parts,
    bounds: Bounds,
    groups: ArrayLike | None = None,
    random_state: Any = None,
    weights: Floats | None = None,
) -> Assignment:
    """Return the labels with the highest total score that meet the bounds.

    Parameters
    ----------
    scores : array-like of shape (n_rows, n_classes), or Parts
        Logarithms of probabilities, say; parts hold their groups and weights, too. In an array,
        -inf counts as a score below all others by as much as these differ, and one more.
    bounds : Bounds
        Bounds that can be met (see :func:`can_be_met`).
    groups : array-like of int, shape (n_rows,), or None
        The group of each row, from 0; None if there is a single one.
    random_state : int, RandomState or None
        Decides between equal scores, because the order of rows may know the classes.
    weights : ndarray of shape (n_rows,), optional
        How much each row counts in the bounds, which are sums of weights then and met nearly.

    Returns
    -------
    Assignment

    Notes
    -----
    Of two classes it is a selection by sorting. With more, shortest augmenting paths lead from
    an unbounded assignment to one within the bounds. Scores that differ by less than 1e-12 of
    the largest count as equal there.

    Examples
    --------
    >>> scores = np.log([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    >>> found = assign(scores, Bounds.overall([1, 1, 1], [1, 1, 1], 3), random_state=0)
    >>> found.labels.tolist()
    [0, 1, 2]
    >>> (scores + found.offsets[0]).argmax(axis=1).tolist()
    [0, 1, 2]
    """
    if isinstance(scores, Parts):
        parts = scores
    else:
        table = _finite(np.asarray(scores, dtype=float))
        codes = np.zeros(len(table), dtype=np.intp) if groups is None else np.asarray(groups)
        parts = ScoredRows(table, codes, weights, bounds.n_groups)
    seed = check_random_state(random_state).randint(MOST_SEEDS)
    if parts.is_weighted:
        return label_weighted(parts, bounds, seed)
    if bounds.margins:
        return label_crossing(parts, bounds, seed)
    return label_one_margin(parts, bounds, seed)


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """Totals to meet, checked against the rows that they are about.

    Parameters
    ----------
    bounds : Bounds
        How many rows of each class there are, in each group and overall.
    groups : Groups
        The group of each row.
    weights : ndarray of shape (n_rows,), optional
        How many people a row stands for; totals are about people then.
    stated : Totals, optional
        The totals as they were stated, of which imputations draw the uncertain ones anew.
    seed : int
        Seed of the order of tied rows.
    known : ndarray of int, shape (n_rows,), optional
        The class of each row that is known to have one, else -1. These rows keep it, and count in
        the totals.
    """

    bounds: Bounds
    groups: Groups
    weights: Floats | None = None
    stated: Totals | None = None
    seed: int = 0
    known: Codes | None = None

    @property
    def is_plain(self) -> bool:
        """Whether totals are overall or of one grouping, and no row has a weight."""
        return not self.bounds.margins and self.weights is None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.groups.codes)

    @property
    def unknown_groups(self) -> NDArray[np.bool_]:
        """Which groups nothing is known of, where nothing is known overall either."""
        overall, groups, *_ = (
            margin.is_known(self.bounds.group_sizes) for margin in self.bounds.all_margins()
        )
        return np.asarray(~overall.any() & ~groups.any(axis=1))

    @cached_property
    def known_counts(self) -> Any:
        """How many rows of each class are known, groups by classes; sums of weights."""
        return self.known_in(self.groups)

    def known_in(self, groups: Groups) -> Any:
        """Return how many rows of each class are known, by any groups."""
        shape = len(groups.names), self.bounds.n_classes
        if self.known is None:
            return np.zeros(shape, np.asarray(self.bounds.lower).dtype)
        rows = np.flatnonzero(self.known >= 0)
        weights = None if self.weights is None else self.weights[rows]
        return class_counts(groups.codes[rows], self.known[rows], shape, weights)

    @cached_property
    def left(self) -> tuple[Any, AssignmentProblem]:
        """The rows whose class is not known, and what the known ones leave of the totals."""
        if self.known is None:
            return slice(None), self
        rows = np.flatnonzero(self.known < 0)
        groups = self.groups._replace(codes=self.groups.codes[rows])
        weights = None if self.weights is None else self.weights[rows]
        bounds = self.bounds.without(self.known_counts)
        return rows, replace(self, bounds=bounds, groups=groups, weights=weights, known=None)

    def with_known(self, labels: Codes) -> Codes:
        """Return the classes of all rows, given those of the rows that are left."""
        if self.known is None:
            return labels
        every = self.known.astype(labels.dtype)
        every[self.left[0]] = labels
        return every

    @property
    def is_possible(self) -> bool:
        """Whether the rows that are left can meet what is left of the totals."""
        _, left = self.left
        if self.known is None or self.weights is not None:  # sums of weights are met nearly
            return True
        counts, margins = self.known_counts, self.bounds.all_margins()
        if any((margin.sums(counts) > margin.upper).any() for margin in margins):
            return False
        return is_consistent(LinearConstraints.of(left.bounds))

    def solve(self, logs: Any) -> Assignment:
        """Label the rows by the logarithms of their probabilities."""
        if self.known is not None:
            rows, left = self.left
            found = left.solve(logs[rows])
            counts = found.counts + self.known_counts
            return replace(found, labels=self.with_known(found.labels), counts=counts)
        return assign(logs, self.bounds, self.groups.codes, self.seed, self.weights)

    def overall_only(self, counts: Any) -> AssignmentProblem:
        """Return the sizes of the classes over all rows as the only totals."""
        total = counts.sum(axis=0)
        free = 0 * total[None]
        bounds = Bounds(total, total, free, free + total.sum(), total.sum(keepdims=True))
        return replace(self, bounds=bounds, groups=Groups.none(self.n_rows), stated=None)

    def overall_offsets(self, logs: Floats, found: Assignment) -> Floats:
        """Return the class offsets that give classes of these sizes without looking at groups."""
        if len(self.groups.names) == 1:
            return found.offsets[0]
        if self.known is not None:
            rows, left = self.left
            rest = replace(found, counts=found.counts - self.known_counts)
            return left.overall_offsets(logs[rows], rest)
        bounds = self.overall_only(found.counts).bounds
        parts = self.parts(logs).ungrouped()
        if self.weights is None:
            return assign(parts, bounds, random_state=self.seed).offsets[0]
        _, _, relaxed = next(relaxations(parts, bounds, self.seed))
        return relaxed.offsets[0]

    def parts(self, logs: Floats | Parts) -> Parts:
        """Return the rows with their groups and weights, given the logarithms."""
        if isinstance(logs, Parts):
            return logs
        return ScoredRows(logs, self.groups.codes, self.weights, self.bounds.n_groups)

    def expected_counts(self, logs: Any, counts: Any) -> Any:
        """Return what corrected probabilities are to add up to in each group.

        That is what the totals say. Where they leave it open, it is what the probabilities say
        themselves, and not how many labels there are: the likeliest labels of rows that are all
        more likely "yes" than not are all "yes".

        Parameters
        ----------
        logs : ndarray of shape (n_rows, n_classes), or Parts
            Logarithms of probabilities.
        counts : ndarray of shape (n_groups, n_classes)
            What the labels add up to.
        """
        if self.known is not None:
            rows, left = self.left
            known = self.known_counts
            return left.expected_counts(logs[rows], counts - known) + known
        bounds = self.bounds if self.weights is None else in_fractions(self.bounds)
        implied = bounds.with_implied_bounds()
        if self.is_plain:
            are_open = implied.group_lower < implied.group_upper
        else:
            of_all = LinearConstraints.of(bounds)
            are_open = of_all.lower < of_all.upper
        if not are_open.any():
            return counts
        scored = few = self.parts(logs)
        if are_many(scored):
            few, _ = draw(scored, implied.group_sizes, self.seed, FEW_DRAWN)
        return sums_within(scored, few, implied)

    def smooth_offsets(self, logs: Any, counts: Any, rows: Codes | None = None) -> Floats:
        """Return class offsets with which sums of probabilities are the totals, in all margins.

        Parameters
        ----------
        logs : ndarray of shape (n_rows, n_classes), or Parts
            Logarithms of probabilities.
        counts : ndarray of shape (n_groups, n_classes)
            What the probabilities are to add up to, where a total is a range.
        rows : ndarray of int, optional
            The rows that these are, if not all.
        """
        scored = self.parts(logs)
        if rows is not None:
            groups = np.asarray(self.groups.codes[rows])
            weights = None if self.is_plain else self._sample_weights(rows)
            scored = ScoredRows(logs, groups, weights, self.bounds.n_groups)
        if self.is_plain:
            there = scored.sizes if rows is None else np.bincount(groups, minlength=len(counts))
            wanted = np.asarray(there)[:, None] * counts / np.maximum(counts.sum(1)[:, None], 1)
            start = None
            if are_many(scored):
                few, _ = draw(scored, wanted.sum(axis=1), self.seed, FEW_DRAWN)
                start = matching_offsets(few, wanted)
            offsets = matching_offsets(scored, wanted, start)
            offsets[self.unknown_groups] = 0.0
            return offsets
        met = self.bounds.narrowed_to(counts)
        if rows is not None:
            met = met.restricted_to(np.arange(met.n_groups), np.unique(groups))
        constraints, closed = drop_zero_totals(LinearConstraints.of(met), met)
        duals, sample = np.zeros(len(constraints.lower)), scored
        if are_many(scored):
            sample, _ = draw(scored, met.group_sizes, self.seed, FEW_DRAWN)
        duals = smooth_duals(sample, constraints, closed, duals, 1.0, 1e-3)
        duals = smooth_duals(scored, constraints, closed, duals, 1.0, 1e-12)
        return class_offsets(constraints, duals, closed)

    def in_sample(self, rows: Codes) -> AssignmentProblem:
        """Return the same totals for a sample of the rows; all of them are taken as they are."""
        if len(rows) == self.n_rows:
            return self
        drawn = self.groups.codes[rows]
        if self.is_plain:
            bounds, codes, there = sample_bounds(self.bounds, drawn)
            weights = None
        else:
            there, codes = np.unique(drawn, return_inverse=True)
            bounds, weights = self.bounds.restricted_to(there), self._sample_weights(rows)
        groups = self.groups._replace(names=[self.groups.names[g] for g in there], codes=codes)
        return replace(self, bounds=bounds, groups=groups, weights=weights, known=None)

    def _sample_weights(self, rows: Codes) -> Floats:
        """Return weights of a sample with which each group in it weighs what all of it does."""
        groups, n_groups = self.groups.codes[rows], len(self.groups.names)
        own = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        taken = np.bincount(groups, own, minlength=n_groups)
        sizes = np.asarray(self.bounds.group_sizes, dtype=float)
        return own * (sizes / np.where(taken > 0, taken, 1.0))[groups]


def log_scores(probabilities: ArrayLike, floor: float | None = None) -> Floats:
    """Return logarithms of probabilities, those below a floor counting as the floor.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
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
    model of densities, and it is always below the probability of any other row and class.

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
            f"scores must be a table of rows by classes; found the shape {scores.shape}"
        )
    finite = np.isfinite(scores)
    if finite.all():
        return scores
    if np.isnan(scores).any() or (scores == np.inf).any():
        raise InputError("scores must be numbers or -inf; found NaN or inf")
    known = scores[finite]
    least, most = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.where(finite, scores, 2 * least - most - 1)
