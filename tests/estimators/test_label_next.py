"""Rows to label next: drawn as they say, doubtful, never one whose class is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from c2rf import InputError, KnownTotalsClassifier
from c2rf.datasets import make_twonorm

X, y = make_twonorm(500, random_state=0)


def fitted(known: object = None, frame: bool = False) -> KnownTotalsClassifier:
    rows = pd.DataFrame(X).add_prefix("x").assign(town="Ulm") if frame else X
    model = ExtraTreesClassifier(10) if frame else LogisticRegression(max_iter=500)
    classifier = KnownTotalsClassifier(model, random_state=0)
    return classifier.fit(
        rows[:100], y[:100], X_unlabeled=rows[100:], totals={1: 200}, unlabeled_labels=known
    )


def test_doubtful_rows_are_drawn_and_known_ones_never() -> None:
    known = np.where(np.arange(400) < 100, y[100:].astype(object), None)
    classifier = fitted(known)
    found = classifier.label_next(60)
    assert (found["row"] >= 100).all()
    assert found["row"].is_monotonic_increasing
    proba = classifier.transduction_proba_.max(axis=1)
    assert found["confidence"].mean() < proba[100:].mean() - 0.05
    assert ((found["inclusion_probability"] > 0) & (found["inclusion_probability"] <= 1)).all()
    assert (found["label"] == classifier.transduction_[found["row"]]).all()
    assert "expected to be wrong" in found.attrs["note"]
    assert found.equals(classifier.label_next(60))


def test_frequencies_are_the_probabilities() -> None:
    classifier = fitted()
    counts, likely = np.zeros(400), np.zeros(400)
    for seed in range(60):
        found = classifier.label_next(30, random_state=seed)
        counts[found["row"]] += 1
        likely[found["row"]] = found["inclusion_probability"]
    often = likely > 0.3
    assert often.any()
    assert abs((counts / 60 - likely)[often].mean()) < 0.05


def test_frames_with_text_and_mistakes() -> None:
    assert len(fitted(frame=True).label_next(10)) == 10
    with pytest.raises(InputError, match="from 2 to the number of rows to label, 400"):
        fitted().label_next(401)
