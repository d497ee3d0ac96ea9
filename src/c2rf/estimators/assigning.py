"""The labeled rows of a population by the numbers of their classes, with their scores.

Meeting known totals: the labels of all rows, and the offsets that give them.

The labeled rows of a population by the numbers of their classes, with their scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from c2rf._utils.types import Codes, Floats
from c2rf.assignment import Assignment, assign, log_scores
from c2rf.assignment.crossing import drop_zero_totals, relax
from c2rf.assignment.duals import ScoredRows, annealed_duals, class_offsets, smooth_duals
from c2rf.assignment.large import sample_bounds
from c2rf.data.population.interface import filled, large_array, row_blocks
from c2rf.estimators.rows import LabeledRows
from c2rf.inference.accuracy import expected_confusion
from c2rf.learners.calibration import matching_offsets
from c2rf.totals.bounds import Bounds, LinearConstraints, totals_table
from c2rf.totals.groups import Groups


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """Totals to meet, as whole-number bounds of classes in groups of rows.

    Parameters
    ----------
    bounds : Bounds
        How many rows of each class there are, in each group and overall.
    groups : Groups
        The group of each row.
    seed : int
        Seed of the order of tied rows.
    weights : ndarray of shape (n_rows,), optional
        How many people a row stands for; totals are about people then.
    """

    bounds: Bounds
    groups: Groups
    seed: int
    weights: Floats | None = None

    @property
    def is_plain(self) -> bool:
        """Whether totals are overall or of one grouping, and no row has a weight."""
        return not self.bounds.margins and self.weights is None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.groups.codes)

    def in_sample(self, rows: Codes) -> AssignmentProblem:
        """Return the same totals for a sample of the rows; all of them are taken as they are."""
        if len(rows) == self.n_rows:
            return self
        drawn = self.groups.codes[rows]
        if not self.is_plain:
            there, codes = np.unique(drawn, return_inverse=True)
            names = [self.groups.names[g] for g in there]
            groups = self.groups._replace(names=names, codes=codes)
            bounds = self.bounds.restricted_to(there)
            return AssignmentProblem(bounds, groups, self.seed, self._sample_weights(rows))
        bounds, codes, there = sample_bounds(self.bounds, drawn)
        names = [self.groups.names[g] for g in there]
        return AssignmentProblem(bounds, self.groups._replace(names=names, codes=codes), self.seed)

    def meet(self, logs: Floats) -> PopulationAssignment:
        """Label the rows by the logarithms of their probabilities, and learn the offsets."""
        found = assign(logs, self.bounds, self.groups.codes, self.seed, self.weights)
        counts, offsets = found.counts.sum(axis=0), found.offsets[0]
        if len(self.groups.names) > 1 and self.weights is None:
            overall = Bounds.overall(counts, counts, len(logs))
            offsets = assign(logs, overall, None, self.seed).offsets[0]
        elif len(self.groups.names) > 1:
            one = ScoredRows(logs, np.zeros(len(logs), dtype=np.intp), self.weights, 1)
            offsets = relax(one, self.overall_only(found.counts).bounds, self.seed).offsets[0]
        return PopulationAssignment(found, offsets, self)

    def overall_only(self, counts: Floats) -> AssignmentProblem:
        """Return the sizes of the classes over all rows as the only totals."""
        total = counts.sum(axis=0)
        free = 0 * total[None]
        bounds = Bounds(total, total, free, free + total.sum(), total.sum(keepdims=True))
        return AssignmentProblem(bounds, Groups.none(self.n_rows), self.seed, self.weights)

    def _sample_weights(self, rows: Codes) -> Floats:
        """Return weights of a sample with which each group in it weighs what all of it does."""
        groups, n_groups = self.groups.codes[rows], len(self.groups.names)
        own = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        taken = np.bincount(groups, own, minlength=n_groups)
        sizes = np.asarray(self.bounds.group_sizes, dtype=float)
        return own * (sizes / np.where(taken > 0, taken, 1.0))[groups]

    def priors(self, logs: Floats, counts: Floats, rows: Codes | None = None) -> Floats:
        """Return offsets with which sums of probabilities are the totals, in all margins.

        Parameters
        ----------
        logs : ndarray of shape (n_rows, n_classes)
            Logarithms of probabilities.
        counts : ndarray of shape (n_groups, n_classes)
            What the labels add up to, where a total is a range.
        rows : ndarray of int, optional
            The rows that these are, if not all.
        """
        groups = self.groups.codes if rows is None else self.groups.codes[rows]
        weights = self.weights if rows is None else self._sample_weights(rows)
        met = self.bounds.narrowed_to(counts)
        if rows is not None:
            met = met.restricted_to(np.arange(met.n_groups), np.unique(groups))
        system, closed = drop_zero_totals(LinearConstraints.of(met), met)
        scored = ScoredRows(logs, np.asarray(groups), weights, met.n_groups)
        start = np.zeros(len(system.lower))
        start = annealed_duals(scored, system, closed, start, [8.0, 2.0])
        return class_offsets(
            system, smooth_duals(scored, system, closed, start, 1.0, 1e-12), closed
        )


@dataclass(frozen=True, eq=False)
class PopulationAssignment:
    """Labels that meet the totals, and the offsets that give them.

    Parameters
    ----------
    found : Assignment
        The labels, and the offsets within each group.
    offsets : ndarray of shape (n_classes,)
        The offsets that give as many rows of each class without looking at groups.
    meeting : Meeting
        The totals.
    """

    found: Assignment
    offsets: Floats
    meeting: AssignmentProblem

    @property
    def groups(self) -> Groups:
        """The group of each row."""
        return self.meeting.groups

    def totals_met(self, classes: Any) -> pd.DataFrame:
        """Return a table of the known totals, what the labels add up to, and what is off."""
        return totals_table(self.meeting.bounds, self.groups, classes, self.found.counts)

    def stats(self) -> dict[str, Any]:
        """Return what is proven about the labels, and what it took to meet the totals."""
        found = self.found
        stats: dict[str, Any] = {"gap": found.gap, "changes": list(self.meeting.bounds.adjustments)}
        if self.meeting.weights is not None:
            stats |= {"missed": found.missed, "cost": found.cost, "closest": found.closest}
        return stats

    def group_offsets(self) -> dict[Any, Floats]:
        """Return the offsets of each group by its name."""
        return dict(zip(self.groups.names, self.found.offsets, strict=True))

    def priors(self, logs: Floats) -> Floats:
        """Return offsets with which mean probabilities in every group are the shares of labels."""
        codes, groups = self.found.labels, self.groups
        if not self.meeting.is_plain:
            return self.meeting.priors(logs, self.found.counts)
        n_classes = logs.shape[1]
        priors = np.zeros((len(groups.names), n_classes))
        if len(groups.names) == 1:
            shares = np.bincount(codes, minlength=n_classes) / len(codes)
            priors[0] = matching_offsets(logs, shares)
            return priors
        for g, rows in _rows_by_group(groups.codes, len(groups.names)):
            shares = np.bincount(codes[rows], minlength=n_classes) / len(rows)
            priors[g] = matching_offsets(logs[rows], shares)
        return priors

    def model_prior(self, logs: Floats, rows: Codes) -> Floats:
        """Return the offsets with which the model's mean probabilities of a sample are as known.

        Parameters
        ----------
        logs : ndarray of shape (n_sampled, n_classes)
            The logarithms of the probabilities that the model gives to the sample.
        rows : ndarray of int
            The rows of the sample.
        """
        counts = self.found.counts
        if self.meeting.weights is not None:
            whole = self.meeting.overall_only(counts)
            some = None if len(rows) == self.meeting.n_rows else rows
            return whole.priors(logs, counts.sum(axis=0, keepdims=True), some)[0]
        return matching_offsets(logs, counts.sum(axis=0) / counts.sum())

    def model_group_priors(self, logs: Floats, rows: Codes) -> dict[Any, Floats]:
        """Return the same within each group that has any of the sampled ``rows``."""
        counts: Any = self.found.counts
        if not self.meeting.is_plain:
            some = None if len(rows) == self.meeting.n_rows else rows
            table = self.meeting.priors(logs, counts, some)
            return dict(zip(self.groups.names, table, strict=True))
        names, drawn = self.groups.names, self.groups.codes[rows]
        return {
            names[g]: matching_offsets(logs[members], counts[g] / counts[g].sum())
            for g, members in _rows_by_group(drawn, len(names))
        }


def _rows_by_group(groups: Codes, n_groups: int) -> Iterator[tuple[int, Codes]]:
    """Yield the number and the rows of each group that has any."""
    ends = np.cumsum(np.bincount(groups, minlength=n_groups))[:-1]
    for g, rows in enumerate(np.split(np.argsort(groups, kind="stable"), ends)):
        if len(rows):
            yield g, rows


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
    meeting: AssignmentProblem

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
