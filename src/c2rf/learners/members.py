"""The members of a blend: different classifiers behind a common interface.

A member is fitted to some of the labeled rows and returns a score per class for any rows. All of
them take weights of rows, so that a bootstrap of the labeled rows is a fit like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from c2rf._typing import Codes, Floats
from c2rf.exceptions import InputError
from c2rf.learners.least_squares import LeastSquares, Moments
from c2rf.learners.trees import Growth, grow_forest
from c2rf.learners.views import Scenery, View

FAMILIES = ("trees", "full-trees", "logistic", "svc", "linear", "kernel")
"""Extra trees on some or all columns per split, logistic regression, support vectors, and least
squares that know the population, on the columns or in a Gaussian kernel's space."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a member is fitted to.

    Parameters
    ----------
    view : View
        The labeled rows that are kept.
    kept : ndarray of int
        Their numbers among all labeled rows.
    codes : ndarray of int
        Numbers of their classes, each of which has some.
    weight : ndarray
        How much each row counts.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes in the population.
    seed : int
        For all that is random.
    light : bool
        Whether fewer trees will do, to judge a member.
    """

    view: View
    kept: Codes
    codes: Codes
    weight: Floats
    rates: Floats
    seed: int
    light: bool = False

    def take(self, rows: Codes) -> Lesson:
        """Return the lesson of some of the rows, to judge who learns it."""
        return Lesson(
            self.view.take(rows), self.kept[rows], self.codes[rows], self.weight[rows],
            self.rates, self.seed, light=True,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Scores:
    """From rows to a score per class, higher for the more likely.

    Parameters
    ----------
    model : object
        What was fitted.
    method : str
        What it is asked by.
    sees : str
        What it looks at, an attribute of a :class:`View`.
    columns : ndarray of int, or None
        Which columns of that; None for all.
    """

    model: Any
    method: str
    sees: str
    columns: Codes | None = None

    def __call__(self, view: View) -> Floats:
        """Return the scores of rows."""
        seen = getattr(view, self.sees)
        said = getattr(self.model, self.method)(
            seen if self.columns is None else seen[:, self.columns]
        )
        return np.column_stack([-said, said]) if said.ndim == 1 else said


@dataclass(frozen=True, eq=False)
class Member:
    """A classifier of the blend."""

    family: str
    fit: Callable[[Lesson], Scores]


def checked_families(families: Sequence[str] | None) -> tuple[str, ...]:
    """Return the families asked for, None meaning all, or say which there are."""
    if families is None:
        return FAMILIES
    chosen = tuple(families)
    if not chosen or not set(chosen) <= set(FAMILIES) or len(set(chosen)) < len(chosen):
        raise InputError(
            f"families must be some of {', '.join(FAMILIES)}, each at most once, or None for all; "
            f"found {families!r}"
        )
    return chosen


def make_members(families: Sequence[str], scenery: Scenery, n_estimators: int) -> list[Member]:
    """Return the unfitted members of some families."""
    n_columns = scenery.labeled.raw.shape[1]
    made: dict[str, list[Callable[[Lesson], Scores]]] = {
        "trees": [Trees(Growth(n_estimators, max(1, int(np.sqrt(n_columns)))))],
        "full-trees": [Trees(Growth(n_estimators, n_columns))],
        "logistic": [Logistic(c) for c in (0.1, 1.0)],
        "svc": [SupportVectors(c) for c in (1.0, 3.0)],
    }
    if "linear" in families:
        moments = scenery.linear_moments
        made["linear"] = [KnownMoments("linear", moments, ridge) for ridge in (0.01, 0.1, 1.0)]
    if "kernel" in families:
        moments = scenery.kernel_moments
        made["kernel"] = [KnownMoments("kernel", moments, ridge) for ridge in (0.001, 0.01, 0.1)]
    return [Member(family, fit) for family in families for fit in made[family]]


@dataclass(frozen=True)
class Trees:
    """A forest of extra trees."""

    growth: Growth

    def __call__(self, lesson: Lesson) -> Scores:
        """Grow the trees."""
        n_trees = self.growth.n_trees
        growth = Growth(max(1, n_trees // 4) if lesson.light else n_trees, self.growth.n_tried)
        indicators = np.eye(len(lesson.rates))[lesson.codes]
        seed = lesson.seed + self.growth.n_tried  # not the same trees as those of another member
        forest = grow_forest(lesson.view.raw, indicators, growth, seed, lesson.weight)
        return Scores(forest, "means", "raw")


@dataclass(frozen=True)
class Logistic:
    """Logistic regression."""

    c: float

    def __call__(self, lesson: Lesson) -> Scores:
        """Fit the regression."""
        model = LogisticRegression(C=self.c, max_iter=1000)
        model.fit(lesson.view.encoded, lesson.codes, sample_weight=lesson.weight)
        return Scores(model, "predict_proba", "encoded")


@dataclass(frozen=True)
class SupportVectors:
    """Support vectors in a Gaussian kernel's space."""

    c: float

    def __call__(self, lesson: Lesson) -> Scores:
        """Find the support vectors."""
        kept = lesson.kept
        model = SVC(C=self.c, kernel="precomputed")
        model.fit(lesson.view.similar[:, kept], lesson.codes, sample_weight=lesson.weight)
        return Scores(model, "decision_function", "similar", kept)


@dataclass(frozen=True)
class KnownMoments:
    """Least squares with the second moments of the population."""

    features: str
    moments: Moments
    ridge: float

    def __call__(self, lesson: Lesson) -> Scores:
        """Solve the least squares."""
        own = getattr(lesson.view, self.features)
        model = LeastSquares(self.moments, self.ridge)
        model.fit(own, lesson.codes, lesson.rates, lesson.weight)
        return Scores(model, "scores", self.features)
