"""The labeled rows of a population by the numbers of their classes, with their scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from c2rf._typing import Floats
from c2rf.assignment import log_scores
from c2rf.estimators.rows import LabeledChunk
from c2rf.imputation.accuracy import expected_confusion
from c2rf.population import Population
from c2rf.population.blocks import BLOCK_ROWS, large_array, release
from c2rf.totals import Groups


@dataclass(eq=False)
class ClassRows:
    """The rows of a population: the number of the class and of the group of each, and its scores.

    Parameters
    ----------
    population : Population
        Where the rows are.
    classes : ndarray
        The classes.
    codes : ndarray of int, shape (n_rows,)
        The class of each row.
    groups : Groups
        The group of each row.
    scores : ndarray of shape (n_rows, n_classes)
        The probabilities by which rows were ranked.
    priors : ndarray of shape (n_groups, n_classes)
        What is added to log-probabilities to make their means right.
    floor : float
        What a probability of zero counts as.
    meeting : Meeting
        The totals that the labels meet.
    """

    population: Population
    classes: NDArray[Any]
    codes: NDArray[Any]
    groups: Groups
    scores: Floats
    priors: Floats
    floor: float
    meeting: Any = None

    def labels(self) -> Any:
        """Return the class of each row."""
        return self._labels

    @cached_property
    def _labels(self) -> Any:
        return self.population.look_up(self.classes, self.population.beside(self.codes))

    @cached_property
    def probabilities(self) -> Floats:
        """The corrected probabilities of each row."""
        table = large_array(self.scores.shape)
        for rows in _blocks(len(table)):
            logs = log_scores(self.scores[rows], self.floor)
            table[rows] = softmax(logs + self.priors[self.groups.codes[rows]], axis=1)
            release(table)
        return table

    @cached_property
    def confusion(self) -> Floats:
        """Of the rows labeled k, how many are expected to be really of class j."""
        n_classes = len(self.classes)
        total = np.zeros((n_classes, n_classes))
        for rows in _blocks(len(self.codes)):
            own = np.asarray(self.codes[rows])
            total += expected_confusion(own, self.probabilities[rows], n_classes)
        return total

    def chunks(self) -> Iterator[LabeledChunk]:
        """Yield labels and scores, a block of rows at a time."""
        for rows in _blocks(len(self.codes)):
            yield LabeledChunk(self.classes[self.codes[rows]], np.asarray(self.scores[rows]))


def _blocks(n_rows: int) -> Iterator[slice]:
    return (slice(k, min(k + BLOCK_ROWS, n_rows)) for k in range(0, n_rows, BLOCK_ROWS))


def logarithms(table: Floats, floor: float) -> Floats:
    """Return the logarithms of probabilities, of many in a file as they are."""
    logs = large_array(table.shape)
    for rows in _blocks(len(table)):
        logs[rows] = log_scores(table[rows], floor)
        release(table)
        release(logs)
    return logs
