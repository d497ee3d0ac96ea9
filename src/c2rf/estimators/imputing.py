"""Labels drawn several times: learn again from a bootstrap, then draw given that totals hold.

The label of every row is drawn from probabilities whose logarithms are

    TEMPERATURE_FACTOR * s * (full + REPLICATE_INFLATION / sqrt(2) * (one - other)),

where ``full`` is what was learned from all labeled rows, ``one`` and ``other`` are two bootstrap
replicates of it, and s is the inverse temperature of another replicate. The difference of two
replicates has a mean of zero and twice the variance of one. Replicates of a learner that smooths
differ by less than the learner's real error, because all are smoothed alike: the inflation factor
makes up for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from c2rf._utils.scalars import is_whole
from c2rf._utils.types import Floats
from c2rf.data.population.interface import filled, large_array, release
from c2rf.estimators.assigning import AssignmentProblem, PopulationAssignment
from c2rf.estimators.learning import Learning, weight_option
from c2rf.estimators.rows import PopulationLabels
from c2rf.exceptions import InputError, InputTypeError
from c2rf.imputation.draw import DrawMethod, DrawnLabels, draw_labels, drawn_totals
from c2rf.inference.accuracy import ExpectedAccuracy, expected_accuracy
from c2rf.learners.blend import uses_population
from c2rf.learners.bootstrap import Bootstrap, Replicate, make_bootstrap
from c2rf.progress import report_progress
from c2rf.totals.bounds import Bounds
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import Totals

REPLICATE_INFLATION = 2.0
"""Factor of the differences of bootstrap replicates. Chosen, like TEMPERATURE_FACTOR, by the
coverage of intervals of shares on samples 0 and 1 of the paper's 13 data sets
(``c2rf bench run --methods imputations``); samples 2 to 4 test it."""

TEMPERATURE_FACTOR = 1.25
"""Factor of the inverse temperature that held-out rows give."""

TEMPERATURE_DEVIATION = 0.45
"""For the expected accuracy: a standard deviation of the logarithm of the inverse temperature,
beside that of bootstraps, which no number of labeled rows takes away. Chosen by 23 samples of the
same data sets with another seed, such that errors are as large as the intervals say."""

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
    """What it takes to learn again and to draw labels.

    Parameters
    ----------
    learning : Learning
        The labeled and the unlabeled rows, and the learner.
    meeting : Meeting
        The totals.
    met : MetTotals
        The labels.
    full : ndarray of shape (n_rows, n_classes)
        Logarithms of the probabilities learned from all labeled rows.
    totals : Totals or None
        The totals as they were said: uncertain ones are drawn anew for each imputation.
    """

    learning: Learning
    meeting: AssignmentProblem
    met: PopulationAssignment
    full: Floats
    totals: Totals | None = None

    def draw(self, n_imputations: int) -> Iterator[DrawnLabels]:
        """Yield imputations; the first ones are the same, however many are asked for."""
        bootstrap = self._bootstrap()
        other: Floats | None = None
        for k in range(n_imputations + 1):
            rng = np.random.default_rng([self.meeting.seed, 11, k])
            report_progress(f"drawing imputation {min(k + 1, n_imputations)} of {n_imputations}")
            replicate = bootstrap.replicate(rng)
            one = self._logs(replicate)
            if other is not None:
                yield self._drawn(one, other, replicate.inverse_temperature, rng)
            other = one

    def right(self, n_bootstraps: int) -> Iterator[Floats]:
        """Yield the probability that each label is right, at the temperatures of bootstraps."""
        bootstrap = self._bootstrap()
        labels, groups = self.met.found.labels, self.meeting.groups.codes
        for k in range(n_bootstraps):
            rng = np.random.default_rng([self.meeting.seed, 12, k])
            report_progress(f"judging the labels: {k + 1} of {n_bootstraps}")
            factor = bootstrap.inverse_temperature(rng)
            logs = factor * np.exp(TEMPERATURE_DEVIATION * rng.normal()) * self.full
            logs += self.met.priors(logs)[groups]
            yield softmax(logs, axis=1)[np.arange(len(labels)), labels]

    def _bootstrap(self) -> Bootstrap:
        meeting = self.meeting.in_sample(self.learning.sample.rows)
        template, X, y, weight = self.learning.labeled
        rates = meeting.bounds.rates()
        options = weight_option(template, weight)
        if uses_population(template):
            options |= {"X_unlabeled": self.learning.sample.data, "rates": rates}
        return make_bootstrap(clone(template), X, y, options, rates)

    def _logs(self, replicate: Replicate) -> Floats:
        """Return the logarithms of probabilities of all rows."""
        rows, logs = replicate.learned_rows, replicate.learned_logs
        parts: Iterable[Floats] = ()
        if rows is None or logs is None or len(rows) < len(self.full):
            predict, block_rows = replicate.predict_log_proba, self.learning.limits.block_rows
            parts = self.learning.rows.blocks(predict, block_rows)
        table = filled(self.full.shape, parts)
        if rows is not None and logs is not None:
            table[self.learning.sample.rows[rows]] = logs
        return table

    def _drawn(
        self, one: Floats, other: Floats, inverse_temperature: float, rng: np.random.Generator
    ) -> DrawnLabels:
        inflated = self.full + REPLICATE_INFLATION / np.sqrt(2) * (one - other)
        logs = TEMPERATURE_FACTOR * inverse_temperature * inflated
        meeting = self.meeting
        bounds = self._drawn_bounds(rng)
        return draw_labels(logs, bounds, meeting.groups.codes, rng, meeting.weights)

    def _drawn_bounds(self, rng: np.random.Generator) -> Bounds:
        """Return the totals; uncertain ones drawn within their errors, such that they add up."""
        meeting, totals = self.meeting, self.totals
        if totals is None or not totals.has_estimates:
            return meeting.bounds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what was moved has been said of the totals given
            return make_bounds(
                drawn_totals(totals, rng), meeting.groups, self.learning.owner.classes_.tolist(),
                "scale", meeting.weights,
            )  # fmt: skip


@dataclass(eq=False)
class Imputed:
    """Imputations that were drawn already.

    Parameters
    ----------
    codes : ndarray of int, shape (n_imputations, n_rows)
        The number of the class of each row.
    method : str
        How they were drawn: the least exact way of all, see :mod:`c2rf.imputation.draw`.
    """

    codes: NDArray[Any]
    method: DrawMethod

    @classmethod
    def of(cls, imputer: Imputer, n_imputations: int) -> Imputed:
        """Draw imputations."""
        n_rows, n_classes = imputer.full.shape
        kind: Any = np.min_scalar_type(n_classes - 1)
        codes = large_array((n_imputations, n_rows), kind)
        methods: set[DrawMethod] = {"exact"}
        for k, drawn in enumerate(imputer.draw(n_imputations)):
            codes[k] = drawn.labels
            release(codes)
            methods.add(drawn.method)
        return cls(codes, max(methods, key=get_args(DrawMethod).index))


class PopulationImputations(PopulationLabels):
    """Adds to a classifier of known totals what could be true of the rows it labeled.

    ``fit`` sets ``_rows`` and ``_imputer``. Copies and files of a classifier do not know the rows.
    """

    classes_: NDArray[Any]
    _imputer: Imputer

    def impute(self, n_imputations: int = 20) -> NDArray[Any]:
        """Draw several sets of labels, each of which meets all totals.

        For each, the learner learns again from a bootstrap of the labeled rows (drawn within
        classes), and the label of every row is drawn from its probabilities, given that all totals
        hold. Compute a figure from each set, and pool the results with :func:`c2rf.pool`: the
        interval then includes what the labels do not know.

        Parameters
        ----------
        n_imputations : int, default=20
            How many sets, from 1 to 1,000. The same ones again if it is called again.

        Returns
        -------
        ndarray of shape (n_imputations, n_unlabeled)
            Classes.

        Notes
        -----
        ``imputation_method_`` says after the call how labels were drawn. ``"exact"``: two classes
        whose numbers are known, overall or in every group (conditional Poisson sampling).
        ``"markov-chain"``: other totals, which are met exactly as well. ``"perturb-and-map"``: rows
        with weights, the likeliest labels for probabilities with random noise.

        Examples
        --------
        >>> import c2rf
        >>> from c2rf.datasets import biased_sample, make_twonorm
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = make_twonorm(600, random_state=0)
        >>> labeled, unlabeled = biased_sample(y, 0.1, positive_weight=0.7, random_state=0)
        >>> known = int(y[unlabeled].sum())
        >>> classifier = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
        >>> _ = classifier.fit(
        ...     X[labeled], y[labeled], X_unlabeled=X[unlabeled], totals={1: known}
        ... )
        >>> imputed = classifier.impute(10)
        >>> imputed.shape, set(imputed.sum(axis=1).tolist()) == {known}
        ((10, 540), True)
        >>> high = X[unlabeled][:, 0] > 1
        >>> share = c2rf.pool(imputed[:, high].mean(axis=1))
        >>> bool(share.low < y[unlabeled][high].mean() < share.high)
        True
        """
        return self.classes_[self._imputed_codes(n_imputations)]

    def expected_accuracy(
        self, n_imputations: int = 20, *, level: float = 0.95
    ) -> ExpectedAccuracy:
        """Return how many labels are right: overall, by class and by group, with intervals.

        Parameters
        ----------
        n_imputations : int, default=20
            How many bootstraps of the labeled rows to judge by, at least 2.
        level : float, default=0.95
            How often an interval should cover the truth.

        Returns
        -------
        ExpectedAccuracy
            With ``overall``, ``by_class`` and ``by_group``, each a :class:`c2rf.Pooled` or a
            mapping to such.
        """
        number = self._check_imputable(n_imputations, least=2)
        groups = self._rows.meeting.groups
        named = (groups.names, groups.codes) if groups.columns else None
        with self._jobs():  # type: ignore[attr-defined]
            right = self._imputer.right(number)
            return expected_accuracy(
                self._rows.codes_here, right, self.classes_.tolist(), named, level
            )

    @property
    def expected_confusion_(self) -> Floats:
        """Of the rows labeled k, how many are expected to be really of class j."""
        return self._known_rows("expected_confusion_").confusion

    def _check_imputable(self, n_imputations: int, least: int = 1) -> int:
        check_is_fitted(self)
        number = check_n_imputations(n_imputations, least)
        if "_imputer" not in self.__dict__:
            raise InputError(
                "there is no population to impute: only the classifier that was fitted to one with "
                "known totals knows it, not its copies and files; fit again"
            )
        return number

    def _imputed_codes(self, n_imputations: int) -> NDArray[Any]:
        """Return the numbers of classes by each imputation; what was drawn before is kept."""
        number = self._check_imputable(n_imputations)
        drawn: Imputed | None = self.__dict__.get("_imputed")
        if drawn is None or len(drawn.codes) < number:
            with self._jobs():  # type: ignore[attr-defined]
                self._imputed = drawn = Imputed.of(self._imputer, number)
        self.imputation_method_ = drawn.method
        return drawn.codes[:number]
