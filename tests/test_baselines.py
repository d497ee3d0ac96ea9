"""Baselines: what they promise, against brute force and Bayes' rule by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB

from c2rf import baselines
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.exceptions import InputError, InputTypeError


@pytest.fixture(scope="module")
def known() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labeled points and their labels, unlabeled points and the truth."""
    X, y = make_twonorm(800, random_state=0)
    labeled, rest = biased_sample(y, 0.1, random_state=0)
    return X[labeled], y[labeled], X[rest], y[rest]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.data())
def test_top_lambda_takes_the_highest(scores: list[int], data: st.DataObject) -> None:
    total = data.draw(st.integers(0, len(scores)))
    labels = baselines.top_lambda(scores, total, random_state=data.draw(st.integers(0, 9)))
    chosen = np.array(scores)[labels > 0]
    assert sorted(chosen, reverse=True) == sorted(scores, reverse=True)[:total]
    assert set(labels) <= {-1, 1}


def test_ties_are_broken_by_the_seed_and_not_by_the_order() -> None:
    drawn = [baselines.top_lambda(np.zeros(1000), 500, random_state=seed) for seed in (0, 0, 1)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert 200 < (drawn[0][:500] > 0).sum() < 300


def test_a_rate_is_a_total() -> None:
    assert (baselines.top_lambda(np.arange(8), 0.25) > 0).tolist() == [False] * 6 + [True] * 2


@pytest.mark.parametrize(
    ("scores", "total", "error", "message"),
    [
        ([[1, 2]], 1, InputError, r"found shape \(1, 2\)"),
        ([1.0, np.nan], 1, InputError, "with 1 NaN"),
        ([1.0, 2.0], 3, InputError, "found the count 3"),
        ([1.0, 2.0], True, InputTypeError, "of type bool"),
    ],
)
def test_bad_scores_and_totals_are_told(
    scores: object, total: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        baselines.top_lambda(scores, total)


def test_the_corrected_prior_is_bayes_rule_counted_out() -> None:
    # Of 1000 in the sample 400 are positive; 60 positives and 20 negatives look like this.
    # In a population of 1000 with 100 positives that is 15 and 30 of them.
    found = baselines.correct_prior([60 / 80], sample_rate=0.4, known_rate=0.1)
    np.testing.assert_allclose(found, [15 / (15 + 30)])


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.01, 0.99), st.floats(0.01, 0.99)
)
def test_a_correction_can_be_undone(p: list[float], sample: float, known: float) -> None:
    there = baselines.correct_prior(p, sample, known)
    np.testing.assert_allclose(baselines.correct_prior(there, known, sample), p, atol=1e-9)
    np.testing.assert_allclose(baselines.correct_prior(p, sample, sample), p, atol=1e-12)
    flipped = baselines.correct_prior(1 - np.array(p), 1 - sample, 1 - known)
    np.testing.assert_allclose(flipped, 1 - there, atol=1e-9)


def test_what_is_known_for_certain_outweighs_the_sample() -> None:
    assert baselines.correct_prior([0.0, 0.3, 1.0], 0.5, 0.0).tolist() == [0, 0, 0]
    assert baselines.correct_prior([0.0, 0.3, 1.0], 0.5, 1.0).tolist() == [1, 1, 1]
    with pytest.raises(InputError, match=r"found 1\.0 and 0\.5"):
        baselines.correct_prior([0.5], 1.0, 0.5)


def test_the_cut_of_corrected_probabilities(known: tuple[np.ndarray, ...]) -> None:
    X, y, rest, truth = known
    total = int(truth.sum())
    labels = baselines.prior_corrected(X, y, rest, total, estimator=GaussianNB())
    rate, sampled = total / len(rest), y.mean()
    # p' > 1/2 is where the odds are above those of the two rates.
    p = GaussianNB().fit(X, y).predict_proba(rest)[:, 1]
    wanted = p * (1 - sampled) * rate > (1 - p) * sampled * (1 - rate)
    assert np.array_equal(labels, wanted)


@pytest.mark.parametrize("names", [("no", "yes"), ("yes", "no"), (0, 1), (False, True)])
def test_any_labels_and_either_class_as_the_positive(
    names: tuple, known: tuple[np.ndarray, ...]
) -> None:
    X, y, rest, truth = known
    named = np.array(names)[y]
    total = int(truth.sum())
    options = {"estimator": LogisticRegression()}
    for how in (baselines.top_probabilities, baselines.prior_corrected):
        labels = how(X, named, rest, total, pos_label=names[1], **options)
        plain = how(X, y, rest, total, **options)
        assert labels.dtype == named.dtype
        assert np.array_equal(labels == names[1], plain == 1)
        other = how(X, named, rest, len(rest) - total, pos_label=names[0], **options)
        assert np.array_equal(other, labels)
    trained = baselines.self_training(X, named, rest, **options)
    assert np.array_equal(trained == names[1], baselines.self_training(X, y, rest, **options) == 1)


def test_top_probabilities_keep_the_total_and_the_seed(known: tuple[np.ndarray, ...]) -> None:
    X, y, rest, truth = known
    once, again = (baselines.top_probabilities(X, y, rest, 0.5, random_state=3) for _ in range(2))
    assert once.sum() == round(0.5 * len(rest))
    assert np.array_equal(once, again)
    assert (once == truth).mean() > 0.85


def test_mistakes_are_told(known: tuple[np.ndarray, ...]) -> None:
    X, y, rest, _ = known
    text = np.array(["no", "yes"])[y]
    with pytest.raises(InputError, match="must be a classifier with predict_proba; found Percep"):
        baselines.top_probabilities(X, y, rest, 5, estimator=Perceptron())
    with pytest.raises(InputError, match="pos_label must say"):
        baselines.prior_corrected(X, text, rest, 5)
    with pytest.raises(InputError, match="found one class only"):
        baselines.self_training(X, np.ones(len(X)), rest)
    calibrated = CalibratedClassifierCV(Perceptron())
    assert baselines.top_probabilities(X, y, rest, 5, estimator=calibrated).sum() == 5
