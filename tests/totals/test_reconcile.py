"""Reconciliation of totals, against enumeration of small tables and exact arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from c2rf.totals.bounds import Bounds, LinearConstraints, MarginBounds
from c2rf.totals.reconcile import (
    is_consistent,
    least_squares,
    nearest_table,
    rescale,
    round_table,
    smallest_inconsistency,
)

SIZES = np.array([2, 1, 3, 2])  # of the groups (n, young), (n, old), (s, young), (s, old)
REGION, AGE = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
FREE = np.zeros((2, 2), dtype=int)
MARGINS = [
    MarginBounds((), [()], 0 * REGION, FREE[:1], FREE[:1]),
    MarginBounds(("region",), ["n", "s"], REGION, FREE, FREE),
    MarginBounds(("age",), ["young", "old"], AGE, FREE, FREE),
]
ALL_COUNTS = np.array(
    [[(size - k, k) for size, k in zip(SIZES, ones, strict=True)]
     for ones in product(*(range(size + 1) for size in SIZES))]
)  # fmt: skip
SECOND_CLASS = np.array([(1, 0, 1), (1, 1, 1), (2, 0, 1), (2, 1, 1)])  # in n, s, young, old


def stated(low, high=None):
    """Return totals of the second class in both regions and both ages."""
    low = np.array(low, dtype=float)
    return LinearConstraints.at(
        SECOND_CLASS, MARGINS, SIZES, low, low if high is None else np.array(high, dtype=float)
    )


def of_all_tables(constraints):
    """Return the sums of every table of whole counts there is."""
    return ALL_COUNTS.reshape(len(ALL_COUNTS), -1) @ constraints.matrix.T.toarray()


FOUR = st.lists(st.integers(0, 5), min_size=4, max_size=4)


@settings(max_examples=40)
@given(FOUR, FOUR)
def test_the_nearest_table_of_all_there_are(low, widths):
    constraints = stated(low, np.add(low, widths) % 6 + low)
    counts, missed, is_proven = nearest_table(constraints, whole=True)
    off = [np.abs(constraints.missed(table)).sum() for table in ALL_COUNTS]
    assert is_proven
    assert (counts.sum(axis=1) == SIZES).all()
    np.testing.assert_array_equal(missed, constraints.missed(counts))
    assert np.abs(missed).sum() == min(off)


@settings(max_examples=40)
@given(FOUR)
def test_two_margins_are_consistent_if_some_whole_table_meets_them(low):
    """Two margins of two classes are a network, where whole numbers suffice."""
    constraints = stated(low)
    assert is_consistent(constraints) == (of_all_tables(constraints) == low).all(axis=1).any()


@settings(max_examples=30)
@given(FOUR)
def test_a_contradiction_has_nothing_to_spare(low):
    constraints = stated(low)
    assume(not is_consistent(constraints))
    found = smallest_inconsistency(constraints)
    assert not is_consistent(constraints.some(np.array(found)))
    for left in found:
        rest = np.array([f for f in found if f != left], dtype=np.intp)
        assert is_consistent(constraints.some(rest))


@given(
    st.lists(st.integers(10, 99), min_size=3, max_size=3),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
)
def test_least_squares_in_exact_arithmetic(values, variances):
    """Of totals of all classes each takes its share of the gap, as large as its variance."""
    n_rows = sum(values) + 5
    constraints = LinearConstraints.of(Bounds.overall(values, values, n_rows))
    found = least_squares(constraints, np.array(variances, dtype=float))
    exact = [
        value + Fraction(5 * variance, sum(variances))
        for value, variance in zip(values, variances, strict=True)
    ]
    assert found == pytest.approx([float(each) for each in exact], abs=1e-9)


def test_no_count_becomes_negative():
    values = np.array([1.0, 100.0])
    constraints = LinearConstraints.of(Bounds.overall([1, 1], [1, 1], 50)).between(values, values)
    assert least_squares(constraints, np.ones(2)) == pytest.approx([0, 50])


def test_what_has_no_variance_does_not_change():
    found = least_squares(stated([2, 3, 4, 3]), np.array([0.0, 0.0, 1.0, 3.0]))
    assert found == pytest.approx([2, 3, 3.5, 1.5])
    assert least_squares(stated([2, 3, 4, 3]), np.zeros(4)) is None


def test_ranges_hold_back_what_is_changed():
    # Young and old must be five together, but the old at least two.
    found = least_squares(stated([2, 3, 5, 2], [2, 3, 5, 3]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert found[2] == pytest.approx(3)
    assert found[3] == pytest.approx(2)


def test_ranges_alone_have_nothing_to_be_near_to():
    assert least_squares(stated([3, 3, 0, 0], [3.5, 4, 1, 1]), np.ones(4)) is None


@settings(max_examples=40)
@given(st.lists(st.integers(0, 100), min_size=4, max_size=4), st.lists(st.booleans(), min_size=4))
def test_rounding_takes_the_nearest_of_all_whole_tables(shares, fixed):
    counts = np.outer(SIZES, [1.0, 1.0])
    counts[:, 1] *= np.array(shares) / 100
    counts[:, 0] -= counts[:, 1]
    target = stated([0] * 4).matrix @ counts.ravel()
    is_whole = np.abs(target - np.rint(target)) < 1e-9
    fixed = np.array(fixed[:4]) & is_whole
    found, missed, _ = round_table(stated(target), target, fixed)
    sums = of_all_tables(stated(target))
    near = (np.floor(target + 1e-9) <= sums).all(axis=1) & (sums <= np.ceil(target - 1e-9)).all(1)
    assert not missed.any()
    own = stated(target).matrix @ found.ravel()
    best = np.abs(sums[near] - target).sum(axis=1).min()
    assert np.abs(own - target).sum() == pytest.approx(best)


@settings(max_examples=30)
@given(FOUR)
def test_rescaled_totals_are_consistent_and_change_no_more_than_they_must(low):
    constraints = stated(low)
    found = rescale(constraints, np.zeros(4), MARGINS)
    assert is_consistent(constraints.between(found, found))
    if is_consistent(constraints):
        assert found == pytest.approx(np.array(low, dtype=float), abs=1e-6)


def test_rescaled_margins_agree_on_the_mean_of_what_they_add_up_to():
    found = rescale(stated([2, 2, 3, 3]), np.zeros(4), MARGINS)
    assert found[:2].sum() == pytest.approx(5)
    assert found[2:].sum() == pytest.approx(5)
