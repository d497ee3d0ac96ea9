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

from c2rf._utils.types import Codes, Floats, Singles
from c2rf.exceptions import InputError
from c2rf.learners.features import LeastSquares, Moments, Scenery, View
from c2rf.learners.support_vectors import SupportVectorMachine
from c2rf.learners.trees import Forest, Growth, grow_forest, knowing_leaves

FAMILIES = (
    "trees", "rank-trees", "turned-trees", "plain-trees", "svc", "narrow-svc", "rank-svc", "linear",
    "kernel", "rank-kernel",
)  # fmt: skip
"""Extra trees whose leaves know how much of the population they hold, and that try some columns at
a split, some columns of ranks, or all columns and principal components; the last kind with leaves
that know only labeled rows; support vectors, by Gaussian kernels of two widths and by a Laplacian
one of ranks; and least squares that know the population, on principal components and in such
kernels' spaces."""

LINEAR_RIDGES = 0.01, 0.1
RIDGES = 0.001, 0.01
RANK_RIDGES = 0.5, 2.0
"""Of least squares, each a member; those of the second kernel are divided by the number of labeled
rows."""


MOST_KNOWN = 4000
"""Rows of the population, at most, that leaves of trees know: more would tell them nothing new."""

LEAST_PROBABILITY = 0.01
"""Below this the votes of trees tell nothing apart."""


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
        not those that its cuts are found by: neither should be known better.
    """

    view: View
    kept: Codes
    codes: Codes
    weight: Floats
    rates: Floats
    seed: int
    light: bool = False
    others: slice = field(default_factory=lambda: slice(MOST_KNOWN))

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
    labeled, there = scenery.labeled, scenery.population
    some, all_wide = Growth(n_estimators, _root(labeled.raw)), labeled.wide.shape[1]
    made: dict[str, list[Callable[[Lesson], Scores]]] = {
        "trees": [Trees(some, "raw", there)],
        "rank-trees": [Trees(Growth(n_estimators, _root(labeled.ranks)), "ranks", there)],
        "turned-trees": [Trees(Growth(n_estimators, all_wide), "wide", there)],
        "plain-trees": [Trees(Growth(n_estimators, all_wide), "wide", None)],
        "svc": [SupportVectors("plain", 1.0)],
        "narrow-svc": [SupportVectors("plain", 3.0, power=3.0)],
        "rank-svc": [SupportVectors("ranked", 3.0)],
        "linear": [
            KnownMoments("components", scenery.linear_moments, ridge) for ridge in LINEAR_RIDGES
        ],
        "kernel": [
            KnownMoments("plain.features", scenery.plain_moments, ridge) for ridge in RIDGES
        ],
        "rank-kernel": [
            KnownMoments("ranked.features", scenery.rank_moments, ridge / len(labeled.raw))
            for ridge in RANK_RIDGES
        ],
    }
    return [Member(family, fit) for family in families for fit in made[family]]


def _root(columns: Singles) -> int:
    """Return how many columns a tree tries that tries some of them."""
    return max(1, int(np.sqrt(columns.shape[1])))


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
        seed = lesson.seed + self.growth.n_tried  # other trees where other numbers are tried
        X = getattr(lesson.view, self.sees)
        forest = grow_forest(X, indicators, growth, seed, lesson.weight)
        if self.population is None:
            return Scores(LogMeans(forest), "scores", attrgetter(self.sees))
        there = getattr(self.population, self.sees)[lesson.others]
        forest = knowing_leaves(forest, X, lesson.codes, lesson.weight, lesson.rates, there)
        return Scores(forest, "means", attrgetter(self.sees))


@dataclass(frozen=True, eq=False)
class LogMeans:
    """The logarithms of a forest's probabilities, which tell unlikely classes apart."""

    forest: Forest

    def scores(self, X: Singles) -> Floats:
        """Return a score per class, less their mean over the classes."""
        logs = np.log(np.maximum(self.forest.means(X), LEAST_PROBABILITY))
        return logs - logs.mean(axis=1, keepdims=True)


@dataclass(frozen=True)
class SupportVectors:
    """Support vectors in a kernel's space; the power of similarities sets its width."""

    sees: str
    c: float
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
        near = getattr(view, self.sees).to_labeled[:, self.kept]
        return near if self.power == 1.0 else near**self.power


@dataclass(frozen=True)
class KnownMoments:
    """Least squares with the second moments of the population."""

    sees: str
    moments: Moments
    ridge: float

    def __call__(self, lesson: Lesson) -> Scores:
        """Solve the least squares."""
        look = attrgetter(self.sees)
        model = LeastSquares(self.moments, self.ridge)
        model.fit(look(lesson.view), lesson.codes, lesson.rates, lesson.weight)
        return Scores(model, "scores", look)
