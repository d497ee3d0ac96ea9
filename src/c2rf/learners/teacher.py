"""The members of a blend together: fitted, placed in the population, and as sharp as is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logit

from c2rf._typing import Codes, Floats
from c2rf.learners.judgement import judge, quantiles, row_weights
from c2rf.learners.members import Lesson, Scores, make_members
from c2rf.learners.student import Student, from_targets, teach, to_targets
from c2rf.learners.threads import in_threads
from c2rf.learners.views import Filler, Scenery, View

STUDENT_SHARE = 0.5
"""The weight of the student beside the teacher, for rows that both have looked at."""

_LEAST_WEIGHT = 1e-3
_LEAST_PLACE = 1e-4
_USUAL_SHARPNESS, _SHARPNESS_RANGE = 2.0, (0.1, 10.0)


@dataclass(frozen=True, eq=False)
class Taught:
    """What a fit has found.

    Parameters
    ----------
    logits : ndarray of shape (n_learned, n_classes)
        Log-probabilities, up to a constant per row, of the rows of the population that were
        learned from.
    model : fitted model with ``logits(X, n_jobs)``
        For all other rows.
    """

    logits: Floats
    model: Any


@dataclass(frozen=True, eq=False)
class QuickModel:
    """A student, and how it wants missing cells filled."""

    filler: Filler
    student: Student

    def logits(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return log-probabilities of any rows, up to a constant per row."""
        filled = self.filler.fill(X)
        return self.student.logits(np.ascontiguousarray(filled, dtype=np.float32), n_jobs)


@dataclass(frozen=True, eq=False)
class Blended:
    """Fitted members, and what makes their scores comparable."""

    scenery: Scenery
    scores: list[Scores]
    references: list[Floats]
    share: Floats
    rates: Floats
    sharpness: float

    def logits(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return log-probabilities of any rows, up to a constant per row."""
        view = self.scenery.view(np.asarray(X, dtype=float))
        said = in_threads(lambda scores: scores(view), [(s,) for s in self.scores], n_jobs)
        placed = [quantiles(s, r) for s, r in zip(said, self.references, strict=True)]
        return blended_logits(placed, self.share, self.rates, self.sharpness)


class Teacher:
    """Judged members, ready to be fitted again and again.

    Parameters
    ----------
    X, codes, weight : ndarray
        Labeled rows, the numbers of their classes (each has some), and how much each counts.
    population : ndarray of shape (n_learned, n_columns), or None
        Rows of the population; without, the labeled rows are all that is known of it.
    rates : ndarray of shape (n_classes,)
        The known rates of the classes.
    families : sequence of str
        Kinds of members.
    n_estimators : int
        Number of trees of a forest.
    seed : int
        Source of all seeds.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(
        self,
        X: Floats,
        codes: Codes,
        weight: Floats,
        population: Floats | None,
        rates: Floats,
        families: Sequence[str],
        n_estimators: int,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        rng = np.random.RandomState(seed)
        self.has_population = population is not None
        self.scenery = Scenery(X, X if population is None else population)
        self.members = make_members(families, self.scenery, n_estimators)
        kept = np.arange(len(codes))
        self.lesson = Lesson(self.scenery.labeled, kept, codes, weight, rates, seed)
        self.verdict = judge(self.members, self.lesson, self.scenery.population, rng, n_jobs)
        share = self.verdict.share
        self.used = np.flatnonzero(share >= _LEAST_WEIGHT)
        self.share = share[self.used] / share[self.used].sum()
        self.sharpness = _USUAL_SHARPNESS
        if len(self.verdict.judged):
            judged = self.verdict.judged
            self.sharpness = _best_sharpness(
                self.verdict.places, codes[judged], rates, weight[judged]
            )

    def fit(self, n_jobs: int | None = None) -> Taught:
        """Fit the members to all labeled rows, and teach a student."""
        return self._fit(self.lesson, n_jobs)

    def refit(self, weight: Floats, seed: int, n_jobs: int | None = None) -> Taught:
        """Fit the members, and a student, to other weights of the labeled rows.

        Parameters
        ----------
        weight : ndarray of shape (n_labeled,)
            How often each labeled row is drawn, say; some rows of every class must be.
        seed : int
            For trees.
        n_jobs : int or None
            Number of threads.

        Returns
        -------
        Taught
            The log-probabilities of the rows learned from, and a model for the others.
        """
        lesson, kept = self.lesson, np.flatnonzero(weight > 0)
        drawn = replace(
            lesson.take(kept), weight=lesson.weight[kept] * weight[kept], seed=seed, light=True
        )
        return self._fit(drawn, n_jobs)

    def sharpness_of(self, weight: Floats) -> float:
        """Return the sharpness that other weights of the labeled rows ask for."""
        judged = self.verdict.judged
        codes, own = self.lesson.codes[judged], self.lesson.weight[judged] * weight[judged]
        kept = own > 0
        if len(np.unique(codes[kept])) < 2:
            return self.sharpness
        return _best_sharpness(self.verdict.places[kept], codes[kept], self.lesson.rates, own[kept])

    def _fit(self, lesson: Lesson, n_jobs: int | None) -> Taught:
        members = [self.members[i] for i in self.used]
        population = self.scenery.population
        found = in_threads(
            _fit_and_ask, [(member, lesson, population) for member in members], n_jobs
        )
        references = [np.sort(said, axis=0) for _, said in found]
        placed = [quantiles(said, r) for (_, said), r in zip(found, references, strict=True)]
        logits = blended_logits(placed, self.share, lesson.rates, self.sharpness)
        if not self.has_population:
            scores = [scores for scores, _ in found]
            return Taught(logits, Blended(
                self.scenery, scores, references, self.share, lesson.rates, self.sharpness
            ))  # fmt: skip
        student, said = teach(population.raw, logits, lesson.seed, n_jobs)
        own = from_targets(to_targets(logits), logits.shape[1])
        both = (1 - STUDENT_SHARE) * own + STUDENT_SHARE * said
        return Taught(both, QuickModel(self.scenery.filler, student))


def blended_logits(
    placed: Sequence[Floats], share: Floats, rates: Floats, sharpness: float
) -> Floats:
    """Return the log-probabilities that follow from the places that members give rows."""
    mean = sum(w * places for w, places in zip(share, placed, strict=True))
    return log_softmax(sharpness * log_odds(mean, rates), axis=1)


def log_odds(placed: Floats, rates: Floats) -> Floats:
    """Return log-odds of places, zero at the cut that leaves the known rate above it."""
    inside = np.clip(placed, _LEAST_PLACE, 1 - _LEAST_PLACE)
    return logit(inside) - logit(np.clip(1 - rates, _LEAST_PLACE, 1 - _LEAST_PLACE))


def _fit_and_ask(member: Any, lesson: Lesson, population: View) -> tuple[Scores, Floats]:
    scores = member.fit(lesson)
    return scores, scores(population)


def _best_sharpness(placed: Floats, codes: Codes, rates: Floats, weight: Floats) -> float:
    """Return the sharpness with the highest likelihood of held-out rows."""
    odds, weights = log_odds(placed, rates), row_weights(codes, rates, weight)

    def loss(log_sharpness: float) -> float:
        chances = log_softmax(np.exp(log_sharpness) * odds, axis=1)
        return -float(weights @ chances[np.arange(len(codes)), codes])

    best = minimize_scalar(loss, bounds=np.log(_SHARPNESS_RANGE), method="bounded")
    return float(np.exp(best.x))
