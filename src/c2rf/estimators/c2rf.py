"""The classifier that weighs the votes of trees so that a known total comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from c2rf._utils.types import MOST_SEEDS, Floats
from c2rf._utils.validation import (
    check_data,
    check_labeled,
    naming_missing,
    positive_index,
    takes_missing,
)
from c2rf.data.population.interface import CHANGED, Chunk
from c2rf.data.population.memory import Memory
from c2rf.estimators.labeled_population import (
    CheckedRows,
    LabeledPopulation,
    TransductionMixin,
    naming_chunk,
)
from c2rf.exceptions import InputError
from c2rf.forest.ensembles import DEFAULT_MAX_SAMPLES, DEFAULT_N_ESTIMATORS, Ensemble, make_ensemble
from c2rf.forest.problem import Solution, check_box, check_offset, check_total, scores
from c2rf.forest.solve import solve
from c2rf.forest.votes import PatternTable, unpack
from c2rf.progress import showing_progress, solver_progress
from c2rf.totals.groups import read_groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import Totals, are_given, read_totals

_JUST_POSITIVE = float(np.finfo(float).tiny)


class C2RFClassifier(TransductionMixin, ClassifierMixin, BaseEstimator):
    """Cardinality-constrained random forest: a weighted vote that meets a known total.

    Trees are fitted to the labeled rows. Their weights are chosen such that the weighted vote
    makes as nearly as possible the known number of unlabeled rows positive, and it is proven how
    near any weights could come. Without a total it is the majority vote of the trees.

    Parameters
    ----------
    estimator : None, classifier, ensemble, FrozenEstimator, or list, default=None
        What votes:

        - None: decision trees of depth 2, made as copies of a classifier are;
        - a classifier: ``n_estimators`` copies, each fitted to ``max_samples`` of the labeled
          rows drawn without replacement;
        - an ensemble (``RandomForestClassifier``, ``ExtraTreesClassifier``,
          ``BaggingClassifier``, ``AdaBoostClassifier``, ``VotingClassifier``): its members;
        - a fitted ensemble in :class:`sklearn.frozen.FrozenEstimator`: its members as they are;
        - a list of fitted classifiers: these. Keep them in ``FrozenEstimator``, each or the whole
          list, where the classifier is cloned (as in a grid search), because clones are unfitted.

        Gradient boosting has no members that vote and is refused.
    n_estimators : int, default=20
        Number of copies of a classifier. With an ensemble or a list it must stay at its default.
    max_samples : float or int, default=0.2
        The part (float) or the number (int) of labeled rows each copy is fitted to. With an
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
        other labels it must be given where ``n_positive`` is.
    solver_options : mapping or None, default=None
        Options of the solver of the paper's methods, as in :func:`c2rf.solve`.
    verbose : bool, default=False
        Whether to print on standard error what is being done.

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
        What was found and proven, a label of ±1 per unlabeled row (of a population outside of
        memory, per pattern in ``patterns_``); None without a total.
    transduction_ : ndarray of shape (n_unlabeled,)
        The class of each unlabeled row, in their order. Only with a total. Of a Dask collection
        it is a lazy one that is aligned with it.
    patterns_ : PatternTable
        The distinct rows of votes of a population outside of memory, with their counts.
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
        "solver_options": "no_validation",
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any = None,
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
        solver_options: Mapping[str, Any] | None = None,
        verbose: bool = False,
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
        self.solver_options = solver_options
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        X_unlabeled: Any = None,
        n_positive: int | float | None = None,
        totals: Any = None,
    ) -> Self:
        """Fit the members to the labeled rows, and weigh them to meet the total.

        Parameters
        ----------
        X : array-like or data frame of shape (n_labeled, n_features)
            The labeled rows.
        y : array-like of shape (n_labeled,)
            Their labels, of two classes.
        X_unlabeled : array-like, data frame, or population outside of memory, optional
            The rows to label, with the columns of X. A population too large for memory is read
            twice, to count and to label: a path or a list of paths (files or folders of Parquet or
            CSV), a pyarrow dataset, a Polars LazyFrame, a Dask DataFrame or Array, a list or
            another re-iterable of arrays or frames, or a callable that returns a fresh iterator of
            them. Of files, datasets and lazy frames only the columns of X are read.
        n_positive : int or float, optional
            How many of them are positive: a count (an integer) or a rate (a float in [0, 1]).
        totals : mapping or series of class to total, optional
            The same with the name of the class, ``{"yes": 1234}``, instead of ``n_positive``. Both
            classes may be named if they add up.

        Returns
        -------
        C2RFClassifier
            The fitted classifier.
        """
        self._validate_params()
        check_box(self.lower, self.upper)
        if self.offset is not None:
            check_offset(self.offset)
        with_total = has_total(X_unlabeled, n_positive, totals)
        X, y = check_labeled(self, X, y)
        known = _read_total(totals, self.classes_)
        named = self.pos_label
        if named is None and known is not None:
            named = next(iter(known.overall), None)
        positive = positive_index(named, self.classes_, has_total=with_total)
        self.pos_label_ = self.classes_[positive]
        random_state = check_random_state(self.random_state)
        with showing_progress(self.verbose):
            rows = None
            if with_total:
                rows = CheckedRows.of(self, X_unlabeled)
                if rows.n_rows is not None:  # a total that cannot be is refused before fitting
                    self._count_positive(n_positive, known, rows.n_rows)
            self._fit_members(X, y, positive, random_state)
            self._forget_total()
            if rows is not None:
                seed = random_state.randint(MOST_SEEDS)
                self._choose_weights(rows, partial(self._count_positive, n_positive, known), seed)
        return self

    def _fit_members(
        self, X: Any, y: NDArray[Any], positive: int, random_state: np.random.RandomState
    ) -> None:
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

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row by the weighted vote.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Any rows, with the columns of the labeled ones.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes.
        """
        says_second = self.decision_function(X) > 0
        return self.classes_[says_second.astype(np.intp)]

    def decision_function(self, X: Any) -> Floats:
        """Return the weighted vote; above zero it says ``classes_[1]``, whatever the positive.

        Parameters
        ----------
        X : array-like or data frame
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Sums of weights, with the sign of the class.
        """
        return self._toward_second(scores(self.votes(X), self.weights_) + self.offset_)

    def votes(self, X: Any) -> NDArray[np.int8]:
        """Return the members' votes on rows as :meth:`predict` takes them.

        They are +1 for ``pos_label_`` and -1 for the other class.

        Returns
        -------
        ndarray of int8, shape (n_rows, n_members)
            What :func:`c2rf.solve` and :func:`c2rf.verify` want.
        """
        check_is_fitted(self)
        voter = Voter(self._ensemble, self, self.n_jobs)
        return unpack(voter.words(check_data(self, X), "X"), len(self.estimators_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = takes_missing(self.estimator)
        return tags

    def _count_positive(self, n_positive: Any, known: Totals | None, n_rows: int) -> int:
        """Return the known number of positive rows, checked."""
        if known is None:
            return check_total(n_positive, n_rows)
        implied = make_bounds(known, read_groups(None, n_rows), self.classes_).with_implied_bounds()
        place = self.classes_.tolist().index(self.pos_label_)
        low, high = implied.lower[place], implied.upper[place]
        if low != high:
            raise InputError(
                f"C2RFClassifier meets one number of {self.pos_label_!r}, not a range; found "
                f"{low} to {high} of {n_rows} rows: use KnownTotalsClassifier"
            )
        return int(low)

    def _choose_weights(self, rows: CheckedRows, count: Callable[[int], int], seed: int) -> None:
        """Choose weights for the total, and label the unlabeled rows by them."""
        # Where work is done elsewhere, it leaves the other cores to other chunks.
        voter = Voter(self._ensemble, rows.checker, 1 if rows.is_distributed else self.n_jobs)
        in_memory = isinstance(rows.rows, Memory)
        table = rows.reduce(partial(voter.count, inverse=in_memory), PatternTable.merged)
        solution = solve(
            table,
            count(table.n_points),
            self.lower,
            self.upper,
            method=self.method,
            backend=self.backend,
            offset=self.offset,
            prefer=self.prefer,
            time_limit=self.time_limit,
            random_state=seed,
            progress=solver_progress(),
            solver_options=self.solver_options,
        )
        self.weights_, self.offset_ = solution.weights, float(solution.offset)
        labels = self._as_classes(solution.labels > 0)
        codes = table.inverse
        if codes is None:
            self.patterns_ = table
            codes = rows.map(partial(voter.find, table), np.zeros(1, dtype=np.int32))
        else:
            solution = replace(solution, labels=solution.labels[codes])
        self.solution_: Solution | None = solution
        score = self._toward_second(scores(table.patterns, self.weights_) + self.offset_)
        self._rows = LabeledPopulation(rows.rows, labels, codes, score)

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
        for name in ("patterns_", "_rows"):
            self.__dict__.pop(name, None)


@dataclass(frozen=True, eq=False)
class Voter:
    """Fitted members, and the classifier that knows the names of the columns."""

    ensemble: Ensemble
    checker: Any
    n_jobs: int | None

    def words(self, X: Any, name: str) -> NDArray[np.uint64]:
        """Return the packed votes on checked data."""
        with naming_missing(self.checker, X, name):
            return self.ensemble.words(X, self.n_jobs)

    def count(self, chunk: Chunk, *, inverse: bool) -> PatternTable:
        """Return the patterns of a chunk, with their counts."""
        with naming_chunk(chunk):
            words = self.words(chunk.data, chunk.where)
        return PatternTable.from_words(words, len(self.ensemble.members), inverse=inverse)

    def find(self, table: PatternTable, chunk: Chunk) -> NDArray[np.int32]:
        """Return the number of the pattern of each row of a chunk."""
        with naming_chunk(chunk):
            index = table.lookup_words(self.words(chunk.data, chunk.where))
        if len(index) and index.min() < 0:
            raise InputError(f"{chunk.where} has votes that were not counted: {CHANGED}")
        return index.astype(np.int32)


def has_total(X_unlabeled: Any, n_positive: Any, totals: Any) -> bool:
    """Return whether there is a total to meet; raise if only some of the arguments are given."""
    if n_positive is not None and totals is not None:
        raise InputError("n_positive and totals say the same in two ways; give one of them")
    if n_positive is None:
        return are_given(X_unlabeled, totals)
    if X_unlabeled is None:
        raise InputError(
            "n_positive was given without X_unlabeled, the rows it counts; give both or neither"
        )
    return True


def _read_total(totals: Any, classes: NDArray[Any]) -> Totals | None:
    """Return the total by the name of a class, if it is given so."""
    if totals is None:
        return None
    known = read_totals(totals, classes.tolist())
    if known.margins:
        raise InputError(
            "C2RFClassifier meets one total over all rows, none within groups; use "
            "KnownTotalsClassifier"
        )
    return known
