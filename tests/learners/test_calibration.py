"""Calibration to known rates: row weights, means of classes, offsets, inverse temperatures."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from c2rf.learners.calibration import (
    DEFAULT_INVERSE_TEMPERATURE,
    PRIOR_DEVIATION,
    PRIOR_LEVEL,
    PRIOR_SLOPE,
    blend_inverse_temperature,
    calibrated_means,
    disagreement,
    inverse_temperature,
    matching_offsets,
    poststratified,
)

HALF = np.array([0.5, 0.5])


def margins(seed):
    place = (np.random.default_rng(seed).permutation(1000) + 0.5) / 1000
    return np.column_stack([0.5 - place, place - 0.5])


class TestDisagreement:
    def test_independent_learners_differ_as_by_chance(self):
        many = [margins(seed) for seed in range(6)]
        assert disagreement(many, np.full(6, 1 / 6), HALF) == pytest.approx(1.0, abs=0.05)

    def test_a_learner_without_weight_does_not_count(self):
        weights = np.array([0.5, 0.5, 0.0])
        assert disagreement([margins(0), margins(0), margins(1)], weights, HALF) == pytest.approx(
            0.0
        )

    def test_it_takes_two(self):
        assert disagreement([margins(0)], np.ones(1), HALF) is None
        assert disagreement([margins(0), margins(1)], HALF, np.array([1.0, 0.0])) is None


class TestInverseTemperature:
    @staticmethod
    def drawn(n_rows, factor, seed=0):
        rng = np.random.default_rng(seed)
        odds = rng.normal(size=n_rows)
        codes = (rng.random(n_rows) < 1 / (1 + np.exp(-2 * factor * odds))).astype(int)
        return np.column_stack([-odds, odds]), codes, HALF, np.ones(n_rows)

    @pytest.mark.parametrize("true", [0.5, 1.0, 3.0])
    def test_many_rows_find_it(self, true):
        assert blend_inverse_temperature(*self.drawn(20_000, true)) == pytest.approx(true, rel=0.08)
        wrong = blend_inverse_temperature(*self.drawn(20_000, true), differ=0.3)
        assert wrong == pytest.approx(true, rel=0.08)

    def test_few_rows_lean_on_the_learners(self):
        expected = np.exp(PRIOR_LEVEL + PRIOR_SLOPE * np.log(0.2))
        found = blend_inverse_temperature(*self.drawn(6, 5.0), differ=0.2)
        alone = blend_inverse_temperature(*self.drawn(6, 5.0))
        assert abs(np.log(found / expected)) < abs(np.log(alone / expected)) / 2

    def test_no_rows(self):
        none = np.empty((0, 2)), np.empty(0, dtype=int), HALF, np.empty(0)
        assert blend_inverse_temperature(*none) == DEFAULT_INVERSE_TEMPERATURE
        expected = np.exp(PRIOR_LEVEL + PRIOR_SLOPE * np.log(0.2))
        assert blend_inverse_temperature(*none, differ=0.2) == pytest.approx(expected, rel=1e-3)

    def test_a_held_out_row_counts_half(self):
        margins, codes, _, _ = self.drawn(20, 1.0)
        margins, codes = np.vstack([margins, -margins]), np.append(codes, 1 - codes)
        found = blend_inverse_temperature(margins, codes, HALF, np.ones(40), differ=0.2)
        factors = np.exp(np.linspace(-2, 2, 4001))
        fit = [log_softmax(s * margins, axis=1)[np.arange(40), codes].sum() for s in factors]
        expected = PRIOR_LEVEL + PRIOR_SLOPE * np.log(0.2)
        prior = ((np.log(factors) - expected) / PRIOR_DEVIATION) ** 2 / 2
        best = factors[np.argmin(prior - 0.5 * np.array(fit))]
        assert found == pytest.approx(best, rel=2e-3)


class TestAnyClassifier:
    def test_overconfident_ones_are_made_less_sure(self):
        rng = np.random.default_rng(0)
        z = rng.normal(0, 2, 2000)
        codes = (rng.random(2000) < 1 / (1 + np.exp(-z))).astype(int)
        logs = np.column_stack([-np.logaddexp(0, 3 * z), -np.logaddexp(0, -3 * z)])
        assert inverse_temperature(logs, codes, None) == pytest.approx(1 / 3, abs=0.08)

    def test_one_class_tells_nothing(self):
        logs = np.log([[0.9, 0.1], [0.8, 0.2]])
        assert inverse_temperature(logs, np.array([0, 0]), None) == 1.0
        assert inverse_temperature(logs, np.array([0, 1]), np.array([1.0, 0.0])) == 1.0


def test_row_weights_have_the_rates():
    codes, rates = np.array([0, 1, 1, 2, 2, 2]), np.array([0.2, 0.3, 0.5])
    assert np.bincount(codes, weights=poststratified(codes, rates)) == pytest.approx(rates)


def test_means_of_classes_have_the_mean_of_the_population():
    rng = np.random.default_rng(0)
    means, counts, rates = (
        rng.normal(size=(3, 4)),
        np.array([2.0, 9.0, 5.0]),
        rng.dirichlet([1] * 3),
    )
    mean = rng.normal(size=4)
    found = calibrated_means(means, counts, rates, mean)
    assert rates @ found == pytest.approx(mean)
    moved = np.abs(found - means) / rates[:, None]
    assert (moved[0] > moved[2]).all()  # the fewer rows, the further
    assert (moved[2] > moved[1]).all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_offsets_match_the_rates(n_classes):
    rng = np.random.default_rng(0)
    scores, rates = 9 * rng.normal(size=(300, n_classes)), rng.dirichlet(np.ones(n_classes))
    rates = np.append(rates[:-2], [rates[-2:].sum(), 0.0]) if n_classes > 2 else rates
    offsets = matching_offsets(scores, rates)
    assert softmax(scores + offsets, axis=1).mean(axis=0) == pytest.approx(rates, abs=1e-9)
    assert (np.isneginf(offsets) == (rates == 0)).all()
