"""The classifier that labels a population so that all known totals hold exactly.

:func:`totals_scorer` is a scorer for held-out labeled rows that counts them as the known totals do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from c2rf._utils.frames import as_numbers
from c2rf._utils.types import MOST_SEEDS, Codes, Floats, is_whole
from c2rf._utils.validation import (
    check_data,
    check_labeled,
    naming_missing,
    takes_missing,
    takes_only_numbers,
)
from c2rf.assignment import AssignmentProblem, log_scores
from c2rf.data.population import as_population
from c2rf.data.population.interface import BLOCK_ROWS, KeptArray, RowSample
from c2rf.estimators.imputing import Imputer, check_n_imputations
from c2rf.estimators.labeled_population import (
    CheckedRows,
    ScoredPopulation,
    TransductionMixin,
    check_known_labels,
    find_domains,
    find_groups,
    find_weights,
    floor_of,
    logarithms,
    multiplied,
    read_known_labels,
)
from c2rf.estimators.training import (
    N_BOOTSTRAP,
    Training,
    check_classes,
    draw_rows,
    encode_frame,
    estimate_rates,
    frame_encoder,
    history,
    learner_template,
    probability_offsets,
    weight_option,
)
from c2rf.exceptions import InputError
from c2rf.forest.ensembles import seeded
from c2rf.inference.accuracy import ExpectedAccuracy, expected_accuracy
from c2rf.inference.audit import (
    expected_gain,
    find_clusters,
    inclusion_probabilities,
    learning_sizes,
    spread_order,
    systematic_sample,
)
from c2rf.inference.estimates import about_estimated_rates
from c2rf.inference.sensitivity import Sensitivity, find_sensitivity
from c2rf.learners.calibration import Calibration, poststratified
from c2rf.learners.default_classifier import is_frozen, uses_population
from c2rf.progress import report_progress, showing_progress
from c2rf.totals.bounds import Bounds, totals_table
from c2rf.totals.groups import Groups, grouping_columns, read_groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import ESTIMATE, Totals, are_given, as_estimates, read_totals


def _clusters(model: Any, X: Any) -> Codes:
    return np.asarray(model.predict(as_numbers(X)))


class KnownTotalsClassifier(TransductionMixin, ClassifierMixin, BaseEstimator):
    """Label a population such that the known totals of the classes hold exactly.

    A classifier is fitted to the labeled rows. The unlabeled ones get the labels with the highest
    total log-probability among all that meet the totals: overall, in groups, or both. Without
    totals it is the plain classifier.

    Parameters
    ----------
    estimator : classifier with predict_proba, or None, default=None
        The learner, whose probabilities rank the rows; None is a :class:`BlendClassifier`. Fitted
        ones go in :class:`sklearn.frozen.FrozenEstimator`, and are not fitted again.
    calibration : "auto" or None, default="auto"
        "auto": how sure the learner's probabilities are is corrected by labeled rows that were held
        out, for which the learner is fitted up to five more times. The default learner holds out
        rows anyway, and a frozen one cannot be fitted again: its probabilities are taken as they
        are, as all are with None. The labels do not depend on it.
    totals_policy : {"strict", "scale"}, default="strict"
        What to do with totals that contradict each other or the number of rows: refuse them, or
        rescale them with a warning. Where overall totals contradict those of groups, the latter
        stay.
    n_jobs : int or None, default=None
        Number of jobs, where the estimator has a use for them. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Source of all seeds the estimator leaves open, and of the order of tied rows.
    verbose : bool, default=False
        Whether to print on standard error what is being done.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    estimator_ : fitted classifier
        The last one that was taken.
    transduction_ : ndarray of shape (n_unlabeled,)
        The class of each unlabeled row, in their order. Only with totals, as all below. Of a Dask
        collection it is a lazy one that is aligned with it.
    transduction_proba_ : ndarray of shape (n_unlabeled, n_classes)
        The probability of each class for each unlabeled row, corrected such that they add up to
        the totals, in every group. Where a total is a range, or there is none, they are changed no
        more than it asks for.
    scores_ : ndarray of shape (n_unlabeled, n_classes)
        The probabilities by which the unlabeled rows were ranked, before any correction.
    calibrated_by_ : {"learner", "held-out rows", None}
        Who has seen to it that probabilities are neither too sure nor too unsure: the learner
        itself, this classifier, or nobody.
    inverse_temperature_ : float
        The factor of the logarithms of ``scores_`` in corrected probabilities; 1 unless this
        classifier has calibrated them.
    offsets_ : ndarray of shape (n_classes,)
        What is added to the logarithms of probabilities: every unlabeled row (without groups, and
        but for ties) is of the class with the largest sum. -inf for a class without rows.
    group_offsets_ : dict of group to ndarray of shape (n_classes,)
        The same within each group. Only with totals of groups.
    history_ : list of dict
        What ranked the rows, a dict per ``base_learner``: its ``accuracy`` as estimated from
        held-out labeled rows, None where that is not known, and its ``weight``.
    totals_met_ : DataFrame
        A row per known total: its grouping columns, class, bounds, what the labels add up to, and
        by how much that is off. With weights all of it in sums of weights.
    assignment_ : dict
        ``gap``: by how much the total log-probability of other labels that meet the totals could be
        higher at most, proven in exact arithmetic (with weights to rounding). With weights other
        than 1 also ``missed``, the sum of what totals are off by, ``cost``, the weighted
        log-probability lost by swaps for that, and ``closest``, whether it is proven that no labels
        come closer.
        ``changes``: totals that had to be moved.
    imputation_method_ : {"exact", "markov-chain", "perturb-and-map"}
        How :meth:`impute` drew labels; only after it was called.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it has any.

    Notes
    -----
    A probability of zero counts as half of the least probability above zero, at most 0.001.

    Of a population with more than 10,000 rows the default learns from a random part of that size,
    and a distilled model ranks the others. The probabilities of many rows are kept in a temporary
    file.

    In cross-validation scikit-learn passes ``X_unlabeled`` on as it is, unless it has as many rows
    as X: then it is taken for one value per row and cut along with X. Rates are right in both
    cases, counts in the first only.

    Examples
    --------
    >>> from c2rf import KnownTotalsClassifier
    >>> from c2rf.datasets import biased_sample, make_twonorm
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> labeled, unlabeled = biased_sample(y, 0.1, positive_weight=0.7, random_state=0)
    >>> known = int(y[unlabeled].sum())  # from a census, say
    >>> classifier = KnownTotalsClassifier(random_state=0)
    >>> classifier = classifier.fit(
    ...     X[labeled], y[labeled], X_unlabeled=X[unlabeled], totals={1: known}
    ... )
    >>> int(classifier.transduction_.sum()) == known
    True
    """

    _block_rows: ClassVar[int] = BLOCK_ROWS
    """Number of rows whose probabilities are computed at a time."""
    _most_learned: ClassVar[float] = np.inf
    """Rows of the population, at most, that any learner gets to look at."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        "calibration": [StrOptions({"auto"}), None],
        "totals_policy": [StrOptions({"strict", "scale"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: Literal["auto"] | None = "auto",
        totals_policy: Literal["strict", "scale"] = "strict",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.totals_policy = totals_policy
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        X_unlabeled: Any = None,
        totals: Any = None,
        unlabeled_groups: Any = None,
        sample_weight: ArrayLike | None = None,
        unlabeled_weight: Any = None,
        unlabeled_id: str | None = None,
        unlabeled_labels: Any = None,
    ) -> Self:
        """Fit to the labeled rows, and label the others such that the totals hold.

        Parameters
        ----------
        X : array-like or data frame of shape (n_labeled, n_features)
            The labeled rows.
        y : array-like of shape (n_labeled,)
            Their classes, two or more.
        X_unlabeled : array-like, data frame, or population outside of memory, optional
            The rows to label, with the columns of X. A population too large for memory is given
            as to :meth:`C2RFClassifier.fit`, and read twice.
        totals : mapping, table, series, or list of these, optional
            How many of the unlabeled rows are of each class. A mapping or series of class to total
            is about all rows; one class may be left out, it gets the rest. A table (a frame, or a
            list of rows) with the columns ``class``, ``total`` and one or more others is about the
            groups that the others make; what is not named is free. A frame of groups by classes,
            such as :func:`pandas.crosstab` makes, says the same. A total is a count (an integer),
            a rate (a float in [0, 1]), a range ``(lo, hi)`` of either, or a
            :class:`c2rf.Estimate`. In a table or series with any number above 1, floats are
            counts. Several tables may cross: all of them hold at once. Totals that were checked
            against these rows before are a :class:`c2rf.assignment.AssignmentProblem`.
            ``"estimate"`` estimates overall totals under label shift, see
            :func:`c2rf.estimate_totals`.
        unlabeled_groups : array-like, data frame or mapping, optional
            The columns that the groups in ``totals`` are made of, a row per unlabeled row; without
            names, in their order. By default they are columns of ``X_unlabeled``.
        sample_weight : array-like of shape (n_labeled,), optional
            How much each labeled row counts when the estimator learns, which must take it.
        unlabeled_weight : array-like of shape (n_unlabeled,), or str, optional
            How many people each unlabeled row stands for, or the column of ``X_unlabeled`` that
            says so. Totals are about people then, and are met to the remainder in ``totals_met_``.
        unlabeled_id : str, optional
            The column that names the rows of a relation of DuckDB or a frame of Spark, which have
            no row numbers: rows are taken by ascending id. Not learned from.
        unlabeled_labels : array-like of shape (n_unlabeled,), optional
            The class of each unlabeled row that is known after all, None or NaN for the others.
            These rows keep it and count in the totals. To learn from them, too, add them to X.

        Returns
        -------
        KnownTotalsClassifier
            The fitted classifier.
        """
        self._validate_params()
        template = learner_template(self.estimator)
        if unlabeled_id is not None and X_unlabeled is not None:
            X_unlabeled = as_population(X_unlabeled, id=unlabeled_id)
        has_totals = are_given(
            X_unlabeled, totals, unlabeled_groups, unlabeled_weight, unlabeled_labels
        )
        tables = X, X_unlabeled
        X, y = check_labeled(self, X, y, only_two=False)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        self._forget()
        random_state = check_random_state(self.random_state)
        seeded(template, random_state)
        with showing_progress(self.verbose), self._jobs():
            if has_totals:
                seed = random_state.randint(MOST_SEEDS)
                learned = template, X, y, weight
                rows, sample, problem = self._read_population(
                    learned, X_unlabeled, totals, unlabeled_groups, unlabeled_weight, seed
                )
                if unlabeled_labels is not None:
                    known = read_known_labels(unlabeled_labels, self.classes_, problem.n_rows)
                    problem = replace(problem, known=known)
                check_known_labels(problem, self.classes_.tolist())
                training = Training(self, template, X, y, weight, rows, sample)
                self._label(training, problem)
                self._tables = tables
            else:
                with naming_missing(self, X, "X"):
                    self.estimator_ = template.fit(X, y, **weight_option(template, weight))
                check_classes(self.estimator_, self.classes_)
        return self

    def predict(self, X: Any, *, groups: Any = None) -> NDArray[Any]:
        """Return the class of each row, by probabilities and the offsets that were learned.

        No totals are forced on these rows: each is labeled for itself.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Any rows, with the columns of the labeled ones.
        groups : array-like of shape (n_rows,) or (n_rows, n_columns), optional
            Their groups, for the offsets of these. Without, and in groups not seen in ``fit``,
            which a warning names, the overall offsets are used.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes.
        """
        check_is_fitted(self)
        X = check_data(self, X)
        if not hasattr(self, "offsets_"):
            self._refuse_groups(groups)
            with naming_missing(self, X, "X"), self._jobs():
                return np.asarray(self.estimator_.predict(X))
        offsets = self._looked_up(groups, len(X), self.offsets_, "group_offsets_")
        scores = log_scores(self._probabilities(X), self._floor) + offsets
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: Any, *, groups: Any = None) -> Floats:
        """Return probabilities, corrected such that their mean over the unlabeled was as known.

        It takes the rows and their groups as :meth:`predict` does.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.

        Notes
        -----
        Over the unlabeled rows, with ``scores_`` corrected in the same way, the mean probability
        of a class is its total divided by the number of rows. The largest corrected probability
        need not be the predicted class: counting rows and adding up probabilities are two
        different things.
        """
        check_is_fitted(self)
        X = check_data(self, X)
        if not hasattr(self, "offsets_"):
            self._refuse_groups(groups)
            return self._probabilities(X)
        offsets = self._looked_up(groups, len(X), self._proba_offsets, "_group_proba_offsets")
        logs = self.inverse_temperature_ * log_scores(self._probabilities(X), self._floor)
        return softmax(logs + offsets, axis=1)

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
            How many bootstraps of the labeled rows, at least 2.
        level : float, default=0.95
            How often an interval should cover the truth.

        Returns
        -------
        ExpectedAccuracy
            With ``overall``, ``by_class`` and ``by_group``, each a :class:`c2rf.Pooled` or a
            mapping to such.
        """
        number = self._check_imputable("expected_accuracy", n_imputations, least=2)
        groups = self._rows.problem.groups
        named = (groups.names, np.asarray(groups.codes)) if groups.columns else None
        with self._jobs():
            right = self._imputer.right(number)
            return expected_accuracy(
                self._rows.codes_here, right, self.classes_.tolist(), named, level
            )

    def estimates(
        self, by: Any = None, *, n_imputations: int = 20, level: float = 0.95
    ) -> pd.DataFrame:
        """Return a table to publish: shares and counts of classes in domains, with intervals.

        Parameters
        ----------
        by : str, sequence of str, or pair of frames, optional
            The columns of X and ``X_unlabeled`` whose values make the domains, or two frames with
            such columns for the labeled and for the unlabeled rows. By default all rows are one
            domain.
        n_imputations : int, default=20
            How many imputations, at least 2.
        level : float, default=0.95
            How often an interval should cover the truth.

        Returns
        -------
        DataFrame
            A row per domain and class. By imputation, where all totals are met and numbers add up:
            ``count``, ``share``, ``share_low``, ``share_high``, ``count_low``, ``count_high``. By
            held-out labeled rows, which holds under label shift however bad the classifier is, and
            need not add up: ``held_out_share``, ``held_out_low``, ``held_out_high``; these are
            empty where a class has too few labeled rows, and ``attrs["note"]`` says so. The ends
            are empty where a domain has no labeled row of the class, or none of any other.
            ``labeled_rows`` of the class in the domain; ``differs``, whether the two shares differ
            by more than chance, in the whole table together (Holm's test).
            ``attrs["label_shift"]`` is the p-value of a test of label shift that rests on no
            classifier: whether the labeled rows, weighted to the totals, make the domains as large
            as they are. NaN where there is nothing to test; ``attrs["note"]`` says what follows.

        Notes
        -----
        Where the two kinds differ, either the probabilities or the assumption of label shift are
        wrong: see :mod:`c2rf.inference.estimates`. The held-out kind fits the learner again to
        four fifths of the labeled rows, five times.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from c2rf import KnownTotalsClassifier
        >>> from c2rf.datasets import make_twonorm
        >>> X, y = make_twonorm(600, random_state=0)
        >>> classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        >>> _ = classifier.fit(X[:100], y[:100], X_unlabeled=X[100:], totals={1: 250})
        >>> domain = np.where(X[:, 0] > 0, "high", "low")
        >>> table = classifier.estimates((domain[:100], domain[100:]))
        >>> table[["domain", "class", "labeled_rows"]].to_numpy().tolist()
        [['high', 0, 13], ['high', 1, 33], ['low', 0, 34], ['low', 1, 20]]
        >>> round(table["count"].sum())
        500
        """
        number = self._check_imputable("estimates", n_imputations, least=2)
        domains, labeled = find_domains(by, self._tables, self._rows.problem.n_rows)
        with self._jobs():
            return self._imputer.estimates(domains, labeled, number, level)

    def label_next(self, n: int = 50, *, random_state: int = 0) -> pd.DataFrame:
        """Draw unlabeled rows whose class would teach most: doubtful ones that differ.

        Every row can be drawn, with a known probability, so that the same rows can serve an audit.
        Give their classes as ``unlabeled_labels``, and add the rows to X to learn from them.

        Parameters
        ----------
        n : int, default=50
            How many rows.
        random_state : int, default=0
            Seed.

        Returns
        -------
        DataFrame
            ``row``, the number of the unlabeled row from 0, its ``label``, ``confidence`` and
            ``inclusion_probability``. ``attrs["note"]`` says what can be expected.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from c2rf import KnownTotalsClassifier
        >>> from c2rf.datasets import make_twonorm
        >>> X, y = make_twonorm(400, random_state=0)
        >>> classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        >>> _ = classifier.fit(X[:100], y[:100], X_unlabeled=X[100:], totals={1: 150})
        >>> found = classifier.label_next(20)
        >>> len(found), bool(found["confidence"].mean() < 0.9)
        (20, True)
        """
        rows = self._rows_here("label_next")
        problem, codes = rows.problem, rows.codes_here
        confidence = np.asarray(rows.probabilities)[np.arange(len(codes)), codes]
        left = np.arange(problem.n_rows)[problem.left[0]]
        if not is_whole(n) or not 2 <= n <= len(left):
            raise InputError(
                f"n must be a whole number from 2 to the number of rows to label, {len(left):,}; "
                f"found {n!r}"
            )
        rng = np.random.default_rng([random_state, 23])
        chances = inclusion_probabilities(learning_sizes(confidence[left]), int(n))
        training = self._imputer.training
        model = find_clusters(as_numbers(training.sample.data), int(n), rng)
        blocks = training.rows.blocks(partial(_clusters, model), self._block_rows)
        order = spread_order(np.concatenate(list(blocks))[left], rng)
        drawn = left[systematic_sample(chances, rng, order)]
        found = pd.DataFrame(
            {
                "row": drawn, "label": self.classes_[codes[drawn]],
                "confidence": confidence[drawn],
                "inclusion_probability": chances[np.searchsorted(left, drawn)],
            }
        )  # fmt: skip
        found.attrs["note"] = expected_gain(confidence[drawn])
        return found

    @property
    def expected_confusion_(self) -> Floats:
        """Of the rows labeled k, how many are expected to be really of class j."""
        return self._known_rows("expected_confusion_").confusion

    def sensitivity(self, share: float | None = None) -> pd.DataFrame:
        """Return which labels stay and which change if the totals of a class are off.

        The unlabeled rows are labeled again with all totals of one class higher, and lower; in
        every group the other classes shrink or grow in proportion.

        Parameters
        ----------
        share : float, optional
            From above 0 to 1, as 0.05 for five percent. By default each estimate is off by its
            standard error, and all else is exact. Where a class has estimates in several tables,
            those of the table with the most groups count.

        Returns
        -------
        DataFrame
            A row per unlabeled row: ``robust``, whether its label is the same in all cases, and
            ``sensitive_to``, the classes on whose totals it depends, separated by commas.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from c2rf import KnownTotalsClassifier
        >>> from c2rf.datasets import make_twonorm
        >>> X, y = make_twonorm(400, random_state=0)
        >>> classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        >>> _ = classifier.fit(X[:100], y[:100], X_unlabeled=X[100:], totals={1: 150})
        >>> int(classifier.sensitivity(0.1)["robust"].sum())
        270
        """
        return self._sensitivity(share).frame()

    @property
    def scores_(self) -> Floats:
        """The probabilities by which the unlabeled rows were ranked."""
        return self._known_rows("scores_").scores

    @property
    def transduction_proba_(self) -> Floats:
        """The corrected probability of each class for each unlabeled row."""
        return self._known_rows("transduction_proba_").probabilities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing(self.estimator)
        tags.input_tags.sparse = True
        return tags

    def _encode(self, X: Any, y: Any, name: str) -> Any:
        """Return a frame that holds more than numbers as numbers, None if that is not for us.

        Labeled rows come with their classes ``y``, and are learned from. Only where the learner
        takes nothing but numbers; a pipeline encodes columns itself.
        """
        if not takes_only_numbers(self.estimator) and not uses_population(self.estimator):
            return None
        if y is not None:
            found = frame_encoder(X, y)
            self._encoder = None if found is None else found[0]
            if found is None:
                return None
            validate_data(self, X, skip_check_array=True)  # keeps names and their number
            return found[1]
        encoder = getattr(self, "_encoder", None)
        return None if encoder is None else encode_frame(encoder, X, name)

    def _read_population(
        self,
        learned: tuple[Any, ...],
        X_unlabeled: Any,
        totals: Any,
        groups: Any,
        weight: Any,
        seed: int,
    ) -> tuple[CheckedRows, RowSample, AssignmentProblem]:
        """Read the unlabeled rows, a sample of them, and what is known of them."""
        is_checked = isinstance(totals, AssignmentProblem)
        extra: tuple[str, ...] = ()
        is_estimated = isinstance(totals, str) and totals == ESTIMATE
        if is_estimated:
            extra = (weight,) if isinstance(weight, str) else ()
        elif not is_checked:
            totals = read_totals(totals, self.classes_.tolist())
            extra = () if groups is not None else tuple(map(str, totals.columns))
            extra = (*extra, weight) if isinstance(weight, str) else extra
        rows = CheckedRows.of(self, X_unlabeled, extra)
        n_labeled, n_columns = len(learned[2]), self.n_features_in_
        sample = draw_rows(rows, n_labeled, n_columns, seed, self._most_learned)
        if is_checked:
            return rows, sample, replace(totals, seed=seed)
        source = rows.rows if rows.keeps_rows else X_unlabeled  # it was counted
        weights = find_weights(source, weight, rows.n_rows or 0)
        if is_estimated:
            people, codes = None if weights is None else weights[sample.rows], 0 * sample.rows
            template, X, y, own = learned
            rates, errors, p_value = estimate_rates(
                template, X, y, own, sample.data, codes, 1, people, N_BOOTSTRAP, seed
            )
            if said := about_estimated_rates(p_value):
                warnings.warn(said, UserWarning, stacklevel=3)
            totals = Totals(as_estimates(self.classes_.tolist(), rates[0], errors[0]))
        groups = find_groups(source, totals, groups, rows.n_rows or 0)
        bounds = make_bounds(totals, groups, self.classes_, self.totals_policy, weights)
        return rows, sample, AssignmentProblem(bounds, groups, weights, totals, seed)

    def _label(self, training: Training, problem: AssignmentProblem) -> None:
        """Learn probabilities, and give the rows the likeliest labels that meet all totals."""
        model = self.estimator_ = training.fit(problem)
        self.history_ = history(model)
        scores = training.score(model, problem.n_rows)
        if problem.known is not None:
            scores = np.asarray(scores)
        self._floor = floor_of(scores)
        logs = logarithms(scores, self._floor, problem)
        report_progress(f"meeting the totals of {problem.n_rows:,} rows")
        found = problem.solve(logs)
        self.offsets_ = problem.overall_offsets(logs, found)
        factor, deviation = self._calibrate(training, problem)
        logs = multiplied(logs, factor)
        report_progress("matching the probabilities to the totals")
        groups, counts = problem.groups, found.counts
        self.totals_met_ = totals_table(problem.bounds, groups, self.classes_, counts)
        self.assignment_ = {"gap": found.gap, "changes": list(problem.bounds.adjustments)}
        if problem.weights is not None:
            missed = float(self.totals_met_["off"].abs().sum())
            self.assignment_ |= {"missed": missed, "cost": found.cost, "closest": found.closest}
        expected = problem.expected_counts(logs, counts)
        self._learn_proba_offsets(training, problem, logs, expected)
        if groups.columns:
            self.group_offsets_ = dict(zip(groups.names, found.offsets, strict=True))
            self._group_columns = groups.columns
        population = training.rows.rows
        codes = population.aligned(found.labels)
        offsets = probability_offsets(problem, logs, expected)
        self._rows = ScoredPopulation(
            population, self.classes_, codes, scores, offsets, self._floor, problem, factor
        )
        self._imputer = Imputer(training, problem, found, expected, logs, factor, deviation)

    def _bring_here(self) -> None:
        """Bring what the workers of a cluster keep of each row here, before they are left."""
        rows, imputer = self._rows, self._imputer
        codes = rows.codes_here
        aligned = rows.population.aligned(codes)
        self._rows = replace(rows, scores=np.asarray(rows.scores), codes=aligned)
        found = replace(imputer.found, labels=codes)
        self._imputer = replace(imputer, found=found, logs=np.asarray(imputer.logs))

    def _calibrate(self, training: Training, problem: AssignmentProblem) -> Calibration:
        """Calibrate the learner, unless it does so itself or cannot be fitted again."""
        found, self.calibrated_by_ = Calibration(1.0, 0.0), None
        if hasattr(self.estimator_, "inverse_temperature_"):
            self.calibrated_by_ = "learner"
            deviation = getattr(self.estimator_, "temperature_deviation_", 0.0)
            found = Calibration(1.0, deviation)
        elif self.calibration is not None and not is_frozen(training.template):
            report_progress("calibrating probabilities by labeled rows held out")
            try:
                found = training.calibrate(problem, self._floor)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"{type(training.template).__name__} could not be calibrated, for which it is "
                    f"fitted to parts of the labeled rows: {error}; calibration=None leaves it out"
                ) from error
            self.calibrated_by_ = "held-out rows"
        self.inverse_temperature_ = found.inverse_temperature
        return found

    def _learn_proba_offsets(
        self, training: Training, problem: AssignmentProblem, logs: Floats, counts: Any
    ) -> None:
        """Learn what makes the mean probabilities of any rows right, overall and in groups."""
        sampled = training.sample.rows
        if hasattr(self.estimator_, "learned_proba_"):  # other rows get the model's own
            logs = log_scores(training.score_sample(self.estimator_), self._floor)
            logs *= self.inverse_temperature_
        else:
            logs = logs[sampled]
        overall, total = problem.overall_only(counts), counts.sum(axis=0, keepdims=True)
        self._proba_offsets = np.zeros(total.shape[1])
        if not problem.unknown_groups.all():
            self._proba_offsets = probability_offsets(overall, logs, total, sampled)[0]
        if problem.groups.columns:
            names, table = problem.groups.names, probability_offsets(problem, logs, counts, sampled)
            known = range(len(names))
            if problem.is_plain:
                known = np.unique(problem.groups.codes[sampled]).tolist()
            self._group_proba_offsets = {names[g]: table[g] for g in known}

    def _check_imputable(self, name: str, n_imputations: int, least: int = 1) -> int:
        check_is_fitted(self)
        number = check_n_imputations(n_imputations, least)
        if "_imputer" not in self.__dict__:
            raise InputError(
                "there is no population to impute: only the classifier that was fitted to one with "
                "known totals knows it, not its copies and files; fit again"
            )
        self._rows_here(name)
        return number

    def _rows_here(self, name: str) -> ScoredPopulation:
        """Return the labeled rows for work that needs all their probabilities here."""
        rows: ScoredPopulation = self._known_rows(name)
        if isinstance(rows.scores, KeptArray):
            rows.scores.check_fits(name)
        return rows

    def _imputed_codes(self, n_imputations: int) -> NDArray[Any]:
        """Return the numbers of classes by each imputation."""
        number = self._check_imputable("impute", n_imputations)
        with self._jobs():
            codes = self._imputer.impute(number)
        self.imputation_method_ = self._imputer.method
        return codes

    def _sensitivity(self, share: float | None) -> Sensitivity:
        """Return what :meth:`sensitivity` does, in less memory."""
        rows = self._known_rows("sensitivity")
        logs = logarithms(rows.scores, rows.floor, rows.problem)
        return find_sensitivity(rows.problem, logs, rows.codes_here, self.classes_, share)

    def _jobs(self) -> Any:
        """Give our jobs to an estimator that does not say how many it wants."""
        if self.n_jobs is None:
            return nullcontext()
        return parallel_config("threading", n_jobs=self.n_jobs)

    def _probabilities(self, X: Any) -> Floats:
        with naming_missing(self, X, "X"), self._jobs():
            return np.asarray(self.estimator_.predict_proba(X))

    def _looked_up(self, groups: Any, n_rows: int, overall: Floats, table: str) -> Floats:
        """Return the offsets of each row: of its group where it is known, else the overall."""
        if groups is None:
            return overall
        self._refuse_groups(groups)
        found = read_groups(grouping_columns(groups, self._group_columns, "groups"), n_rows)
        found.warn_of_new(self.group_offsets_)
        return found.look_up(getattr(self, table), overall)[found.codes]

    def _refuse_groups(self, groups: Any) -> None:
        if groups is not None and not hasattr(self, "group_offsets_"):
            raise InputError(
                "groups was given, but the classifier was fitted without totals of groups"
            )

    def _forget(self) -> None:
        """Drop what an earlier fit with totals has left."""
        of_totals = (
            "offsets_", "group_offsets_", "_group_columns", "history_", "_rows", "totals_met_",
            "assignment_", "_imputer", "_tables", "imputation_method_", "inverse_temperature_",
            "calibrated_by_",
        )  # fmt: skip
        for name in of_totals:
            self.__dict__.pop(name, None)


_OF = 1_000_000  # rates of totals are found as counts of so many rows


def totals_scorer(
    metric: str = "accuracy", *, totals: Mapping[Any, Any] | None = None
) -> Callable[..., float]:
    """Return a scorer that weights held-out rows such that classes have their known totals.

    A biased sample has too many rows of some classes, and so have its held-out rows: a score of
    them favours what is wrong of the population. Weighted, each class counts by its total.

    Parameters
    ----------
    metric : str, default="accuracy"
        A scorer of scikit-learn by its name, which must take weights.
    totals : mapping of class to total, optional
        Rates of the classes, or counts, of which only the shares matter. Without, those of the
        labels of the fitted :class:`KnownTotalsClassifier`, which may be the last step of a
        pipeline.

    Returns
    -------
    callable
        Takes a fitted estimator, rows and their classes: what ``scoring`` of scikit-learn is.

    Examples
    --------
    >>> import c2rf
    >>> from sklearn.dummy import DummyClassifier
    >>> score = c2rf.totals_scorer(totals={"no": 0.9, "yes": 0.1})
    >>> always = DummyClassifier(strategy="constant", constant="no")
    >>> X, y = [[0]] * 4, ["no", "yes", "yes", "yes"]
    >>> round(score(always.fit(X, y), X, y), 3)
    0.9
    """
    return partial(_score, get_scorer(metric), totals)


def _score(scorer: Any, totals: Mapping[Any, Any] | None, estimator: Any, X: Any, y: Any) -> float:
    """Score rows; those of each class count together as the class does in the totals."""
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    known = _rates_of(estimator) if totals is None else _rates(totals, estimator.classes_)
    rates = np.array([known[label] for label in classes.tolist()])
    weights = poststratified(codes, rates / rates.sum())
    return float(scorer(estimator, X, y, sample_weight=weights * len(codes)))


def _rates(totals: Mapping[Any, Any], classes: Any) -> dict[Any, float]:
    """Return the rates that are given; counts count by their share, and one class has the rest."""
    given = read_totals(totals).overall
    are_counts = all(isinstance(n, Integral) for n in given.values())
    n_rows = sum(given.values()) if are_counts else _OF
    known: Floats | None = None
    if given:
        bounds: Bounds = make_bounds(read_totals(totals), Groups.none(int(n_rows)), classes)
        known = bounds.rates()
    if known is None:
        raise InputError("totals must be a rate or a count of each class; one may be left out")
    return dict(zip(np.asarray(classes).tolist(), known.tolist(), strict=True))


def _rates_of(estimator: Any) -> dict[Any, float]:
    """Return the shares of the labels that met the totals."""
    classifier = estimator[-1] if hasattr(estimator, "steps") else estimator
    rows = getattr(classifier, "_rows", None)
    if rows is None:
        raise InputError(
            "totals_scorer needs totals: give them as totals=, or fit a KnownTotalsClassifier with "
            f"totals; found a {type(classifier).__name__} without"
        )
    counts = np.bincount(rows.codes_here, rows.problem.weights, len(rows.table))
    return dict(zip(rows.table.tolist(), (counts / counts.sum()).tolist(), strict=True))
