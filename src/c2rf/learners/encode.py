"""Columns made fit for linear and kernel methods, by what the whole population looks like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from c2rf._typing import Floats, Ints
from c2rf.learners.threads import in_threads

MOST_LEVELS = 12
"""A column of at most this number of distinct values is a category: every value gets a column."""

_MOST_KNOTS = 1000


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers, to be given mean 0 and variance 1."""

    mean: float
    deviation: float

    def encode(self, column: Floats) -> Floats:
        """Return one column."""
        encoded = (column - self.mean) / self.deviation
        return np.where(np.isnan(encoded), 0.0, encoded)[:, None]


@dataclass(frozen=True, eq=False)
class NormalScores:
    """A column of numbers, of which only the order counts: what a normal one would have instead.

    A few huge values, as in incomes, then are no further away than the few largest of any column.
    """

    values: Floats
    scores: Floats

    def encode(self, column: Floats) -> Floats:
        """Return one column."""
        encoded = np.interp(column, self.values, self.scores)
        return np.where(np.isnan(encoded), 0.0, encoded)[:, None]


@dataclass(frozen=True, eq=False)
class FewLevels:
    """A column of few values: an indicator each, all with mean 0 and together of variance 1."""

    values: Floats
    means: Floats

    def encode(self, column: Floats) -> Floats:
        """Return a column per value."""
        deviation = np.sqrt((self.means * (1 - self.means)).sum())
        encoded = ((column[:, None] == self.values) - self.means) / deviation
        encoded[np.isnan(column)] = 0.0
        return encoded


class CountedValues(NamedTuple):
    """The different values of a column in ascending order, and how often each occurs."""

    values: Floats
    counts: Ints


def count_values(X: Floats, n_jobs: int | None = None) -> list[CountedValues]:
    """Count the values of each column; NaN is allowed and not counted.

    Examples
    --------
    >>> values, counts = count_values(np.array([[3.0], [1.0], [np.nan], [3.0]]))[0]
    >>> values.tolist(), counts.tolist()
    ([1.0, 3.0], [1, 2])
    """
    return in_threads(_counted, [(column,) for column in X.T], n_jobs)


def _counted(column: Floats) -> CountedValues:
    known = column[~np.isnan(column)]
    return CountedValues(*np.unique(known, return_counts=True))


class Encoder:
    """Standardizes columns of numbers and spreads out columns of few values.

    Every column of the data weighs the same, whatever its kind: the total variance of what it
    becomes is one. Constant columns are dropped; a missing value becomes the mean.

    Parameters
    ----------
    counted : sequence of CountedValues
        How the columns are distributed.
    ranks : bool
        Whether only the order of numbers counts, not how far they are apart.

    Examples
    --------
    >>> X = np.array([[1.0, 7.0], [2.0, 7.0], [2.0, 7.0], [1.0, 7.0]])
    >>> encoder = Encoder(count_values(X))
    >>> encoder.encode(np.array([[1.0, 7.0], [2.0, 9.0]])).round(3).tolist()
    [[0.707, -0.707], [-0.707, 0.707]]
    >>> incomes = np.geomspace(1, 1e6, 13)[:, None]
    >>> encoder = Encoder(count_values(incomes), ranks=True)
    >>> encoder.encode(incomes[[0, 6, 12]]).round(3).tolist()
    [[-1.858], [0.0], [1.858]]
    """

    def __init__(self, counted: Sequence[CountedValues], ranks: bool = False) -> None:
        kinds = ((j, _kind(column, ranks)) for j, column in enumerate(counted))
        self._columns = [(j, kind) for j, kind in kinds if kind is not None]

    def encode(self, X: Floats, n_jobs: int | None = 1) -> Floats:
        """Return the encoded columns; a single one of zeros where no column varies."""
        blocks = in_threads(lambda j, kind: kind.encode(X[:, j]), self._columns, n_jobs)
        return np.hstack(blocks) if blocks else np.zeros((len(X), 1))


def _kind(column: CountedValues, ranks: bool) -> Numbers | NormalScores | FewLevels | None:
    values, counts = column
    if len(values) < 2:
        return None
    if len(values) <= MOST_LEVELS:
        return FewLevels(values, counts / counts.sum())
    return _normal_scores(values, counts) if ranks else _numbers(values, counts)


def _numbers(values: Floats, counts: Ints) -> Numbers:
    share = counts / counts.sum()
    mean = float(share @ values)
    # Squares of very small numbers would be zero.
    scale = float(np.abs(values - mean).max())
    return Numbers(mean, scale * float(np.sqrt(share @ ((values - mean) / scale) ** 2)))


def _normal_scores(values: Floats, counts: Ints) -> NormalScores:
    scores = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
    scores /= np.sqrt(counts @ scores**2 / counts.sum())
    # Between some hundred values a straight line will do.
    knots = np.unique(np.linspace(0, len(values) - 1, _MOST_KNOTS).astype(int))
    return NormalScores(values[knots], scores[knots])
