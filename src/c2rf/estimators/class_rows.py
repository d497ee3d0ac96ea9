"""The labeled rows of a population by the numbers of their classes, with their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax

from c2rf._typing import Floats
from c2rf.assignment import log_scores
from c2rf.estimators.labeled_rows import LabeledRows
from c2rf.estimators.meeting import Meeting
from c2rf.imputation.accuracy import expected_confusion
from c2rf.population.blocks import filled, large_array, row_blocks


@dataclass(eq=False)
class ClassRows(LabeledRows):
    """The rows of a population: the number of the class of each, and its scores.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        The probabilities by which rows were ranked.
    priors : ndarray of shape (n_groups, n_classes)
        What is added to log-probabilities to make their means right.
    floor : float
        What a probability of zero counts as.
    meeting : Meeting
        The totals that the labels meet, and the group of each row.
    """

    scores: Floats
    priors: Floats
    floor: float
    meeting: Meeting

    @cached_property
    def probabilities(self) -> Floats:
        """The corrected probabilities of each row."""
        groups = self.meeting.groups.codes
        corrected = (
            softmax(log_scores(self.scores[rows], self.floor) + self.priors[groups[rows]], axis=1)
            for rows in row_blocks(len(self.scores), reading=[self.scores])
        )
        return filled(self.scores.shape, corrected)

    @cached_property
    def confusion(self) -> Floats:
        """Of the rows labeled k, how many are expected to be really of class j."""
        n_classes = len(self.table)
        total = np.zeros((n_classes, n_classes))
        for rows in row_blocks(len(self.scores), reading=[self.probabilities]):
            own = np.asarray(self.codes_here[rows])
            total += expected_confusion(own, self.probabilities[rows], n_classes)
        return total

    def scores_of(self, rows: slice) -> Floats:
        """Return the probabilities of some rows."""
        return np.asarray(self.scores[rows])


def logarithms(table: Floats, floor: float) -> Floats:
    """Return the logarithms of probabilities, of many in a file as they are."""
    logs = large_array(table.shape)
    for rows in row_blocks(len(table), reading=[table, logs]):
        logs[rows] = log_scores(table[rows], floor)
    return logs
