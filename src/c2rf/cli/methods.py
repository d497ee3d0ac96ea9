"""The methods of ``c2rf classify``: from a question and options to a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from c2rf.baselines import N_TREES
from c2rf.cli.options import one_of
from c2rf.cli.question import Question
from c2rf.exceptions import InputError


@dataclass(frozen=True)
class Choices:
    """Options of methods; None is the method's own default."""

    trees: int | None = None
    lower: float | None = None
    upper: float | None = None
    offset: tuple[float, float] | None = None
    prefer: str | None = None
    solver: str | None = None
    backend: str | None = None
    time_limit: float | None = None
    learner: str | None = None
    rounds: int | None = None

    def given(self) -> dict[str, Any]:
        """Return what the user chose."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True)
class Method:
    """A way to label: the options it knows, and what it does."""

    options: frozenset[str]
    fit: Callable[[Question, dict[str, Any], int, int | None], Any]


def check_method(name: str, choices: Choices) -> Method:
    """Return a method by its name, or say that there is none or that an option is not for it."""
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; known are {', '.join(METHODS)}")
    method = METHODS[name]
    for option in choices.given():
        if option not in method.options:
            able = ", ".join(other for other in METHODS if option in METHODS[other].options)
            raise InputError(
                f"--{option.replace('_', '-')} is not an option of the method {name}; it is one "
                f"of {able}"
            )
    if choices.learner is not None:
        one_of("--learner", choices.learner, LEARNERS)
    return method


def check_question(name: str, question: Question) -> None:
    """Refuse a question that a method cannot answer."""
    if name == "c2rf":
        _positive(question)


_RENAMED = {"trees": "n_estimators", "solver": "method"}


def _fit_c2rf(question: Question, chosen: dict[str, Any], seed: int, jobs: int | None) -> Any:
    from c2rf import C2RFClassifier

    positive = _positive(question)
    classifier = C2RFClassifier(
        n_jobs=jobs,
        random_state=seed,
        pos_label=positive,
        **{_RENAMED.get(name, name): value for name, value in chosen.items()},
    )
    features, place = question.features, question.classes.index(positive)
    return classifier.fit(
        features.labeled,
        question.sample.astype(np.str_),
        X_unlabeled=features.unlabeled,
        n_positive=int(question.bounds.lower[place]),
    )


def _fit_known_totals(
    question: Question, chosen: dict[str, Any], seed: int, jobs: int | None
) -> Any:
    from c2rf import KnownTotalsClassifier

    bounds, features = question.bounds, question.features
    by_group = None
    if question.groups.column is not None:
        ranges = zip(question.groups.names, bounds.group_lower, bounds.group_upper, strict=True)
        by_group = {name: _ranges(question, low, high) for name, low, high in ranges}
    learner = make_learner(chosen.get("learner"))
    rest = {name: value for name, value in chosen.items() if name != "learner"}
    classifier = KnownTotalsClassifier(learner, n_jobs=jobs, random_state=seed, **rest)
    return classifier.fit(
        features.labeled,
        question.sample.astype(np.str_),
        X_unlabeled=features.unlabeled,
        totals=_ranges(question, bounds.lower, bounds.upper),
        groups=question.groups.numbered,
        group_totals=by_group,
    )


LEARNERS = ("blend", "extra-trees", "logistic")


def make_learner(name: str | None) -> Any:
    """Return who ranks the individuals, None for the default.

    The blend is the most accurate, the others are quicker: extra trees by far, and logistic
    regression by so much that ten million rows are no matter.

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


def _ranges(question: Question, lower: Any, upper: Any) -> dict[str, tuple[int, int]]:
    """Return totals of classes as the classifier takes them."""
    ends = zip(question.classes, lower.tolist(), upper.tolist(), strict=True)
    return {name: (low, high) for name, low, high in ends}


def _positive(question: Question) -> str:
    """Return the class whose total c2rf is to meet, or say what it cannot do."""
    instead = "; use --method known-totals"
    if len(question.classes) > 2:
        raise InputError(
            f"the method c2rf is for two classes; {question.target!r} has "
            f"{len(question.classes)}{instead}"
        )
    if question.totals.by_group:
        raise InputError(f"the method c2rf knows no totals of groups{instead}")
    if (question.bounds.lower != question.bounds.upper).any():
        raise InputError(f"the method c2rf needs one total, not a range{instead}")
    assert question.positive is not None  # there are two classes
    return question.positive


METHODS = {
    "known-totals": Method(frozenset({"learner", "rounds"}), _fit_known_totals),
    "c2rf": Method(
        frozenset(field.name for field in fields(Choices)) - {"learner", "rounds"},
        _fit_c2rf,
    ),
}
