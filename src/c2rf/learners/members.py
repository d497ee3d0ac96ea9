"""The members of a blend: different classifiers behind a common interface.

A member is fitted to some of the labeled rows and returns a score per class for any rows. All of
them take weights of rows, so that a bootstrap of the labeled rows is a fit like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from c2rf._typing import Codes, Floats
from c2rf.exceptions import InputError
from c2rf.learners.least_squares import LeastSquares, Moments
from c2rf.learners.logistic import LogisticRegression
from c2rf.learners.support_vectors import SupportVectorMachine
from c2rf.learners.trees import Growth, grow_forest
from c2rf.learners.views import Scenery, View

FAMILIES = (
    "trees", "full-trees", "turned-trees", "logistic", "svc", "wide-svc", "narrow-svc", "linear",
    "kernel",
)  # fmt: skip
"""Extra trees that try some or all columns at a split, or all columns and principal components;
logistic regression; support vectors, by kernels of three widths; and least squares that know the
population, on the columns or in a Gaussian kernel's space."""


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
    look : callable
        What it sees of a :class:`View`.
    """

    model: Any
    method: str
    look: Callable[[View], Any]

    def __call__(self, view: View) -> Floats:
        """Return the scores of rows."""
        return np.asarray(getattr(self.model, self.method)(self.look(view)))


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
    n_raw, n_wide = scenery.labeled.raw.shape[1], scenery.labeled.wide.shape[1]
    made: dict[str, list[Callable[[Lesson], Scores]]] = {
        "trees": [Trees(Growth(n_estimators, max(1, int(np.sqrt(n_raw)))))],
        "full-trees": [Trees(Growth(n_estimators, n_raw))],
        "turned-trees": [Trees(Growth(n_estimators, n_wide), "wide")],
        "logistic": [Logistic(c) for c in (0.1, 1.0)],
        "svc": [SupportVectors(1.0)],
        "wide-svc": [SupportVectors(3.0, 0.3)],
        "narrow-svc": [SupportVectors(3.0, 3.0)],
    }
    if "linear" in families:
        moments = scenery.linear_moments
        made["linear"] = [KnownMoments("linear", moments, ridge) for ridge in (0.1, 1.0)]
    if "kernel" in families:
        moments = scenery.kernel_moments
        made["kernel"] = [KnownMoments("kernel", moments, ridge) for ridge in (0.001, 0.01, 0.1)]
    return [Member(family, fit) for family in families for fit in made[family]]


@dataclass(frozen=True)
class Trees:
    """A forest of extra trees."""

    growth: Growth
    sees: str = "raw"

    def __call__(self, lesson: Lesson) -> Scores:
        """Grow the trees."""
        n_trees = self.growth.n_trees
        growth = Growth(max(1, n_trees // 4) if lesson.light else n_trees, self.growth.n_tried)
        indicators = np.eye(len(lesson.rates))[lesson.codes]
        seed = lesson.seed + self.growth.n_tried  # not the same trees as those of another member
        forest = grow_forest(
            getattr(lesson.view, self.sees), indicators, growth, seed, lesson.weight
        )
        return Scores(forest, "means", attrgetter(self.sees))


@dataclass(frozen=True)
class Logistic:
    """Logistic regression."""

    c: float

    def __call__(self, lesson: Lesson) -> Scores:
        """Fit the regression."""
        model = LogisticRegression(self.c)
        model.fit(lesson.view.encoded, lesson.codes, lesson.weight)
        return Scores(model, "predict_proba", attrgetter("encoded"))


@dataclass(frozen=True)
class SupportVectors:
    """Support vectors in a Gaussian kernel's space; the power of similarities sets its width."""

    c: float
    power: float = 1.0

    def __call__(self, lesson: Lesson) -> Scores:
        """Find the support vectors."""
        look = Similarities(lesson.kept, self.power)
        model = SupportVectorMachine(self.c)
        model.fit(look(lesson.view), lesson.codes, lesson.weight)
        return Scores(model, "scores", look)


@dataclass(frozen=True, eq=False)
class Similarities:
    """Looks at the similarities to some labeled rows."""

    kept: Codes
    power: float

    def __call__(self, view: View) -> Floats:
        """Return the similarities, to a power."""
        near = view.similar[:, self.kept]
        return near if self.power == 1.0 else near**self.power


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
        return Scores(model, "scores", attrgetter(self.features))
