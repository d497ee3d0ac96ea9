"""Kinds of scikit-learn's models, and what data each can take."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils import get_tags

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
# Their members predict class codes, not classes.
CODED = (*FORESTS, BaggingClassifier, VotingClassifier)
ENSEMBLES = (*CODED, AdaBoostClassifier)


def unfrozen(estimator: Any) -> Any:
    """Return what is inside a FrozenEstimator, anything else as it is."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    return estimator


def takes_missing(estimator: Any) -> bool:
    """Say whether missing values may be given; a pipeline is left to judge for itself.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> takes_missing(None), takes_missing(LogisticRegression())
    (True, False)
    """
    model = unfrozen(estimator)
    if model is None or isinstance(model, Pipeline):
        return True
    if isinstance(model, (list, tuple)):
        return all(takes_missing(member) for member in model)
    if isinstance(model, VotingClassifier):
        return all(takes_missing(member) for _, member in model.estimators if member != "drop")
    if isinstance(model, BaggingClassifier):
        return takes_missing(model.estimator)
    return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.allow_nan)


def takes_only_numbers(estimator: Any) -> bool:
    """Say whether data frames become arrays of numbers before any member sees them.

    Other ensembles get a frame as it is, for pipelines that know its columns by name.

    Examples
    --------
    >>> takes_only_numbers(RandomForestClassifier()), takes_only_numbers(Pipeline([]))
    (True, False)
    """
    model = unfrozen(estimator)
    if isinstance(model, (list, tuple)):
        return all(takes_only_numbers(member) for member in model)
    return model is None or isinstance(
        model, (*TREES, *FORESTS, BaggingClassifier, AdaBoostClassifier)
    )
