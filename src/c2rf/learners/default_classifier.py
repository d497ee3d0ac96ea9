"""The default classifier: a blend of base learners, each weighted by held-out labeled rows.

How it learns, given labeled rows, rows of the population and the known rates of the classes
(:class:`Teacher` does these steps, :class:`BlendClassifier` is scikit-learn's face of it):

1. :mod:`~c2rf.learners.features`: all rows are preprocessed, once.
2. :mod:`~c2rf.learners.stacking`: cross-validation of the base learners gives their weights.
3. The base learners are fitted to all labeled rows. Their scores become scaled margins to the
   thresholds that the known rates set, and the weighted mean of the margins, times an inverse
   temperature (:mod:`~c2rf.learners.calibration`), becomes log-probabilities.
4. :mod:`~c2rf.learners.distillation`: a student learns these, and both are averaged. For rows
   beyond those learned from there is a distilled model.

Refits are cheap: :meth:`Teacher.refit` does the last two steps again for other weights of the
labeled rows (a bootstrap, say), with the same features and the same stacking weights.

Any classifier with ``predict_proba`` can take the place of the blend. One that also uses the
unlabeled rows, or the known rates of the classes, takes them as keywords of its ``fit``:

``fit(X, y, *, X_unlabeled=None, rates=None)``

It gets a random part of a large population. It may set ``learned_proba_``, better probabilities of
the rows ``learned_rows_`` than ``predict_proba`` would give. A meta-estimator such as a pipeline
does not pass the keywords on, so such a learner inside of one is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from c2rf._utils.types import MOST_SEEDS, Codes, Floats
from c2rf._utils.validation import check_labels, check_not_huge
from c2rf.exceptions import InputError, InputTypeError
from c2rf.learners.base_learners import (
    BASE_LEARNERS,
    Fit,
    Scores,
    TrainingSet,
    chosen_names,
    make_base_learners,
)
from c2rf.learners.calibration import (
    Calibration,
    HeldOut,
    Prior,
    as_sure_as,
    blend_prior,
    calibrate,
    disagreement,
    matching_offsets,
)
from c2rf.learners.distillation import distil, from_targets, student_predictions, to_targets
from c2rf.learners.features import FeatureMatrices, Preprocessor
from c2rf.learners.stacking import Thresholds, cross_validate
from c2rf.learners.threads import in_row_parts, in_threads, owned_threads
from c2rf.progress import report_progress

STUDENT_SHARE = 0.5
"""The weight of the student in its mean with the teacher, for rows that both have seen: this with
no labeled rows, falling to nothing at :data:`MOST_TAUGHT`, where chance hardly misleads the
teacher. Chosen by samples 0 and 1 of the paper's 13 data sets and by the generated data that
``benchmarks.calibration`` lists as tuned on; samples 2 to 4 test it."""

MOST_TAUGHT = 250, 1000
"""Labeled rows for each class, and in all, up to which there is a student."""

_ROWS_PER_CALL = 1 << 12
_LEAST_WEIGHT = 1e-3  # base learners with less are left out
_LEAST_ROW_WEIGHT = 1e-9  # of a labeled row, as a part of the greatest


@dataclass(frozen=True, eq=False)
class FittedBlend:
    """Fitted base learners, and what turns their scores into log-probabilities."""

    preprocessor: Preprocessor
    kinds: Collection[str]
    learners: Sequence[Scores]
    thresholds: Sequence[Thresholds]
    weights: Floats
    inverse_temperature: float

    def logits(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return log-probabilities of any rows, up to a constant per row."""
        parts = in_row_parts(lambda rows: self._logits(X[rows]), len(X), _ROWS_PER_CALL, n_jobs)
        return np.concatenate(parts)

    def _logits(self, X: Floats) -> Floats:
        features = self.preprocessor.matrices(np.asarray(X, dtype=float), self.kinds, 1)
        calls = zip(self.learners, self.thresholds, strict=True)
        margins = [t.scaled_margins(scores(features)) for scores, t in calls]
        return blended_logits(margins, self.weights, self.inverse_temperature)


class Teacher:
    """Cross-validated base learners, ready to be fitted again and again.

    Parameters
    ----------
    X, codes, weight : ndarray
        Labeled rows, the numbers of their classes (each has some), and how much each counts.
    population : ndarray of shape (n_learned, n_columns), or None
        Rows of the population; without, the labeled rows are all that is known of it.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.
    names : sequence of str
        Names of base learners.
    n_estimators : int
        Number of trees of a forest.
    seed : int
        Source of all seeds.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(
        self,
        X: Floats,
        codes: Codes,
        weight: Floats,
        population: Floats | None,
        rates: Floats,
        names: Sequence[str],
        n_estimators: int,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        rng = np.random.RandomState(seed)
        self.has_population = population is not None
        if population is None:
            # Rows are shuffled, as those of a population are, so that a prefix is a random sample.
            population = X[rng.permutation(len(X))[: most_learned(len(X), X.shape[1])]]
        self.kinds = {BASE_LEARNERS[name][0] for name in names}
        self.preprocessor = Preprocessor(X, population, self.kinds, n_jobs)
        self.learners = make_base_learners(
            names, self.preprocessor, n_estimators, len(X), len(rates)
        )
        features = self.preprocessor.matrices(X, self.kinds, n_jobs)
        self.training = TrainingSet(features, codes, weight, rates, seed)
        others = self.preprocessor.population
        self.stacking = cross_validate(self.learners, self.training, others, rng, n_jobs)
        self._used = np.flatnonzero(self.stacking.weights >= _LEAST_WEIGHT)
        self.weights = self.stacking.weights[self._used] / self.stacking.weights[self._used].sum()
        self._fitted = self._fit_learners(self.training, n_jobs)
        margins = [own for _, _, own in self._fitted]
        differ = disagreement(margins, self.weights, rates)
        prior = blend_prior(differ, len(rates))
        self.calibration = self._calibrate(blended(margins, self.weights), prior)
        self.inverse_temperature = self.calibration.inverse_temperature

    def fit(self, n_jobs: int | None = None) -> tuple[Floats, Any]:
        """Fit a student and a distilled model to the base learners, fitted to all labeled rows.

        Returns
        -------
        logits : ndarray of shape (n_learned, n_classes)
            Log-probabilities, up to a constant per row, of the rows of the population.
        model : fitted model with ``logits(X, n_jobs)``
            For all other rows.
        """
        return self._distil(self.training, self._fitted, n_jobs)

    def refit(self, weight: Floats, seed: int, n_jobs: int | None = None) -> tuple[Floats, Any]:
        """Fit the base learners, and a student, to other weights of the labeled rows.

        Parameters
        ----------
        weight : ndarray of shape (n_labeled,)
            How often each labeled row is drawn, say; some rows of every class must be.
        seed : int
            For trees.
        n_jobs : int or None
            Number of threads.

        Returns
        -------
        logits, model
            As of :meth:`fit`.
        """
        kept = np.flatnonzero(weight > 0)
        drawn = self.training.take(kept)
        drawn = replace(drawn, weight=drawn.weight * weight[kept], seed=seed)
        return self._distil(drawn, self._fit_learners(drawn, n_jobs), n_jobs)

    def _calibrate(self, population: Floats, prior: Prior) -> Calibration:
        """Return what makes blended margins probabilities."""
        rows = self.stacking.held_out
        codes, weight = self.training.codes[rows], self.training.weight[rows]
        held_out = HeldOut(self.stacking.margins, codes, weight, population)
        return calibrate([held_out], self.training.rates, prior)

    def _fit_learners(self, training: TrainingSet, n_jobs: int | None) -> list[Any]:
        """Return base learners, fitted, with their thresholds and margins of the population."""
        fits = list(self.learners.values())
        calls = [(fits[i], training, self.preprocessor.population) for i in self._used]
        return in_threads(_fit_and_predict, calls, n_jobs, "fitting base learners")

    def _distil(
        self, training: TrainingSet, fitted: list[Any], n_jobs: int | None
    ) -> tuple[Floats, Any]:
        """Fit a student and a distilled model to what the base learners say."""
        learners, thresholds, margins = zip(*fitted, strict=True)
        logits = blended_logits(margins, self.weights, self.inverse_temperature)
        if not self.has_population:
            return logits, FittedBlend(
                self.preprocessor, self.kinds, learners, thresholds, self.weights,
                self.inverse_temperature,
            )  # fmt: skip
        targets, n_classes, seed = to_targets(logits), len(training.rates), training.seed
        calls: list[Any] = [(distil, self.preprocessor, targets, n_classes)]
        most = min(MOST_TAUGHT[0] * n_classes, MOST_TAUGHT[1])
        share = STUDENT_SHARE * max(0.0, 1 - len(self.training.codes) / most)
        if share:
            columns = self.preprocessor.population["pca_columns"]
            calls.append((student_predictions, columns, targets))
        # Each leaves threads idle now and then, which the other can use.
        distilled, *predicted = in_threads(
            lambda learn, *given: learn(*given, seed, n_jobs), calls, n_jobs
        )
        if not predicted:
            return logits, distilled
        both = from_targets((1 - share) * targets + share * predicted[0], n_classes)
        return as_sure_as(both, logits, training.rates) * both, distilled


def blended_logits(
    margins: Sequence[Floats], weights: Floats, inverse_temperature: float
) -> Floats:
    """Return the log-probabilities that follow from the scaled margins of base learners."""
    return log_softmax(inverse_temperature * blended(margins, weights), axis=1)


def blended(margins: Sequence[Floats], weights: Floats) -> Floats:
    """Return the weighted mean of scaled margins."""
    return np.sum([w * own for w, own in zip(weights, margins, strict=True)], axis=0)


def _fit_and_predict(
    fit: Fit, training: TrainingSet, population: FeatureMatrices
) -> tuple[Scores, Thresholds, Floats]:
    """Return a fitted base learner, its thresholds, and the margins of the population's rows."""
    predict = fit(training)
    scores = predict(population)
    thresholds = Thresholds.of(scores, training.rates)
    return predict, thresholds, thresholds.scaled_margins(scores)


LEARNED = 10_000, 5, 60_000
"""Rows of the population that are learned from: at least the first number, five times as many as
are labeled, and at most the last; a distilled model labels the others."""

_MOST_CELLS = 1 << 22  # many columns leave fewer rows to learn from


def most_learned(n_labeled: int, n_columns: int) -> int:
    """Return how many rows of the population are learned from, at most.

    Examples
    --------
    >>> most_learned(50, 20), most_learned(20_000, 20), most_learned(50, 4000)
    (10000, 60000, 1048)
    """
    least, times, most = LEARNED
    return max(1, min(max(least, times * n_labeled), most, _MOST_CELLS // n_columns))


class BlendClassifier(ClassifierMixin, BaseEstimator):
    """Blend trees, kernel methods and boosting, each weighted by held-out labeled rows.

    Which kind of classifier is best differs from data to data, and a few dozen labeled rows alone
    cannot show it. This classifier also uses unlabeled rows and the known rates of the classes, if
    it is given any: to encode columns, to fit, and above all to weigh its base learners by the
    accuracy they would have when they label the population at its known rates. A forest, the
    student, then learns the blended log-probabilities of the population, and both are averaged; a
    distilled model labels any number of other rows.

    Parameters
    ----------
    base_learners : sequence of str, or None, default=None
        "trees", "rank-trees", "pca-trees" (extra trees that try some columns at a split, some
        encoded columns, or all columns and principal components), "svc", "rank-svc" and
        "linear-svc" (support vectors by a Gaussian kernel, by a Laplacian one of ranks, and
        without), "boosting" and "large-boosting". None means those that suit the numbers of
        labeled rows and of classes, see Notes.
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
        Every base learner's name and estimated accuracy. Empty where no row can be held out.
    weights_ : list of (str, float)
        Every base learner's name and weight.
    inverse_temperature_ : float
        The factor of the blended scaled margins, learned from held-out rows and from how often the
        base learners disagree on the population.
    temperature_deviation_ : float
        The standard deviation of its logarithm.
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
    Base learners are made comparable by the known rates: a score is replaced by its distance to the
    threshold that the known rate of the population is above. Missing values are allowed. Columns of
    at most 12 distinct values are taken for categories by all base learners but some trees.

    All labeled rows are used. "trees" and "svc" take part up to 500 labeled rows (the former up to
    10 classes), "pca-trees" up to 4,000, "rank-svc" up to 10,000, "boosting" from 300 and
    "large-boosting" from 10,000 (both up to 10 classes), "rank-trees" and "linear-svc" always, and
    there is a student up to 250 for each class and 1,000 in all; so the time grows little faster
    than that of a forest. Of a large population a random part is learned from: five times as many
    rows as are labeled, from 10,000 to 60,000, or fewer where columns are many.

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
        "base_learners": ["array-like", None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        base_learners: Sequence[str] | None = None,
        n_estimators: int = 200,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.base_learners = base_learners
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
        """Fit the base learners to labeled rows, weigh them, and fit a student.

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
            How much each labeled row counts: in all fits, in cross-validation and in calibration.

        Returns
        -------
        BlendClassifier
            The fitted classifier.
        """
        with owned_threads():
            teacher = self.prepare(X, y, X_unlabeled, rates, sample_weight)
            report_progress("fitting a student to the base learners")
            logits, self._model = teacher.fit(self._n_threads())
            self._offsets = matching_offsets(logits, self.rates_)
            if X_unlabeled is not None and teacher.has_population:
                self.learned_proba_ = softmax(logits + self._offsets, axis=1)
        return self

    def prepare(
        self,
        X: Any,
        y: ArrayLike,
        X_unlabeled: Any = None,
        rates: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Teacher:
        """Cross-validate the base learners, and return what can be fitted, again and again.

        Parameters
        ----------
        X, y, X_unlabeled, rates, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        Teacher
            Its ``refit(weight, seed)`` fits base learners and a student to a reweighted (say,
            bootstrapped) labeled sample, and returns the log-probabilities of the rows learned
            from and a model for the others.
        """
        self._validate_params()
        chosen_names(self.base_learners, 0, 2)
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
        population = self._part(X_unlabeled, len(y), rng)
        X, codes, weight = _with_weight(X, codes, weight, len(self.classes_))
        self.rates_ = _checked_rates(rates, codes, weight, len(self.classes_))
        names = chosen_names(self.base_learners, len(codes), len(self.classes_))
        teacher = Teacher(
            X, codes, weight, population, self.rates_, names, self.n_estimators,
            int(rng.randint(MOST_SEEDS)), self._n_threads(),
        )  # fmt: skip
        self.inverse_temperature_, self.temperature_deviation_ = teacher.calibration
        known = teacher.stacking.accuracies
        self.accuracies_ = [] if known is None else list(zip(names, known.tolist(), strict=True))
        self.weights_ = list(zip(names, teacher.stacking.weights.tolist(), strict=True))
        return teacher

    def refitted(self, teacher: Teacher, weight: Floats) -> Self:
        """Return a copy that is fitted to other weights of the labeled rows.

        Parameters
        ----------
        teacher : Teacher
            What :meth:`prepare` returned.
        weight : ndarray of shape (n_labeled,)
            How often each labeled row counts, of those with a weight.
        """
        again = copy(self)
        with owned_threads():
            logits, again._model = teacher.refit(weight, teacher.training.seed, self._n_threads())
        again._offsets = matching_offsets(logits, self.rates_)
        return again

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
            return softmax(self._model.logits(X, self._n_threads()) + self._offsets, axis=1)

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
        """Return a dict of ``base_learner``, estimated ``accuracy`` and ``weight`` for each."""
        check_is_fitted(self)
        known = dict(self.accuracies_)
        return [
            {"base_learner": name, "accuracy": known.get(name), "weight": weight}
            for name, weight in self.weights_
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _n_threads(self) -> int:
        """Return the number of threads, asked for here: ``parallel_config`` is per thread."""
        return int(effective_n_jobs(self.n_jobs))

    def _part(self, X_unlabeled: Any, n_labeled: int, rng: np.random.RandomState) -> Floats | None:
        """Return the rows of the population that are learned from, None without any."""
        if X_unlabeled is None or not len(X_unlabeled):
            return None
        rows = validate_data(
            self, X_unlabeled, dtype=float, ensure_all_finite="allow-nan", reset=False
        )
        check_not_huge(self, rows, "X_unlabeled")
        most = most_learned(n_labeled, rows.shape[1])
        # Rows are shuffled, so that a prefix is a random sample.
        self.learned_rows_: Codes = rng.permutation(len(rows))[:most]
        return rows[self.learned_rows_]


def _with_weight(
    X: Floats, codes: Codes, weight: Floats, n_classes: int
) -> tuple[Floats, Codes, Floats]:
    """Return the rows of positive weight, scaled to a mean of one; every class must have some."""
    kept = weight > 0
    lacking = np.setdiff1d(np.arange(n_classes), codes[kept])
    if len(lacking):
        raise InputError(
            "sample_weight must be above zero for at least one labeled row of every class; "
            f"found only zeros in {len(lacking)} of {n_classes} classes"
        )
    weight = np.maximum(weight[kept] / weight.max(), _LEAST_ROW_WEIGHT)
    return X[kept], codes[kept], weight / weight.mean()


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
    """Refuse a learner that would not get the unlabeled rows and the totals.

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


def is_frozen(model: Any) -> bool:
    """Return whether a learner, or a model inside of it, cannot be fitted again.

    Examples
    --------
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier()
    >>> is_frozen(tree), is_frozen(make_pipeline(FrozenEstimator(tree)))
    (False, True)
    """
    return any(isinstance(each, FrozenEstimator) for each in [model, *_inner_models(model)])


def _inner_models(model: Any) -> list[Any]:
    """Return the models that are parameters of a model, however deep."""
    values = model.get_params(deep=True).values() if hasattr(model, "get_params") else []
    return [value for value in values if isinstance(value, BaseEstimator)]
