"""A blend of different classifiers, each trusted as far as held-out labeled rows support it.

What a classifier must have to learn from the population as well as from labeled rows.

Any classifier with ``predict_proba`` can rank rows. One that also looks at the unlabeled rows, or
at the known rates of the classes, declares it: its ``fit`` takes them as keywords,

``fit(X, y, *, X_unlabeled=None, rates=None)``

and gets what is known of each, of a large population a part. It may leave what it has learned of
these rows, which can be more than it says of any other: ``learned_proba_`` of the rows
``learned_rows_``. A meta-estimator such as a pipeline does not hand them on, so what
it hides is refused: such a learner would work, but without all that it is there for.

A blend of different classifiers, each trusted as far as held-out labeled rows support it.

How it learns, given labeled rows, rows of the population and the known rates of the classes:

1. :class:`~c2rf.learners.features.Scenery` encodes all rows, once.
2. :func:`~c2rf.learners.stacking.judge` holds out labeled rows and weighs the members.
3. The members are fitted to all labeled rows. Their scores become leads over the cuts that the
   known rates make (:mod:`~c2rf.learners.stacking`), the weighted mean of the leads becomes
   log-probabilities (:class:`Teacher`), as sharp as :mod:`~c2rf.learners.calibration` finds right.
4. A student (:mod:`~c2rf.learners.distillation`) learns these of many rows, and both are added up. For
   rows beyond those learned from there is a quick model (:mod:`~c2rf.learners.distillation`).

Refits are cheap: :meth:`Teacher.refit` does the last two steps again for other weights of the
labeled rows (a bootstrap, say), with the same scenery and the same trust in members.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from c2rf._utils.types import Codes, Floats
from c2rf._utils.validation import check_labels, check_not_huge
from c2rf.exceptions import InputError, InputTypeError
from c2rf.learners.base_learners import checked_families
from c2rf.learners.teacher import Teacher
from c2rf.learners.threads import owned_threads
from c2rf.progress import report_progress

POPULATION = ("X_unlabeled", "rates")
"""Keywords of ``fit`` of a learner that uses the population."""


def uses_population(model: Any) -> bool:
    """Return whether a learner takes the unlabeled rows and the rates of the classes.

    Examples
    --------
    >>> from c2rf import BlendClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> uses_population(BlendClassifier()), uses_population(DecisionTreeClassifier())
    (True, False)
    """
    return all(takes(model, name) for name in POPULATION)


def takes(model: Any, name: str) -> bool:
    """Return whether the ``fit`` of a learner takes a keyword."""
    return hasattr(model, "fit") and has_fit_parameter(model, name)


def check_learner(model: Any) -> None:
    """Refuse a model that would not get what it learns from.

    Examples
    --------
    >>> from c2rf import BlendClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> check_learner(make_pipeline(BlendClassifier()))
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputTypeError: BlendClassifier uses the unlabeled rows and the known totals, \
which a Pipeline does not hand on to it; give it as the estimator itself, and prepare the columns \
before
    """
    name = type(model).__name__
    if has_fit_parameter(model, "totals"):
        raise InputTypeError(
            f"{name} meets totals itself; give the classifier that it ranks rows with as the "
            "estimator instead"
        )
    for inner in _inner_models(model):
        if uses_population(inner):
            raise InputTypeError(
                f"{type(inner).__name__} uses the unlabeled rows and the known totals, which a "
                f"{name} does not hand on to it; give it as the estimator itself, and prepare the "
                "columns before"
            )


def _inner_models(model: Any) -> list[Any]:
    """Return the models that are parameters of a model, however deep."""
    values = model.get_params(deep=True).values() if hasattr(model, "get_params") else []
    return [value for value in values if isinstance(value, BaseEstimator)]


MOST_LEARNED = 10_000
"""Rows of the population that are learned from, at most; a student labels the others."""

MOST_LABELED = 5_000
"""Labeled rows that are learned from, at most: what is more takes long and teaches little."""

_MOST_CELLS = 1 << 22  # columns beyond 400 leave fewer rows to learn from
_MOST_SEEDS = np.iinfo(np.int32).max


class BlendClassifier(ClassifierMixin, BaseEstimator):
    """Blend trees, linear and kernel methods, each trusted as held-out labeled rows support it.

    Which kind of classifier is best differs from data to data, and a few dozen labeled rows
    hardly tell. They tell more when one knows the population they come from: this classifier
    looks at unlabeled rows and at the known rates of the classes, if it is given any, to encode
    columns, to learn, and above all to judge its members by the accuracy they would have when
    they label the population at its known rates. What the members say of the population together
    is then learned by a forest, the student, and both are added up; a quick model of it labels any
    number of other rows.

    Parameters
    ----------
    families : sequence of str, or None, default=None
        The kinds of members: "trees", "rank-trees", "turned-trees" (extra trees whose leaves know
        how much of the population they hold, and that try some columns at a split, some columns of
        ranks, or all columns and principal components), "plain-trees" (the last kind with leaves
        that know only labeled rows), "svc", "narrow-svc" (support vectors by Gaussian kernels of
        two widths), "rank-svc" (by a Laplacian kernel of ranks), "linear", "kernel" and
        "rank-kernel" (least squares that know the population, on principal components and in such
        kernels' spaces). None means all.
    n_estimators : int, default=200
        Number of trees of a forest.
    n_jobs : int or None, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Source of all seeds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    rates_ : ndarray of shape (n_classes,)
        Their rates in the population, as given or as in y.
    accuracies_ : list of (str, float)
        Every member's family and its estimated accuracy. Empty where no row can be held out.
    weights_ : list of (str, float)
        Every member's family and its weight.
    sharpness_ : float
        How fast probabilities change with the blended leads, learned from held-out rows and from
        how far the members differ on the population.
    learned_rows_ : ndarray of int
        The rows of the population that were learned from. Only with a population.
    learned_proba_ : ndarray of shape (n_learned, n_classes)
        Probabilities of these rows; what the student adds to them comes from trees that were not
        grown on the row. Only with a population.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it has any.

    See Also
    --------
    KnownTotalsClassifier : Labels a population such that known totals hold, with this by default.

    Notes
    -----
    Members are made comparable by the known rates: a score is replaced by its distance to the one
    that the known rate of the population is above. Missing values are allowed. Columns of at most
    12 distinct values are taken for categories by all members but some trees. Of a population of
    more than 10,000 rows a random part is learned from; and of more than 5,000 labeled rows, as
    many of each class as can be.

    Examples
    --------
    >>> from c2rf import BlendClassifier
    >>> from c2rf.datasets import biased_sample, make_ringnorm
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> labeled, unlabeled = biased_sample(y, 0.1, positive_weight=0.7, random_state=0)
    >>> rate = float(y[unlabeled].mean())  # from a census, say
    >>> blend = BlendClassifier(random_state=0)
    >>> blend = blend.fit(X[labeled], y[labeled], X[unlabeled], rates=[1 - rate, rate])
    >>> bool((blend.predict(X[unlabeled]) == y[unlabeled]).mean() > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "families": ["array-like", None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        families: Sequence[str] | None = None,
        n_estimators: int = 200,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.families = families
        self.n_estimators = n_estimators
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        X_unlabeled: Any = None,
        rates: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the members to labeled rows, weigh them, and teach a student.

        Parameters
        ----------
        X : array-like of shape (n_labeled, n_features)
            The labeled rows.
        y : array-like of shape (n_labeled,)
            Their classes, two or more.
        X_unlabeled : array-like of shape (n_unlabeled, n_features), optional
            Rows of the population. Without, X is all that is known of it.
        rates : array-like of shape (n_classes,), optional
            The known rates of the classes in the population, in sorted order of the classes; they
            add up to one. Without, those in y.
        sample_weight : array-like of shape (n_labeled,), optional
            How much each labeled row counts, for all members, their judgement and the sharpness.

        Returns
        -------
        BlendClassifier
            The fitted classifier.
        """
        with owned_threads():
            teacher = self.prepare(X, y, X_unlabeled, rates, sample_weight)
            report_progress("teaching a student what the members say")
            taught = teacher.fit(self._n_threads())
            self._model = taught.model
            if X_unlabeled is not None and teacher.has_population:
                self.learned_proba_ = softmax(taught.logits, axis=1)
        return self

    def prepare(
        self,
        X: Any,
        y: ArrayLike,
        X_unlabeled: Any = None,
        rates: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Teacher:
        """Judge the members, and return what can be fitted, again and again.

        Parameters
        ----------
        X, y, X_unlabeled, rates, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        Teacher
            Its ``refit(weight, seed)`` fits all members and a student to a reweighted (say,
            bootstrapped) labeled sample, and returns the log-probabilities of the rows learned
            from and a model for the others.
        """
        self._validate_params()
        families = checked_families(self.families)
        y = check_labels(self, y, only_two=False)
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan")
        check_not_huge(self, X, "X")
        if len(X) != len(y):
            raise InputError(f"X and y must have as many rows; found {len(X)} and {len(y)}")
        weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        rng = check_random_state(self.random_state)
        self.__dict__.pop("learned_rows_", None)
        self.__dict__.pop("learned_proba_", None)
        population = self._part(X_unlabeled, rng)
        X, codes, weight = _with_weight(X, codes, weight, len(self.classes_))
        self.rates_ = _checked_rates(rates, codes, weight, len(self.classes_))
        if len(codes) > MOST_LABELED:
            report_progress(f"learning from {MOST_LABELED:,} of {len(codes):,} labeled rows")
            part = _some_of_each(codes, MOST_LABELED, rng)
            X, codes, weight = X[part], codes[part], weight[part] / weight[part].mean()
        teacher = Teacher(
            X, codes, weight, population, self.rates_, families, self.n_estimators,
            int(rng.randint(_MOST_SEEDS)), self._n_threads(),
        )  # fmt: skip
        self.sharpness_ = teacher.sharpness
        names, verdict = [member.family for member in teacher.members], teacher.verdict
        self.accuracies_ = _named(names, verdict.accuracies)
        self.weights_ = _named(names, verdict.share)
        return teacher

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities in a population of the known rates.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Any rows, with the columns of the labeled ones.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", reset=False
        )
        with owned_threads():
            return softmax(self._model.logits(X, self._n_threads()), axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Any rows, with the columns of the labeled ones.

        Returns
        -------
        ndarray of shape (n_rows,)
            Classes.
        """
        chances = self.predict_proba(X)
        return self.classes_[chances.argmax(axis=1)]

    def history(self) -> list[dict[str, Any]]:
        """Return the members: a dict of ``member``, estimated ``accuracy`` and ``weight`` each."""
        check_is_fitted(self)
        accuracies = dict(enumerate(accuracy for _, accuracy in self.accuracies_))
        return [
            {"member": family, "accuracy": accuracies.get(i), "weight": weight}
            for i, (family, weight) in enumerate(self.weights_)
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _n_threads(self) -> int:
        """Return their number, found out here: other threads know no ``parallel_config``."""
        return int(effective_n_jobs(self.n_jobs))

    def _part(self, X_unlabeled: Any, rng: np.random.RandomState) -> Floats | None:
        """Return the rows of the population that are learned from, None without any."""
        if X_unlabeled is None or not len(X_unlabeled):
            return None
        rows = validate_data(
            self, X_unlabeled, dtype=float, ensure_all_finite="allow-nan", reset=False
        )
        check_not_huge(self, rows, "X_unlabeled")
        most = max(1, min(MOST_LEARNED, _MOST_CELLS // rows.shape[1]))
        # In random order: the first of them stand for all.
        self.learned_rows_: Codes = rng.permutation(len(rows))[:most]
        return rows[self.learned_rows_]


def _named(names: Sequence[str], values: Floats | None) -> list[tuple[str, float]]:
    if values is None:
        return []
    return [(name, float(value)) for name, value in zip(names, values, strict=True)]


def _with_weight(
    X: Floats, codes: Codes, weight: Floats, n_classes: int
) -> tuple[Floats, Codes, Floats]:
    """Return the rows that count, with weights of mean one; some of every class must."""
    kept = weight > 0
    lacking = np.setdiff1d(np.arange(n_classes), codes[kept])
    if len(lacking):
        raise InputError(
            "sample_weight must be above zero for at least one labeled row of every class; "
            f"found only zeros in {len(lacking)} of {n_classes} classes"
        )
    return X[kept], codes[kept], weight[kept] / weight[kept].mean()


def _some_of_each(codes: Codes, most: int, rng: np.random.RandomState) -> Codes:
    """Draw rows: of every class one, of every class another one, until there are enough.

    Examples
    --------
    >>> codes = np.repeat([0, 1, 2], [2, 50, 100])
    >>> np.bincount(codes[_some_of_each(codes, 12, np.random.RandomState(0))]).tolist()
    [2, 5, 5]
    """
    counts, order = np.bincount(codes), rng.permutation(len(codes))
    by_class = order[np.argsort(codes[order], kind="stable")]
    turn = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(by_class[np.argsort(turn, kind="stable")[:most]])


def _checked_rates(rates: ArrayLike | None, codes: Codes, weight: Floats, n_classes: int) -> Floats:
    if rates is None:
        counts = np.bincount(codes, weights=weight, minlength=n_classes)
        return counts / counts.sum()
    given = np.asarray(rates, dtype=float)
    if given.shape != (n_classes,) or not (given >= 0).all() or not np.isclose(given.sum(), 1):
        raise InputError(
            f"rates must be {n_classes} numbers, one per class, none below 0, that add up to 1; "
            f"found {rates!r}"
        )
    return given / given.sum()
