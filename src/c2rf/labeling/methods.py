"""The methods of a classification: from a checked task and options to a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from c2rf._choices import LEARNERS, METHODS
from c2rf._text import for_user, nearest
from c2rf.baselines import N_TREES
from c2rf.exceptions import InputError
from c2rf.labeling.task import Task

ALL_CORES = -1


@dataclass(frozen=True)
class LabelingMethod:
    """A way to label: the options it knows, what it can do, and how it is fitted."""

    options: frozenset[str]
    check: Callable[[Task], None]
    fit: Callable[[Task, dict[str, Any], int | None], Any]


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Refuse an unknown method or learner, and options that are not for the method."""
    check_choice("method", method, METHODS)
    for name in options:
        if name not in LABELING_METHODS[method].options:
            able = [other for other, known in LABELING_METHODS.items() if name in known.options]
            raise InputError(
                f"{option_name(name)} is not an option of the method {method}; it is one of "
                f"{', '.join(able)}"
            )
    if options.get("learner") is not None:
        check_choice("learner", options["learner"], LEARNERS)


def check_choice(name: str, value: Any, allowed: Any) -> None:
    """Refuse a value that is not one of those allowed.

    Examples
    --------
    >>> check_choice("engine", "dusk", ["memory", "dask"])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: engine must be memory or dask; found 'dusk'; did you mean 'dask'?
    """
    if value not in allowed:
        raise InputError(
            f"{option_name(name)} must be {' or '.join(allowed)}; found {value!r}"
            f"{nearest(value, list(allowed))}"
        )


def option_name(name: str) -> str:
    """Return what the user calls an option."""
    return for_user(name, f"--{name.replace('_', '-')}")


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


def _fit_c2rf(task: Task, options: dict[str, Any], jobs: int | None) -> Any:
    from c2rf.estimators import C2RFClassifier

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


def _check_c2rf(task: Task) -> None:
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


def _fit_known_totals(task: Task, options: dict[str, Any], jobs: int | None) -> Any:
    from c2rf.estimators import KnownTotalsClassifier

    learner = make_learner(options.pop("learner", None))
    n_jobs = ALL_CORES if jobs is None else jobs  # the result does not depend on it
    classifier = KnownTotalsClassifier(learner, n_jobs=n_jobs, **options)
    classifier.fit(
        task.X,
        task.labels.astype(np.str_),
        X_unlabeled=task.X_unlabeled,
        totals=task.bounds,
        unlabeled_groups=task.groups,
        unlabeled_weight=task.weights,
        sample_weight=task.labeled_weights,
    )
    classifier._imputer.totals = task.totals  # as they were said, with their errors
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
