"""The members of a blend together: fitted, made comparable, and as sharp as is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from c2rf._utils.types import Codes, Floats
from c2rf.learners.base_learners import Lesson, Scores, make_members
from c2rf.learners.calibration import disagreement, likeliest_sharpness
from c2rf.learners.distillation import ask_student, from_targets, make_quick_model, to_targets
from c2rf.learners.features import Scenery, View
from c2rf.learners.stacking import Cuts, judge
from c2rf.learners.threads import in_threads

STUDENT_SHARE = 0.3
"""The weight of the student beside the teacher, for rows that both have looked at."""

_LEAST_WEIGHT = 1e-3


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


class Asked(NamedTuple):
    """Fitted members, and of each its cuts of the population and the leads of its rows."""

    scores: list[Scores]
    cuts: list[Cuts]
    leads: list[Floats]


@dataclass(frozen=True, eq=False)
class Blended:
    """Fitted members, and what makes their scores comparable."""

    scenery: Scenery
    scores: list[Scores]
    cuts: list[Cuts]
    share: Floats
    sharpness: float

    def logits(self, X: Floats, n_jobs: int | None = None) -> Floats:
        """Return log-probabilities of any rows, up to a constant per row."""
        view = self.scenery.view(np.asarray(X, dtype=float), n_jobs)
        said = in_threads(lambda scores: scores(view), [(s,) for s in self.scores], n_jobs)
        leads = [cuts.leads(s) for cuts, s in zip(self.cuts, said, strict=True)]
        return blended_logits(leads, self.share, self.sharpness)


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
        # In random order, as a population is: the first of them stand for all.
        rows = X[rng.permutation(len(X))] if population is None else population
        self.scenery = Scenery(X, rows, n_jobs)
        self.members = make_members(families, self.scenery, n_estimators)
        kept = np.arange(len(codes))
        self.lesson = Lesson(self.scenery.labeled, kept, codes, weight, rates, seed)
        self.verdict = judge(self.members, self.lesson, self.scenery.population, rng, n_jobs)
        share = self.verdict.share
        self.used = np.flatnonzero(share >= _LEAST_WEIGHT)
        self.share = share[self.used] / share[self.used].sum()
        self._first = self._ask_members(self.lesson, n_jobs)
        self.disagreement = disagreement(self._first.leads, self.share, rates)
        self.sharpness = self.sharpness_of(np.ones(len(codes)))

    def fit(self, n_jobs: int | None = None) -> Taught:
        """Fit the members to all labeled rows, and teach a student."""
        return self._teach(self.lesson, self._first, n_jobs)

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
        return self._teach(drawn, self._ask_members(drawn, n_jobs), n_jobs)

    def sharpness_of(self, weight: Floats) -> float:
        """Return the sharpness that other weights of the labeled rows ask for."""
        judged = self.verdict.judged
        codes, own = self.lesson.codes[judged], self.lesson.weight[judged] * weight[judged]
        kept = own > 0
        return likeliest_sharpness(
            self.verdict.leads[kept], codes[kept], self.lesson.rates, own[kept], self.disagreement
        )

    def _ask_members(self, lesson: Lesson, n_jobs: int | None) -> Asked:
        """Fit the members that are trusted, and ask them about the population."""
        population = self.scenery.population
        calls = [(self.members[i], lesson, population) for i in self.used]
        found = in_threads(_fit_and_ask, calls, n_jobs, "fitting members")
        return Asked(*(list(each) for each in zip(*found, strict=True)))

    def _teach(self, lesson: Lesson, asked: Asked, n_jobs: int | None) -> Taught:
        """Teach a student and a quick model what the members say."""
        population = self.scenery.population
        logits = blended_logits(asked.leads, self.share, self.sharpness)
        if not self.has_population:
            model = Blended(self.scenery, asked.scores, asked.cuts, self.share, self.sharpness)
            return Taught(logits, model)
        taught, n_classes, seed = to_targets(logits), len(lesson.rates), lesson.seed
        # Each leaves threads idle now and then, which the other can use.
        said, quick = in_threads(
            lambda learn, *given: learn(*given, seed, n_jobs),
            [
                (ask_student, population.wide, taught),
                (make_quick_model, self.scenery, taught, n_classes),
            ],
            n_jobs,
        )
        both = (1 - STUDENT_SHARE) * taught + STUDENT_SHARE * said
        return Taught(from_targets(both, n_classes), quick)


def blended_logits(leads: Sequence[Floats], share: Floats, sharpness: float) -> Floats:
    """Return the log-probabilities that follow from the leads that members give rows."""
    blended = sum(w * own for w, own in zip(share, leads, strict=True))
    return log_softmax(sharpness * blended, axis=1)


def _fit_and_ask(member: Any, lesson: Lesson, population: View) -> tuple[Scores, Cuts, Floats]:
    """Return a fitted member, its cuts of the population, and the leads of the rows."""
    scores = member.fit(lesson)
    said = scores(population)
    cuts = Cuts.of(said, lesson.rates)
    return scores, cuts, cuts.leads(said)
