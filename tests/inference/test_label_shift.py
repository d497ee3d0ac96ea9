"""Rates under label shift: against a search over all rates, and where the truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf import Estimate, InputError, KnownTotalsClassifier
from c2rf.cli import main
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.inference.estimates import (
    bootstrap_rates,
    calibrated,
    label_shift_by_columns,
    likeliest_rates,
)


def test_likelihood_is_highest_of_all_rates_on_a_grid() -> None:
    rng = np.random.default_rng(0)
    table, prior = rng.dirichlet([0.5, 0.5, 0.5], 200), np.array([0.5, 0.3, 0.2])
    weight = rng.uniform(0.5, 2, 200)
    found = likeliest_rates(table, prior, weight)

    def likelihood(rates: np.ndarray) -> float:
        return float(weight @ np.log((table / prior) @ rates))

    grid = np.array([[a, b, 1 - a - b] for a in np.linspace(0, 1, 41)
                     for b in np.linspace(0, 1 - a, 41)])  # fmt: skip
    assert likelihood(found) >= max(likelihood(rates) for rates in grid) - 1e-9
    for _ in range(300):  # the EM algorithm stays where it is
        joint = table / prior * found
        again = (weight / weight.sum()) @ (joint / joint.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(again, found, atol=1e-4)


def test_calibration_makes_overconfident_probabilities_right() -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 2, (4000, 2))
    y = (rng.random(4000) < softmax(logits, axis=1)[:, 1]).astype(int)
    too_sure = np.log(softmax(3 * logits + [1.0, 0.0], axis=1))
    found = calibrated(too_sure, y, too_sure, np.ones(4000))
    np.testing.assert_allclose(found, softmax(logits, axis=1), atol=0.06)


def test_true_rates_are_within_the_errors_in_groups() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], [60, 140])
    held = np.log(softmax(np.column_stack([0 * y, rng.normal(2 * y - 1, 1) * 2]), axis=1))
    groups = np.repeat([0, 1], 1000)
    truth = (rng.random(2000) < np.where(groups == 0, 0.1, 0.6)).astype(int)
    logs = np.log(softmax(np.column_stack([0 * truth, rng.normal(2 * truth - 1, 1) * 2]), axis=1))
    rates, errors = bootstrap_rates(held, y, np.ones(200), logs, groups, 2, 40, rng)
    true = np.array([truth[groups == g].mean() for g in (0, 1)])
    assert (np.abs(rates[:, 1] - true) < 3 * errors[:, 1]).all()
    assert (errors < 0.1).all()


def test_half_of_what_calibration_changes_is_part_of_the_error() -> None:
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [50, 50])
    held = 5 * np.column_stack([0 * y, rng.normal(2 * y - 1, 1.5)])  # much too sure
    logs = 5 * np.column_stack([np.zeros(800), rng.normal(2 * (np.arange(800) < 160) - 1, 1.5)])
    prior, weight, none = np.full(2, 0.5), np.ones(100), np.zeros(800, dtype=int)
    rates, errors = bootstrap_rates(held, y, weight, logs, none, 1, 5, rng)
    plain = likeliest_rates(softmax(logs, axis=1), prior)
    better = likeliest_rates(calibrated(held, y, logs, weight), prior)
    np.testing.assert_allclose(rates[0], (plain + better) / 2)
    assert (np.abs(plain - better) > 0.02).all()
    assert (errors[0] > np.abs(plain - better) / 2).all()


X, Y = make_twonorm(500, random_state=0)
ASKED, REST = biased_sample(Y, 0.2, positive_weight=0.8, random_state=0)
PEOPLE = pd.DataFrame(X).add_prefix("x").assign(region=np.where(X[:, 0] > 0, "n", "s"), sick=Y)


def test_totals_go_on_through_everything() -> None:
    labeled, rest = PEOPLE.loc[ASKED], PEOPLE.loc[REST].drop(columns="sick")
    result = c2rf.classify(labeled, rest, target="sick", totals="estimate", learner="logistic")
    assert abs(result.counts["1"] / len(REST) - Y[REST].mean()) < 0.1
    assert "not known but estimated" in result.summary()
    assert result.data.totals.has_estimates
    table = c2rf.estimate_totals(
        labeled, rest, target="sick", by="region", learner="logistic", n_bootstrap=5
    )
    assert table.columns.tolist() == ["region", "class", "total", "se"]
    again = c2rf.classify(labeled, rest, target="sick", totals=table, learner="logistic")
    assert len(again.totals_met) >= 2
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=500), random_state=0)
    classifier.fit(X[ASKED], Y[ASKED], X_unlabeled=X[REST], totals="estimate")
    assert abs(classifier.transduction_.mean() - Y[REST].mean()) < 0.1


def test_estimates_that_label_shift_contradicts_are_called_wrong() -> None:
    X, y = make_twonorm(1200, random_state=1)
    often = np.where(X[:, 1] > 1, 8.0, 1.0) * np.where(y == 1, 3.0, 1.0)
    rng = np.random.default_rng(0)
    asked = rng.choice(len(y), 200, replace=False, p=often / often.sum())
    rest = np.setdiff1d(np.arange(len(y)), asked)
    people = pd.DataFrame(X).add_prefix("x").assign(sick=y)
    labeled, others = people.loc[asked], people.loc[rest].drop(columns="sick")
    with pytest.warns(UserWarning, match="label shift does not hold .* do not use them"):
        c2rf.estimate_totals(labeled, others, target="sick", learner="logistic", n_bootstrap=5)
    classifier = KnownTotalsClassifier(LogisticRegression(max_iter=500), random_state=0)
    with pytest.warns(UserWarning, match="do not use them"):
        classifier.fit(X[asked], y[asked], X_unlabeled=X[rest], totals="estimate")
    result = c2rf.classify(labeled, others, target="sick", totals="estimate", learner="logistic")
    assert "do not use them" in result.summary()


def test_columns_reject_label_shift_as_rarely_as_they_should() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        y, codes = rng.random(1000) < 0.3, np.repeat([0, 1], 60)
        population = rng.normal(y[:, None], 1, (1000, 6))
        labeled = rng.normal(codes[:, None], 1, (120, 6))
        labeled[:5, 0] = np.nan
        rates = np.array([0.7, 0.3]), np.array([0.03, 0.03])
        every = np.ones(120), np.ones(1000)
        found.append(
            label_shift_by_columns(labeled, codes, every[0], population, every[1], rates, rng)
        )
    assert np.mean(np.array(found) < 0.05) < 0.1
    labeled[codes == 0, 2] += 1
    p_value = label_shift_by_columns(labeled, codes, every[0], population, every[1], rates, rng)
    assert p_value < 0.001
    constant = np.ones((120, 2)), np.column_stack([np.ones(1000), np.full(1000, np.nan)])
    alone = label_shift_by_columns(constant[0], codes, every[0], constant[1], every[1], rates, rng)
    assert np.isnan(alone)


def test_same_seed_same_totals_and_mistakes() -> None:
    labeled, rest = PEOPLE.loc[ASKED], PEOPLE.loc[REST].drop(columns="sick")
    how = {"target": "sick", "learner": "logistic", "n_bootstrap": 3}
    found = c2rf.estimate_totals(labeled, rest, **how)
    assert found == c2rf.estimate_totals(labeled, rest, **how)
    assert isinstance(found[1], Estimate)
    with pytest.raises(InputError, match="n_bootstrap must be 2"):
        c2rf.estimate_totals(labeled, rest, target="sick", n_bootstrap=1, learner="logistic")
    few = labeled[labeled["sick"] == 1].head(2)
    with pytest.raises(InputError, match=r"has 2"):
        c2rf.estimate_totals(
            pd.concat([few, labeled[labeled["sick"] == 0]]), rest, target="sick", n_bootstrap=3
        )


def test_from_the_command_line(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    PEOPLE.loc[ASKED].to_csv("l.csv", index=False)
    PEOPLE.loc[REST].drop(columns="sick").to_csv("u.csv", index=False)
    command = ["classify", "l.csv", "u.csv", "--target", "sick", "--learner", "logistic"]
    assert main([*command, "--totals", "estimate", "--out", "labels.csv"]) == 0
    assert "estimated, from the labeled rows" in capsys.readouterr().out
