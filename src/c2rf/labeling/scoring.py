"""Label, score and confidence of rows, by a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from c2rf._typing import Codes, Floats
from c2rf.assignment import log_scores
from c2rf.estimators import C2RFClassifier, KnownTotalsClassifier
from c2rf.exceptions import InputError
from c2rf.population import Population
from c2rf.population.blocks import BLOCK_ROWS, large_array, row_blocks
from c2rf.totals import Groups

MOST_SCORE = 100.0
"""Log-odds beyond this say no more than this."""


class Scored(NamedTuple):
    """Of each row the number of its label, its score, and the confidence of the label.

    With two classes, positive scores predict the positive class. With more, the score is the lead
    of the label over the next best class.
    """

    codes: NDArray[Any]
    scores: Floats
    confidence: Floats


def score_unlabeled(classifier: Any, positive: str | None) -> Scored:
    """Score the rows that a classifier was fitted to; their labels meet the totals."""
    rows = classifier._rows
    if isinstance(classifier, C2RFClassifier):
        votes, patterns = _by_votes(classifier, rows.scores), rows.codes_here
        return _gathered(len(patterns), lambda part: _taken(votes, patterns[part]))
    groups = rows.meeting.groups
    offsets = _offsets(classifier, groups)
    probabilities = classifier.transduction_proba_

    def score(part: slice) -> Scored:
        # Each score is from a model that was not trained on that row's label.
        logs = log_scores(rows.scores[part], rows.floor)
        shifted = logs + offsets[groups.codes[part]]
        codes = np.asarray(rows.codes_here[part])
        return _by_lead(shifted, probabilities[part], codes, _place(classifier, positive))

    return _gathered(len(rows.scores), score, reading=[rows.scores, probabilities])


def score_rows(classifier: Any, X: Population, groups: Groups, positive: str | None) -> Scored:
    """Score any rows, each for itself.

    Parameters
    ----------
    classifier : C2RFClassifier or KnownTotalsClassifier
        Fitted.
    X : Population
        The rows as numbers; the work is done where they are.
    groups : Groups
        The group of each row, for totals that were met in groups.
    positive : str or None
        The class that positive scores predict.
    """
    if isinstance(classifier, C2RFClassifier):
        spans = X.spans(classifier.decision_function, BLOCK_ROWS)
        return _joined([_by_votes(classifier, said) for said in spans])
    if not isinstance(classifier, KnownTotalsClassifier):
        raise InputError(f"{type(classifier).__name__} is not a classifier of c2rf")
    offsets, priors = _offsets(classifier, groups), _priors(classifier, groups)
    parts, start = [], 0
    for table in X.spans(classifier.estimator_.predict_proba, BLOCK_ROWS):
        own = groups.codes[start : start + len(table)]
        logs = log_scores(table, classifier._floor)
        shifted, start = logs + offsets[own], start + len(table)
        probabilities = softmax(logs + priors[own], axis=1)
        codes = shifted.argmax(axis=1)
        parts.append(_by_lead(shifted, probabilities, codes, _place(classifier, positive)))
    return _joined(parts)


def _by_votes(classifier: C2RFClassifier, decision: Floats) -> Scored:
    """Score by the weighted vote; the confidence is the share of the weight for the label."""
    second_is_positive = bool(classifier.classes_[1] == classifier.pos_label_)
    scores = decision if second_is_positive else -decision
    vote = (scores - classifier.offset_) / classifier.weights_.sum()
    is_positive = scores > 0
    confidence = np.clip((1 + np.where(is_positive, vote, -vote)) / 2, 0, 1)
    codes = (is_positive == second_is_positive).astype(np.intp)
    return Scored(codes, scores, confidence)


def _by_lead(shifted: Floats, probabilities: Floats, codes: Codes, positive: int | None) -> Scored:
    """Score by the lead over the next best class; the confidence is the label's probability."""
    rows = np.arange(len(shifted))
    others = shifted.copy()
    others[rows, codes] = -np.inf
    lead = np.clip(shifted[rows, codes] - others.max(axis=1), -MOST_SCORE, MOST_SCORE)
    if positive is not None:
        lead = np.where(codes == positive, lead, -lead)
    return Scored(codes, lead, probabilities[rows, codes])


def _place(classifier: Any, positive: str | None) -> int | None:
    return None if positive is None else classifier.classes_.tolist().index(positive)


def _offsets(classifier: KnownTotalsClassifier, groups: Groups) -> Floats:
    """Return what is added to log-probabilities for labels, for each group."""
    known = getattr(classifier, "group_offsets_", {})
    return np.array([known.get(name, classifier.offsets_) for name in groups.names])


def _priors(classifier: KnownTotalsClassifier, groups: Groups) -> Floats:
    """Return what is added to log-probabilities for confidences, for each group."""
    known = getattr(classifier, "_group_priors", {})
    return np.array([known.get(name, classifier._prior) for name in groups.names])


def _taken(scored: Scored, codes: NDArray[Any]) -> Scored:
    return Scored(*(values[codes] for values in scored))


def _joined(parts: list[Scored]) -> Scored:
    return Scored(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _gathered(
    n_rows: int, score: Callable[[slice], Scored], reading: Sequence[Floats] = ()
) -> Scored:
    """Score all rows, a block at a time; many of them are kept in files, as is what is read."""
    kinds = (np.int32, np.float64, np.float64)
    columns = [large_array((n_rows,), kind) for kind in kinds]
    for part in row_blocks(n_rows, reading=[*columns, *reading]):
        for column, values in zip(columns, score(part), strict=True):
            column[part] = values
    return Scored(*columns)
