"""The methods of a classification: from a checked task and options to a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from c2rf._utils.text import LEARNERS, METHODS, check_choice, for_user, option_name
from c2rf.baselines import N_TREES
from c2rf.exceptions import InputError
from c2rf.forest.backends import BACKENDS
from c2rf.forest.solve import PREFERENCES, SOLVE_METHODS
from c2rf.workflow.prepare import PreparedData

ALL_CORES = -1

_NAMES: dict[str, Collection[str]] = {
    "learner": LEARNERS,
    "solve_method": SOLVE_METHODS,
    "backend": BACKENDS,
    "prefer": PREFERENCES,
}


@dataclass(frozen=True)
class LabelingMethod:
    """A way to label: the options it knows, what it can do, and how it is fitted."""

    options: frozenset[str]
    check: Callable[[PreparedData], None]
    fit: Callable[[PreparedData, dict[str, Any], int | None], Any]


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Refuse unknown names of methods and so on, and options that are not for the method."""
    check_choice("method", method, METHODS)
    for name in options:
        if name not in LABELING_METHODS[method].options:
            able = [other for other, known in LABELING_METHODS.items() if name in known.options]
            raise InputError(
                f"{option_name(name)} is not an option of the method {method}; it is one of "
                f"{', '.join(able)}"
            )
    for name, allowed in _NAMES.items():
        if name in options:
            check_choice(name, options[name], allowed)


def make_learner(name: str | None) -> Any:
    """Return who ranks the rows, None for the default.

    The blend is the most accurate, the others are quicker: extra trees by far, and logistic
    regression again.

    Examples
    --------
    >>> make_learner("blend") is None
    True
    >>> make_learner("extra-trees")
    ExtraTreesClassifier(n_estimators=200)
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "extra-trees":
        return ExtraTreesClassifier(N_TREES)
    if name == "logistic":
        return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
    return None


_RENAMED = {"trees": "n_estimators", "solve_method": "method"}


def _fit_c2rf(task: PreparedData, options: dict[str, Any], jobs: int | None) -> Any:
    from c2rf.estimators.c2rf import C2RFClassifier

    assert task.positive is not None  # there are two classes
    classifier = C2RFClassifier(
        n_jobs=jobs,
        pos_label=task.positive,
        **{_RENAMED.get(name, name): value for name, value in options.items()},
    )
    return classifier.fit(
        task.X,
        task.labels.astype(np.str_),
        X_unlabeled=task.X_unlabeled,
        n_positive=int(task.bounds.lower[task.classes.index(task.positive)]),
    )


def _check_c2rf(task: PreparedData) -> None:
    """Refuse a task that weighted trees cannot do."""
    instead = "; use " + for_user('method="known-totals"', "--method known-totals")
    if len(task.classes) > 2:
        raise InputError(
            f"the method c2rf is for two classes; {task.target!r} has {len(task.classes)}{instead}"
        )
    if task.weights is not None:
        raise InputError(f"the method c2rf counts rows, not weights{instead}")
    if task.totals.margins:
        raise InputError(f"the method c2rf meets no totals of groups{instead}")
    if (task.bounds.lower != task.bounds.upper).any():
        raise InputError(f"the method c2rf needs one total, not a range{instead}")


def _fit_known_totals(task: PreparedData, options: dict[str, Any], jobs: int | None) -> Any:
    from c2rf.assignment import AssignmentProblem
    from c2rf.estimators.known_totals import KnownTotalsClassifier

    learner = make_learner(options.pop("learner", None))
    n_jobs = ALL_CORES if jobs is None else jobs  # the result does not depend on it
    classifier = KnownTotalsClassifier(learner, n_jobs=n_jobs, **options)
    classifier.fit(
        task.X,
        task.labels.astype(np.str_),
        X_unlabeled=task.X_unlabeled,
        totals=AssignmentProblem(task.bounds, task.groups, task.weights, task.totals),
        sample_weight=task.labeled_weights,
    )
    return classifier


LABELING_METHODS = {
    "known-totals": LabelingMethod(
        frozenset({"learner"}), lambda task: None, _fit_known_totals
    ),
    "c2rf": LabelingMethod(
        frozenset(
            {
                "trees", "lower", "upper", "offset", "prefer", "solve_method", "backend",
                "time_limit",
            }
        ),
        _check_c2rf,
        _fit_c2rf,
    ),
}  # fmt: skip
