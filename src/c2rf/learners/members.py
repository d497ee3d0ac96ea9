"""The members of a blend: different classifiers behind a common interface.

A member is fitted to some of the labeled rows and returns a score per class for any rows. All of
them take weights of rows, so that a bootstrap of the labeled rows is a fit like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from c2rf._typing import Codes, Floats
from c2rf.exceptions import InputError
from c2rf.learners.known_leaves import knowing_leaves
from c2rf.learners.least_squares import LeastSquares, Moments
from c2rf.learners.logistic import LogisticRegression
from c2rf.learners.support_vectors import SupportVectorMachine
from c2rf.learners.trees import Growth, grow_forest
from c2rf.learners.views import Scenery, View

FAMILIES = (
    "trees", "full-trees", "turned-trees", "plain-trees", "logistic", "svc", "narrow-svc",
    "rank-svc", "kernel", "rank-kernel",
)  # fmt: skip
"""Extra trees whose leaves know how much of the population they hold, and that try some or all
columns at a split, or all columns and principal components; the last kind with leaves that know
only labeled rows; logistic regression; support vectors, by Gaussian kernels of two widths and by a
Laplacian one of ranks; and least squares that know the population, in such kernels' spaces."""

RIDGES = 0.001, 0.01, 0.1
RANK_RIDGES = 0.3, 1.0, 3.0
"""Of least squares, each a member; those of the second kernel are divided by the number of labeled
rows."""


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
    others : slice
        The rows of the population that leaves of trees are to know. To judge a member, these are
        not those among which held-out rows find their places: neither should be known better.
    """

    view: View
    kept: Codes
    codes: Codes
    weight: Floats
    rates: Floats
    seed: int
    light: bool = False
    others: slice = field(default_factory=lambda: slice(None))

    def take(self, rows: Codes) -> Lesson:
        """Return the lesson of some of the rows, to judge who learns it."""
        return Lesson(
            self.view.take(rows), self.kept[rows], self.codes[rows], self.weight[rows],
            self.rates, self.seed, light=True, others=self.others,
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
    n_raw, n_wide, there = (
        scenery.labeled.raw.shape[1], scenery.labeled.wide.shape[1], scenery.population
    )  # fmt: skip
    made: dict[str, list[Callable[[Lesson], Scores]]] = {
        "trees": [Trees(Growth(n_estimators, max(1, int(np.sqrt(n_raw)))), "raw", there)],
        "full-trees": [Trees(Growth(n_estimators, n_raw), "raw", there)],
        "turned-trees": [Trees(Growth(n_estimators, n_wide), "wide", there)],
        "plain-trees": [Trees(Growth(n_estimators, n_wide), "wide", None)],
        "logistic": [Logistic(c) for c in (0.1, 1.0)],
        "svc": [SupportVectors(1.0)],
        "narrow-svc": [SupportVectors(3.0, power=3.0)],
        "rank-svc": [SupportVectors(3.0, "rank_similar")],
    }
    if "kernel" in families:
        moments = scenery.kernel_moments
        made["kernel"] = [KnownMoments("kernel", moments, ridge) for ridge in RIDGES]
    if "rank-kernel" in families:
        moments, n_labeled = scenery.rank_moments, len(scenery.labeled.raw)
        made["rank-kernel"] = [
            KnownMoments("rank_kernel", moments, ridge / n_labeled) for ridge in RANK_RIDGES
        ]
    return [Member(family, fit) for family in families for fit in made[family]]


@dataclass(frozen=True, eq=False)
class Trees:
    """A forest of extra trees, with leaves that know some population or none."""

    growth: Growth
    sees: str
    population: View | None

    def __call__(self, lesson: Lesson) -> Scores:
        """Grow the trees."""
        n_trees = self.growth.n_trees
        growth = Growth(max(1, n_trees // 4) if lesson.light else n_trees, self.growth.n_tried)
        indicators = np.eye(len(lesson.rates))[lesson.codes]
        seed = lesson.seed + self.growth.n_tried  # not the same trees as those of another member
        X = getattr(lesson.view, self.sees)
        forest = grow_forest(X, indicators, growth, seed, lesson.weight)
        if self.population is not None:
            there = getattr(self.population, self.sees)[lesson.others]
            forest = knowing_leaves(forest, X, lesson.codes, lesson.weight, lesson.rates, there)
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
    """Support vectors in a kernel's space; the power of similarities sets its width."""

    c: float
    sees: str = "similar"
    power: float = 1.0

    def __call__(self, lesson: Lesson) -> Scores:
        """Find the support vectors."""
        look = Similarities(lesson.kept, self.sees, self.power)
        model = SupportVectorMachine(self.c)
        model.fit(look(lesson.view), lesson.codes, lesson.weight)
        return Scores(model, "scores", look)


@dataclass(frozen=True, eq=False)
class Similarities:
    """Looks at the similarities to some labeled rows."""

    kept: Codes
    sees: str
    power: float

    def __call__(self, view: View) -> Floats:
        """Return the similarities, to a power."""
        near = getattr(view, self.sees)[:, self.kept]
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
