"""Scores of different classifiers made comparable: how far a row is beyond the cut.

Cut the population at the known rate of a class: the rows with the highest scores are of that class.
A row's lead is its distance to this cut, above it or (negative) below it, in units of the mean
distance of the population's rows. Whatever a classifier's scores look like, a lead of zero is where
it is in doubt, and leads of classes can be compared: a row's likeliest class is the one it has the
greatest lead in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from c2rf._typing import Floats

LARGEST_LEAD = 5.0
"""Rows further from a cut than this are as good as each other."""

_ROUNDING = 1e-12


class Cut(NamedTuple):
    """Where a rate of some values is above.

    Parameters
    ----------
    at : float
        The value that they are above; infinite for a rate of zero.
    equal, part : float
        Where equal values would have to be cut through: this value (else NaN), and the part of them
        that is above.
    """

    at: float
    equal: float = np.nan
    part: float = 0.0

    @classmethod
    def of(cls, values: Floats, rate: float) -> Self:
        """Cut values that are in ascending order.

        Examples
        --------
        >>> Cut.of(np.array([0.0, 1.0, 2.0, 3.0]), 0.25).at
        2.25
        >>> Cut.of(np.array([0.0, 1.0, 1.0, 2.0]), 0.5)
        Cut(at=1.0, equal=1.0, part=0.5)
        """
        if rate <= 0:
            return cls(np.inf)
        n_rows = len(values)
        position = (n_rows - 1) * (1 - rate)
        below = int(position)
        low, high = values[below], values[min(below + 1, n_rows - 1)]
        if low < high:
            return cls(float(low + (position - below) * (high - low)))
        first, end = np.searchsorted(values, low, "left"), np.searchsorted(values, low, "right")
        part = float(np.clip((end - n_rows * (1 - rate)) / (end - first), 0.0, 1.0))
        # The more of them are above, the closer the cut is to those that are certainly below.
        under = (low + values[max(first - 1, 0)]) / 2
        over = (low + values[min(end, n_rows - 1)]) / 2
        return cls(float(part * under + (1 - part) * over), float(low), part)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a classifier's scores cut a population of known rates.

    Parameters
    ----------
    cuts : list of Cut
        Of each class, the score that its known rate of the population is above.
    unit : float
        The mean distance of the population's scores to the cuts.
    """

    cuts: list[Cut]
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
        >>> [cut.at for cut in cuts.cuts], cuts.unit
        ([2.5, 6.5], 2.5)
        >>> cuts.leads(np.array([[5.0, 4.0]])).tolist()
        [[1.0, -1.0]]
        """
        pairs = zip(np.sort(scores, axis=0).T, rates, strict=True)
        cuts = [Cut.of(values, rate) for values, rate in pairs]
        at = np.array([cut.at for cut in cuts])
        return cls(cuts, float(np.abs(scores - at)[:, np.isfinite(at)].mean()))

    def leads(self, scores: Floats) -> Floats:
        """Return the leads of any rows, from their scores."""
        at = np.array([cut.at for cut in self.cuts])
        least = _ROUNDING * max(1.0, float(np.abs(at[np.isfinite(at)]).max()))
        return np.clip((scores - at) / max(self.unit, least), -LARGEST_LEAD, LARGEST_LEAD)

    def above(self, scores: Floats) -> Floats:
        """Return how far rows are above the cuts: 1 or 0, or a part where equals are on both sides.

        Examples
        --------
        >>> cuts = Cuts.of(np.array([[1.0], [2.0], [2.0], [2.0]]), np.array([0.25]))
        >>> cuts.above(np.array([[1.0], [2.0], [3.0]])).round(2).tolist()
        [[0.0], [0.33], [1.0]]
        """
        columns = [
            np.where(own == cut.equal, cut.part, own > cut.at)
            for own, cut in zip(scores.T, self.cuts, strict=True)
        ]
        return np.column_stack(columns)
