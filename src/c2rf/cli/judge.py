"""What a fitted classifier says of rows: a label, a score, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf.estimators import C2RFClassifier
from c2rf.exceptions import InputError

ADDED = ("label", "score", "confidence")
"""Columns that an output has on top of those that name the rows."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Of each row its label, its score and the confidence of the label.

    With two classes, ``positive`` is the one that scores above zero speak for; with more, the
    score is the lead of the label over the next best class, and there is none.
    """

    labels: NDArray[np.object_]
    scores: NDArray[np.float64]
    confidence: NDArray[np.float64]
    positive: str | None

    def beside(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with the judgement of its rows as further columns."""
        columns = (self.labels, self.scores, self.confidence)
        return table.assign(**dict(zip(ADDED, columns, strict=True)))


@singledispatch
def judge(classifier: Any, X: Any) -> Judgement:
    """Judge rows by a classifier."""
    raise InputError(f"{type(classifier).__name__} is not a classifier of c2rf")


@judge.register
def _(classifier: C2RFClassifier, X: Any) -> Judgement:
    # The score is the weighted vote, the confidence the share of the weight for the label.
    toward_positive = 1 if classifier.classes_[1] == classifier.pos_label_ else -1
    scores = toward_positive * classifier.decision_function(X)
    vote = (scores - classifier.offset_) / classifier.weights_.sum()
    is_positive = scores > 0
    confidence = np.clip((1 + np.where(is_positive, vote, -vote)) / 2, 0, 1)
    others = classifier.classes_[classifier.classes_ != classifier.pos_label_]
    labels = np.where(is_positive, classifier.pos_label_, others[0]).astype(object)
    return Judgement(labels, scores, confidence, str(classifier.pos_label_))


def judge_unlabeled(classifier: Any, X: Any) -> Judgement:
    """Judge the rows that a classifier was fitted to, with the labels that meet the totals."""
    return replace(judge(classifier, X), labels=classifier.transduction_.astype(object))


def rows_to_show(population: pd.DataFrame, identifier: str | None) -> pd.DataFrame:
    """Return what names the rows in an output: the column of ids, else all columns."""
    chosen = population if identifier is None else population[[identifier]]
    taken = [name for name in ADDED if name in chosen]
    if taken:
        raise InputError(
            f"the unlabeled file has a column {taken[0]!r}, which the output adds; rename it"
        )
    return chosen
