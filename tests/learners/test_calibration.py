"""Calibration to known rates: row weights, means of classes, offsets, inverse temperatures."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from c2rf.learners.calibration import (
    PRIOR_BY_CLASSES,
    PRIOR_LEVEL,
    PRIOR_SLOPE,
    WIDE_PRIOR,
    HeldOut,
    blend_prior,
    calibrate,
    calibrated_means,
    disagreement,
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


def drawn(n_rows, factor, shift=0.0, seed=0):
    """Draw codes by a logistic law; scores are on another scale, from another origin."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(size=n_rows) - shift
    codes = (rng.random(n_rows) < expit(factor * odds)).astype(int)
    return np.column_stack([0 * odds, odds + 7]), codes, expit(factor * odds)


def held_out(n_rows, factor, shift=0.0, seed=0):
    scores, codes, _ = drawn(n_rows, factor, shift, seed)
    population, _, chances = drawn(4000, factor, shift, seed + 1)
    rate = chances[:2048].mean()
    return HeldOut(scores, codes, np.ones(n_rows), population), np.array([1 - rate, rate])


class TestCalibrate:
    @pytest.mark.parametrize("true", [0.5, 1.0, 3.0])
    @pytest.mark.parametrize("shift", [0.0, 2.0])
    def test_many_rows_find_it(self, true, shift):
        for prior in ((0, 1), (1, 0.5)):
            part, rates = held_out(20_000, true, shift)
            assert calibrate([part], rates, prior).inverse_temperature == pytest.approx(
                true, rel=0.1
            )

    def test_a_biased_sample_finds_it_too(self):
        part, rates = held_out(40_000, 1.0, 2.0)
        rng = np.random.default_rng(0)
        kept = rng.random(40_000) < np.where(part.codes == 1, 1.0, 0.1)
        drawn = HeldOut(part.scores[kept], part.codes[kept], np.ones(kept.sum()), part.population)
        found = calibrate([drawn], rates, (0, 1))
        assert found.inverse_temperature == pytest.approx(1.0, rel=0.1)

    def test_weak_signal_of_a_rare_class_is_not_taken_for_a_strong_one(self):
        """Nine tenths are of one class, and nothing tells which: the truth is 82 % at best."""
        rng = np.random.default_rng(0)
        scores = np.column_stack([np.zeros(6000), rng.normal(size=6000)])
        codes, rates = (rng.random(3000) < 0.1).astype(int), np.array([0.9, 0.1])
        part = HeldOut(scores[:3000], codes, np.ones(3000), scores[3000:])
        found = calibrate([part], rates, (0, 1))
        scaled = found.inverse_temperature * scores
        chances = softmax(scaled + matching_offsets(scaled, rates), axis=1)
        labels = (scores[:, 1] > np.quantile(scores[:, 1], 0.9)).astype(int)
        assert chances[np.arange(6000), labels].mean() == pytest.approx(0.82, abs=0.02)

    def test_few_rows_lean_on_the_prior_and_none_leave_it(self):
        part, rates = held_out(6, 5.0)
        narrow = [calibrate([part], rates, (0.0, d)).inverse_temperature for d in (0.1, 2.0)]
        assert abs(np.log(narrow[0])) < abs(np.log(narrow[1])) / 2
        none = HeldOut(np.empty((0, 2)), np.empty(0, dtype=int), np.empty(0), part.population)
        found = calibrate([none], rates, (0.7, 0.05))
        assert found.inverse_temperature == pytest.approx(np.exp(0.7), rel=0.02)
        assert found.deviation == pytest.approx(0.05, rel=0.02)

    def test_the_posterior_is_that_of_a_dense_grid(self):
        part, rates = held_out(30, 1.5)
        found = calibrate([part], rates, (0.2, 0.6))
        weights = poststratified(part.codes, rates)
        size = weights.sum() ** 2 / (weights**2).sum()
        grid = np.linspace(-2.2, 2.6, 401)
        logs, sureness = [], []
        for each in grid:
            scaled = np.exp(each) * part.population[:2048]
            offsets = matching_offsets(scaled, rates)
            sureness.append((softmax(scaled + offsets, axis=1) ** 2).sum(axis=1).mean())
            chances = log_softmax(np.exp(each) * part.scores + offsets, axis=1)
            fit = weights @ chances[np.arange(30), part.codes]
            logs.append(size * fit - ((each - 0.2) / 0.6) ** 2 / 2)
        density = np.exp(logs - np.max(logs))
        density /= density.sum()
        spread = np.sqrt(density @ (grid - density @ grid) ** 2)
        assert found.deviation == pytest.approx(spread, rel=0.02)
        as_sure = np.interp(density @ sureness, sureness, grid)
        assert np.log(found.inverse_temperature) == pytest.approx(as_sure, abs=0.01)

    def test_scale_and_origin_of_scores_do_not_matter(self):
        part, rates = held_out(50, 1.0)
        one = calibrate([part], rates, (0.0, 1.0))
        moved = part._replace(
            scores=4 * part.scores + [3, -5], population=4 * part.population + [3, -5]
        )
        other = calibrate([moved], rates, (-np.log(4), 1.0))
        assert 4 * other.inverse_temperature == pytest.approx(one.inverse_temperature, rel=1e-6)

    def test_one_class_tells_nothing(self):
        part, _ = held_out(50, 1.0)
        found = calibrate([part], np.array([0.0, 1.0]), (0.0, 1.0))
        assert found.inverse_temperature == pytest.approx(1.0)

    def test_folds_are_put_together(self):
        """Models of two folds have scores from other origins: each gets offsets of its own."""
        part, rates = held_out(4000, 2.0)
        half = part._replace(
            scores=part.scores[:2000], codes=part.codes[:2000], weight=part.weight[:2000]
        )
        other = HeldOut(
            part.scores[2000:] + np.array([5, 0]), part.codes[2000:], part.weight[2000:],
            part.population + np.array([5, 0]),
        )  # fmt: skip
        both = calibrate([half, other], rates, (0, 1)).inverse_temperature
        assert both == pytest.approx(calibrate([part], rates, (0, 1)).inverse_temperature)


def test_the_blend_leans_on_disagreement():
    assert blend_prior(None, 2) == WIDE_PRIOR
    two, three = blend_prior(0.1, 2)[0], blend_prior(0.1, 3)[0]
    assert two == pytest.approx(PRIOR_LEVEL + PRIOR_SLOPE * np.log(0.1))
    assert three == pytest.approx(two + PRIOR_BY_CLASSES * np.log(2))
    assert blend_prior(0.0, 2)[0] < np.inf


def test_the_prior_is_the_one_that_was_chosen():
    """What ``benchmarks.calibration`` found best: the factor where learners differ that often."""
    chosen = {(0.1, 2): 1.45, (0.5, 2): 0.34, (0.1, 10): 3.13}
    for (differ, n_classes), factor in chosen.items():
        mean, deviation = blend_prior(differ, n_classes)
        assert (np.exp(mean), deviation) == pytest.approx((factor, 1.0), rel=0.01)


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
