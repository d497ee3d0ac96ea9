"""How many labels are right, by several probabilities: worked by hand, by class and by group."""

from __future__ import annotations

import numpy as np
import pytest

from c2rf.imputation.rubin import pool
from c2rf.inference.accuracy import expected_accuracy

LABELS = np.array([0, 0, 1, 1], dtype=np.uint8)
# What is expected, and three draws, each as sure of one class as of the other.
RIGHT = [np.full(4, share) for share in (0.66, 0.6, 0.7, 0.8)]


def test_classes_are_pooled_as_they_are():
    found = expected_accuracy(LABELS, RIGHT, ["no", "yes"])
    alone = pool([0.56, 0.66, 0.76])  # the draws around what is expected
    for pooled in found.by_class.values():
        assert (pooled.estimate, pooled.low) == pytest.approx((alone.estimate, alone.low))
    overall = found.overall
    assert (overall.estimate, overall.low) == pytest.approx((alone.estimate, alone.low))
    assert found.by_group == {}
    assert found.n_imputations == 3


def test_groups_hold_their_own_rows():
    right = [np.array([1.0, 0.5, 0.7, 0.2])] + [np.array([0.8, 0.5, 0.7, 0.2])] * 2
    codes = np.array([0, 1, 1, 0], dtype=np.uint8)
    found = expected_accuracy(LABELS, right, ["no", "yes"], (["u", "v", "empty"], codes))
    assert set(found.by_group) == {"u", "v"}
    assert found.by_group["u"].estimate == pytest.approx((1.0 + 0.2) / 2)
    assert found.by_group["v"].estimate == pytest.approx((0.5 + 0.7) / 2)


def test_a_label_that_nobody_has_is_left_out_and_shares_stay_shares():
    found = expected_accuracy(
        LABELS[:2], [np.full(2, 0.6), np.ones(2), np.full(2, 0.2)], ["no", "yes"]
    )
    assert set(found.by_class) == {"no"}
    assert (found.overall.low, found.overall.high) == (0.0, 1.0)


def test_many_groups_do_not_overflow_small_numbers():
    labels, codes = np.zeros(600, np.uint8), (np.arange(600) % 200).astype(np.uint8)
    found = expected_accuracy(labels, [np.ones(600)] * 3, ["a", "b"], (list(range(200)), codes))
    assert len(found.by_group) == 200
    assert all(pooled.estimate == 1 for pooled in found.by_group.values())
