"""Imputations and expected accuracy of the classifier of known totals."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf import Estimate, InputError, InputTypeError, KnownTotalsClassifier
from c2rf.estimators import imputing


def people(n=400, n_classes=2, seed=0):
    """Rows of two columns whose classes overlap, the first 60 labeled."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = rng.normal(size=(n, 2)) + 1.2 * np.column_stack([y, -y])
    return X[:60], y[:60], X[60:], y[60:]


def fitted(n_classes=2, totals=None, groups=None, estimator=None, **changes):
    X, y, Xu, truth = people(n_classes=n_classes)
    known = {int(k): int((truth == k).sum()) for k in range(n_classes)}
    classifier = KnownTotalsClassifier(estimator or LogisticRegression(), random_state=0, **changes)
    totals = known if totals is None else totals
    return classifier.fit(X, y, X_unlabeled=Xu, totals=totals, unlabeled_groups=groups), truth


class TestImpute:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_each_meets_all_totals_and_they_differ(self, n_classes):
        classifier, truth = fitted(n_classes)
        imputed = classifier.impute(6)
        assert imputed.shape == (6, len(truth))
        for labels in imputed:
            assert (np.bincount(labels) == np.bincount(truth)).all()
        assert len({labels.tobytes() for labels in imputed}) == 6
        assert classifier.imputation_method_ == ("exact" if n_classes == 2 else "markov-chain")

    def test_totals_of_groups_are_met_in_each(self):
        _, _, _, truth = people()
        groups = np.arange(len(truth)) % 3
        table = pd.DataFrame({"g": groups, "class": truth}).value_counts().reset_index(name="total")
        classifier, _ = fitted(totals=table, groups=pd.DataFrame({"g": groups}))
        for labels in classifier.impute(4):
            for g in range(3):
                assert (labels[groups == g] == 1).sum() == (truth[groups == g] == 1).sum()
        assert set(classifier.expected_accuracy(3).by_group) == {0, 1, 2}

    def test_crossing_margins_are_met_in_each(self):
        _, _, _, truth = people()
        cells = pd.DataFrame({"g": np.arange(len(truth)) % 3, "h": np.arange(len(truth)) // 7 % 2})
        tables = [
            cells.assign(**{"class": truth}).value_counts([name, "class"]).reset_index(name="total")
            for name in ("g", "h")
        ]
        classifier, _ = fitted(totals=tables, groups=cells)
        for labels in classifier.impute(2):
            for name in ("g", "h"):
                found = pd.Series(labels).groupby(cells[name]).sum()
                assert (found == pd.Series(truth).groupby(cells[name]).sum()).all()
        assert classifier.imputation_method_ == "markov-chain"

    def test_uncertain_totals_are_drawn_anew(self):
        classifier, _truth = fitted(totals={1: Estimate(170, se=8)})
        sums = classifier.impute(15).sum(axis=1)
        assert len(set(sums.tolist())) > 5
        assert 2 < sums.std() < 20

    def test_the_first_are_the_same_however_many(self):
        one, _ = fitted()
        other, _ = fitted(n_jobs=2)
        assert (one.impute(5)[:2] == other.impute(2)).all()

    def test_a_class_with_one_labeled_row(self):
        X, y, Xu, truth = people()
        rows = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1])
        classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        classifier.fit(X[rows], y[rows], X_unlabeled=Xu, totals={1: int(truth.sum())})
        assert (classifier.impute(3).sum(axis=1) == truth.sum()).all()
        overall = classifier.expected_accuracy(3).overall
        assert 0 <= overall.low <= overall.high <= 1

    def test_a_class_with_one_labeled_row_and_the_blend(self):
        X, y, Xu, truth = people(n=200)
        rows = np.append(np.flatnonzero(y == 0)[:20], np.flatnonzero(y == 1)[:1])
        blend = c2rf.BlendClassifier(base_learners=["trees", "svc"], n_estimators=5)
        classifier = KnownTotalsClassifier(blend, random_state=0)
        classifier.fit(X[rows], y[rows], X_unlabeled=Xu, totals={1: int(truth.sum())})
        assert (classifier.impute(2).sum(axis=1) == truth.sum()).all()

    @pytest.mark.parametrize("total", [0, 340])
    def test_nobody_and_everybody(self, total):
        classifier, _ = fitted(totals={1: total})
        assert (classifier.impute(2).sum(axis=1) == total).all()
        assert classifier.expected_accuracy(2).overall.estimate == pytest.approx(1)

    def test_frozen_ones_are_not_fitted_again(self):
        X, y, _, truth = people()
        frozen = FrozenEstimator(LogisticRegression().fit(X, y))
        classifier, _ = fitted(estimator=frozen)
        assert (classifier.impute(2).sum(axis=1) == truth.sum()).all()

    def test_chunks_and_dask_give_the_same_as_memory(self):
        da = pytest.importorskip("dask.array")
        X, y, Xu, truth = people()
        found = []
        for rows in (Xu, [Xu[:100], Xu[100:]], da.from_array(Xu, chunks=(90, 2))):
            classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
            classifier.fit(X, y, X_unlabeled=rows, totals={1: int(truth.sum())})
            expected = classifier.expected_accuracy(3).overall
            found.append((classifier.impute(2).tolist(), expected.low, expected.high))
        assert found[0] == found[1] == found[2]

    def test_weights_to_the_remainder_that_labels_leave(self):
        X, y, Xu, truth = people()
        weight = np.random.default_rng(1).integers(1, 4, len(Xu)).astype(float)
        total = int(weight @ truth)
        classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
        classifier.fit(X, y, X_unlabeled=Xu, totals={1: total}, unlabeled_weight=weight)
        off = classifier.totals_met_["off"].abs().max()
        for labels in classifier.impute(4):
            assert abs(weight @ labels - total) <= off + 1e-9
        assert classifier.imputation_method_ == "perturb-and-map"

    def test_uncertain_margins_are_drawn_jointly(self):
        # Each margin is drawn with errors of its own, and all add up to whole people again.
        _, _, _, truth = people()
        cells = pd.DataFrame({"g": np.arange(len(truth)) % 2, "h": np.arange(len(truth)) // 9 % 2})
        tables = []
        for name in ("g", "h"):
            table = cells.assign(**{"class": truth}).value_counts([name, "class"])
            table = table.reset_index(name="total")
            tables.append(table.assign(total=[Estimate(int(n), se=6) for n in table["total"]]))
        classifier, _ = fitted(totals=tables, groups=cells)
        imputed = classifier.impute(6)
        in_cell = imputed[:, cells["g"] == 0].sum(axis=1)
        assert len(set(in_cell.tolist())) > 3
        assert np.abs(in_cell - truth[cells["g"] == 0].sum()).max() < 30

    def test_a_single_one(self):
        classifier, truth = fitted()
        assert classifier.impute(1).shape == (1, len(truth))
        assert (classifier.impute(1) == classifier.impute(3)[:1]).all()

    @pytest.mark.parametrize("number", [0, -1, 10**6])
    def test_numbers_that_make_no_sense(self, number):
        with pytest.raises(InputError, match="from 1 to 1,000; found"):
            fitted()[0].impute(number)

    @pytest.mark.parametrize("number", [2.5, True, "many"])
    def test_no_numbers(self, number):
        with pytest.raises(InputTypeError, match="whole number"):
            fitted()[0].impute(number)

    def test_copies_do_not_know_the_rows(self):
        copy = pickle.loads(pickle.dumps(fitted()[0]))
        with pytest.raises(InputError, match="fit again"):
            copy.impute(2)

    def test_without_totals(self):
        X, y, _, _ = people()
        classifier = KnownTotalsClassifier(LogisticRegression()).fit(X, y)
        with pytest.raises(InputError, match="no population"):
            classifier.impute()
        assert not hasattr(classifier, "expected_confusion_")


class TestExpectedAccuracy:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_confusion_adds_up_to_labels_and_totals(self, n_classes):
        classifier, truth = fitted(n_classes)
        confusion = classifier.expected_confusion_
        assert confusion.sum(axis=1) == pytest.approx(np.bincount(truth))
        assert confusion.sum(axis=0) == pytest.approx(np.bincount(truth), abs=1e-6)

    def test_intervals_hold_the_truth(self):
        held = []
        for seed in range(8):
            X, y, Xu, truth = people(seed=seed)
            classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
            classifier.fit(X, y, X_unlabeled=Xu, totals={1: int(truth.sum())})
            expected = classifier.expected_accuracy(10)
            right = np.mean(classifier.transduction_ == truth)
            held.append(expected.overall.low <= right <= expected.overall.high)
        assert sum(held) >= 7
        assert set(expected.by_class) == {0, 1}
        assert expected.n_imputations == 10

    def test_it_is_what_probabilities_say(self):
        """With and without intervals, the report says the same."""
        classifier, truth = fitted()
        expected = classifier.expected_accuracy(5).overall.estimate
        share = classifier.expected_confusion_.trace() / len(truth)
        assert expected == pytest.approx(share)

    def test_one_is_too_few(self):
        with pytest.raises(InputError, match="from 2 to"):
            fitted()[0].expected_accuracy(1)


class TestConstants:
    """Each is seen in what is drawn: without it, or at its neutral value, a test fails."""

    def test_differences_of_replicates_are_inflated(self, monkeypatch):
        def deviation():
            classifier, _ = fitted()
            group = people()[2][:, 0] > 1.5
            return classifier.impute(20)[:, group].mean(axis=1).std()

        inflated = deviation()
        monkeypatch.setattr(imputing, "REPLICATE_INFLATION", 1.0)
        assert inflated > 1.2 * deviation()

    def test_drawn_labels_are_surer_than_held_out_rows_say(self, monkeypatch):
        def agreement():
            classifier, _ = fitted()
            return (classifier.impute(20) == classifier.transduction_).mean()

        surer = agreement()
        monkeypatch.setattr(imputing, "TEMPERATURE_FACTOR", 1.0)
        assert surer > agreement() + 0.01

    def test_the_expected_accuracy_doubts_the_temperature(self, monkeypatch):
        X, y, _, _ = people()
        many, codes = np.repeat(X, 8, axis=0), np.repeat(y, 8)  # which bootstraps do not doubt

        def width():
            Xu, truth = people()[2:]
            classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
            classifier.fit(many, codes, X_unlabeled=Xu, totals={1: int(truth.sum())})
            overall = classifier.expected_accuracy(20).overall
            return overall.high - overall.low

        wide = width()
        monkeypatch.setattr(imputing, "TEMPERATURE_DEVIATION", 0.0)
        assert wide > 1.3 * width()


def test_imputations_in_a_table():
    X, y, Xu, truth = people()
    labeled = pd.DataFrame(X, columns=["a", "b"]).assign(sick=y)
    rows = pd.DataFrame(Xu, columns=["a", "b"]).assign(id=[f"r{k}" for k in range(len(Xu))])
    result = c2rf.classify(
        labeled, rows, target="sick", totals={1: int(truth.sum())}, id="id", learner="logistic",
        imputations=3,
    )  # fmt: skip
    table = result.imputations
    assert list(table) == ["id", "imputation_1", "imputation_2", "imputation_3"]
    assert (table.iloc[:, 1:].sum() == truth.sum()).all()
    assert "of the labels" in result.summary()
    assert "all meet the totals; drawn exactly" in result.summary()


@pytest.mark.parametrize(
    ("case", "method", "said"),
    [
        ("known number", "exact", "all meet the totals; drawn exactly"),
        ("range", "markov-chain", "all meet the totals; approximate, drawn by a Markov chain"),
        ("crossing margins", "markov-chain", "drawn by a Markov chain"),
        ("weights", "perturb-and-map", "random noise (perturb-and-MAP)"),
    ],
)
def test_a_summary_says_how_labels_were_really_drawn(case, method, said):
    X, y, Xu, truth = people()
    labeled = pd.DataFrame(X, columns=["a", "b"]).assign(sick=y)
    rows = pd.DataFrame(Xu, columns=["a", "b"])
    rows = rows.assign(g=np.arange(len(rows)) % 2, h=np.arange(len(rows)) // 2 % 2)
    rows["weight"] = 1.0 + np.arange(len(rows)) % 3
    tables = [
        rows.assign(**{"class": truth}).value_counts([name, "class"]).reset_index(name="total")
        for name in ("g", "h")
    ]
    number = int(truth.sum())
    totals = {"range": {1: (number - 9, number)}, "crossing margins": tables}
    people_total = {1: int(rows["weight"] @ truth)}
    result = c2rf.classify(
        labeled, rows, target="sick", learner="logistic", imputations=2,
        totals=people_total if case == "weights" else totals.get(case, {1: number}),
        weight="weight" if case == "weights" else None,
        drop=["g", "h", "weight"] if case != "weights" else ["g", "h"],
    )  # fmt: skip
    summary = result.summary()
    assert result.classifier.imputation_method_ == method
    assert said in " ".join(summary.split())
    assert ("Markov" in summary) == (method == "markov-chain")
