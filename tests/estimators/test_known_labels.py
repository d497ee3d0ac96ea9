"""Unlabeled rows whose class is known after all: they keep it, and count in the totals."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from c2rf import Estimate, InputError, KnownTotalsClassifier
from c2rf.assignment import AssignmentProblem
from c2rf.datasets import make_waveform
from c2rf.estimators.training import probability_offsets
from c2rf.totals.bounds import Bounds
from c2rf.totals.groups import Groups

X, y = make_waveform(400, random_state=3)
LABELED, REST = np.arange(90), np.arange(90, 400)
TRUTH = y[REST]
GROUPS = pd.DataFrame({"region": np.arange(310) % 3, "sex": np.arange(310) % 2})


def some_known() -> Any:
    """Return the classes of every eighth row."""
    known = np.full(len(REST), None, dtype=object)
    known[::8] = TRUTH[::8]
    return known


def totals_of(*names: str) -> pd.DataFrame:
    table = GROUPS[list(names)].assign(**{"class": TRUTH})
    return table.value_counts().rename("total").reset_index()


CASES: dict[str, Any] = {
    "overall": ({int(k): int((k == TRUTH).sum()) for k in np.unique(TRUTH)}, {}),
    "groups": (totals_of("region"), {"unlabeled_groups": GROUPS[["region"]]}),
    "margins": ([totals_of("region"), totals_of("sex")], {"unlabeled_groups": GROUPS}),
    "range": ({0: (95, 110), 1: (95, 110), 2: (95, 110)}, {}),
    "estimate": ({0: Estimate(0.35, 0.02), 1: Estimate(0.3, 0.02), 2: Estimate(0.35, 0.02)}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_known_labels_are_kept_and_totals_are_met(case: str) -> None:
    totals, more = CASES[case]
    known = some_known()
    rows = np.flatnonzero(pd.notna(known))
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=2000), random_state=0)
    classifier.fit(
        X[LABELED], y[LABELED], X_unlabeled=X[REST], totals=totals, unlabeled_labels=known, **more
    )
    assert (classifier.transduction_[rows] == TRUTH[rows]).all()
    assert not classifier.totals_met_["off"].any()
    proba = classifier.transduction_proba_
    codes = np.searchsorted(classifier.classes_, TRUTH[rows])
    assert (proba[rows, codes] == 1).all()
    met = np.bincount(np.searchsorted(classifier.classes_, classifier.transduction_))
    np.testing.assert_allclose(proba.sum(axis=0), met, atol=1e-6)
    drawn = classifier.impute(3)
    assert (drawn[:, rows] == TRUTH[rows]).all()
    if case not in ("range", "estimate"):
        assert (np.sort(drawn, axis=1) == np.sort(TRUTH)).all()
    assert classifier.sensitivity(0.1)["robust"][rows].all()
    assert classifier.expected_accuracy(3).overall.estimate > 0.6


def test_weights_count_known_rows() -> None:
    weight = np.random.default_rng(0).integers(1, 5, len(REST)).astype(float)
    totals = {int(k): float(weight[k == TRUTH].sum()) for k in np.unique(TRUTH)}
    known = some_known()
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=2000), random_state=0)
    classifier.fit(
        X[LABELED], y[LABELED], X_unlabeled=X[REST], unlabeled_weight=weight,
        totals={k: int(n) for k, n in totals.items()}, unlabeled_labels=known,
    )  # fmt: skip
    rows = np.flatnonzero(pd.notna(known))
    assert (classifier.transduction_[rows] == TRUTH[rows]).all()
    assert classifier.totals_met_["off"].abs().max() <= 1


def test_the_labels_are_the_best_of_all_with_these_known() -> None:
    rng = np.random.default_rng(1)
    logs = np.log(rng.dirichlet(np.ones(3), 7))
    bounds = Bounds.overall([2, 1, 1], [3, 4, 3], 7)
    known = np.array([2, -1, -1, 0, -1, -1, -1])
    problem = AssignmentProblem(bounds, Groups.none(7), known=known)
    found = problem.solve(logs)
    best = max(
        logs[np.arange(7), each].sum()
        for each in map(np.array, product(range(3), repeat=7))
        if (each[[0, 3]] == [2, 0]).all()
        and (np.bincount(each, minlength=3) >= bounds.lower).all()
        and (np.bincount(each, minlength=3) <= bounds.upper).all()
    )
    assert logs[np.arange(7), found.labels].sum() == pytest.approx(best)
    assert found.counts.sum() == 7
    offsets = probability_offsets(problem, logs, found.counts)
    shares = np.exp(logs + offsets)
    shares = (shares / shares.sum(axis=1, keepdims=True))[known < 0].sum(axis=0)
    np.testing.assert_allclose(shares + np.array([1, 0, 1]), found.counts[0], atol=1e-6)


def test_errors_name_row_class_and_total() -> None:
    def fit(known: Any, totals: Any) -> None:
        KnownTotalsClassifier(LogisticRegression(max_iter=2000)).fit(
            X[LABELED], y[LABELED], X_unlabeled=X[REST], totals=totals, unlabeled_labels=known
        )

    known = some_known()
    with pytest.raises(InputError, match=r"known to be of the class 1 in all rows, but the total"):
        fit(known, {0: 200, 1: 3, 2: 107})
    with pytest.raises(InputError, match="row 1 has the class 7"):
        fit([None, 7, *[None] * 308], {0: 100, 1: 100, 2: 110})
    with pytest.raises(InputError, match="nothing to label"):
        fit(TRUTH, CASES["overall"][0])
    with pytest.raises(InputError, match="310; found 2"):
        fit([None, 1], CASES["overall"][0])
