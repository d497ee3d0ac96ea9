"""Labels drawn by their probabilities, given that all totals hold.

Uncertain totals, drawn anew: what a survey could have estimated as well.

Labels drawn by their probabilities, given that all totals hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from c2rf._utils.types import Codes, Floats, Ints
from c2rf.assignment import assign
from c2rf.imputation.chain import BindingPart, Cells, exchange
from c2rf.imputation.poisson import choose_in_groups
from c2rf.totals.bounds import Bounds
from c2rf.totals.stated import Estimate, Totals


def drawn_totals(totals: Totals, rng: np.random.Generator) -> Totals:
    """Return totals in which every estimate is drawn from its normal distribution.

    They stay estimates of the same error, so that those that contradict each other can be
    reconciled; exact totals stay as they are.

    Examples
    --------
    >>> drawn = drawn_totals(Totals({"yes": Estimate(100, se=10)}), np.random.default_rng(0))
    >>> drawn.overall["yes"].se, 60 < drawn.overall["yes"].value < 140
    (10, True)
    """

    def row(totals: Mapping[Any, Any]) -> dict[Any, Any]:
        return {label: _drawn(total, rng) for label, total in totals.items()}

    margins = tuple(
        replace(margin, by_group={group: row(own) for group, own in margin.by_group.items()})
        for margin in totals.margins
    )
    return replace(totals, overall=row(totals.overall), margins=margins)


def _drawn(total: Any, rng: np.random.Generator) -> Any:
    if not isinstance(total, Estimate):
        return total
    value = max(float(total.value) + float(total.se) * rng.normal(), 0.0)
    is_rate = isinstance(total.value, float) and total.value <= 1
    # A count that is drawn at or below 1 must not be taken for a rate.
    return Estimate(min(value, 1.0) if is_rate else round(value), se=total.se)


SWEEPS = 6
"""How often a Markov chain goes through all pairs of classes."""
EXCURSIONS = 10
"""Excursions per row and sweep, where totals leave the counts of groups open ..."""
MOST_EXCURSIONS = 300
"""... but no more than this: the start is all but a draw where rows are many. With 100 rows in 20
groups it can hardly be told from a chain of a million excursions."""

_MOST_SEEDS = np.iinfo(np.int32).max


class DrawnLabels(NamedTuple):
    """Labels, from 0, and whether their distribution is exact or that of a Markov chain."""

    labels: Codes
    is_exact: bool


def draw_labels(
    logs: Floats,
    bounds: Bounds,
    groups: Codes,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> DrawnLabels:
    """Draw a label for every row by its probabilities, given that all totals hold.

    Parameters
    ----------
    logs : ndarray of shape (n_rows, n_classes)
        Finite logarithms of probabilities.
    bounds : Bounds
        The totals; they can be met.
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    rng : Generator
        Source of random numbers.
    weights : ndarray of shape (n_rows,), optional
        How many people each row stands for. Totals are then met to the remainder that
        :func:`c2rf.assignment.assign` leaves.

    Returns
    -------
    DrawnLabels

    Notes
    -----
    A set of labels has a probability in proportion to the product of the probabilities of its
    labels. Two classes whose numbers are known in each group, or overall, are drawn exactly (see
    :mod:`c2rf.imputation.poisson`). Else a Markov chain starts at the likeliest labels for
    probabilities with Gumbel noise, which is Pareto sampling where there are two classes and one
    total, and all but a draw where rows are many. Then it draws two classes anew, exactly, given
    who has another label, for all pairs of classes; and exchanges labels between groups, where
    totals leave open how many of each class are in a group.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> logs = np.log([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.5, 0.1, 0.4], [0.2, 0.2, 0.6]])
    >>> bounds = Bounds.overall([1, 1, 2], [1, 1, 2], 4)
    >>> drawn = draw_labels(logs, bounds, np.zeros(4, dtype=int), rng)
    >>> np.bincount(drawn.labels), drawn.is_exact
    (array([1, 1, 2]), False)
    """
    if weights is not None:
        return DrawnLabels(_noisy_labels(logs, bounds, groups, rng, weights), False)
    known = bounds.with_implied_bounds()
    parts = parts_that_bind(known)
    strata = _strata(parts)
    n_classes = logs.shape[1]
    if strata is not None and n_classes == 2:
        cells, numbers = strata
        ones = choose_in_groups(logs[:, 1] - logs[:, 0], cells[groups], numbers[:, 1], rng)
        return DrawnLabels(ones.astype(np.intp), True)
    if not parts:
        return DrawnLabels((logs + rng.gumbel(size=logs.shape)).argmax(axis=1), True)
    labels = _noisy_labels(logs, bounds, groups, rng)
    if strata is not None:
        for _ in range(SWEEPS):
            redraw_pairs(labels, logs, strata[0][groups], rng)
        return DrawnLabels(labels, False)
    network = Cells.of(parts, groups)
    for _ in range(SWEEPS):
        redraw_pairs(labels, logs, groups, rng)
        exchange(labels, logs, network, min(EXCURSIONS * len(logs), MOST_EXCURSIONS), rng)
    return DrawnLabels(labels, False)


def _noisy_labels(
    logs: Floats,
    bounds: Bounds,
    groups: Codes,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> Codes:
    """Return the likeliest labels for probabilities with Gumbel noise."""
    noisy = logs + rng.gumbel(size=logs.shape)
    found = assign(noisy, bounds, groups, int(rng.integers(_MOST_SEEDS)), weights)
    return found.labels.astype(np.int64)


def redraw_pairs(labels: Codes, logs: Floats, groups: Codes, rng: np.random.Generator) -> None:
    """Draw every two classes anew, given their numbers in each group and who has another label.

    Labels are changed in place. Of two classes this is an exact draw.
    """
    n_groups = int(groups.max()) + 1
    for one, other in combinations(range(logs.shape[1]), 2):
        rows = np.flatnonzero((labels == one) | (labels == other))
        own = groups[rows]
        numbers = np.bincount(own[labels[rows] == other], minlength=n_groups)
        ones = choose_in_groups(logs[rows, other] - logs[rows, one], own, numbers, rng)
        labels[rows] = np.where(ones, other, one)


def parts_that_bind(bounds: Bounds) -> list[BindingPart]:
    """Return the parts of totals that exclude anything: overall, of groups, of margins."""
    sizes = bounds.group_sizes
    found = []
    for part in bounds.parts():
        most = np.bincount(part.cells, sizes, len(part.lower)).astype(np.int64)[:, None]
        if ((part.lower > 0) | (part.upper < most)).any():
            found.append(BindingPart(part.cells, part.lower, np.minimum(part.upper, most)))
    return found


def _strata(parts: list[BindingPart]) -> tuple[Codes, Ints] | None:
    """Return cells in which the number of every class is known and that settle all totals.

    None if there are none: then numbers in groups are open, and totals tie them to each other.
    """
    for part in parts:
        if (part.lower == part.upper).all() and all(
            _is_coarser(other.cells, part.cells) for other in parts
        ):
            return part.cells, part.lower
    return None


def _is_coarser(cells: Codes, fine: Codes) -> bool:
    """Say whether every fine cell lies in one of these cells."""
    pairs = np.unique(np.column_stack([fine, cells]), axis=0)
    return len(pairs) == len(np.unique(fine))
