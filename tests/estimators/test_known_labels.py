"""Unlabeled rows whose class is known after all: they keep it, and count in the totals."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
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
    least, most = (95, 110) if case == "range" else (met, met)
    assert (proba.sum(axis=0) >= np.subtract(least, 1e-6)).all()
    assert (proba.sum(axis=0) <= np.add(most, 1e-6)).all()
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


def labeled_with(chances: list[list[float]], **options: Any) -> KnownTotalsClassifier:
    """Label rows of these probabilities, with weights and known classes that are at odds."""
    labels = np.array(list("abc")[: len(chances[0])])
    model = FrozenEstimator(Given().fit(np.eye(len(labels)), labels))
    classifier = KnownTotalsClassifier(model, random_state=0)
    if "groups" in options:
        options["unlabeled_groups"] = pd.DataFrame({"g": list(options.pop("groups"))})
    rows = np.array(chances)
    return classifier.fit(np.eye(len(labels)), labels, X_unlabeled=rows, **options)


class Given(ClassifierMixin, BaseEstimator):
    """Its probabilities are the columns."""

    def fit(self, X: Any, y: Any) -> Given:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(X)


def cell(group: str, label: str, total: Any) -> dict[str, Any]:
    return {"g": group, "class": label, "total": total}


class TestTotalsThatKnownClassesExceed:
    def test_rows_of_weight_zero_alone_are_left(self) -> None:
        found = labeled_with(
            [[0.4, 0.6], [0.5, 0.5]], totals={"a": 5},
            unlabeled_weight=[0, 5], unlabeled_labels=[None, "a"],
        )  # fmt: skip
        assert found.transduction_.tolist() == ["b", "a"]

    def test_groups_whose_totals_are_zero_have_rows_of_half_a_unit(self) -> None:
        zeros = [cell("x", "a", 0), cell("y", "a", 0), cell("y", "b", 0), cell("z", "a", 0)]
        found = labeled_with(
            [[0.49, 0.51], [0.4, 0.6], [0.44, 0.56]], totals=[{"b": 1}, zeros], groups="xyz",
            unlabeled_weight=[0.5] * 3, unlabeled_labels=[None, None, "a"],
        )  # fmt: skip
        assert found.transduction_[[0, 2]].tolist() == ["b", "a"]
        assert found.totals_met_["off"].abs().max() == 0.5

    def test_what_is_left_of_a_group_is_less_than_a_total(self) -> None:
        found = labeled_with(
            [[0.5, 0.25, 0.25]] * 3, totals=[cell("y", "a", (0, 1)), cell("y", "c", 2)],
            unlabeled_weight=[1.5, 1, 1.5], unlabeled_labels=[None, "b", None], groups="xyy",
        )  # fmt: skip
        assert found.transduction_.tolist() == ["a", "b", "c"]
        assert found.totals_met_["off"].tolist() == [0, -0.5]

    @pytest.mark.parametrize("totals", [{"a": 2}, [cell("x", "a", 1)]])
    def test_whole_rows_are_refused(self, totals: Any) -> None:
        groups = {} if isinstance(totals, dict) else {"groups": "xz"}
        with pytest.raises(InputError, match="cannot be met with the classes of rows that are"):
            labeled_with([[0.5, 0.5]] * 2, totals=totals, unlabeled_labels=["b", None], **groups)
