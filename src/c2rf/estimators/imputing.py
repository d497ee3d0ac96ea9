"""Labels drawn several times: learn again from a bootstrap, then draw given that totals hold.

The label of every row is drawn from probabilities whose logarithms are

    TEMPERATURE_FACTOR * s * (full + REPLICATE_INFLATION / sqrt(2) * (one - other)),

where ``full`` is what was learned from all labeled rows, ``one`` and ``other`` are two bootstrap
replicates of it, and log s is normal around 0 with the deviation of the posterior of the inverse
temperature, by which ``full`` has been multiplied already. The difference of two
replicates has a mean of zero and twice the variance of one. Replicates of a learner that smooths
differ by less than the learner's real error, because all are smoothed alike: the inflation factor
makes up for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri, softmax
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from c2rf._utils.types import Codes, Floats, is_whole
from c2rf.assignment import AssignmentProblem
from c2rf.assignment.duals import Assignment
from c2rf.assignment.parts import class_counts
from c2rf.data.population.interface import filled, large_array, release
from c2rf.estimators.training import Training, probability_offsets
from c2rf.exceptions import InputError, InputTypeError
from c2rf.imputation.draw import DrawMethod, draw_labels, drawn_totals
from c2rf.inference.estimates import (
    Domains,
    estimates_table,
    held_out_shares,
    label_shift_p_value,
    too_few_labeled,
    which_to_believe,
)
from c2rf.learners.bootstrap import Replicate, make_bootstrap
from c2rf.progress import Countdown
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups
from c2rf.totals.make_bounds import make_bounds

REPLICATE_INFLATION = 2.0
"""Factor of the differences of bootstrap replicates. Chosen, like TEMPERATURE_FACTOR, by the
coverage of intervals of shares on samples 0 and 1 of the paper's 13 data sets
(``c2rf bench run --methods imputations``); samples 2 to 4 test it."""

TEMPERATURE_FACTOR = 1.25
"""Factor of the inverse temperature that held-out rows give."""

TEMPERATURE_DEVIATION = 0.2
"""For the expected accuracy: a standard deviation of the logarithm of the inverse temperature,
added to that of its posterior; it does not shrink with more labeled rows. Chosen by the data that
``benchmarks.calibration`` lists as tuned on."""

_N_DRAWN_TOTALS = 50  # to see how uncertain totals are

MOST_IMPUTATIONS = 1000
"""More imputations than this say nothing more."""


def check_n_imputations(n_imputations: Any, least: int = 1) -> int:
    """Return the number of imputations, or say which can be asked for."""
    if not is_whole(n_imputations):
        raise InputTypeError(
            f"n_imputations must be a whole number; found {n_imputations!r} of type "
            f"{type(n_imputations).__name__}"
        )
    number = int(n_imputations)
    if not least <= number <= MOST_IMPUTATIONS:
        raise InputError(
            f"n_imputations must be from {least} to {MOST_IMPUTATIONS:,}; found {number:,}. "
            "20 are enough for most figures"
        )
    return number


@dataclass(eq=False)
class Imputer:
    """Draws imputations: fits replicates of the learner, and draws labels that meet the totals.

    Parameters
    ----------
    training : Training
        The labeled and the unlabeled rows, and the learner.
    problem : AssignmentProblem
        The totals.
    found : Assignment
        The labels.
    expected : ndarray of shape (n_groups, n_classes)
        What corrected probabilities add up to.
    logs : ndarray of shape (n_rows, n_classes), or parts that are brought here when needed
        Logarithms of the probabilities learned from all labeled rows, times the factor.
    factor : float
        The inverse temperature that they have been multiplied by.
    deviation : float
        Standard deviation of its logarithm.

    Attributes
    ----------
    drawn : ndarray of int, shape (n_imputations, n_rows)
        The numbers of the classes by the imputations that were drawn already.
    method : {"exact", "markov-chain", "perturb-and-map"}
        How they were drawn, see :mod:`c2rf.imputation.draw`: the least exact way of all.
    """

    training: Training
    problem: AssignmentProblem
    found: Assignment
    expected: Any
    logs: Any
    factor: float = 1.0
    deviation: float = 0.0
    drawn: NDArray[Any] | None = None
    method: DrawMethod = "exact"

    @cached_property
    def full(self) -> Floats:
        """Bring the logarithms here."""
        return np.asarray(self.logs)

    @cached_property
    def groups(self) -> Codes:
        """Bring the group of each row here."""
        return np.asarray(self.problem.groups.codes)

    @cached_property
    def out_of_fold(self) -> tuple[Floats, Floats]:
        """Learn without held-out labeled rows: probabilities of these, and of the sample."""
        return self.training.out_of_fold(self.problem, self.expected)

    def impute(self, n_imputations: int) -> NDArray[Any]:
        """Return the numbers of classes by each imputation; what was drawn before is kept."""
        if self.drawn is None or len(self.drawn) < n_imputations:
            n_rows, n_classes = self.full.shape
            kind: Any = np.min_scalar_type(n_classes - 1)
            drawn = large_array((n_imputations, n_rows), kind)
            for k, (labels, method) in enumerate(self.draw(n_imputations)):
                drawn[k] = labels
                release(drawn)
                self.method = max(self.method, method, key=get_args(DrawMethod).index)
            self.drawn = drawn
        return self.drawn[:n_imputations]

    def draw(self, n_imputations: int) -> Iterator[tuple[Codes, DrawMethod]]:
        """Yield imputations; the first ones are the same, however many are asked for."""
        training = self.training
        labeled = training.labeled(self.problem)
        rngs = [np.random.default_rng([self.problem.seed, 11, k]) for k in range(n_imputations + 1)]
        with Countdown("drawing imputations", n_imputations).inside():
            bootstrap = make_bootstrap(clone(training.template), labeled)
            other = self._logs(bootstrap(rngs[0]))
        steps = Countdown("drawing imputations", n_imputations)  # all of the same length
        for rng in rngs[1:]:
            with steps.inside():
                one = self._logs(bootstrap(rng))
            yield self._drawn(one, other, float(np.exp(self.deviation * rng.normal())), rng)
            other = one
            steps.done()

    def right(self, n_draws: int) -> Iterator[Floats]:
        """Yield the probability that each label is right, at temperatures of the posterior.

        The first are at the temperature that is used, the others at as many quantiles as are asked
        for, in random order.
        """
        labels, groups = np.asarray(self.found.labels), self.groups
        rng = np.random.default_rng([self.problem.seed, 12])
        quantiles = ndtri((rng.permutation(n_draws) + 0.5) / n_draws)
        deviation = np.hypot(self.deviation, TEMPERATURE_DEVIATION)
        steps = Countdown("estimating how many labels are right", n_draws + 1)
        for factor in np.exp(deviation * np.append(0.0, quantiles)):
            logs = factor * self.full
            logs += probability_offsets(self.problem, logs, self.expected)[groups]
            right = softmax(logs, axis=1)[np.arange(len(labels)), labels]
            if self.problem.known is not None:
                right[self.problem.known >= 0] = 1.0
            yield right
            steps.done()

    def estimates(
        self, domains: Groups, labeled: Codes, n_imputations: int, level: float
    ) -> pd.DataFrame:
        """Return shares of classes in domains, see :mod:`c2rf.inference.estimates`.

        Parameters
        ----------
        domains : Groups
            The domain of each unlabeled row.
        labeled : ndarray of int, shape (n_labeled,)
            The domain of each labeled row, -1 for one that no unlabeled row is in.
        n_imputations : int
            How many imputations.
        level : float
            How often intervals should cover the truth.
        """
        training, weights = self.training, self.problem.weights
        classes = training.owner.classes_.tolist()
        sizes = (domains.sizes if weights is None else domains.weight(weights)).astype(float)
        shape = len(domains.names), len(classes)
        imputed = np.array(
            [
                class_counts(domains.codes, drawn, shape, weights).astype(float)
                for drawn in self.impute(n_imputations)
            ]
        )
        codes = np.searchsorted(training.owner.classes_, training.y)
        inside = labeled >= 0
        n_labeled = class_counts(labeled[inside], codes[inside], shape)
        counting = codes[training.labeled(self.problem).counting]
        why = too_few_labeled(counting, self.found.counts.sum(axis=0), classes)
        if isinstance(training.template, FrozenEstimator):
            why = "there are no estimates by held-out rows: the estimator was fitted before"
        held_out, p_value = None, float("nan")
        if not why:
            shares, p_value = self._held_out(domains, labeled, codes, level)
            known = self.problem.known_in(domains)
            part = ((sizes - known.sum(axis=1)) / sizes)[:, None]
            held_out = np.where(part > 0, shares, 0.0) * part + known / sizes[:, None]
        names = pd.DataFrame(index=range(1))
        if domains.columns:
            values = [name if len(domains.columns) > 1 else (name,) for name in domains.names]
            names = pd.DataFrame(values, columns=list(domains.columns))
        table = estimates_table(names, classes, sizes, imputed, held_out, n_labeled, level)
        differ = bool(table["differs"].fillna(False).any())
        table.attrs["label_shift"] = p_value
        table.attrs["note"] = why or which_to_believe(p_value, differ, level)
        return table

    def _held_out(
        self, domains: Groups, labeled: Codes, codes: Codes, level: float
    ) -> tuple[Floats, float]:
        """Return the shares of the rows whose class is not known, with the ends of intervals.

        By held-out labeled rows; and the p-value of label shift.
        """
        training, problem = self.training, self.problem
        probabilities, of_sample = self.out_of_fold
        open_rows, left = problem.left
        every = np.arange(problem.n_rows)[open_rows]
        drawn = np.isin(training.sample.rows, every)
        sampled, of_sample = training.sample.rows[drawn], of_sample[drawn]
        each = np.ones(problem.n_rows) if problem.weights is None else problem.weights
        own, weight, n = domains.codes[sampled], each[sampled], len(domains.names)
        mass = np.maximum(np.bincount(own, weight, n), np.finfo(float).tiny)[:, None]
        shares = np.column_stack([np.bincount(own, weight * p, n) for p in of_sample.T]) / mass
        errors = np.zeros(shares.shape)
        if len(sampled) < left.n_rows:
            off = (weight[:, None] * (of_sample - shares[own])) ** 2
            errors = np.sqrt(np.column_stack([np.bincount(own, o, n) for o in off.T])) / mass
            errors[np.bincount(own, minlength=n) < 2] = 1.0
        sizes = np.bincount(domains.codes[every], each[every], n).astype(float)
        counts = (self.found.counts - problem.known_counts).sum(axis=0).astype(float)
        draws = counts[None]
        if problem.stated is not None and problem.stated.has_estimates:
            bounds = (
                self._drawn_bounds(
                    np.random.default_rng([problem.seed, 13, k])
                ).with_implied_bounds()
                for k in range(_N_DRAWN_TOTALS)
            )
            draws = np.array([(each.lower + each.upper) / 2 for each in bounds])
        own_weight = np.ones(len(codes)) if training.weight is None else training.weight
        known = Domains(np.where(sizes > 0, sizes, 1.0), shares, errors, counts, draws)
        return (
            held_out_shares(codes, probabilities, labeled, own_weight, known, level),
            label_shift_p_value(codes, labeled, own_weight, known._replace(sizes=sizes)),
        )

    def _logs(self, replicate: Replicate) -> Floats:
        """Return the logarithms of probabilities of all rows."""
        rows, logs = replicate.learned_rows, replicate.learned_logs
        parts: Iterable[Floats] = ()
        if rows is None or logs is None or len(rows) < len(self.full):
            predict, block_rows = replicate.predict_log_proba, self.training.owner._block_rows
            parts = self.training.rows.blocks(predict, block_rows)
        table = filled(self.full.shape, parts)
        if self.factor != 1:
            table *= self.factor
        if rows is not None and logs is not None:
            table[self.training.sample.rows[rows]] = logs
        return table

    def _drawn(
        self, one: Floats, other: Floats, inverse_temperature: float, rng: np.random.Generator
    ) -> tuple[Codes, DrawMethod]:
        inflated = self.full + REPLICATE_INFLATION / np.sqrt(2) * (one - other)
        logs = TEMPERATURE_FACTOR * inverse_temperature * inflated
        problem = replace(self.problem, bounds=self._drawn_bounds(rng))
        if not problem.is_possible:  # a total drawn below the rows that are known
            problem = self.problem
        rows, left = problem.left
        labels, method = draw_labels(
            logs[rows], left.bounds, np.asarray(left.groups.codes), rng, left.weights
        )
        return problem.with_known(labels), method

    def _drawn_bounds(self, rng: np.random.Generator) -> Bounds:
        """Return the totals; uncertain ones drawn within their errors, such that they add up."""
        problem, totals = self.problem, self.problem.stated
        if totals is None or not totals.has_estimates:
            return problem.bounds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # users were warned of the totals as they gave them
            return make_bounds(
                drawn_totals(totals, rng), problem.groups, self.training.owner.classes_.tolist(),
                "scale", problem.weights,
            )  # fmt: skip
