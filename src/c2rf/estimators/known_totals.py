"""The classifier that labels a population so that all known totals hold exactly."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from c2rf.distributed import as_population
from c2rf.ensemble import seeded
from c2rf.estimators.blend import BlendClassifier
from c2rf.estimators.calibrate import matching_offsets
from c2rf.estimators.data import check_data, check_labels, naming_missing
from c2rf.estimators.groups import read_groups
from c2rf.estimators.known import Known
from c2rf.estimators.refine import Codes, Task, first_fit, refine
from c2rf.estimators.streamed_totals import TotalsInChunks
from c2rf.exceptions import InputError, InputTypeError
from c2rf.members import listed, takes_missing
from c2rf.problem import Floats
from c2rf.progress import tell
from c2rf.transport import Assignment, Bounds, assign, log_scores, zero_floor

_MOST_SEEDS = np.iinfo(np.int32).max
Counts = NDArray[np.int64]


def default_estimator() -> Any:
    """Return the classifier that is used where none is given."""
    return BlendClassifier()


class KnownTotalsClassifier(TotalsInChunks, ClassifierMixin, BaseEstimator):
    """Label a population such that the known totals of the classes hold exactly.

    A classifier is fitted to the labeled points. The unlabeled ones get the labels with the
    highest total log-probability among all that meet the totals: overall, in groups, or both. Then
    it is refitted on the labels it has found, as long as that helps. Without totals it is the
    plain classifier.

    Parameters
    ----------
    estimator : classifier with predict_proba, or None, default=None
        Who ranks the points; None is a :class:`BlendClassifier`. Fitted ones go
        in :class:`sklearn.frozen.FrozenEstimator`, and are not refitted.
    rounds : int or "auto", default="auto"
        How many times to refit on the found labels. "auto" takes a round only if models without
        some of the labeled points rank these no worse after it.
    totals_policy : {"strict", "scale"}, default="strict"
        What to do with totals that contradict each other or the number of points: refuse them, or
        rescale them with a warning. Where ``totals`` contradict ``group_totals``, the latter stay.
    n_jobs : int or None, default=None
        Number of jobs, where the estimator has a use for them. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Source of all seeds the estimator leaves open, and of the order of tied points.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    estimator_ : fitted classifier
        The last one that was taken.
    transduction_ : ndarray of shape (n_unlabeled,)
        The class of each unlabeled point, in their order. Only with totals, as all below.
    scores_ : ndarray of shape (n_unlabeled, n_classes)
        The probabilities by which the unlabeled points were ranked. After a refit they are out of
        bag or cross-fitted: no model says them of points whose found labels it was fitted to.
    offsets_ : ndarray of shape (n_classes,)
        What is added to the logarithms of probabilities: every unlabeled point (without groups,
        and but for ties) is of the class with the largest sum. -inf for a class without points.
    group_offsets_ : dict of group to ndarray of shape (n_classes,)
        The same within each group. Only with groups.
    history_ : list of dict
        Per round: its number, the criterion, whether it was taken, and why.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it has any.

    Notes
    -----
    A probability of zero counts as half of the least probability above zero, at most 0.001.

    Of a population in chunks with more than 100,000 points a sample of so many is taken into
    memory, to refit on and to correct probabilities by. All points are labeled by the refitted
    model, exactly as if they were in memory; their probabilities are kept in a temporary file of
    8 bytes for each point and class, twice as much meanwhile, and a label takes a byte of memory.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        "rounds": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "totals_policy": [StrOptions({"strict", "scale"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        rounds: int | Literal["auto"] = "auto",
        totals_policy: Literal["strict", "scale"] = "strict",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.rounds = rounds
        self.totals_policy = totals_policy
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        X_unlabeled: Any = None,
        totals: Mapping[Any, Any] | None = None,
        groups: Any = None,
        group_totals: Mapping[Any, Mapping[Any, Any]] | None = None,
    ) -> Self:
        """Fit to the labeled points, and label the others such that the totals hold.

        Parameters
        ----------
        X : array-like or data frame of shape (n_labeled, n_features)
            The labeled points.
        y : array-like of shape (n_labeled,)
            Their classes, two or more.
        X_unlabeled : array-like, data frame, or source of chunks, optional
            The points to label, with the columns of X. A population too large for memory is given
            in chunks, as to :meth:`C2RFClassifier.fit`, and read twice.
        totals : dict of class to total, optional
            How many of the unlabeled points are of each class: a count (an integer), a rate (a
            float in [0, 1]) or a range ``(lo, hi)`` of either. One class may be left out: it gets
            the rest.
        groups : array-like of shape (n_unlabeled,) or (n_unlabeled, n_columns), optional
            The group of each unlabeled point; with several columns a group is a tuple of values.
            Of files, datasets and lazy frames, also the name of the column that holds it, or a
            tuple of names.
        group_totals : dict of group to dict of class to total, optional
            Totals within groups, beside or instead of overall ones; what is not named is free.

        Returns
        -------
        KnownTotalsClassifier
            The fitted classifier.
        """
        self._validate_params()
        template = self._template()
        known = Known(totals, groups, group_totals)
        has_totals = known.are_about(X_unlabeled)
        y = check_labels(self, y, only_two=False)
        X = check_data(self, X, reset=True)
        check_consistent_length(X, y)
        self.classes_ = np.unique(y)
        self._forget()
        random_state = check_random_state(self.random_state)
        seeded(template, random_state)
        with self._jobs():
            if has_totals:
                seed = random_state.randint(_MOST_SEEDS)
                source = as_population(X_unlabeled)
                if source is None:
                    X_unlabeled = check_data(self, X_unlabeled, name="X_unlabeled")
                    self._fit_in_memory(template, X, y, X_unlabeled, known, seed)
                else:
                    self._fit_in_chunks(template, X, y, source, known, seed)
            else:
                with naming_missing(self, X, "X"):
                    self.estimator_ = template.fit(X, y)
                _check_classes(self.estimator_, self.classes_)
        return self

    def predict(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """Return the class of each point, by probabilities and the offsets that were learned.

        No totals are forced on these points: each is labeled for itself.

        Parameters
        ----------
        X : array-like or data frame of shape (n_points, n_features)
            Any points, with the columns of the labeled ones.
        groups : array-like of shape (n_points,) or (n_points, n_columns), optional
            Their groups, for the offsets of these. Without, and in groups not seen in ``fit``,
            the overall offsets are used.

        Returns
        -------
        ndarray of shape (n_points,)
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

    def predict_proba(self, X: Any, groups: Any = None) -> Floats:
        """Return probabilities, corrected such that their mean over the unlabeled was as known.

        Parameters
        ----------
        X : array-like or data frame of shape (n_points, n_features)
            Any points, with the columns of the labeled ones.
        groups : array-like of shape (n_points,) or (n_points, n_columns), optional
            Their groups, as in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_points, n_classes)
            Probabilities, in the order of ``classes_``.

        Notes
        -----
        Over the unlabeled points, with ``scores_`` corrected in the same way, the mean probability
        of a class is its total divided by the number of points. The largest corrected probability
        need not be the predicted class: counting points and adding up probabilities are two
        different things.
        """
        check_is_fitted(self)
        X = check_data(self, X)
        if not hasattr(self, "offsets_"):
            self._refuse_groups(groups)
            return self._probabilities(X)
        offsets = self._looked_up(groups, len(X), self._prior, "_group_priors")
        return softmax(log_scores(self._probabilities(X), self._floor) + offsets, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing(self.estimator)
        return tags

    def _template(self) -> Any:
        """Return a copy of the estimator, or say why it cannot be used."""
        model = default_estimator() if self.estimator is None else self.estimator
        is_model = hasattr(model, "__sklearn_tags__") and not isinstance(model, type)
        if not is_model or not is_classifier(model):
            raise InputTypeError(
                "estimator must be None or a classifier with predict_proba; found "
                f"{model!r} of type {type(model).__name__}"
            )
        if not hasattr(model, "predict_proba"):
            raise InputTypeError(
                f"estimator must have predict_proba to rank points; {type(model).__name__} has "
                "none: wrap it in sklearn.calibration.CalibratedClassifierCV"
            )
        return clone(model)

    def _jobs(self) -> Any:
        """Give our jobs to an estimator that does not say how many it wants."""
        if self.n_jobs is None:
            return nullcontext()
        return parallel_config("threading", n_jobs=self.n_jobs)

    def _rank(
        self,
        template: Any,
        X: Any,
        y: NDArray[Any],
        X_unlabeled: Any,
        groups: Codes,
        bounds: Bounds,
        seed: int,
    ) -> None:
        """Give the unlabeled points probabilities, and refit where it helps."""

        def label(scores: Floats) -> Codes:
            return assign(log_scores(scores), bounds, groups, seed).labels

        task = Task(template, X, y, X_unlabeled, label, seed, bounds.rates())
        with naming_missing(self, X, "X"), naming_missing(self, X_unlabeled, "X_unlabeled"):
            tell(f"learning from {len(y):,} labeled points")
            first = first_fit(task)
            _check_classes(first.model, self.classes_)
            tell("learning from the labels found, where that helps")
            fit, self.history_ = refine(task, first, self.rounds)
        self.estimator_, self.scores_ = fit.model, fit.scores
        self._floor = zero_floor(fit.scores)

    def _fit_in_memory(
        self, template: Any, X: Any, y: NDArray[Any], X_unlabeled: Any, known: Known, seed: int
    ) -> None:
        """Meet the totals of points in memory."""
        names, codes, bounds = known.bounds(self.classes_, X_unlabeled.shape[0], self.totals_policy)
        self._rank(template, X, y, X_unlabeled, codes, bounds, seed)
        scores = log_scores(self.scores_, self._floor)
        tell(f"meeting the totals of {len(scores):,} points")
        found = self._meet(scores, names, codes, bounds, seed)
        self.transduction_ = self.classes_[found.labels]
        tell("matching the probabilities to the totals")
        self._calibrate(X_unlabeled, names, codes, found.counts)

    def _meet(
        self, scores: Floats, names: list[Any], groups: Codes, bounds: Bounds, seed: int
    ) -> Assignment:
        """Label the points, and learn the offsets of labels."""
        found = overall = assign(scores, bounds, groups, seed)
        counts = found.counts.sum(axis=0)
        if len(names) > 1:
            overall = assign(scores, Bounds.overall(counts, counts, len(scores)), None, seed)
        self.offsets_ = overall.offsets[0]
        if names != [None]:
            self.group_offsets_ = dict(zip(names, found.offsets, strict=True))
        return found

    def _calibrate(self, X: Any, names: list[Any], groups: Codes, counts: Counts) -> None:
        """Learn the offsets with which the mean probabilities of these points are as known."""
        # These are for what the model will say, also of points it was refitted on.
        said = log_scores(self._probabilities(X), self._floor)
        self._prior = matching_offsets(said, counts.sum(axis=0) / counts.sum())
        if names == [None]:
            return
        ends = np.cumsum(np.bincount(groups, minlength=len(names)))[:-1]
        rows = np.split(np.argsort(groups, kind="stable"), ends)
        self._group_priors = {
            name: matching_offsets(said[rows[g]], counts[g] / counts[g].sum())
            for g, name in enumerate(names)
            if len(rows[g])
        }

    def _probabilities(self, X: Any) -> Floats:
        with naming_missing(self, X, "X"), self._jobs():
            return np.asarray(self.estimator_.predict_proba(X))

    def _looked_up(self, groups: Any, n_points: int, overall: Floats, table: str) -> Floats:
        """Return the offsets of each point: of its group where it is known, else the overall."""
        if groups is None:
            return overall
        self._refuse_groups(groups)
        known = getattr(self, table)
        names, codes = read_groups(groups, n_points)
        return np.array([known.get(name, overall) for name in names])[codes]

    def _refuse_groups(self, groups: Any) -> None:
        if groups is not None and not hasattr(self, "group_offsets_"):
            raise InputError("groups was given, but the classifier was fitted without group_totals")

    def _forget(self) -> None:
        """Drop what an earlier fit with totals has left."""
        found = ("transduction_", "scores_", "offsets_", "group_offsets_", "history_", "_stream")
        for name in found:
            self.__dict__.pop(name, None)


def _check_classes(model: Any, classes: NDArray[Any]) -> None:
    """Refuse a model that knows other classes than y, as a frozen one may."""
    known = np.ravel(model.classes_)
    if known.tolist() != classes.tolist():
        raise InputError(
            f"the estimator was fitted to the classes {listed(known)}, but the classes in y are "
            f"{listed(classes)}"
        )
