"""Scores of different classifiers made comparable: how far a row is beyond the cut.

Cut the population at the known rate of a class: the rows with the highest scores are of that class.
A row's lead is its distance to this cut, above it or (negative) below it, in units of the mean
distance of the population's rows. Whatever a classifier's scores look like, a lead of zero is where
it is in doubt, and leads of classes can be compared: a row's likeliest class is the one it has the
greatest lead in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from c2rf._typing import Floats

LARGEST_LEAD = 5.0
"""Rows further from a cut than this are as good as each other."""

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a classifier's scores cut a population of known rates.

    Parameters
    ----------
    cuts : ndarray of shape (n_classes,)
        The score of each class that its known rate of the population is above; infinite of a class
        that has no rows.
    unit : float
        The mean distance of the population's scores to the cuts.
    """

    cuts: Floats
    unit: float

    @classmethod
    def of(cls, scores: Floats, rates: Floats) -> Self:
        """Return the cuts of a population.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)
            Of rows of the population.
        rates : ndarray of shape (n_classes,)
            The known rates of the classes.

        Examples
        --------
        >>> scores = np.array([[0.0, 9.0], [1.0, 8.0], [4.0, 5.0], [7.0, 2.0]])
        >>> cuts = Cuts.of(scores, np.array([0.5, 0.5]))
        >>> cuts.cuts.tolist(), cuts.unit
        ([2.5, 6.5], 2.5)
        >>> cuts.leads(np.array([[5.0, 4.0]])).tolist()
        [[1.0, -1.0]]
        """
        pairs = zip(np.sort(scores, axis=0).T, rates, strict=True)
        cuts = np.array([_cut(column, rate) for column, rate in pairs])
        distances = np.abs(scores - cuts)[:, np.isfinite(cuts)]
        return cls(cuts, float(distances.mean()))

    def leads(self, scores: Floats) -> Floats:
        """Return the leads of any rows, from their scores."""
        finite = self.cuts[np.isfinite(self.cuts)]
        unit = max(self.unit, _ROUNDING * max(1.0, float(np.abs(finite).max())))
        return np.clip((scores - self.cuts) / unit, -LARGEST_LEAD, LARGEST_LEAD)


def _cut(column: Floats, rate: float) -> float:
    """Return the value that a rate of the values, in ascending order, is above.

    Between equal values no cut is possible: it is on the side that leaves the better rate.

    Examples
    --------
    >>> _cut(np.array([0.0, 1.0, 2.0, 3.0]), 0.25), _cut(np.array([0.0, 0.0, 0.0, 1.0]), 0.4)
    (2.25, 0.5)
    """
    if rate <= 0:
        return np.inf
    position = (len(column) - 1) * (1 - rate)
    below = int(position)
    low, high = column[below], column[min(below + 1, len(column) - 1)]
    if low < high:
        return float(low + (position - below) * (high - low))
    first, end = np.searchsorted(column, low, "left"), np.searchsorted(column, low, "right")
    if first + end > 2 * len(column) * (1 - rate):  # the middle of the equal ones is above
        other = column[first - 1] if first > 0 else low
    else:
        other = column[end] if end < len(column) else low
    return float((low + other) / 2)
