"""A blend of unlike classifiers, each trusted as far as held-out labeled points support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from c2rf.estimators.blend_members import (
    Member,
    Views,
    checked_families,
    held_out_places,
    make_members,
)
from c2rf.estimators.data import check_labels
from c2rf.estimators.encode import Encoder
from c2rf.estimators.held_out import (
    Codes,
    accuracy_at_rates,
    folds,
    point_weights,
    quantiles,
    standard_error,
)
from c2rf.exceptions import InputError
from c2rf.problem import Floats

N_FOLDS = 5
N_REPEATS = 2
N_REHEARSED = 1000
"""So many points of the population, at most, are looked at with every fold held out."""

TEMPERATURE = 0.5
"""A member that is less accurate than another by so many standard errors has 1/e of its weight."""

_LEAST_WEIGHT = 1e-3
_MOST_POPULATION = _MOST_REFERENCE = 5000
_USUAL_SHARPNESS, _SHARPNESS_RANGE = 2.0, (0.1, 10.0)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What the blend says when some labeled points are held out.

    Parameters
    ----------
    kept, held : ndarray of int
        Rows of labeled points.
    held_places, crowd_places : ndarray of shape (n_points, n_classes)
        Blended places of the held-out points and of some points of the population.
    """

    kept: Codes
    held: Codes
    held_places: Floats
    crowd_places: Floats


class BlendClassifier(ClassifierMixin, BaseEstimator):
    """Blend trees, linear and kernel methods, each trusted as held-out labeled points support it.

    Which kind of classifier is best differs from data to data, and a few dozen labeled points
    hardly tell. They tell more when one knows the population they come from: this classifier
    looks at unlabeled points and at the known rates of the classes, if it is given any, to encode
    columns, to learn, and above all to judge its members by the accuracy they would have when
    they label the population at its known rates.

    Parameters
    ----------
    families : sequence of str, or None, default=None
        The kinds of members: "trees", "full-trees" (extra trees that try some or all columns at a
        split), "logistic" (regression), "svc" (support vectors), "linear" and "kernel" (least
        squares that use the population). None means all.
    weighting : {"held-out", "equal"}, default="held-out"
        Weigh families by the accuracy on held-out labeled points, or all the same.
    n_estimators : int, default=200
        Number of trees of a forest.
    sharpness : float or None, default=None
        How fast probabilities change with the blended ranks. None learns it from the held-out
        labeled points, where there are any.
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
        Every member's family and its estimated accuracy. Empty with equal weights.
    weights_ : list of (str, float)
        Family and weight of the members that have some weight.
    sharpness_ : float
        The sharpness that is used.
    rehearsals_ : list of Rehearsal
        What the blend says when some labeled points are held out. Empty without a population.
    rehearsed_ : ndarray of int
        The rows of the population that rehearsals are about.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it has any.

    See Also
    --------
    KnownTotalsClassifier : Labels a population such that known totals hold, with this by default.

    Notes
    -----
    Members are made comparable by ranks: a score is replaced by the part of the population that
    has a lower one. Missing values are allowed. Columns of at most 12 distinct values are taken
    for categories by all members but trees.

    Examples
    --------
    >>> from c2rf import BlendClassifier
    >>> from c2rf.datasets import biased_sample, make_ringnorm
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> labeled, unlabeled = biased_sample(y, 0.1, positive_weight=0.7, random_state=0)
    >>> rate = float(y[unlabeled].mean())  # from a census, say
    >>> blend = BlendClassifier(n_estimators=40, random_state=0)
    >>> blend = blend.fit(X[labeled], y[labeled], X[unlabeled], rates=[1 - rate, rate])
    >>> bool((blend.predict(X[unlabeled]) == y[unlabeled]).mean() > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "families": ["array-like", None],
        "weighting": [StrOptions({"held-out", "equal"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "sharpness": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        families: Sequence[str] | None = None,
        weighting: Literal["held-out", "equal"] = "held-out",
        n_estimators: int = 200,
        sharpness: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.families = families
        self.weighting = weighting
        self.n_estimators = n_estimators
        self.sharpness = sharpness
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike, X_unlabeled: Any = None, rates: ArrayLike | None = None
    ) -> Self:
        """Fit the members to labeled points, and weigh them.

        Parameters
        ----------
        X : array-like of shape (n_labeled, n_features)
            The labeled points.
        y : array-like of shape (n_labeled,)
            Their classes, two or more.
        X_unlabeled : array-like of shape (n_unlabeled, n_features), optional
            Points of the population. Without, X is all that is known of it.
        rates : array-like of shape (n_classes,), optional
            The known rates of the classes in the population, in sorted order of the classes; they
            add up to one. Without, those in y.

        Returns
        -------
        BlendClassifier
            The fitted classifier.
        """
        self._validate_params()
        families = checked_families(self.families)
        y = check_labels(self, y, only_two=False)
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan")
        if len(X) != len(y):
            raise InputError(f"X and y must have as many rows; found {len(X)} and {len(y)}")
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.rates_ = _checked_rates(rates, codes, len(self.classes_))
        rng = check_random_state(self.random_state)
        population = None
        if X_unlabeled is not None and len(X_unlabeled):
            population = validate_data(
                self, X_unlabeled, dtype=float, ensure_all_finite="allow-nan", reset=False
            )
        seen = X if population is None else population
        order = rng.permutation(len(seen))[:_MOST_POPULATION]
        seen = seen[order]
        self.rehearsed_ = order[:N_REHEARSED]
        self._encoder = Encoder(seen if population is None else np.vstack([X, seen]))
        points, crowd = self._views(X), self._views(seen)
        members = make_members(
            families, points.encoded, crowd.encoded, self.rates_, self.n_estimators, rng
        )
        self.sharpness_ = _USUAL_SHARPNESS if self.sharpness is None else self.sharpness
        sizes = np.array([sum(other.family == m.family for other in members) for m in members])
        weights = 1.0 / sizes
        self.accuracies_: list[tuple[str, float]] = []
        self.rehearsals_: list[Rehearsal] = []
        if self.weighting == "held-out":
            sample = None if population is None else crowd.rows(slice(N_REHEARSED))
            weights *= self._trust(members, points, codes, sample, weights, rng)
        weights /= weights.sum()
        used = np.flatnonzero(weights >= _LEAST_WEIGHT)
        self._weights = weights[used] / weights[used].sum()
        self._fitted = self._in_parallel(delayed(members[i].fitted)(points, codes) for i in used)
        reference = crowd.rows(slice(_MOST_REFERENCE))
        self._references = [np.sort(m.scores(reference), axis=0) for m in self._fitted]
        self.weights_ = [
            (m.family, float(w)) for m, w in zip(self._fitted, self._weights, strict=True)
        ]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities in a population of the known rates.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Any points, with the columns of the labeled ones.

        Returns
        -------
        ndarray of shape (n_points, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, ensure_all_finite="allow-nan", reset=False)
        points = self._views(X)
        scores = self._in_parallel(delayed(m.scores)(points) for m in self._fitted)
        placed = sum(
            weight * quantiles(score, reference)
            for weight, score, reference in zip(
                self._weights, scores, self._references, strict=True
            )
        )
        return softmax(self.sharpness_ * _log_odds(placed, self.rates_), axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each point.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Any points, with the columns of the labeled ones.

        Returns
        -------
        ndarray of shape (n_points,)
            Classes.
        """
        chances = self.predict_proba(X)
        return self.classes_[chances.argmax(axis=1)]

    def student(self, random_state: int) -> BlendClassifier:
        """Return the unfitted classifier that learns from labels this one has found.

        With thousands of labels, extra trees and support vectors can take any shape, and hardly
        make the same mistakes: the two are enough.

        Parameters
        ----------
        random_state : int
            Its seed.

        Returns
        -------
        BlendClassifier
            Unfitted, with the sharpness of this one.
        """
        check_is_fitted(self)
        return BlendClassifier(
            families=("trees", "svc"),
            weighting="equal",
            n_estimators=max(1, self.n_estimators // 2),
            sharpness=self.sharpness_,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _views(self, X: Floats) -> Views:
        return Views(X, self._encoder.encode(X))

    def _in_parallel(self, calls: Any) -> list[Any]:
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(calls))

    def _trust(
        self,
        members: Sequence[Member],
        points: Views,
        codes: Codes,
        sample: Views | None,
        weights: Floats,
        rng: np.random.RandomState,
    ) -> Floats:
        """Return a factor per member by its accuracy on held-out points; learn the sharpness."""
        repeats = [list(folds(codes, N_FOLDS, rng)) for _ in range(N_REPEATS)]
        if not repeats[0]:
            return np.ones(len(members))
        found = self._in_parallel(
            delayed(held_out_places)(member, points, codes, parts, sample)
            for member in members
            for parts in repeats
        )
        # members x repeats x points x classes; points that were never held out are left out
        placed = [places for places, _ in found]
        table = np.reshape(placed, (len(members), N_REPEATS, len(codes), -1))
        judged = ~np.isnan(table[0, 0, :, 0])
        table, known = table[:, :, judged], codes[judged]
        accuracies = np.array(
            [np.mean([accuracy_at_rates(p, known, self.rates_) for p in row]) for row in table]
        )
        self.accuracies_ = [(m.family, float(a)) for m, a in zip(members, accuracies, strict=True)]
        error = standard_error(accuracies.max(), known, self.rates_)
        trust = np.exp((accuracies - accuracies.max()) / (TEMPERATURE * error))
        share = weights * trust / (weights * trust).sum()
        if self.sharpness is None:
            blended = np.tensordot(share, table.mean(axis=1), axes=1)
            self.sharpness_ = _best_sharpness(blended, known, self.rates_)
        if sample is not None:
            first = found[::N_REPEATS]
            held = np.tensordot(share, [places for places, _ in first], axes=1)
            crowd = np.tensordot(share, [crowds for _, crowds in first], axes=1)
            self.rehearsals_ = [
                Rehearsal(*rows, held[rows[1]], places)
                for rows, places in zip(repeats[0], crowd, strict=True)
            ]
        return trust


def _log_odds(placed: Floats, rates: Floats) -> Floats:
    """Return log-odds of places, zero at the cut that leaves the known rate above it."""
    least = 0.5 / _MOST_REFERENCE
    return logit(np.clip(placed, least, 1 - least)) - logit(np.clip(1 - rates, least, 1 - least))


def _best_sharpness(placed: Floats, codes: Codes, rates: Floats) -> float:
    """Return the sharpness with the highest likelihood of held-out points."""
    odds, weights = _log_odds(placed, rates), point_weights(codes, rates)

    def loss(log_sharpness: float) -> float:
        chances = log_softmax(np.exp(log_sharpness) * odds, axis=1)
        return -float(weights @ chances[np.arange(len(codes)), codes])

    best = minimize_scalar(loss, bounds=np.log(_SHARPNESS_RANGE), method="bounded")
    return float(np.exp(best.x))


def _checked_rates(rates: ArrayLike | None, codes: Codes, n_classes: int) -> Floats:
    if rates is None:
        return np.bincount(codes, minlength=n_classes) / len(codes)
    given = np.asarray(rates, dtype=float)
    if given.shape != (n_classes,) or not (given >= 0).all() or not np.isclose(given.sum(), 1):
        raise InputError(
            f"rates must be {n_classes} numbers, one per class, none below 0, that add up to 1; "
            f"found {rates!r}"
        )
    return given / given.sum()
