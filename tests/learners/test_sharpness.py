"""How sure the blend may be: by what held-out rows say, and by how far members differ."""

import numpy as np
import pytest

from c2rf.learners.calibration import (
    LEVEL,
    SLOPE,
    USUAL_SHARPNESS,
    disagreement,
    likeliest_sharpness,
)

HALF = np.array([0.5, 0.5])


def leads(seed):
    place = (np.random.default_rng(seed).permutation(1000) + 0.5) / 1000
    return np.column_stack([0.5 - place, place - 0.5])


class TestDisagreement:
    def test_independent_members_differ_as_by_chance(self):
        many = [leads(seed) for seed in range(6)]
        assert disagreement(many, np.full(6, 1 / 6), HALF) == pytest.approx(1.0, abs=0.05)

    def test_a_member_without_weight_does_not_count(self):
        share = np.array([0.5, 0.5, 0.0])
        assert disagreement([leads(0), leads(0), leads(1)], share, HALF) == pytest.approx(0.0)

    def test_it_takes_two(self):
        assert disagreement([leads(0)], np.ones(1), HALF) is None
        assert disagreement([leads(0), leads(1)], HALF, np.array([1.0, 0.0])) is None


class TestSharpness:
    @staticmethod
    def drawn(n_rows, sharpness, seed=0):
        rng = np.random.default_rng(seed)
        odds = rng.normal(size=n_rows)
        codes = (rng.random(n_rows) < 1 / (1 + np.exp(-2 * sharpness * odds))).astype(int)
        return np.column_stack([-odds, odds]), codes, HALF, np.ones(n_rows)

    @pytest.mark.parametrize("true", [0.5, 1.0, 3.0])
    def test_many_rows_find_it(self, true):
        assert likeliest_sharpness(*self.drawn(20_000, true)) == pytest.approx(true, rel=0.08)
        wrong = likeliest_sharpness(*self.drawn(20_000, true), differ=0.3)
        assert wrong == pytest.approx(true, rel=0.08)

    def test_few_rows_lean_on_the_members(self):
        expected = np.exp(LEVEL + SLOPE * np.log(0.2))
        found = likeliest_sharpness(*self.drawn(6, 5.0), differ=0.2)
        alone = likeliest_sharpness(*self.drawn(6, 5.0))
        assert abs(np.log(found / expected)) < abs(np.log(alone / expected)) / 2

    def test_no_rows(self):
        none = np.empty((0, 2)), np.empty(0, dtype=int), HALF, np.empty(0)
        assert likeliest_sharpness(*none) == USUAL_SHARPNESS
        expected = np.exp(LEVEL + SLOPE * np.log(0.2))
        assert likeliest_sharpness(*none, differ=0.2) == pytest.approx(expected, rel=1e-3)
