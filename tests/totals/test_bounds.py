"""Bounds and what follows from them, against enumeration of all tables of counts."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from c2rf.totals.bounds import (
    Adjustment,
    Bounds,
    LinearConstraints,
    MarginBounds,
    adjustments_table,
    can_be_met,
    totals_table,
)
from c2rf.totals.groups import Groups

SIZES = np.array([2, 3, 1])
TABLES = np.array(
    [list(rows) for rows in product(*(
        [(a, b, size - a - b) for a in range(size + 1) for b in range(size + 1 - a)]
        for size in SIZES
    ))]
)  # fmt: skip
"""All tables of counts of three groups by three classes."""


def random_bounds(seed, n_margins=0):
    """Return bounds around a table of counts, with ranges and what is open; some cannot be met."""
    rng = np.random.default_rng(seed)
    counts = TABLES[rng.integers(len(TABLES))]

    def around(found, most):
        lower = np.maximum(found - rng.integers(0, 2, found.shape), 0)
        upper = found + rng.integers(-1, 2, found.shape)
        is_open = rng.random(found.shape) < 0.4
        upper = np.maximum(lower, np.where(is_open, most, upper))
        return np.where(is_open, 0, lower), upper

    margins = []
    for m in range(n_margins):
        codes = np.array([0, 1, m])
        margin = MarginBounds((f"m{m}",), [0, 1], codes, counts[:2], counts[:2])
        lower, upper = around(margin.sums(counts), margin.sums(SIZES)[:, None])
        margins.append(replace(margin, lower=lower, upper=upper))
    overall = around(counts.sum(axis=0), SIZES.sum())
    return Bounds(*overall, *around(counts, SIZES[:, None]), SIZES, tuple(margins))


def tables_that_meet(bounds):
    def within(low, high, found):
        return ((low <= found) & (found <= high)).reshape(len(found), -1).all(axis=1)

    met = [
        within(margin.lower, margin.upper, np.array([margin.sums(table) for table in TABLES]))
        for margin in bounds.all_margins()
    ]
    return TABLES[np.all(met, axis=0)]


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_bounds_can_be_met_if_some_table_meets_them(seed):
    bounds = random_bounds(seed)
    assert can_be_met(bounds) == (len(tables_that_meet(bounds)) > 0)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 2))
def test_implied_bounds_exclude_no_table_and_are_tighter(seed, n_margins):
    bounds = random_bounds(seed, n_margins)
    implied = bounds.with_implied_bounds()
    np.testing.assert_array_equal(tables_that_meet(bounds), tables_that_meet(implied))
    for before, after in zip(bounds.all_margins(), implied.all_margins(), strict=True):
        assert (after.lower >= before.lower).all()
        assert (after.upper <= before.upper).all()


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(0, 2))
def test_linear_constraints_say_the_same(seed, n_margins):
    bounds = random_bounds(seed, n_margins)
    constraints = LinearConstraints.of(bounds)
    met = [table for table in TABLES if not constraints.missed(table).any()]
    assert np.array_equal(met, tables_that_meet(bounds)) or not len(met)
    assert len(met) == len(tables_that_meet(bounds))
    assert constraints.n_classes == 3
    margins = bounds.all_margins()
    for f, (m, category, k) in enumerate(constraints.places):
        most = margins[m].sums(SIZES)[category]
        assert constraints.lower[f] == margins[m].lower[category, k]
        assert constraints.upper[f] == min(most, margins[m].upper[category, k])
    some = constraints.some(np.arange(len(constraints.lower)) % 2 == 0)
    assert some.matrix.shape[0] == len(some.lower) == len(some.places)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_overall_bounds_bind_if_those_of_groups_allow_other_sums(seed):
    bounds = random_bounds(seed)
    low, high = bounds.group_lower, np.minimum(bounds.group_upper, SIZES[:, None])
    excluded = (bounds.lower > low.sum(axis=0)) | (bounds.upper < high.sum(axis=0))
    assert bounds.overall_binds() == excluded.any()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 2))
def test_narrowed_bounds_are_met_by_the_counts_and_open_where_nothing_was_known(seed, n_margins):
    bounds = random_bounds(seed, n_margins)
    for counts in tables_that_meet(bounds)[:3]:
        narrowed = bounds.narrowed_to(counts)
        assert (tables_that_meet(narrowed) == counts).all(axis=(1, 2)).any()
        for before, after in zip(bounds.all_margins(), narrowed.all_margins(), strict=True):
            most = before.sums(SIZES)[:, None]
            is_open = (before.lower == 0) & (before.upper >= most)
            np.testing.assert_array_equal(after.upper[is_open], before.upper[is_open])
            assert (after.lower[~is_open] == after.upper[~is_open]).all()


def test_totals_of_one_number_move_only_if_told():
    bounds, counts = Bounds.overall([4, 2], [4, 6], 8), np.array([[5, 3]])
    assert bounds.narrowed_to(counts).lower.tolist() == [4, 3]
    assert bounds.narrowed_to(counts, move_points=True).upper.tolist() == [5, 3]


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_restricted_bounds_are_met_by_the_rows_of_these_groups(seed):
    bounds = random_bounds(seed, 1)
    kept = np.array([0, 2])
    some = bounds.restricted_to(kept)
    assert some.group_sizes.tolist() == SIZES[kept].tolist()
    constraints = LinearConstraints.of(some)
    for counts in tables_that_meet(bounds):
        assert not constraints.missed(counts[kept]).any()


def test_the_bounds_of_one_group():
    bounds = random_bounds(3)
    one = bounds.of_group(1)
    assert one.n_rows == 3
    np.testing.assert_array_equal(one.lower, bounds.group_lower[1])


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

    @pytest.mark.parametrize(("width", "is_known"), [(10, True), (11, False)])
    def test_ranges_wider_than_a_tenth_of_all_rows_say_nothing(self, width, is_known):
        bounds = Bounds.overall([20, 0], [20 + width, 100], 100)
        assert (bounds.rates() is not None) == is_known

    def test_no_rows(self):
        assert Bounds.overall([0, 0], [0, 0], 0).rates() is None


def test_adjustments_in_words_and_as_a_table():
    exact = Adjustment((), (), "yes", "7", 7.0, 9.0, 0.0)
    estimate = Adjustment(("region", None), ("n", 3), "no", "12+-3", 12.0, 7.5, 3.0)
    assert str(exact) == "'yes' in all rows: 7 became 9"
    assert str(estimate) == "'no' in region 'n', group 3: 12 became 7.5, -1.5 standard errors"
    census = replace(exact, before=1410.0, after=1411.0, labeled=11.0)
    assert str(census) == "'yes' in all rows: 1,410 became 1,411 (with 11 labeled ones)"
    table = adjustments_table([exact, estimate])
    assert table["moved"].tolist() == [2.0, -4.5]
    assert np.isnan(table["standard_errors"][0])
    assert adjustments_table([]).empty


def test_a_row_for_each_known_total():
    codes = np.array([0, 1, 0])
    counts = np.array([[1, 1], [3, 0], [0, 1]])
    free = np.zeros((3, 2), dtype=int)
    low = np.array([[0, 1], [0, 0]])
    margin = MarginBounds(("sex",), ["f", "m"], codes, low, np.array([[3, 1], [3, 3]]))
    sizes = np.array([2, 3, 1])
    overall = np.array([0, 2]), np.array([6, 4])
    bounds = Bounds(*overall, free, free + sizes[:, None], sizes, (margin,))
    groups = Groups([("f", 1), ("m", 1), ("f", 2)], np.arange(3), ("sex", "age"))
    table = totals_table(bounds, groups, ["no", "yes"], counts)
    assert table.to_dict("records") == [
        {"sex": "", "age": "", "class": "yes", "lower": 2, "upper": 4, "labels": 2, "off": 0},
        {"sex": "f", "age": "", "class": "yes", "lower": 1, "upper": 1, "labels": 2, "off": 1},
    ]
