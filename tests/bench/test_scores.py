"""Calibration of probabilities: the measures, what is recorded, and the tables of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from bench_records import record
from c2rf import baselines
from c2rf._utils.types import Signs
from c2rf.bench.methods import most_votes
from c2rf.bench.records import Key, Record, Results
from c2rf.bench.report import calibration_tables, quality_report
from c2rf.bench.run import label, make_record
from c2rf.bench.samples import PROTOCOLS, TrialSample, draw, load
from c2rf.bench.scores import MEASURES, calibration_error, score_probabilities

PROTOCOL = replace(PROTOCOLS["biased"], fraction=0.1, n_trees=3)
DATA = load("made-waveform-300")
Drawn = tuple[TrialSample, Signs]


def measured(data: str, sample: int, method: str, value: float) -> Record:
    return replace(record(data, sample, method), calibration=dict.fromkeys(MEASURES, value))


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return draw(DATA, PROTOCOL, seed=1)


# Measures


def test_the_error_is_the_gap_of_each_bin_weighted_by_its_rows() -> None:
    confidence = np.array([0.61, 0.69, 0.95, 1.0, 0.0])
    right = np.array([True, False, True, True, True])
    # bins: two rows of 0.65 and 0.5 right, two of 0.975 and 1, one of 0 and 1 (wrongly unsure)
    gaps = np.array([0.65 - 0.5, 1 - 0.975, 1 - 0.0])
    expected = gaps @ [2, 2, 1] / 5
    assert calibration_error(confidence, right) == pytest.approx(expected)


def test_true_probabilities_have_a_small_error_and_false_ones_a_large_one() -> None:
    rng = np.random.default_rng(0)
    probability = rng.uniform(size=20_000)
    truth = np.where(rng.uniform(size=20_000) < probability, 1, -1).astype(np.int8)
    labels = np.where(probability > 0.5, 1, -1).astype(np.int8)
    true = score_probabilities(probability, labels, truth)
    sure = score_probabilities(np.where(probability > 0.5, 0.99, 0.01), labels, truth)
    assert true["calibration_error"] < 0.02 < 0.2 < sure["calibration_error"]
    assert all(true[measure] < sure[measure] for measure in MEASURES)
    assert true["brier"] == pytest.approx(1 / 6, abs=0.005)  # of p (1 - p), p uniform
    assert true["log_loss"] == pytest.approx(0.5, abs=0.01)


def test_a_rare_class_counts_as_much_as_a_frequent_one() -> None:
    labels = np.array([1] + 9 * [-1], dtype=np.int8)
    truth = np.full(10, -1, dtype=np.int8)  # the one positive label is wrong
    found = score_probabilities(np.array([0.6] + 9 * [0.0]), labels, truth)
    assert found["calibration_error"] == pytest.approx(0.06)
    assert found["class_calibration_error"] == pytest.approx(0.3)
    nobody = score_probabilities(np.zeros(9), labels[1:], truth[1:])
    assert nobody["class_calibration_error"] == 0
    assert nobody["log_loss"] < 1e-9


def test_a_certain_mistake_costs_much_and_is_no_infinity() -> None:
    labels, truth = np.array([1, -1], dtype=np.int8), np.array([-1, -1], dtype=np.int8)
    assert 15 < score_probabilities(np.array([1.0, 0.0]), labels, truth)["log_loss"] < 40


# Records


@pytest.mark.parametrize("method", ["known-totals", "extra-trees-top"])
def test_methods_with_probabilities_that_meet_the_total_are_measured(
    method: str, drawn: Drawn
) -> None:
    sample, truth = drawn
    answer = label(method, sample)
    assert answer.probability is not None
    assert answer.probability.sum() == pytest.approx(sample.n_positive, abs=0.01)
    key = Key(PROTOCOL, DATA.name, 0, 1, method, None, None)
    made = make_record(key, DATA, sample, truth, answer)
    assert answer.labels is not None
    assert made.calibration == score_probabilities(answer.probability, answer.labels, truth)
    assert Record.from_line(made.to_line()) == made


def test_extra_trees_label_as_the_baseline_does(drawn: Drawn) -> None:
    sample, _ = drawn
    answer = label("extra-trees-top", sample)
    expected = baselines.top_probabilities(
        sample.X_labeled, sample.y_labeled, sample.X_unlabeled, sample.n_positive,
        random_state=sample.seed,
    )  # fmt: skip
    np.testing.assert_array_equal(answer.labels, expected)
    # A constant shift of log-odds: the order of rows stays
    trees = ExtraTreesClassifier(baselines.N_TREES, random_state=sample.seed)
    votes = trees.fit(sample.X_labeled, sample.y_labeled).predict_proba(sample.X_unlabeled)[:, 1]
    assert answer.probability is not None
    assert (np.diff(answer.probability[np.argsort(votes)]) >= -1e-12).all()


def test_others_are_not_measured(drawn: Drawn) -> None:
    key = Key(PROTOCOL, DATA.name, 0, 1, "rf", None, None)
    assert make_record(key, DATA, *drawn, label("rf", drawn[0])).calibration is None
    assert most_votes(drawn[0]).probability is None


# Tables


def test_samples_that_settings_were_chosen_by_have_a_table_of_their_own() -> None:
    records = [
        measured(data, sample, method, value)
        for data in ("ring", "churn")
        for sample, ours, theirs in ((0, 0.01, 0.05), (1, 0.03, 0.05), (2, 0.08, 0.02))
        for method, value in (("known-totals", ours), ("extra-trees-top", theirs))
    ]
    tuned, others = calibration_tables(Results(records, "biased"))
    assert (tuned.title[-15:], others.title[-17:]) == ("samples 0 and 1", "the other samples")
    assert list(tuned.header[1:3]) == [
        "calibration error: extra trees, top λ",
        "calibration error: known totals",
    ]
    assert [[text.strip("*") for text in row[:3]] for row in tuned.rows] == [
        ["churn", "5.0", "2.0"],
        ["ring", "5.0", "2.0"],
        ["mean", "5.0", "2.0"],
    ]
    assert [text.startswith("**") for text in tuned.rows[0][1:3]] == [False, True]
    assert [text.strip("*") for text in others.rows[2][1:3]] == ["2.0", "8.0"]
    titles = [part.title for part in quality_report(records)["parts"]]
    assert {tuned.title, others.title} <= set(titles)


def test_no_mean_is_of_fewer_data_sets() -> None:
    records = [measured("ring", 0, "known-totals", 0.01), record("churn", 0, "known-totals")]
    (table,) = calibration_tables(Results(records, "biased"))
    assert [row[1].strip("*") for row in table.rows] == ["---", "1.0", "---"]
    old = [record("ring", 0, "known-totals")]
    assert not list(calibration_tables(Results(old, "biased")))
