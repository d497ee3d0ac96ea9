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


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where a classifier's scores cut a population of known rates.

    Parameters
    ----------
    cuts : ndarray of shape (n_classes,)
        The score of each class that its known rate of the population is above.
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
        in_order = np.sort(scores, axis=0)
        # Between the two rows that the known rate is between.
        position = (len(scores) - 1) * (1 - rates)
        below = np.minimum(position.astype(np.intp), max(len(scores) - 2, 0))
        above, classes = np.minimum(below + 1, len(scores) - 1), np.arange(len(rates))
        low, high = in_order[below, classes], in_order[above, classes]
        cuts = low + (position - below) * (high - low)
        return cls(cuts, float(np.abs(scores - cuts).mean()))

    def leads(self, scores: Floats) -> Floats:
        """Return the leads of any rows, from their scores."""
        unit = max(self.unit, np.finfo(float).tiny)
        return np.clip((scores - self.cuts) / unit, -LARGEST_LEAD, LARGEST_LEAD)
