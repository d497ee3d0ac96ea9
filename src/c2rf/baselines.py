"""What one would do without c2rf, from the same knowledge: to compare with.

From votes or scores: :func:`majority_vote`, :func:`top_lambda`. From labeled data and any
classifier with ``predict_proba``: :func:`top_probabilities`, :func:`prior_corrected`,
:func:`self_training`. None of them sees a true label of an unlabeled row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

from c2rf._utils.types import Floats
from c2rf._utils.validation import check_labels, positive_index
from c2rf.exceptions import InputError
from c2rf.forest.problem import check_total

N_TREES = 200
"""Extra trees of the classifier that is used where none is given."""


def majority_vote(votes: ArrayLike) -> NDArray[np.int8]:
    """Label by the majority of the votes; a tie is negative.

    Parameters
    ----------
    votes : array-like of shape (n_rows, n_trees)
        Votes of -1/+1.

    Returns
    -------
    ndarray of int8, shape (n_points,)
        Labels of -1/+1.

    Examples
    --------
    >>> majority_vote([[1, 1, -1], [-1, 1, -1]])
    array([ 1, -1], dtype=int8)
    """
    surplus = np.asarray(votes).sum(axis=1, dtype=np.int64)
    return np.where(surplus > 0, 1, -1).astype(np.int8)


def top_lambda(
    scores: ArrayLike, n_positive: int | float, *, random_state: int | None = None
) -> NDArray[np.int8]:
    """Make the known number of rows positive: those with the highest scores.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Probabilities, sums of votes, or any other numbers that rank.
    n_positive : int or float
        The known number of positives (an integer), or their rate (a float in [0, 1]).
    random_state : int or None
        Decides among rows with equal scores at the cut, whose order in the data may know the
        classes.

    Returns
    -------
    ndarray of int8, shape (n_points,)
        Labels of -1/+1.

    Examples
    --------
    >>> top_lambda([0.2, 0.9, 0.4, 0.7], 2)
    array([-1,  1, -1,  1], dtype=int8)
    """
    ranked = np.asarray(scores)
    if ranked.ndim != 1 or np.isnan(ranked).any():
        raise InputError(
            "scores must be a number per row, none of them NaN; "
            f"found shape {ranked.shape} with {np.isnan(ranked).sum()} NaN"
        )
    total = check_total(n_positive, len(ranked))
    shuffled = np.random.default_rng(random_state).permutation(len(ranked))
    order = shuffled[np.argsort(-ranked[shuffled], kind="stable")]
    labels = np.full(len(ranked), -1, dtype=np.int8)
    labels[order[:total]] = 1
    return labels


def correct_prior(probability: ArrayLike, sample_rate: float, known_rate: float) -> Floats:
    """Carry probabilities over from a sample to a population with another rate of positives.

    By Bayes' rule, if the sample differs from the population in that rate only.

    Parameters
    ----------
    probability : array-like of float
        Probabilities to be positive, learned on the sample.
    sample_rate : float
        Rate of positives in the sample, above 0 and below 1.
    known_rate : float
        Rate of positives in the population, in [0, 1].

    Returns
    -------
    ndarray of float
        Probabilities in the population.

    Examples
    --------
    >>> correct_prior([0.5, 0.9], sample_rate=0.5, known_rate=0.1)
    array([0.1, 0.5])
    """
    if not 0 < sample_rate < 1 or not 0 <= known_rate <= 1:
        raise InputError(
            "sample_rate must be above 0 and below 1, known_rate in [0, 1]; "
            f"found {sample_rate} and {known_rate}"
        )
    p = np.asarray(probability, dtype=float)
    positive = p * (known_rate / sample_rate)
    negative = (1 - p) * ((1 - known_rate) / (1 - sample_rate))
    both = positive + negative
    # Neither is possible where the sample and the known rate exclude each other: believe the rate.
    return np.divide(positive, both, out=np.full_like(p, known_rate), where=both > 0)


def top_probabilities(
    X: Any,
    y: ArrayLike,
    X_unlabeled: Any,
    n_positive: int | float,
    *,
    estimator: Any = None,
    pos_label: Any = None,
    random_state: int | None = None,
) -> NDArray[Any]:
    """Make the known number of rows positive: those with the highest probabilities.

    Parameters
    ----------
    X : array-like of shape (n_labeled, n_features)
        The labeled rows.
    y : array-like of shape (n_labeled,)
        Their labels, of two classes.
    X_unlabeled : array-like of shape (n_unlabeled, n_features)
        The rows to label.
    n_positive : int or float
        How many of them are positive: a count (an integer) or a rate (a float in [0, 1]).
    estimator : classifier with ``predict_proba``, or None
        What learns; it is cloned. None means 200 extra trees.
    pos_label : label or None
        The class that ``n_positive`` counts; see :class:`c2rf.C2RFClassifier`.
    random_state : int or None
        Seed of the extra trees, if these learn, and of the choice among equal probabilities.

    Returns
    -------
    ndarray of shape (n_unlabeled,)
        The class of each unlabeled row.

    Examples
    --------
    >>> from c2rf.datasets import biased_sample, make_twonorm
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> labeled, rest = biased_sample(y, 0.05, random_state=0)
    >>> n_positive = int(y[rest].sum())
    >>> found = top_probabilities(X[labeled], y[labeled], X[rest], n_positive, random_state=0)
    >>> bool(found.sum() == n_positive), float((found == y[rest]).mean().round(2))
    (True, 0.93)
    """
    score, _, names = _learn(X, y, X_unlabeled, estimator, pos_label, random_state)
    return names.take(top_lambda(score, n_positive, random_state=random_state) > 0)


def prior_corrected(
    X: Any,
    y: ArrayLike,
    X_unlabeled: Any,
    n_positive: int | float,
    *,
    estimator: Any = None,
    pos_label: Any = None,
    random_state: int | None = None,
) -> NDArray[Any]:
    """Correct probabilities for the known rate of positives, and cut them at one half.

    Parameters
    ----------
    X, y, X_unlabeled, n_positive, estimator, pos_label, random_state
        As in :func:`top_probabilities`.

    Returns
    -------
    ndarray of shape (n_unlabeled,)
        The class of each unlabeled row; how many are positive is left to the cut.

    See Also
    --------
    correct_prior : The correction.

    Examples
    --------
    >>> from c2rf.datasets import biased_sample, make_twonorm
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> labeled, rest = biased_sample(y, 0.05, random_state=0)
    >>> n_positive = int(y[rest].sum())
    >>> found = prior_corrected(X[labeled], y[labeled], X[rest], n_positive, random_state=0)
    >>> n_positive, int(found.sum())
    (460, 374)
    """
    probability, sample_rate, names = _learn(X, y, X_unlabeled, estimator, pos_label, random_state)
    known_rate = check_total(n_positive, len(probability)) / max(len(probability), 1)
    return names.take(correct_prior(probability, sample_rate, known_rate) > 0.5)


def self_training(
    X: Any,
    y: ArrayLike,
    X_unlabeled: Any,
    *,
    estimator: Any = None,
    random_state: int | None = None,
) -> NDArray[Any]:
    """Label with scikit-learn's self-training, which knows of no total.

    Parameters
    ----------
    X, y, X_unlabeled, estimator
        As in :func:`top_probabilities`, and X of numbers.
    random_state : int or None
        Seed of the extra trees, if these learn.

    Returns
    -------
    ndarray of shape (n_unlabeled,)
        The class of each unlabeled row.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from c2rf.datasets import biased_sample, make_twonorm
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> labeled, rest = biased_sample(y, 0.05, random_state=0)
    >>> found = self_training(X[labeled], y[labeled], X[rest], estimator=LogisticRegression())
    >>> int(y[rest].sum()), int(found.sum())
    (460, 753)
    """
    learner = _learner(estimator, random_state)
    known = check_labels(learner, y)
    classes, codes = np.unique(known, return_inverse=True)
    rows = np.concatenate([np.asarray(X), rest := np.asarray(X_unlabeled)])
    unknown = np.full(len(rest), -1)  # scikit-learn's sign for a row without a label
    trained = SelfTrainingClassifier(learner).fit(rows, np.concatenate([codes, unknown]))
    return classes[trained.predict(rest)]


def _learn(
    X: Any, y: ArrayLike, X_unlabeled: Any, estimator: Any, pos_label: Any, random_state: int | None
) -> tuple[Floats, float, NDArray[Any]]:
    """Learn from the labeled rows.

    Returns the probability of each unlabeled row to be positive, the rate of positives in the
    sample, and the negative and the positive class.
    """
    learner = _learner(estimator, random_state)
    known = check_labels(learner, y)
    classes = np.unique(known)
    positive = positive_index(pos_label, classes, has_total=True)
    probability = learner.fit(X, known).predict_proba(X_unlabeled)[:, positive]
    sample_rate = float(np.mean(known == classes[positive]))
    return probability, sample_rate, classes[[1 - positive, positive]]


def _learner(estimator: Any, random_state: int | None) -> Any:
    if estimator is None:
        return ExtraTreesClassifier(N_TREES, random_state=random_state)
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"estimator must be a classifier with predict_proba; found {estimator!r}: "
            "CalibratedClassifierCV gives it one"
        )
    return clone(estimator)
