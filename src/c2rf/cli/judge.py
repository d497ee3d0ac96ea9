"""What a fitted classifier says of rows: a label, a score, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from c2rf.estimators import C2RFClassifier, KnownTotalsClassifier
from c2rf.estimators.calibrate import matching_offsets
from c2rf.exceptions import InputError
from c2rf.transport import log_scores

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
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
        return judge_votes(classifier, classifier.decision_function(X))
    if not isinstance(classifier, KnownTotalsClassifier):
        raise InputError(f"{type(classifier).__name__} is not a classifier of c2rf")
    logs = log_scores(classifier.estimator_.predict_proba(X), classifier._floor)
    shifted = logs + _offsets_of_rows(classifier, groups)
    probabilities = classifier.predict_proba(X, groups)
    return _by_lead(classifier, shifted, probabilities, shifted.argmax(axis=1), positive)


def judge_unlabeled(
    classifier: Any, X: Any, positive: str | None = None, groups: Groups = None
) -> Judgement:
    """Judge the rows that a classifier was fitted to, with the labels that meet the totals."""
    if isinstance(classifier, C2RFClassifier):
        said = judge_votes(classifier, classifier.decision_function(X))
        return replace(said, labels=classifier.transduction_.astype(object))
    # By what was said of each row without its own label, not by what a refitted model says now.
    logs = log_scores(classifier.scores_)
    codes = np.searchsorted(classifier.classes_, classifier.transduction_)
    if groups is None:
        names, members = None, np.zeros(len(logs), dtype=np.intp)
    else:
        names, members = np.unique(groups, return_inverse=True)
    priors = matching_priors(logs, codes, members, 1 if names is None else len(names))
    shifts = Shifts(group_offsets(classifier, names), priors)
    return judge_logs(classifier, logs, codes, members, shifts, positive)


def judge_votes(classifier: C2RFClassifier, decision: Floats) -> Judgement:
    """Score by the weighted vote; the confidence is the share of the weight for the label."""
    toward_positive = 1 if classifier.classes_[1] == classifier.pos_label_ else -1
    scores = toward_positive * decision
    vote = (scores - classifier.offset_) / classifier.weights_.sum()
    is_positive = scores > 0
    confidence = np.clip((1 + np.where(is_positive, vote, -vote)) / 2, 0, 1)
    others = classifier.classes_[classifier.classes_ != classifier.pos_label_]
    labels = np.where(is_positive, classifier.pos_label_, others[0]).astype(object)
    return Judgement(labels, scores, confidence, str(classifier.pos_label_))


def _by_lead(
    classifier: KnownTotalsClassifier,
    shifted: Floats,
    probabilities: Floats,
    codes: Codes,
    positive: str | None,
) -> Judgement:
    """Score by the lead over the next best class; the confidence is the label's probability."""
    rows = np.arange(len(shifted))
    others = shifted.copy()
    others[rows, codes] = -np.inf
    lead = np.clip(shifted[rows, codes] - others.max(axis=1), -MOST_SCORE, MOST_SCORE)
    labels = classifier.classes_[codes].astype(object)
    if positive is not None:
        lead = np.where(labels == positive, lead, -lead)
    return Judgement(labels, lead, probabilities[rows, codes], positive)


def _offsets_of_rows(classifier: KnownTotalsClassifier, groups: Groups) -> Floats:
    if groups is None:
        return classifier.offsets_
    names, members = np.unique(groups, return_inverse=True)
    return group_offsets(classifier, names)[members]


@dataclass(frozen=True, eq=False)
class Shifts:
    """What is added to log-probabilities in each group: for labels, and for confidences."""

    offsets: Floats
    priors: Floats


def judge_logs(
    classifier: KnownTotalsClassifier,
    logs: Floats,
    codes: Codes,
    members: Codes,
    shifts: Shifts,
    positive: str | None,
) -> Judgement:
    """Judge rows of known labels and groups, given as numbers, by their log-probabilities."""
    probabilities = softmax(logs + shifts.priors[members], axis=1)
    return _by_lead(classifier, logs + shifts.offsets[members], probabilities, codes, positive)


def group_offsets(classifier: KnownTotalsClassifier, names: Any) -> Floats:
    """Return the offsets of labels of each group; those of all where there are no groups."""
    if names is None:
        return classifier.offsets_[None]
    known = classifier.group_offsets_
    return np.array([known.get(name, classifier.offsets_) for name in names])


def matching_priors(logs: Floats, codes: Codes, members: Codes, n_groups: int) -> Floats:
    """Return offsets with which mean probabilities in every group are the shares of labels there.

    Examples
    --------
    >>> logs, codes = np.log([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 1])
    >>> priors = matching_priors(logs, codes, np.zeros(2, dtype=int), 1)
    >>> softmax(logs + priors, axis=1).mean(axis=0).round(9).tolist()
    [0.5, 0.5]
    """
    n_classes = logs.shape[1]
    if n_groups == 1:
        shares = np.bincount(codes, minlength=n_classes) / len(codes)
        return matching_offsets(logs, shares)[None]
    order = np.argsort(members, kind="stable")
    ends = np.cumsum(np.bincount(members, minlength=n_groups))[:-1]
    priors = np.zeros((n_groups, n_classes))
    for group, rows in enumerate(np.split(order, ends)):
        if len(rows):
            shares = np.bincount(codes[rows], minlength=n_classes) / len(rows)
            priors[group] = matching_offsets(logs[rows], shares)
    return priors


def rows_to_show(population: pd.DataFrame, identifier: str | None) -> pd.DataFrame:
    """Return what names the rows in an output: the column of ids, else all columns."""
    chosen = population if identifier is None else population[[identifier]]
    taken = [name for name in ADDED if name in chosen]
    if taken:
        raise InputError(
            f"the unlabeled file has a column {taken[0]!r}, which the output adds; rename it"
        )
    return chosen
