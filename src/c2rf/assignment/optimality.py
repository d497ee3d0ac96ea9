"""How much any other labels could gain: weak duality, in exact arithmetic.

Let x be labels, s their scores as the exact fractions that floats are, and p any prices of the
cells (group g, class k) of one or more margins. Other labels x' that meet all bounds score at most

    sum over rows of max_k (s_ik + p_ik)  -  the least that prices add up to within the bounds,

p_ik being the sum of the prices of the row's cells. The difference to the score of x is the gap.
Bad prices only give a larger gap; at a gap of zero no labels are better, and nothing needs to be
trusted for that: not the solver, not its prices, not rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from c2rf._typing import Codes, Floats, Ints

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class PricedMargin:
    """Bounds on the sizes of classes in groups of rows, with a price for each.

    Parameters
    ----------
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    lower, upper : ndarray of int64, shape (n_groups, n_classes)
        Bounds of the sizes.
    prices : ndarray of float, shape (n_groups, n_classes)
        Any numbers; -inf stands for a class that no row of the group may have (upper is 0).
    """

    groups: Codes
    lower: Ints
    upper: Ints
    prices: Floats


def optimality_gap(scores: Floats, labels: Codes, margins: Sequence[PricedMargin]) -> Fraction:
    """Return a number that no other labels within the bounds gain more than; 0 proves optimality.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Finite scores.
    labels : ndarray of int, shape (n_rows,)
        The class of each row; they must meet all bounds.
    margins : sequence of PricedMargin
        All bounds. Prices that are dual variables give the smallest gap.

    Raises
    ------
    ValueError
        If the labels do not meet the bounds.

    Examples
    --------
    >>> scores = np.array([[3.0, 0.0], [2.0, 1.0], [5.0, 0.0]])
    >>> groups, prices = np.zeros(3, dtype=int), np.array([[0.0, 3.0]])
    >>> two_of_the_second = PricedMargin(groups, np.array([[0, 2]]), np.array([[3, 2]]), prices)
    >>> optimality_gap(scores, np.array([1, 1, 0]), [two_of_the_second])
    Fraction(0, 1)
    >>> optimality_gap(scores, np.array([0, 1, 1]), [two_of_the_second])
    Fraction(2, 1)
    """
    cells = [_sizes(margin, labels) for margin in margins]
    bounds = sum((_slack(m, sizes) for m, sizes in zip(margins, cells, strict=True)), Fraction(0))
    return bounds + _regret(scores, labels, margins)


def _sizes(margin: PricedMargin, labels: Codes) -> Ints:
    """Count the rows of each cell, and make sure that the bounds are met."""
    sizes = np.zeros(margin.lower.shape, dtype=np.int64)
    np.add.at(sizes, (margin.groups, labels), 1)
    if (sizes < margin.lower).any() or (sizes > margin.upper).any():
        raise ValueError("the labels do not meet the bounds")
    return sizes


def _slack(margin: PricedMargin, sizes: Ints) -> Fraction:
    """Return by how much the prices of the sizes exceed the least within the bounds."""
    total = Fraction(0)
    for here, low, high, prices in zip(
        sizes.tolist(), margin.lower.tolist(), margin.upper.tolist(), margin.prices, strict=True
    ):
        usable = [k for k in range(len(here)) if prices[k] != -np.inf]
        price = {k: Fraction(float(prices[k])) for k in usable}
        if any(high[k] for k in range(len(here)) if k not in price):
            raise ValueError("a class without a price may have rows")
        # All rows of a group have some class: the cheapest classes are filled first.
        left = sum(here) - sum(low[k] for k in usable)
        total += sum((price[k] * (here[k] - low[k]) for k in usable), Fraction(0))
        for k in sorted(usable, key=lambda k: price[k]):
            more = min(left, high[k] - low[k])
            total -= price[k] * more
            left -= more
    return total


def _regret(scores: Floats, labels: Codes, margins: Sequence[PricedMargin]) -> Fraction:
    """Return what the rows miss together by not having the class of the best score + price."""
    total = Fraction(0)
    for rows in (slice(k, k + _BLOCK) for k in range(0, len(scores), _BLOCK)):
        priced = (margin.prices[margin.groups[rows]] for margin in margins)
        total += _regret_of([np.asarray(scores[rows]), *priced], labels[rows])
    return total


def _regret_of(parts: list[Floats], labels: Codes) -> Fraction:
    """Return the same for some rows, whose worth in each class is the sum of the parts."""
    rows = np.arange(len(labels))
    worth = np.sum(parts, axis=0)
    own = worth[rows, labels]
    # A float sum of n terms is off by less than n * eps * sum |terms|, and so is the difference.
    size = np.abs(np.where(np.isfinite(parts), parts, 0.0)).sum(axis=0).max(axis=1)
    error = 4 * len(parts) * np.finfo(float).eps * size
    worth[rows, labels] = -np.inf
    total = Fraction(0)
    tied = np.flatnonzero(worth.max(axis=1) + error >= own)
    for row, times in _distinct(np.column_stack([labels, *parts])[tied], tied):
        near = np.flatnonzero(worth[row] + error[row] >= own[row])
        mine = _exact(parts, row, int(labels[row]))
        total += times * max(Fraction(0), *(_exact(parts, row, k) - mine for k in near.tolist()))
    return total


def _distinct(table: Floats, names: Codes) -> list[tuple[int, int]]:
    """Return the name of one of each kind of equal rows, and how many there are."""
    packed = np.ascontiguousarray(table)
    kind = np.dtype((np.void, packed.itemsize * packed.shape[1]))
    _, first, times = np.unique(packed.view(kind).ravel(), return_index=True, return_counts=True)
    return list(zip(names[first].tolist(), times.tolist(), strict=True))


def _exact(parts: list[Floats], row: int, k: int) -> Fraction:
    return sum((Fraction(float(part[row, k])) for part in parts), Fraction(0))
