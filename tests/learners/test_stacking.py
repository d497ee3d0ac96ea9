"""Thresholds, folds, accuracies at known rates, and the weights they give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c2rf.learners.base_learners import TrainingSet
from c2rf.learners.features import Preprocessor
from c2rf.learners.stacking import (
    LARGEST_MARGIN,
    Thresholds,
    accuracy_at_rates,
    cross_validate,
    folds,
    prior_weights,
    stacking_weights,
)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(2, 6), st.integers(0, 9))
def test_folds(codes, n_folds, seed):
    codes = np.unique(codes, return_inverse=True)[1]
    held = []
    for kept, out in folds(codes, n_folds, np.random.RandomState(seed)):
        assert set(codes[kept]) == set(codes)
        assert not set(kept) & set(out)
        assert len(kept) + len(out) == len(codes)
        held.extend(out)
    counts = np.bincount(codes)
    assert sorted(held) == np.flatnonzero(counts[codes] > 1).tolist()


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=40, unique=True), st.floats(0.05, 0.95))
def test_as_many_rows_lead_as_the_rate_says(values, rate):
    scores = np.column_stack([np.negative(values), values])
    margins = Thresholds.of(scores, np.array([1 - rate, rate])).scaled_margins(scores)
    assert (margins[:, 1] > 0).sum() == pytest.approx(rate * len(values), abs=1)
    assert (margins[:, 0] > 0).sum() == pytest.approx((1 - rate) * len(values), abs=1)
    assert np.abs(margins).max() <= LARGEST_MARGIN


@given(st.floats(0.01, 100), st.floats(-50, 50))
def test_margins_do_not_depend_on_the_scale_of_scores(factor, shift):
    scores, rates = np.random.default_rng(0).normal(size=(30, 3)), np.array([0.2, 0.3, 0.5])
    moved = factor * scores + shift
    expected = Thresholds.of(scores, rates).scaled_margins(scores)
    assert Thresholds.of(moved, rates).scaled_margins(moved) == pytest.approx(expected, abs=1e-6)


def test_rates_of_none_and_all():
    scores = np.array([[1.0, 4.0], [2.0, 3.0]])
    margins = Thresholds.of(scores, np.array([0.0, 1.0])).scaled_margins(scores)
    assert (margins[:, 0] == -LARGEST_MARGIN).all()
    assert (margins[:, 1] >= 0).all()


def test_scores_that_tell_nothing():
    same = np.zeros((4, 2))
    thresholds = Thresholds.of(same, np.array([0.5, 0.5]))
    assert (thresholds.scaled_margins(same) == 0).all()
    assert np.abs(thresholds.scaled_margins(np.array([[-9.0, 9.0]]))).max() == LARGEST_MARGIN


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.floats(0.0, 1.0))
def test_equal_scores_are_above_in_part(values, rate):
    scores = np.column_stack([values, np.negative(values)]).astype(float)
    thresholds = Thresholds.of(scores, np.array([rate, 1 - rate]))
    mean = thresholds.above(scores).mean(axis=0)
    assert mean == pytest.approx([rate, 1 - rate], abs=1.01 / len(values))


@pytest.mark.parametrize("rate", [0.25, 0.3, 0.35])
def test_most_of_equal_scores_decide(rate):
    scores = np.repeat([[1.0, 0.0], [0.0, 1.0]], [7, 3], axis=0)
    margins = Thresholds.of(scores, np.array([1 - rate, rate])).scaled_margins(scores)
    assert ((margins > 0) == (scores > 0)).all()


def test_who_cannot_rank_is_not_right():
    above = Thresholds.of(np.zeros((9, 2)), np.array([0.25, 0.75])).above(np.zeros((4, 2)))
    codes, rates = np.array([0, 1, 1, 1]), np.array([0.25, 0.75])
    assert accuracy_at_rates(above, codes, rates) == pytest.approx(0.25**2 + 0.75**2)


def test_accuracy_is_not_fooled_by_a_biased_sample():
    rng = np.random.default_rng(1)
    truth = rng.random(40_000) < 0.3
    scores = truth + rng.normal(size=len(truth))
    places = np.argsort(np.argsort(scores)) / len(scores)
    real = ((places > 0.7) == truth).mean()
    labeled = rng.choice(len(truth), 4000, p=(w := np.where(truth, 0.9, 0.1)) / w.sum())
    assert truth[labeled].mean() > 0.7
    both = np.column_stack([places <= 0.7, places > 0.7])[labeled]
    found = accuracy_at_rates(both, truth[labeled].astype(int), np.array([0.7, 0.3]))
    assert found == pytest.approx(real, abs=0.02)


def test_accuracy_with_points_of_one_class_only():
    above = np.array([[1.0, 0.0], [0.0, 1.0]])
    found = accuracy_at_rates(above, np.array([0, 0]), np.array([0.5, 0.5]))
    assert found == pytest.approx(0.5)


class TestWeights:
    def test_half_a_standard_error_is_worth_a_factor_of_e(self):
        weights = stacking_weights(np.array([0.2, 0.8]), np.array([0.85, 0.80]), 0.1)
        assert weights.sum() == pytest.approx(1)
        assert weights[0] / weights[1] == pytest.approx(np.e * 0.2 / 0.8)

    @pytest.mark.parametrize(("n_rare", "expected"), [(1, 0.95), (5, 0.75), (10, 0.5), (99, 0.5)])
    def test_few_labels_of_a_class_favour_trees(self, n_rare, expected):
        found = prior_weights(["pca-trees", "svc"], np.repeat([0, 1], [100, n_rare]))
        assert found == pytest.approx([expected, 1 - expected])

    def test_without_trees_all_names_weigh_the_same(self):
        found = prior_weights(["svc", "rank-svc"], np.array([0, 1]))
        assert found == pytest.approx([0.5, 0.5])


class TestCrossValidate:
    @staticmethod
    def validated(fits, n_rows=40, codes=None, rates=(0.5, 0.5)):
        rng = np.random.default_rng(0)
        X, population = rng.normal(size=(n_rows, 2)), rng.normal(size=(50, 2))
        fitted = Preprocessor(X, population, {"columns"})
        codes = (X[:, 0] > 0).astype(int) if codes is None else codes
        features = fitted.matrices(X, {"columns"})
        training = TrainingSet(features, codes, np.ones(n_rows), np.array(rates), seed=0)
        learners = {str(k): fit for k, fit in enumerate(fits)}
        rng = np.random.RandomState(0)
        return cross_validate(learners, training, fitted.population, rng, 1)

    @staticmethod
    def right(training):
        """The truth of these data, whatever the labels."""
        return lambda features: features["columns"][:, :1] * [-1.0, 1.0]

    def wrong(self, training):
        return lambda features: -self.right(training)(features)

    def test_the_accurate_one_gets_the_weight(self):
        found = self.validated([self.right, self.wrong])
        assert found.accuracies[0] > 0.9
        assert found.accuracies[1] < 0.1
        assert found.weights[0] > 0.999
        assert len(found.held_out) == len(found.margins) == 40

    def test_of_many_rows_one_that_is_nearly_as_accurate_counts(self):
        def nearly(training):
            def scores(features):
                X = features["columns"]
                return (X[:, :1] + 0.01 * X[:, 1:]) * [-1.0, 1.0]

            return scores

        found = self.validated([self.right, nearly], 8000)
        difference = found.accuracies[0] - found.accuracies[1]
        ratio = found.weights[0] / found.weights[1]
        assert 0 < abs(difference) < 0.02
        assert ratio == pytest.approx(np.exp(difference / (0.5 * 0.015)))

    def test_rows_of_thresholds_and_of_leaves_are_disjoint(self):
        seen = []

        def fit(training):
            seen.append(training.leaf_rows)
            return self.right(training)

        self.validated([fit])
        assert len(seen) == 10
        assert {(rows.start, rows.stop) for rows in seen} == {(25, 1025)}

    def test_held_out_rows_are_not_learned_from(self):
        def fit(training):
            kept = {row.tobytes() for row in training.features["columns"]}

            def scores(features):
                known = np.array([row.tobytes() in kept for row in features["columns"]])
                assert not known.any()
                return self.right(training)(features)

            return scores

        assert self.validated([fit]).accuracies is not None

    def test_of_classes_with_few_rows_nearly_all_are_learned_from(self):
        seen = []

        def fit(training):
            seen.append(len(training.codes))
            return lambda features: np.zeros((len(features["columns"]), 8))

        self.validated([fit], 40, np.arange(40) % 8, [1 / 8] * 8)
        assert seen == [36] * 10

    def test_of_many_rows_one_part_is_held_out(self):
        found = self.validated([self.right], 8000)
        assert len(found.held_out) == len(found.margins) == 2000

    def test_nothing_to_hold_out(self):
        found = self.validated([self.right, self.wrong], 2, np.array([0, 1]))
        assert found.accuracies is None
        assert found.weights.tolist() == [0.5, 0.5]
        assert found.margins.shape == (0, 2)
