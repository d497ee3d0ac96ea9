"""What a fitted classifier says of rows: a label, a score, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from c2rf.estimators import C2RFClassifier, KnownTotalsClassifier
from c2rf.exceptions import InputError
from c2rf.transport import log_scores

Floats = NDArray[np.float64]
Groups = NDArray[np.object_] | None

MOST_SCORE = 100.0
"""Log-odds beyond this say no more than this."""

ADDED = ("label", "score", "confidence")
"""Columns that an output has on top of those that name the rows."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Of each row its label, its score and the confidence of the label.

    With two classes, ``positive`` is the one that scores above zero speak for; with more, the
    score is the lead of the label over the next best class, and there is none.
    """

    labels: NDArray[np.object_]
    scores: Floats
    confidence: Floats
    positive: str | None

    def beside(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the judgement of its rows as further columns."""
        columns = (self.labels, self.scores, self.confidence)
        return table.assign(**dict(zip(ADDED, columns, strict=True)))


def judge(classifier: Any, X: Any, positive: str | None = None, groups: Groups = None) -> Judgement:
    """Judge any rows, each for itself."""
    if isinstance(classifier, C2RFClassifier):
        return _by_votes(classifier, X)
    if isinstance(classifier, KnownTotalsClassifier):
        probabilities = classifier.estimator_.predict_proba(X)
        return _by_probabilities(classifier, probabilities, positive, groups)
    raise InputError(f"{type(classifier).__name__} is not a classifier of c2rf")


def judge_unlabeled(
    classifier: Any, X: Any, positive: str | None = None, groups: Groups = None
) -> Judgement:
    """Judge the rows that a classifier was fitted to, with the labels that meet the totals."""
    labels = classifier.transduction_.astype(object)
    if isinstance(classifier, C2RFClassifier):
        return replace(_by_votes(classifier, X), labels=labels)
    return _by_probabilities(classifier, classifier.scores_, positive, groups, labels)


def _by_votes(classifier: C2RFClassifier, X: Any) -> Judgement:
    """Score by the weighted vote; the confidence is the share of the weight for the label."""
    toward_positive = 1 if classifier.classes_[1] == classifier.pos_label_ else -1
    scores = toward_positive * classifier.decision_function(X)
    vote = (scores - classifier.offset_) / classifier.weights_.sum()
    is_positive = scores > 0
    confidence = np.clip((1 + np.where(is_positive, vote, -vote)) / 2, 0, 1)
    others = classifier.classes_[classifier.classes_ != classifier.pos_label_]
    labels = np.where(is_positive, classifier.pos_label_, others[0]).astype(object)
    return Judgement(labels, scores, confidence, str(classifier.pos_label_))


def _by_probabilities(
    classifier: KnownTotalsClassifier,
    probabilities: Floats,
    positive: str | None,
    groups: Groups,
    labels: NDArray[np.object_] | None = None,
) -> Judgement:
    """Score by log-odds from the cut-off; the confidence is the corrected probability."""
    shifted, corrected = _with_totals(classifier, probabilities, groups)
    rows, classes = np.arange(len(shifted)), classifier.classes_
    codes = shifted.argmax(axis=1) if labels is None else np.searchsorted(classes, list(labels))
    own = shifted[rows, codes]
    others = shifted.copy()
    others[rows, codes] = -np.inf
    lead = np.clip(own - others.max(axis=1), -MOST_SCORE, MOST_SCORE)
    found = classes[codes].astype(object)
    if positive is not None:
        lead = np.where(found == positive, lead, -lead)
    return Judgement(found, lead, corrected[rows, codes], positive)


def _with_totals(
    classifier: KnownTotalsClassifier, probabilities: Floats, groups: Groups
) -> tuple[Floats, Floats]:
    """Return log-probabilities moved to the cut-off, and probabilities that the totals correct.

    Of the unlabeled it must be those probabilities by which they were ranked, which the public
    methods of the classifier do not take.
    """
    logs, n = log_scores(probabilities, classifier._floor), len(probabilities)
    offsets = classifier._looked_up(groups, n, classifier.offsets_, "group_offsets_")
    priors = classifier._looked_up(groups, n, classifier._prior, "_group_priors")
    return logs + offsets, softmax(logs + priors, axis=1)


def rows_to_show(population: pd.DataFrame, identifier: str | None) -> pd.DataFrame:
    """Return what names the rows in an output: the column of ids, else all columns."""
    chosen = population if identifier is None else population[[identifier]]
    taken = [name for name in ADDED if name in chosen]
    if taken:
        raise InputError(
            f"the unlabeled file has a column {taken[0]!r}, which the output adds; rename it"
        )
    return chosen
