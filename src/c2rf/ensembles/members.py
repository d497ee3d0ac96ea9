"""Which models can vote, what data they can take, and why others are refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from c2rf._sklearn_models import ENSEMBLES
from c2rf._text import listed
from c2rf.exceptions import InputError, InputTypeError

DEFAULT_N_ESTIMATORS = 20
DEFAULT_MAX_SAMPLES = 0.2

# By name: most of them are of packages that need not be installed.
_GRADIENT_BOOSTING = {
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "XGBClassifier",
    "LGBMClassifier",
    "CatBoostClassifier",
}

Names = NDArray[np.object_] | None


def check_classifier(estimator: Any) -> None:
    """Refuse what cannot be fitted and asked for votes."""
    name = type(estimator).__name__
    is_model = hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)
    if not is_model or not is_classifier(estimator):
        raise InputTypeError(
            "estimator must be None, a classifier, an ensemble of classifiers, or fitted ones in "
            f"a FrozenEstimator or a list; found {estimator!r} of type {name}"
        )
    if _GRADIENT_BOOSTING & {base.__name__ for base in type(estimator).__mro__}:
        raise InputError(
            f"{name} cannot vote: its trees are regression trees that add up to one score, none "
            "of them predicts a class; use RandomForestClassifier, ExtraTreesClassifier, "
            "BaggingClassifier, AdaBoostClassifier or VotingClassifier, or give several fitted "
            "models as a list, where each has one vote"
        )


def check_defaults(estimator: Any, n_estimators: Any, max_samples: Any) -> None:
    """Refuse parameters of copies where no copies are made."""
    if (n_estimators, max_samples) == (DEFAULT_N_ESTIMATORS, DEFAULT_MAX_SAMPLES):
        return
    name = type(estimator).__name__
    raise InputError(
        "n_estimators and max_samples say how copies of a plain classifier are made; with a "
        f"{name} its members vote, so they must stay at {DEFAULT_N_ESTIMATORS} and "
        f"{DEFAULT_MAX_SAMPLES}; found {n_estimators} and {max_samples}: set them on the {name}"
    )


def check_frozen(model: Any, classes: NDArray[Any], n_features: int, feature_names: Names) -> None:
    """Refuse a frozen model that is no ensemble or does not fit to the data."""
    name = type(model).__name__
    if not isinstance(model, ENSEMBLES):
        raise InputTypeError(
            f"a frozen estimator must be an ensemble whose members vote ({listed_types()}); "
            f"found {name}: give fitted models as a list, where each has one vote"
        )
    _check_fitted(model, f"the frozen {name}")
    known = np.ravel(model.classes_).tolist()
    if set(known) != set(classes.tolist()):
        raise InputError(
            f"the frozen {name} was fitted to the classes {listed(known)}, but the classes in y "
            f"are {listed(classes)}"
        )
    _check_columns(model, f"the frozen {name}", n_features, feature_names)


def check_list(
    members: Sequence[Any], classes: NDArray[Any], n_features: int, feature_names: Names
) -> None:
    """Refuse a list with a member that is not fitted or does not fit to the data."""
    if not members:
        raise InputError("a list of fitted classifiers must have at least one; found none")
    for k, member in enumerate(members):
        who = f"member {k} of the list, {type(member).__name__},"
        if not hasattr(member, "predict"):
            raise InputTypeError(f"{who} has no predict; give fitted classifiers")
        _check_fitted(member, who)
        known = np.ravel(getattr(member, "classes_", classes)).tolist()
        if not set(known) <= set(classes.tolist()):
            raise InputError(
                f"{who} was fitted to the classes {listed(known)}, but the classes in y are "
                f"{listed(classes)}"
            )
        _check_columns(member, who, n_features, feature_names)


def listed_types() -> str:
    """Write the names of the ensembles whose members vote."""
    return ", ".join(kind.__name__ for kind in ENSEMBLES)


def _check_fitted(model: Any, who: str) -> None:
    # Models of other libraries need not follow scikit-learn's rule for what is fitted.
    if not isinstance(model, BaseEstimator):
        return
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise InputError(
            f"{who} is not fitted; fit it, and keep it in sklearn.frozen.FrozenEstimator, because "
            "clone forgets fits"
        ) from error


def _check_columns(model: Any, who: str, n_features: int, feature_names: Names) -> None:
    """Refuse a fitted model of other columns: by name where both have names, else by number."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and feature_names is not None:
        if list(names) != list(feature_names):
            raise InputError(
                f"{who} was fitted to the columns {listed(names)}, but the columns of X are "
                f"{listed(feature_names)}"
            )
    elif getattr(model, "n_features_in_", n_features) != n_features:
        raise InputError(
            f"{who} was fitted to {model.n_features_in_} columns, but X has {n_features}"
        )
