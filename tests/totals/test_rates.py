"""Rates of the classes that follow from bounds."""

import numpy as np
import pytest

from c2rf.totals.bounds import Bounds


class TestRates:
    def test_groups_that_fix_all(self):
        bounds = Bounds(
            np.array([0, 0]),
            np.array([30, 30]),
            np.array([[4, 0], [0, 15]]),
            np.array([[4, 10], [20, 15]]),
            np.array([10, 20]),
        )
        assert bounds.rates() == pytest.approx([9 / 30, 21 / 30])

    def test_wide_ranges_say_nothing(self):
        assert Bounds.overall([0, 0, 2], [10, 10, 2], 10).rates() is None

    def test_no_points(self):
        assert Bounds.overall([0, 0], [0, 0], 0).rates() is None
