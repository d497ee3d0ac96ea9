"""What users say about totals becomes bounds that can be met, or an error that shows the sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from c2rf.exceptions import InputError, InputTypeError
from c2rf.totals.bounds import find_conflict
from c2rf.totals.groups import read_groups
from c2rf.totals.make_bounds import largest_remainder, make_bounds
from c2rf.totals.stated import Margin, Totals

CLASSES = np.array(["a", "b", "c"])


def overall(totals, n_points=10, policy="strict"):
    bounds = make_bounds(Totals(totals), read_groups(None, n_points), CLASSES, policy)
    return bounds.lower.tolist(), bounds.upper.tolist()


def grouped(totals, group_totals, policy="strict", sizes=(6, 4)):
    groups = read_groups(np.repeat(["north", "south"], sizes), sum(sizes))
    known = Totals(totals or {}, (Margin(("region",), group_totals),))
    return make_bounds(known, groups, CLASSES, policy)


class TestReading:
    @pytest.mark.parametrize(
        ("totals", "lower", "upper"),
        [
            ({"a": 5, "b": 3, "c": 2}, [5, 3, 2], [5, 3, 2]),
            ({"a": np.int32(5), "b": 3}, [5, 3, 0], [5, 3, 10]),
            ({"a": 0.5, "b": 0.3, "c": 0.2}, [5, 3, 2], [5, 3, 2]),
            ({"a": 5, "b": 0.3, "c": 0.2}, [5, 3, 2], [5, 3, 2]),
            ({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, [4, 3, 3], [4, 3, 3]),
            ({"a": 0.333, "b": 0.333, "c": 0.333}, [4, 3, 3], [4, 3, 3]),
            ({"a": 0.25, "b": 0.25}, [3, 2, 0], [3, 2, 10]),
            ({"a": np.float32(0.5), "b": (2, 4), "c": (0.1, 0.29)}, [5, 2, 1], [5, 4, 2]),
            ({"a": [0, 10], "b": 10, "c": 0}, [0, 10, 0], [10, 10, 0]),
            ({"a": 1.0, "b": 0.0, "c": 0}, [10, 0, 0], [10, 0, 0]),
            ({"a": (0, 99), "b": 3, "c": 2}, [0, 3, 2], [99, 3, 2]),
        ],
    )
    def test_counts_rates_and_ranges(self, totals, lower, upper):
        assert overall(totals) == (lower, upper)

    def test_a_rate_of_a_float_that_is_a_whole_number(self):
        assert overall({"a": (0.1, 0.3), "b": 0.7}, 30) == ([3, 21, 0], [9, 21, 30])

    @pytest.mark.parametrize(
        ("totals", "error", "words"),
        [
            ({"a": True, "b": 3}, InputTypeError, ["total of 'a'", "True", "count", "rate"]),
            ({"a": "5", "b": 3}, InputTypeError, ["total of 'a'", "'5' of type str"]),
            ({"a": None, "b": 3}, InputTypeError, ["None"]),
            ({"a": (1, 0.5), "b": 3}, InputTypeError, ["two counts or of two rates"]),
            ({"a": float("nan"), "b": 3}, InputError, ["total of 'a'", "nan"]),
            ({"a": -1, "b": 3}, InputError, ["total of 'a'", "0 to 10", "-1"]),
            ({"a": -0.1, "b": 3}, InputError, ["rate in [0, 1]", "-0.1"]),
            ({"a": 5.0, "b": 3}, InputError, ["rate in [0, 1]", "5.0", "counts as integers"]),
            ({"a": 11, "b": 3}, InputError, ["0 to 10", "11", 'totals_policy="scale"']),
            ({"a": (3, 2), "b": 3}, InputError, ["lo <= hi", "(3, 2)"]),
            ({"a": (1, 2, 3), "b": 3}, InputError, ["(1, 2, 3)"]),
            ({"a": (0.11, 0.19), "b": 3}, InputError, ["without a whole number", "1.1 to 1.9"]),
            ({"a": 5}, InputError, ["leaves out", "'b', 'c'", "(0.0, 1.0)"]),
            ({"a": 5, "b": 3, "d": 2}, InputError, ["'d'", "no labeled row", "'a', 'b', 'c'"]),
        ],
    )
    def test_what_is_wrong_is_named(self, totals, error, words):
        with pytest.raises(error) as caught:
            overall(totals)
        for word in words:
            assert word in str(caught.value)

    def test_nothing_said(self):
        with pytest.raises(InputError, match="at least one total; found none"):
            overall({})


class TestSums:
    @pytest.mark.parametrize(
        ("totals", "words"),
        [
            ({"a": 5, "b": 3, "c": 3}, "totals add up to 11 ('a': 5, 'b': 3, 'c': 3)"),
            ({"a": 5, "b": 3, "c": 1}, "totals add up to 9 "),
            ({"a": 0.5, "b": 0.3, "c": 0.1}, "totals add up to 9 "),
            ({"a": 6, "b": 5}, "totals add up to at least 11 ('a': 6, 'b': 5)"),
            ({"a": (1, 2), "b": (0, 3), "c": 4}, "totals add up to at most 9 "),
        ],
    )
    def test_contradictions_show_them(self, totals, words):
        with pytest.raises(InputError) as caught:
            overall(totals)
        assert words in str(caught.value)
        assert "there are 10 rows" in str(caught.value)
        assert 'totals_policy="scale"' in str(caught.value)

    @pytest.mark.parametrize(
        ("totals", "lower", "upper"),
        [
            ({"a": 500, "b": 300, "c": 210}, [5, 3, 2], [5, 3, 2]),
            ({"a": 0.5, "b": 0.3, "c": 0.1}, [6, 3, 1], [6, 3, 1]),
            ({"a": 12, "b": 8}, [6, 4, 0], [6, 4, 10]),
            ({"a": (1, 2), "b": (0, 3), "c": 3}, [2, 0, 4], [2, 4, 4]),
        ],
    )
    def test_scaled_with_a_warning(self, totals, lower, upper):
        with pytest.warns(UserWarning, match="there are 10 rows: scaled"):
            assert overall(totals, policy="scale") == (lower, upper)

    def test_zeros_cannot_be_scaled(self):
        with pytest.raises(InputError, match="only zeros"):
            overall({"a": 0, "b": 0, "c": 0}, policy="scale")

    @given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.integers(1, 1000))
    def test_rates_that_add_up_do_so_in_points(self, rates, n_points):
        rates = np.array(rates) + 1e-3
        rates /= rates.sum()
        lower, upper = overall(dict(zip(CLASSES.tolist(), rates.tolist(), strict=True)), n_points)
        assert lower == upper
        assert sum(lower) == n_points
        assert (np.abs(rates * n_points - lower) < 1 + 1e-6).all()

    @given(st.lists(st.integers(0, 50), min_size=3, max_size=3), st.integers(1, 60))
    def test_scaled_counts_add_up(self, counts, n_points):
        totals = dict(zip(CLASSES.tolist(), counts, strict=True))
        assume(sum(counts) not in (0, n_points))
        with pytest.warns(UserWarning, match="scaled"):
            lower, upper = overall(totals, n_points, "scale")
        assert sum(lower) == sum(upper) == n_points
        exact = np.array(counts) * n_points / sum(counts)
        assert (np.abs(np.array(lower) - exact) < 1).all()


class TestGroups:
    def test_partial_tables(self):
        bounds = grouped({"a": 5, "b": 3}, {"north": {"a": 0.5, "b": (1, 2)}})
        np.testing.assert_array_equal(bounds.group_lower, [[3, 1, 0], [0, 0, 0]])
        np.testing.assert_array_equal(bounds.group_upper, [[3, 2, 6], [4, 4, 4]])
        np.testing.assert_array_equal(bounds.lower, [5, 3, 0])

    def test_groups_instead_of_totals(self):
        bounds = grouped(None, {"south": {"c": 4}})
        np.testing.assert_array_equal(bounds.upper, [10, 10, 10])
        assert not bounds.overall_binds()

    @pytest.mark.parametrize(
        ("table", "error", "words"),
        [
            ({"west": {"a": 1}}, InputError, ["'west'", "no unlabeled row", "'north', 'south'"]),
            ({"north": {"z": 1}}, InputError, ["'north'", "'z'", "'a', 'b', 'c'"]),
            (
                {"north": {"a": 7}},
                InputError,
                ["the totals of region 'north'", "total of 'a'", "0 to 6"],
            ),
            (
                {"north": {"a": 2, "b": 2, "c": 3}},
                InputError,
                ["the totals of region 'north'", "add up to 7", "6 rows", "scale"],
            ),
        ],
    )
    def test_what_is_wrong_is_named(self, table, error, words):
        with pytest.raises(error) as caught:
            grouped(None, table)
        for word in words:
            assert word in str(caught.value)

    def test_too_many_in_the_groups(self):
        with pytest.raises(InputError) as caught:
            grouped({"a": 5, "b": 3, "c": 2}, {"north": {"a": 3}, "south": {"a": 4}})
        for word in ["'a'", "at least 7", "'north', 'south'", "overall totals allow 5", "scale"]:
            assert word in str(caught.value)

    def test_too_few_in_the_groups(self):
        with pytest.raises(InputError) as caught:
            grouped({"a": 5, "b": 3, "c": 2}, {"north": {"a": (0, 1)}, "south": {"a": (0, 3)}})
        for word in ["'a'", "at most 4", "overall totals want 5"]:
            assert word in str(caught.value)

    def test_a_set_of_classes_that_none_alone_shows(self):
        with pytest.raises(InputError) as caught:
            grouped({"a": 4, "b": 4, "c": 2}, {"north": {"c": 2}, "south": {"c": (1, 3)}})
        assert "'c'" in str(caught.value)

    def test_totals_give_way(self):
        table = {"north": {"a": 3, "b": 3, "c": 0}, "south": {"a": 1, "b": 1, "c": 2}}
        with pytest.warns(UserWarning, match="those of groups, which are kept"):
            bounds = grouped({"a": 5, "b": 3, "c": 2}, table, "scale")
        np.testing.assert_array_equal(bounds.lower, [4, 4, 2])
        assert find_conflict(bounds) is None

    def test_totals_give_way_to_partial_tables(self):
        with pytest.warns(UserWarning, match="changed from .* to"):
            bounds = grouped({"a": 1, "b": 5, "c": 4}, {"north": {"a": 5}}, "scale")
        assert bounds.lower.tolist() == bounds.upper.tolist() == [5, 3, 2]
        with pytest.warns(UserWarning, match="changed from .* to"):
            bounds = grouped({"a": 9, "b": 1, "c": 0}, {"north": {"a": 1}}, "scale")
        assert bounds.upper.sum() == 10
        assert bounds.upper[0] == 5
        assert find_conflict(bounds) is None


@pytest.mark.parametrize(
    ("values", "total", "rounded"),
    [([0.5, 0.5], 1, [1, 0]), ([1.2, 2.9, 0.9], 5, [1, 3, 1]), ([3.0, 0.0], 3, [3, 0])],
)
def test_largest_remainder(values, total, rounded):
    assert largest_remainder(values, total).tolist() == rounded
