"""The classifier that labels a population so that a known total comes out."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from c2rf.distributed import Partitions, as_population
from c2rf.ensemble import make_ensemble
from c2rf.estimators.checked import checked_chunks
from c2rf.estimators.data import check_data, check_labels, naming_missing, positive_index
from c2rf.estimators.partitioned import count_partitions, for_workers
from c2rf.estimators.streamed import InChunks, PatternLabels, Stream
from c2rf.exceptions import InputError
from c2rf.members import DEFAULT_MAX_SAMPLES, DEFAULT_N_ESTIMATORS, takes_missing
from c2rf.problem import Floats, Solution, check_box, check_offset, check_total, scores
from c2rf.progress import told
from c2rf.solve import solve
from c2rf.sources import Source
from c2rf.votes import PatternTable, unpack

_MOST_SEEDS = np.iinfo(np.int32).max
_JUST_POSITIVE = float(np.finfo(float).tiny)


class C2RFClassifier(InChunks, ClassifierMixin, BaseEstimator):
    """Cardinality-constrained random forest: a weighted vote that meets a known total.

    Trees are fitted to the labeled points. Their weights are chosen such that the weighted vote
    makes as nearly as possible the known number of unlabeled points positive, and it is proven
    how near any weights could come. Without a total it is the majority vote of the trees.

    Parameters
    ----------
    estimator : None, classifier, ensemble, FrozenEstimator, or list, default=None
        Who votes:

        - None: decision trees of depth 2, made as copies of a classifier are;
        - a classifier: ``n_estimators`` copies, each fitted to ``max_samples`` of the labeled
          points drawn without replacement;
        - an ensemble (``RandomForestClassifier``, ``ExtraTreesClassifier``,
          ``BaggingClassifier``, ``AdaBoostClassifier``, ``VotingClassifier``): its members;
        - a fitted ensemble in :class:`sklearn.frozen.FrozenEstimator`: its members as they are;
        - a list of fitted classifiers: these. Keep them in ``FrozenEstimator``, each or the whole
          list, where the classifier is cloned (as in a grid search), because clones are unfitted.

        Gradient boosting has no members that vote and is refused.
    n_estimators : int, default=20
        Number of copies of a classifier. With an ensemble or a list it must stay at its default.
    max_samples : float or int, default=0.2
        The part (float) or the number (int) of labeled points each copy is fitted to. With an
        ensemble or a list it must stay at its default.
    lower, upper : float, default=1.0, 100.0
        Bounds of the weights, 0 < lower <= upper.
    method, backend, offset, prefer, time_limit
        As in :func:`c2rf.solve`.
    n_jobs : int or None, default=None
        Number of jobs for fitting and voting. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Source of the seeds of all members that have none of their own, and of the search.
    pos_label : label or None, default=None
        The class that ``n_positive`` counts. None means the greater one of numbers or bools; of
        other labels it must be given where a total is.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two classes, sorted.
    pos_label_ : label
        The positive one.
    estimators_ : list of fitted classifiers
        The members that vote.
    weights_ : ndarray of shape (n_members,)
        Their weights; all one without a total.
    offset_ : float
        The shift of the weighted vote for ``pos_label_``; zero without ``offset``.
    solution_ : Solution or None
        What was found and proven, a label of ±1 per unlabeled point (of a population in chunks,
        per pattern in ``patterns_``); None without a total.
    transduction_ : ndarray of shape (n_unlabeled,)
        The class of each unlabeled point, in their order. Only with a total. A population in
        chunks is read for it when it is first asked for.
    patterns_ : PatternTable
        The distinct rows of votes of a population in chunks, with their counts.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it has any.

    Notes
    -----
    A tied vote counts as negative, i.e. as the class that is not ``pos_label_``.

    In cross-validation scikit-learn passes ``X_unlabeled`` on as it is, unless it has as many rows
    as X: then it is taken for one value per row and cut along with X. A rate is right in both
    cases, a count in the first only.

    Examples
    --------
    >>> from c2rf import C2RFClassifier
    >>> from c2rf.datasets import biased_sample, make_twonorm
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> labeled, unlabeled = biased_sample(y, 0.1, positive_weight=0.7, random_state=0)
    >>> known = int(y[unlabeled].sum())  # from a census, say
    >>> classifier = C2RFClassifier(n_estimators=5, random_state=0)
    >>> majority = classifier.fit(X[labeled], y[labeled]).predict(X[unlabeled])
    >>> known, int(majority.sum())
    (443, 594)
    >>> classifier = classifier.fit(
    ...     X[labeled], y[labeled], X_unlabeled=X[unlabeled], n_positive=known
    ... )
    >>> abs(int(classifier.transduction_.sum()) - known)
    3
    >>> classifier.solution_.bound  # no weights come nearer
    3
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "lower": "no_validation",
        "upper": "no_validation",
        "method": [str],
        "backend": [str],
        "offset": "no_validation",
        "prefer": [str, None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = DEFAULT_N_ESTIMATORS,
        max_samples: float = DEFAULT_MAX_SAMPLES,
        lower: float = 1.0,
        upper: float = 100.0,
        method: str = "auto",
        backend: str = "highs",
        offset: tuple[float, float] | None = None,
        prefer: str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        pos_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.lower = lower
        self.upper = upper
        self.method = method
        self.backend = backend
        self.offset = offset
        self.prefer = prefer
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.pos_label = pos_label

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        X_unlabeled: Any = None,
        n_positive: int | float | None = None,
    ) -> Self:
        """Fit the members to the labeled points, and weigh them to meet the total.

        Parameters
        ----------
        X : array-like or data frame of shape (n_labeled, n_features)
            The labeled points.
        y : array-like of shape (n_labeled,)
            Their labels, of two classes.
        X_unlabeled : array-like, data frame, or source of chunks, optional
            The points to label, with the columns of X. A population too large for memory is given
            in chunks and read twice, to count and to label: as a path or a list of paths (files or
            folders of Parquet or CSV), a pyarrow dataset, a Polars LazyFrame, a list or another
            re-iterable of arrays or frames, or a callable that returns a fresh iterator of them.
            Of files, datasets and lazy frames only the columns of X are read.
        n_positive : int or float, optional
            How many of them are positive: a count (an integer) or a rate (a float in [0, 1]).
            With ``X_unlabeled``, and only then.

        Returns
        -------
        C2RFClassifier
            The fitted classifier.
        """
        self._validate_params()
        check_box(self.lower, self.upper)
        if self.offset is not None:
            check_offset(self.offset)
        has_total = _has_total(X_unlabeled, n_positive)
        y = check_labels(self, y)
        X = check_data(self, X, reset=True)
        check_consistent_length(X, y)
        self.classes_ = np.unique(y)
        positive = positive_index(self.pos_label, self.classes_, has_total=has_total)
        self.pos_label_ = self.classes_[positive]
        source = as_population(X_unlabeled) if has_total else None
        if has_total and source is None:
            X_unlabeled = check_data(self, X_unlabeled, name="X_unlabeled")
            check_total(n_positive, X_unlabeled.shape[0])
        random_state = check_random_state(self.random_state)
        with naming_missing(self, X, "X"):
            self._ensemble = make_ensemble(
                self.estimator,
                X,
                y,
                positive=positive,
                n_estimators=self.n_estimators,
                max_samples=self.max_samples,
                feature_names=getattr(self, "feature_names_in_", None),
                n_jobs=self.n_jobs,
                random_state=random_state,
            )
        self.estimators_ = self._ensemble.members
        self._forget_total()
        if has_total:
            seed = random_state.randint(_MOST_SEEDS)
            if source is None:
                self._meet_total(X_unlabeled, n_positive, seed)
            else:
                self._meet_streamed_total(source, n_positive, seed)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each point by the weighted vote.

        Parameters
        ----------
        X : array-like or data frame of shape (n_points, n_features)
            Any points, with the columns of the labeled ones.

        Returns
        -------
        ndarray of shape (n_points,)
            Classes.
        """
        says_second = self.decision_function(X) > 0
        return self.classes_[says_second.astype(np.intp)]

    def decision_function(self, X: Any) -> Floats:
        """Return the weighted vote; above zero it says ``classes_[1]``, whatever the positive.

        Parameters
        ----------
        X : array-like or data frame of shape (n_points, n_features)
            Any points, with the columns of the labeled ones.

        Returns
        -------
        ndarray of shape (n_points,)
            Sums of weights, with the sign of the class.
        """
        return self._toward_second(scores(self.votes(X), self.weights_) + self.offset_)

    def votes(self, X: Any) -> NDArray[np.int8]:
        """Return the members' votes, +1 for ``pos_label_`` and -1 for the other class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_points, n_features)
            Any points, with the columns of the labeled ones.

        Returns
        -------
        ndarray of int8, shape (n_points, n_members)
            What :func:`c2rf.solve` and :func:`c2rf.verify` want.
        """
        check_is_fitted(self)
        return unpack(self._words(check_data(self, X), "X"), len(self.estimators_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = takes_missing(self.estimator)
        return tags

    def _words(self, X: Any, name: str) -> NDArray[np.uint64]:
        """Return the packed votes on checked data."""
        with naming_missing(self, X, name):
            return self._ensemble.words(X, self.n_jobs)

    def _count_patterns(self, X: Any, name: str, *, inverse: bool = False) -> PatternTable:
        """Return the patterns of checked data, to be merged with those of other chunks."""
        words = self._words(X, name)
        return PatternTable.from_words(words, len(self.estimators_), inverse=inverse)

    def _meet_total(self, X_unlabeled: Any, n_positive: Any, seed: int) -> None:
        """Choose weights for the total, and label the unlabeled points by them."""
        table = self._count_patterns(X_unlabeled, "X_unlabeled", inverse=True)
        solution = self._solve(table, n_positive, seed)
        labels = solution.labels[table.inverse]
        self.solution_: Solution | None = replace(solution, labels=labels)
        self.transduction_ = self._as_classes(labels > 0)

    def _meet_streamed_total(self, source: Source, n_positive: Any, seed: int) -> None:
        """Choose weights for the total of a population that is read chunk by chunk."""
        voter = self
        if isinstance(source, Partitions):
            table, source = count_partitions(self, source)
            voter = for_workers(self)
        else:
            chunks = checked_chunks(self, source)
            table = PatternTable.merged(self._count_patterns(c.data, c.name) for c in chunks)
        solution = self._solve(table, n_positive, seed)
        self.solution_, self.patterns_ = solution, table
        score = self._toward_second(scores(table.patterns, self.weights_) + self.offset_)
        known = PatternLabels(table, self._as_classes(solution.labels > 0), score)
        self._stream = Stream(
            source,
            table.n_points,
            lambda chunk: known.look_up(voter._words(chunk.data, chunk.name), chunk.name),
        )

    def _solve(self, table: PatternTable, n_positive: Any, seed: int) -> Solution:
        """Choose weights for the total, and keep them."""
        solution = solve(
            table,
            check_total(n_positive, table.n_points),
            self.lower,
            self.upper,
            method=self.method,
            backend=self.backend,
            offset=self.offset,
            prefer=self.prefer,
            time_limit=self.time_limit,
            random_state=seed,
            progress=told(),
        )
        self.weights_, self.offset_ = solution.weights, float(solution.offset)
        return solution

    def _as_classes(self, positive: NDArray[np.bool_]) -> NDArray[Any]:
        says_second = positive == (self.pos_label_ == self.classes_[1])
        return self.classes_[says_second.astype(np.intp)]

    def _toward_second(self, score: Floats) -> Floats:
        """Turn scores for ``pos_label_`` into scores for ``classes_[1]``."""
        if self.pos_label_ == self.classes_[1]:
            return score
        # A tie is negative, which is classes_[1] here, and so must be above zero.
        return np.where(score == 0, _JUST_POSITIVE, -score)

    def _forget_total(self) -> None:
        """Give every member the same weight, and know of no population."""
        self.solution_ = None
        self.weights_, self.offset_ = np.ones(len(self.estimators_)), 0.0
        for name in ("transduction_", "patterns_", "_stream"):
            self.__dict__.pop(name, None)


def _has_total(X_unlabeled: Any, n_positive: Any) -> bool:
    """Say whether there is a total to meet, and refuse half of what it takes."""
    if X_unlabeled is None and n_positive is not None:
        raise InputError(
            "n_positive was given without X_unlabeled, the points it counts; give both or neither"
        )
    if X_unlabeled is not None and n_positive is None:
        raise InputError(
            "X_unlabeled was given without n_positive, how many of its points are positive; give "
            "both or neither"
        )
    return X_unlabeled is not None
