"""Conditional Poisson sampling: rows chosen with given odds, conditional on their number.

In Poisson sampling every row is chosen independently with some odds. Given that n rows are chosen,
a set of n rows has a probability in proportion to the product of its odds (maximum entropy
sampling). A set is drawn by divide and conquer. Split the rows into a left and a right half: if k
rows are chosen in all, j of them are in the left half with a probability in proportion to

    P(j chosen on the left) * P(k - j chosen on the right),

so j is drawn with these weights, and then each half is drawn in the same way, given its number.
This is exact. The distribution of the number chosen among 2, 4, 8, ... rows is the convolution of
the distributions of the two halves, computed from the bottom up. Numbers more than :data:`WIDE`
standard deviations off the mean are left out: their probability is far below the precision of
floating-point numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import fft
from scipy.special import expit

from c2rf._utils.types import Bools, Codes, Floats, Ints

WIDE = 12.0
"""Numbers further from the mean, in standard deviations, have a probability below 1e-30."""

_BLOCK = 1 << 16
_SMALL_GROUP = 1 << 10
# Tables up to this width are convolved directly: all terms are positive, so even the smallest
# probabilities have full relative precision. Wider ones are convolved by Fourier transforms.
_SHORT = 33
_MOST_STEPS = 200


def choose(
    log_odds: Floats, n_chosen: int, rng: np.random.Generator, *, block_rows: int = _BLOCK
) -> Bools:
    """Draw a set of ``n_chosen`` rows, with a probability in proportion to the product of its odds.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        Log-odds of each row, finite; adding a constant to all of them changes nothing.
    n_chosen : int
        How many to choose, from 0 to all.
    rng : Generator
        Source of random numbers.
    block_rows : int
        Rows whose tables are in memory at once.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        Which rows were chosen.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> int(choose(np.linspace(-3, 3, 1000), 321, rng).sum())
    321
    """
    if n_chosen in (0, len(log_odds)):
        return np.full(len(log_odds), n_chosen > 0)
    odds = log_odds + matching_shift(log_odds[None], np.array([n_chosen]))
    if len(odds) <= block_rows:
        return _drawn(_of_rows(expit(odds)[None]), np.array([n_chosen]), rng)[: len(odds)] > 0
    parts = [odds[k : k + block_rows] for k in range(0, len(odds), block_rows)]
    # First draw how many rows are chosen in each block, then which ones. The tree of each block is
    # built twice, because all of them at once would need too much memory.
    tops = [_of_rows(expit(part)[None])[-1] for part in parts]
    shares = np.zeros((len(tops), max(top.shares.shape[1] for top in tops)))
    for row, top in zip(shares, tops, strict=True):
        row[: top.shares.shape[1]] = top.shares[0]
    blocks = _grown(_Tables(np.concatenate([top.starts for top in tops]), shares))
    numbers = _drawn(blocks, np.array([n_chosen]), rng)
    drawn = [
        _drawn(_of_rows(expit(part)[None]), numbers[k : k + 1], rng)[: len(part)]
        for k, part in enumerate(parts)
    ]
    return np.concatenate(drawn) > 0


def choose_in_groups(
    log_odds: Floats, groups: Codes, n_chosen: Ints, rng: np.random.Generator
) -> Bools:
    """Draw a set of rows in each group, independently of the other groups.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        As for :func:`choose`.
    groups : ndarray of int, shape (n_rows,)
        The group of each row.
    n_chosen : ndarray of int, shape (n_groups,)
        How many to choose of each group.
    rng : Generator
        Source of random numbers.
    """
    chosen = np.zeros(len(log_odds), dtype=bool)
    if len(n_chosen) == 1:
        return choose(log_odds, int(n_chosen[0]), rng)
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=len(n_chosen))
    starts = np.cumsum(sizes) - sizes
    for g in np.flatnonzero(sizes > _SMALL_GROUP):
        rows = order[starts[g] : starts[g] + sizes[g]]
        chosen[rows] = choose(log_odds[rows], int(n_chosen[g]), rng)
    # Small groups are padded to a power of two; those of the same padded length are drawn together.
    chosen[order[np.repeat((n_chosen == sizes) & (sizes <= _SMALL_GROUP), sizes)]] = True
    to_draw = (n_chosen > 0) & (n_chosen < sizes) & (sizes <= _SMALL_GROUP)
    lengths = 1 << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    for length in np.unique(lengths[to_draw]).tolist():
        some = np.flatnonzero(to_draw & (lengths == length))
        places = np.arange(length)
        is_row = places < sizes[some, None]  # else padding
        rows = order[np.minimum(starts[some, None] + places, len(order) - 1)]
        table = np.where(is_row, log_odds[rows], -np.inf)
        shift = matching_shift(table, n_chosen[some])
        drawn = _drawn(_of_rows(expit(table + shift[:, None])), n_chosen[some], rng)
        chosen[rows[is_row]] = drawn.reshape(is_row.shape)[is_row] > 0
    return chosen


def matching_shift(log_odds: Floats, n_chosen: Ints) -> Floats:
    """Return what to add to the log-odds, so that the probabilities sum to ``n_chosen``.

    Parameters
    ----------
    log_odds : ndarray of shape (n_tables, n_rows)
        Each line is shifted on its own; -inf is padding.
    n_chosen : ndarray of shape (n_tables,)
        Above 0 and below the number of rows.

    Examples
    --------
    >>> shift = matching_shift(np.array([[0.0, 0.0, 1.0, 3.0]]), np.array([2]))
    >>> round(float(expit(np.array([0.0, 0.0, 1.0, 3.0]) + shift).sum()), 9)
    2.0
    """
    mean = n_chosen / np.isfinite(log_odds).sum(axis=1)
    mean_log_odds = np.log(mean / (1 - mean))
    low = mean_log_odds - log_odds.max(axis=1)
    high = mean_log_odds - np.where(np.isfinite(log_odds), log_odds, np.inf).min(axis=1)
    shift = (low + high) / 2
    # The sum increases with the shift: Newton's method, and bisection where it leaves the bracket.
    for _ in range(_MOST_STEPS):
        p = expit(log_odds + shift[:, None])
        gap, slope = p.sum(axis=1) - n_chosen, (p * (1 - p)).sum(axis=1)
        if (np.abs(gap) <= 1e-9 * np.maximum(1.0, n_chosen)).all():
            break
        low, high = np.where(gap > 0, low, shift), np.where(gap > 0, shift, high)
        step = shift - gap / np.maximum(slope, 1e-300)
        shift = np.where((low < step) & (step < high), step, (low + high) / 2)
    return shift


class _Tables(NamedTuple):
    """Distributions of the number of rows chosen, one for each of several disjoint sets of rows.

    ``shares[r, i]`` is the probability that ``starts[r] + i`` rows of set r are chosen. Numbers
    outside the table count as impossible.
    """

    starts: Ints
    shares: Floats

    def every_second(self, first: int) -> _Tables:
        """Return the tables of the left sets (0), or of the right ones (1), of neighbours."""
        return _Tables(self.starts[first::2], self.shares[first::2])


def _of_rows(probabilities: Floats) -> list[_Tables]:
    """Return tables of single rows, of pairs, of pairs of these, ...: a tree for each line."""
    leaves = probabilities.reshape(-1, 1)
    tables = _Tables(np.zeros(len(leaves), dtype=np.int64), np.hstack([1 - leaves, leaves]))
    return _grown(tables, len(probabilities))


def _grown(leaves: _Tables, n_trees: int = 1) -> list[_Tables]:
    """Combine neighbours until each tree has one table left.

    If the number of tables is odd (in a single tree), the last is paired with an empty set.
    """
    levels = [leaves]
    while len(levels[-1].starts) > n_trees:
        if len(levels[-1].starts) % 2:
            starts, shares = levels[-1]
            levels[-1] = _Tables(np.append(starts, 0), np.vstack([shares, shares[0] * 0]))
            levels[-1].shares[-1, 0] = 1.0
        levels.append(_of_pairs(levels[-1].every_second(0), levels[-1].every_second(1)))
    return levels


def _of_pairs(left: _Tables, right: _Tables) -> _Tables:
    """Return the tables of the union of each pair, with the tails cut off."""
    starts, own = left.starts + right.starts, left.shares.shape[1]
    width = 2 * own - 1
    if own <= _SHORT:
        shares = np.zeros((len(starts), width))
        for j in range(own):
            shares[:, j : j + own] += left.shares[:, j : j + 1] * right.shares
    else:
        size = fft.next_fast_len(width, real=True)
        product = fft.rfft(left.shares, size, axis=1) * fft.rfft(right.shares, size, axis=1)
        shares = np.maximum(fft.irfft(product, size, axis=1)[:, :width], 0.0)
    # All get the width that the widest of the distributions needs.
    k = np.arange(width)
    mean = shares @ k
    spread = np.sqrt(np.maximum(shares @ k**2 - mean**2, 0.0)).max(initial=0.0)
    needed = min(2 * int(np.ceil(WIDE * spread)) + 3, width)
    first = np.clip(np.round(mean).astype(np.int64) - needed // 2, 0, width - needed)
    shares = np.take_along_axis(shares, first[:, None] + np.arange(needed), axis=1)
    return _Tables(starts + first, shares)


def _drawn(levels: list[_Tables], numbers: Ints, rng: np.random.Generator) -> Ints:
    """Draw the number chosen in each leaf, given the number chosen in each tree."""
    for level in reversed(levels[:-1]):
        left, right = level.every_second(0), level.every_second(1)
        numbers = numbers[: len(left.starts)]
        in_left = _draw_left(left, right, numbers, rng)
        numbers = np.column_stack([in_left, numbers - in_left]).ravel()
    return numbers


def _draw_left(left: _Tables, right: _Tables, numbers: Ints, rng: np.random.Generator) -> Ints:
    """Draw the number chosen in each left half, given the number in both halves."""
    width = left.shares.shape[1]
    # P(left = j) * P(right = number - j), j = start, start + 1, ...
    index = (numbers - left.starts - right.starts)[:, None] - np.arange(width)
    possible = (index >= 0) & (index < width)
    weights = np.take_along_axis(right.shares, np.clip(index, 0, width - 1), axis=1)
    weights = np.where(possible, weights * left.shares, 0.0)
    sums = weights.cumsum(axis=1)
    uniform = rng.random(len(numbers)) * sums[:, -1]
    place = (sums <= uniform[:, None]).sum(axis=1)
    return left.starts + np.minimum(place, width - 1)
