"""A classifier teaches students the labels it has found, and listens to them.

Half of the unlabeled points, with the labels found for them, teach one student, the other half the
other. Each student then judges the points it was not taught: their found labels have had no part
in that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.utils import _safe_indexing

from c2rf.estimators.held_out import Codes, accuracy_at_rates, change, quantiles
from c2rf.problem import Floats

MOST_TAUGHT = 2000
"""So many unlabeled points at most teach a student."""

TEACHER_SHARE = 1 / 3
"""The teacher's say beside its students'."""


class Consensus:
    """Fitted classifiers that speak with one voice: the mean of their log-probabilities.

    Parameters
    ----------
    models : sequence of fitted classifiers
        They know the same classes, and give no class a probability of zero.
    shares : sequence of float
        Their weights, which add up to one.
    """

    def __init__(self, models: Sequence[Any], shares: Sequence[float]) -> None:
        self.models, self.shares = list(models), list(shares)
        self.classes_: NDArray[Any] = self.models[0].classes_

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities, in the order of ``classes_``."""
        voices = [
            share * np.log(model.predict_proba(X))
            for model, share in zip(self.models, self.shares, strict=True)
        ]
        return softmax(np.sum(voices, axis=0), axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each point."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def learn_by_teaching(
    teacher: Any,
    scores: Floats,
    X: Floats,
    y: NDArray[Any],
    crowd: Floats,
    label: Callable[[Floats], Codes],
    rounds: int | Literal["auto"],
    seed: int,
) -> tuple[Any, Floats, list[dict[str, Any]]]:
    """Teach students, in rounds, what is found by teacher and students together.

    Parameters
    ----------
    teacher : fitted classifier with ``student``, ``rates_``, ``rehearsals_`` and ``rehearsed_``
        The first to label.
    scores : ndarray of shape (n_unlabeled, n_classes)
        Its probabilities of the unlabeled points.
    X, y, crowd : arrays
        Labeled points, their classes, unlabeled points.
    label : callable
        Takes probabilities of the unlabeled points, returns the numbers of their classes.
    rounds : int or "auto"
        So many rounds; or a single one, unless a rehearsal speaks against it.
    seed : int
        For halves and students.

    Returns
    -------
    model : fitted classifier
        For new points.
    scores : ndarray of shape (n_unlabeled, n_classes)
        Probabilities of the unlabeled points.
    history : list of dict
        A dict per round: ``round``, ``criterion``, ``taken``, ``why``.
    """
    model, found = teacher, scores
    verdict = _rehearse(teacher, X, y, crowd, seed) if rounds == "auto" else _ASKED
    history = [_entry(0, verdict.before, True, "fitted to the labeled points")]
    for k in range(1, 2 if rounds == "auto" else rounds + 1):
        history.append(_entry(k, verdict.after, verdict.taken, verdict.why))
        if verdict.taken:
            labels = teacher.classes_[label(found)]
            students, voices = teach(teacher, X, y, crowd, labels, seed + k)
            share = (1 - TEACHER_SHARE) / len(students)
            model = Consensus([teacher, *students], [TEACHER_SHARE, *[share] * len(students)])
            found = heard(scores, voices)
    return model, found, history


@dataclass(frozen=True)
class _Verdict:
    """Whether a round is taken, and the estimated accuracies before and after it."""

    taken: bool
    why: str
    before: float | None = None
    after: float | None = None


_ASKED = _Verdict(True, "asked for")


def _rehearse(teacher: Any, X: Floats, y: NDArray[Any], crowd: Floats, seed: int) -> _Verdict:
    """Run a round without some labeled points, fold by fold, and see how it places them.

    Few held-out points are no reason to do without a round that is right most of the time: it is
    refused if they are placed worse by more than the standard error.
    """
    if not teacher.rehearsals_:
        return _Verdict(True, "no labeled points can be held out")
    codes = np.searchsorted(teacher.classes_, y)
    sample = _safe_indexing(crowd, teacher.rehearsed_)
    before = np.full((len(y), len(teacher.classes_)), np.nan)
    after = before.copy()
    for part in teacher.rehearsals_:
        # Above the cut of which class is a point, and by how far: the one-class-at-a-time version
        # of meeting the totals.
        found = (part.crowd_places - (1 - teacher.rates_)).argmax(axis=1)
        labels = teacher.classes_[found]
        kept = part.kept
        students, voices = teach(teacher, X[kept], y[kept], sample, labels, seed)
        held = np.mean([np.log(s.predict_proba(X[part.held])) for s in students], axis=0)
        before[part.held] = part.held_places
        after[part.held] = TEACHER_SHARE * part.held_places + (1 - TEACHER_SHARE) * quantiles(
            held, np.sort(voices, axis=0)
        )
    judged = ~np.isnan(before[:, 0])
    places = before[judged], after[judged]
    gain, error = change(*places, codes[judged], teacher.rates_)
    criteria = [accuracy_at_rates(p, codes[judged], teacher.rates_) for p in places]
    if gain < -error:
        return _Verdict(False, "held-out labeled points are placed worse", *criteria)
    return _Verdict(True, "held-out labeled points are placed no worse", *criteria)


def _entry(k: int, criterion: float | None, taken: bool, why: str) -> dict[str, Any]:
    return {"round": k, "criterion": criterion, "taken": taken, "why": why}


def halves(n_points: int, seed: int) -> tuple[Codes, Codes]:
    """Split points in two at random."""
    order = np.random.default_rng(seed).permutation(n_points)
    return order[: n_points // 2], order[n_points // 2 :]


def teach(
    teacher: Any, X: Any, y: NDArray[Any], crowd: Any, found: NDArray[Any], seed: int
) -> tuple[list[Any], Floats]:
    """Teach two students, and hear each about the points that the other was taught.

    Parameters
    ----------
    teacher : fitted classifier with ``student`` and ``rates_``
        Where students come from.
    X, y : array and ndarray
        Labeled points and their classes, for both students.
    crowd, found : array and ndarray
        Unlabeled points and the classes found for them.
    seed : int
        For halves and students.

    Returns
    -------
    students : list of fitted classifiers
        The two.
    voices : ndarray of shape (n_unlabeled, n_classes)
        Their log-probabilities.
    """
    parts = halves(len(found), seed)
    voices = np.empty((len(found), len(teacher.classes_)))
    students = []
    for taught, others in (parts, parts[::-1]):
        lesson = taught[:MOST_TAUGHT]
        student = teacher.student(seed)
        student.fit(
            np.vstack([X, _safe_indexing(crowd, lesson)]),
            np.concatenate([y, found[lesson]]),
            X_unlabeled=_safe_indexing(crowd, others),
            rates=teacher.rates_,
        )
        voices[others] = np.log(student.predict_proba(_safe_indexing(crowd, others)))
        students.append(student)
    return students, voices


def heard(teacher_scores: Floats, voices: Floats) -> Floats:
    """Return the probabilities that teacher and students agree on."""
    own = TEACHER_SHARE * log_softmax(np.log(teacher_scores), axis=1)
    return softmax(own + (1 - TEACHER_SHARE) * voices, axis=1)
