"""Labels drawn by their probabilities, given that all totals hold.

A set of labels has a probability in proportion to the product of the probabilities of its labels.
There are three ways to draw one, and :func:`draw_labels` says which one it was:

- ``exact``: two classes whose numbers are known overall or in each group, by conditional Poisson
  sampling (:mod:`c2rf.imputation.poisson`); without any binding total, independent draws.
- ``markov-chain``: all other totals of rows without weights. The chain starts at perturb-and-MAP
  labels, which are nearly a draw where rows are many. A Gibbs sweep draws any two classes anew,
  exactly, given the rows of all other classes. Where totals leave open how many of each class are
  in a group, Metropolis-Hastings excursions change the counts of groups.
- ``perturb-and-map``: rows with weights. The likeliest labels for log-probabilities with Gumbel
  noise [1]_: they meet the totals as nearly as labels do, and no chain runs.

An **excursion** relabels a row, which may violate some totals; then it relabels rows of cells whose
total is violated, until all totals hold again. So it can be a single change (inside of ranges), a
swap of two labels, or a cycle of any length through crossing margins. Every step is one of
Metropolis and Hastings, whose target is the product of the probabilities of the labels times a
penalty on violated totals. A reversible chain that is only observed while all totals hold is
reversible on these states, and its target there is the product of probabilities. An excursion of
too many steps is taken back; the way back from its end would be as long, so the target stays.

References
----------
.. [1] G. Papandreou and A. L. Yuille, "Perturb-and-MAP random fields", ICCV (2011), 193-200.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from c2rf._utils.compiled import compiled
from c2rf._utils.types import MOST_SEEDS, Codes, Floats, Ints
from c2rf.assignment import assign
from c2rf.imputation.poisson import choose_in_groups
from c2rf.totals.bounds import Bounds, MarginBounds
from c2rf.totals.stated import Estimate, Totals

DrawMethod = Literal["exact", "markov-chain", "perturb-and-map"]

GIBBS_SWEEPS = 6
"""How often a Markov chain goes through all pairs of classes."""
EXCURSIONS = 10
"""Excursions per row and sweep, where totals leave the counts of groups open ..."""
MOST_EXCURSIONS = 300
"""... but no more than this: the start is nearly a draw where rows are many. With 100 rows in 20
groups it can hardly be told from a chain of a million excursions."""

_MOST_STEPS = 100
# At most two rows are out of place: two classes in a cell of each margin, by one row each.
_MOST_VIOLATED = 4


def draw_labels(
    logs: Floats,
    bounds: Bounds,
    groups: Codes,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> tuple[Codes, DrawMethod]:
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
    tuple of ndarray of int and str
        Labels, from 0, and how they were drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> logs = np.log([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.5, 0.1, 0.4], [0.2, 0.2, 0.6]])
    >>> bounds = Bounds.overall([1, 1, 2], [1, 1, 2], 4)
    >>> labels, method = draw_labels(logs, bounds, np.zeros(4, dtype=int), rng)
    >>> np.bincount(labels), method
    (array([1, 1, 2]), 'markov-chain')
    """
    if weights is not None:
        labels = perturb_and_map(logs, bounds, groups, rng, weights)
        return labels, "perturb-and-map"
    margins = binding_margins(bounds.with_implied_bounds())
    strata = _strata(margins)
    n_classes = logs.shape[1]
    if strata is not None and n_classes == 2:
        cells, numbers = strata
        ones = choose_in_groups(logs[:, 1] - logs[:, 0], cells[groups], numbers[:, 1], rng)
        return ones.astype(np.intp), "exact"
    if not margins:
        return (logs + rng.gumbel(size=logs.shape)).argmax(axis=1), "exact"
    labels = perturb_and_map(logs, bounds, groups, rng)
    if strata is not None:
        for _ in range(GIBBS_SWEEPS):
            gibbs_sweep(labels, logs, strata[0][groups], rng)
        return labels, "markov-chain"
    index = MarginIndex.of(margins, groups)
    for _ in range(GIBBS_SWEEPS):
        gibbs_sweep(labels, logs, groups, rng)
        run_excursions(labels, logs, index, min(EXCURSIONS * len(logs), MOST_EXCURSIONS), rng)
    return labels, "markov-chain"


def perturb_and_map(
    logs: Floats,
    bounds: Bounds,
    groups: Codes,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> Codes:
    """Return the likeliest labels for log-probabilities with Gumbel noise."""
    noisy = logs + rng.gumbel(size=logs.shape)
    found = assign(noisy, bounds, groups, int(rng.integers(MOST_SEEDS)), weights)
    return found.labels.astype(np.int64)


def gibbs_sweep(labels: Codes, logs: Floats, groups: Codes, rng: np.random.Generator) -> None:
    """Draw every two classes anew, given their numbers in each group and the rows of the others.

    Labels are changed in place. Of two classes this is an exact draw.
    """
    n_groups = int(groups.max()) + 1
    for one, other in combinations(range(logs.shape[1]), 2):
        rows = np.flatnonzero((labels == one) | (labels == other))
        own = groups[rows]
        numbers = np.bincount(own[labels[rows] == other], minlength=n_groups)
        ones = choose_in_groups(logs[rows, other] - logs[rows, one], own, numbers, rng)
        labels[rows] = np.where(ones, other, one)


def binding_margins(bounds: Bounds) -> list[MarginBounds]:
    """Return the margins that exclude anything: overall, of groups, and of cells of groups."""
    found = []
    for margin in bounds.all_margins():
        if margin.is_known(bounds.group_sizes).any():
            most = margin.sums(bounds.group_sizes)[:, None]
            found.append(replace(margin, upper=np.minimum(margin.upper, most)))
    return found


def _strata(margins: list[MarginBounds]) -> tuple[Codes, Ints] | None:
    """Return cells in which the number of every class is known and that settle all totals.

    None if there are none: then numbers in groups are open, and totals tie them to each other.
    """
    for margin in margins:
        if (margin.lower == margin.upper).all() and all(
            _is_coarser(other.codes, margin.codes) for other in margins
        ):
            return margin.codes, margin.lower
    return None


def _is_coarser(cells: Codes, fine: Codes) -> bool:
    """Say whether every fine cell lies in one of these cells."""
    pairs = np.unique(np.column_stack([fine, cells]), axis=0)
    return len(pairs) == len(np.unique(fine))


class MarginIndex(NamedTuple):
    """The cells of all binding margins, numbered through, and the rows in each.

    Parameters
    ----------
    of_row : ndarray of int, shape (n_margins, n_rows)
        The cell of each row in each margin.
    members : ndarray of int, shape (n_margins * n_rows,)
        The rows of the first cell, of the second, and so on.
    first, size : ndarray of int, shape (n_cells,)
        Where the rows of a cell begin in ``members``, and how many they are.
    lower, upper : ndarray of int, shape (n_cells, n_classes)
        The bounds.
    """

    of_row: Ints
    members: Ints
    first: Ints
    size: Ints
    lower: Ints
    upper: Ints

    @classmethod
    def of(cls, margins: Sequence[MarginBounds], groups: Codes) -> MarginIndex:
        """Return the numbered cells of margins, given the group of each row."""
        n_cells = np.array([len(margin.lower) for margin in margins])
        starts = np.cumsum(n_cells) - n_cells
        of_row = np.stack(
            [margin.codes[groups] + start for margin, start in zip(margins, starts, strict=True)]
        ).astype(np.int64)
        size = np.bincount(of_row.ravel(), minlength=n_cells.sum()).astype(np.int64)
        return cls(
            of_row,
            np.concatenate([np.argsort(row, kind="stable") for row in of_row]),
            np.cumsum(size) - size,
            size,
            np.concatenate([margin.lower for margin in margins]).astype(np.int64),
            np.concatenate([margin.upper for margin in margins]).astype(np.int64),
        )


def run_excursions(
    labels: Codes, logs: Floats, index: MarginIndex, n_excursions: int, rng: np.random.Generator
) -> int:
    """Change labels by excursions, all totals holding after each; return how many changed any.

    Parameters
    ----------
    labels : ndarray of int64, shape (n_rows,)
        Labels that meet all totals; they are changed in place.
    logs : ndarray of shape (n_rows, n_classes)
        Finite logarithms of the probabilities.
    index : MarginIndex
        The totals.
    n_excursions : int
        How many to make.
    rng : Generator
        Source of random numbers.
    """
    counts = np.zeros(index.lower.shape, dtype=np.int64)
    for cells in index.of_row:
        np.add.at(counts, (cells, labels), 1)
    return int(_excursions(labels, np.ascontiguousarray(logs), index, counts, n_excursions, rng))


@compiled
def _move_count(index: Any, counts: Any, row: int, old: int, new: int) -> None:
    """Count a row in another class."""
    for margin in range(len(index.of_row)):
        counts[index.of_row[margin, row], old] -= 1
        counts[index.of_row[margin, row], new] += 1


@compiled
def _find_violated(
    index: Any, counts: Any, row: int, before: Any, n_before: int, found: Any
) -> Any:
    """List the cells that are violated after a row was changed; return how many, and how much."""
    n_found, total = 0, 0
    for k in range(n_before + len(index.of_row)):
        cell = before[k] if k < n_before else index.of_row[k - n_before, row]
        if cell in found[:n_found]:
            continue
        much = 0
        for c in range(counts.shape[1]):
            much += max(index.lower[cell, c] - counts[cell, c], 0)
            much += max(counts[cell, c] - index.upper[cell, c], 0)
        total += much
        if much > 0:
            found[n_found] = cell
            n_found += 1
    return n_found, total


@compiled
def _proposal_probability(index: Any, row: int, violated: Any) -> float:
    """Return the probability that a row is proposed: of all rows, or of any violated cell."""
    if len(violated) == 0:
        return 1.0 / index.of_row.shape[1]
    total = 0.0
    for cell in violated:
        if cell in index.of_row[:, row]:
            total += 1.0 / index.size[cell]
    return total / len(violated)


@compiled
def _excursion(labels: Any, logs: Any, index: Any, counts: Any, room: Any, rng: Any) -> int:
    """Make one excursion; return whether it changed labels."""
    n_margins, n_classes = len(index.of_row), counts.shape[1]
    # A state with violations should be entered as easily as it is left: it is proposed among the
    # rows of a cell, one without among all rows.
    bonus = np.log(len(index.size) / n_margins)
    violated, after, path = room
    n_violated, total, n_path = 0, 0, 0
    for _ in range(_MOST_STEPS):
        if n_violated == 0:
            row = int(rng.random() * len(labels))
        else:
            cell = violated[int(rng.random() * n_violated)]
            row = index.members[index.first[cell] + int(rng.random() * index.size[cell])]
        old, new = labels[row], int(rng.random() * (n_classes - 1))
        new += new >= old
        _move_count(index, counts, row, old, new)
        n_after, worse = _find_violated(index, counts, row, violated, n_violated, after)
        ratio = logs[row, new] - logs[row, old] + bonus * (int(total > 0) - int(worse > 0))
        there = _proposal_probability(index, row, after[:n_after])
        back = _proposal_probability(index, row, violated[:n_violated])
        # Metropolis-Hastings: ratio of the target times that of the proposals
        accepted = (1.0 - rng.random()) * back < np.exp(min(ratio, 500.0)) * there
        if accepted and worse <= _MOST_VIOLATED * n_margins:
            labels[row] = new
            path[n_path, 0], path[n_path, 1] = row, old
            n_path += 1
            n_violated, total = n_after, worse
            violated[:n_violated] = after[:n_violated]
        else:
            _move_count(index, counts, row, new, old)
        if total == 0:
            return int(n_path > 0)
    for k in range(n_path - 1, -1, -1):  # too long a way: take it back, from its end
        row, old = path[k, 0], path[k, 1]
        _move_count(index, counts, row, labels[row], old)
        labels[row] = old
    return 0


@compiled
def _excursions(
    labels: Any, logs: Any, index: Any, counts: Any, n_excursions: int, rng: Any
) -> int:
    space = (_MOST_VIOLATED + 1) * len(index.of_row)
    room = (
        np.empty(space, np.int64), np.empty(space, np.int64), np.empty((_MOST_STEPS, 2), np.int64),
    )  # fmt: skip
    n_changed = 0
    for _ in range(n_excursions):
        n_changed += _excursion(labels, logs, index, counts, room, rng)
    return n_changed


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
