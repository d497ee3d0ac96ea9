"""Totals become bounds that can be met, or an error that shows why they cannot."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from c2rf import Estimate
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.problem import check_total
from c2rf.totals.bounds import can_be_met, totals_table
from c2rf.totals.groups import Groups, read_groups
from c2rf.totals.make_bounds import largest_remainder, make_bounds
from c2rf.totals.stated import Margin, Totals, read_stated, read_totals
from margin_cases import contradicting_case, reconciled

ABC = np.array(["a", "b", "c"])


def overall(totals, n_points=10, policy="strict"):
    bounds = make_bounds(Totals(totals), read_groups(None, n_points), ABC, policy)
    return bounds.lower.tolist(), bounds.upper.tolist()


def grouped(totals, group_totals, policy="strict", sizes=(6, 4)):
    groups = read_groups(np.repeat(["north", "south"], sizes), sum(sizes))
    known = Totals(totals or {}, (Margin(("region",), group_totals),))
    return make_bounds(known, groups, ABC, policy)


class TestReading:
    @pytest.mark.parametrize(
        ("totals", "lower", "upper"),
        [
            ({"a": 5, "b": 3, "c": 2}, [5, 3, 2], [5, 3, 2]),
            ({"a": np.int32(5), "b": 3}, [5, 3, 0], [5, 3, 10]),
            ({"a": 0.5, "b": 0.3, "c": 0.2}, [5, 3, 2], [5, 3, 2]),
            ({"a": 5, "b": 0.3, "c": 0.2}, [5, 3, 2], [5, 3, 2]),
            ({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, [3, 3, 4], [3, 3, 4]),
            ({"a": 0.333, "b": 0.333, "c": 0.333}, [3, 3, 4], [3, 3, 4]),
            ({"a": 0.25, "b": 0.25}, [2, 3, 0], [2, 3, 10]),
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
        lower, upper = overall(dict(zip(ABC.tolist(), rates.tolist(), strict=True)), n_points)
        assert lower == upper
        assert sum(lower) == n_points
        assert (np.abs(rates * n_points - lower) < 1 + 1e-6).all()

    @given(st.lists(st.integers(0, 50), min_size=3, max_size=3), st.integers(1, 60))
    def test_scaled_counts_add_up(self, counts, n_points):
        totals = dict(zip(ABC.tolist(), counts, strict=True))
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
        for word in ["all rows: 'a' 5", "'north': 'a' 3", "'south': 'a' 4", "3 totals", "scale"]:
            assert word in str(caught.value)

    def test_too_few_in_the_groups(self):
        with pytest.raises(InputError) as caught:
            grouped({"a": 5, "b": 3, "c": 2}, {"north": {"a": (0, 1)}, "south": {"a": (0, 3)}})
        for word in ["all rows: 'a' 5", "'north': 'a' (0, 1)", "'south': 'a' (0, 3)"]:
            assert word in str(caught.value)

    def test_a_set_of_classes_that_none_alone_shows(self):
        with pytest.raises(InputError) as caught:
            grouped({"a": 4, "b": 4, "c": 2}, {"north": {"c": 2}, "south": {"c": (1, 3)}})
        assert "'c'" in str(caught.value)

    def test_complete_overall_totals_are_kept_and_those_of_some_groups_give_way(self):
        with pytest.warns(UserWarning, match="'a' in region 'north': 5 became 1"):
            bounds = grouped({"a": 1, "b": 5, "c": 4}, {"north": {"a": 5}}, "scale")
        assert bounds.lower.tolist() == bounds.upper.tolist() == [1, 5, 4]
        assert can_be_met(bounds)

    def test_between_two_complete_tables_there_is_a_middle(self):
        table = {"north": {"a": 300, "b": 300, "c": 0}, "south": {"a": 100, "b": 100, "c": 200}}
        with pytest.warns(UserWarning, match="'a' in all rows: 500 became 450"):
            bounds = grouped({"a": 500, "b": 300, "c": 200}, table, "scale", (600, 400))
        assert bounds.lower.tolist() == [450, 350, 200]
        assert can_be_met(bounds)

    def test_rates_that_fit_in_fractions_of_rows_are_rounded_together(self):
        """Rounded alone, 0.5 of three rows is 2 in both groups and 0.5 of all six is 3."""
        rows = read_groups(["u", "u", "u", "v", "v", "v"], 6)._replace(columns=("g",))
        half = {"a": 0.5, "b": 0.5, "c": 0.0}
        totals = Totals(half, (Margin(("g",), {"u": half, "v": half}),))
        bounds = make_bounds(totals, rows, ABC)
        assert bounds.lower.tolist() == [3, 3, 0]
        assert sorted(bounds.group_lower[:, 0].tolist()) == [1, 2]
        assert can_be_met(bounds)


@pytest.mark.parametrize(
    ("values", "total", "rounded"),
    [([0.5, 0.5], 1, [0, 1]), ([1.2, 2.9, 0.9], 5, [1, 3, 1]), ([3.0, 0.0], 3, [3, 0])],
)
def test_largest_remainder(values, total, rounded):
    assert largest_remainder(values, total).tolist() == rounded


YES_NO = ["no", "yes"]
PEOPLE = pd.DataFrame(
    {
        "region": ["n", "n", "n", "s", "s", "s"] * 4,
        "age": ["young", "old", "old"] * 8,
        "sex": ["f", "m"] * 12,
    }
)


def table(column, totals, label="yes"):
    return pd.DataFrame({column: list(totals), "class": label, "total": list(totals.values())})


def bounds_of(totals, policy="strict", weights=None, columns=("region", "age")):
    groups = read_groups(PEOPLE[list(columns)], len(PEOPLE))._replace(columns=tuple(columns))
    return make_bounds(read_totals(totals, YES_NO), groups, YES_NO, policy, weights)


def test_two_margins_become_bounds_of_sets_of_groups():
    bounds = bounds_of([table("region", {"n": 4, "s": 2}), table("age", {"old": 5})])
    by_region, by_age = bounds.margins
    assert by_region.lower[by_region.names.index("n")].tolist() == [0, 4]
    assert by_age.upper[by_age.names.index("old")].tolist() == [16, 5]


def test_contradicting_margins_are_refused_by_a_set_that_cannot_be_smaller():
    with pytest.raises(InputError, match="these 4 totals cannot hold together") as found:
        bounds_of([table("region", {"n": 4, "s": 2}), table("age", {"old": 5, "young": 3})])
    assert "region 'n': 'yes' 4" in str(found.value)
    assert "age 'young': 'yes' 3" in str(found.value)


def test_a_cycle_of_three_margins_that_contradict_each_other():
    cube = pd.DataFrame([(a, b, c) for a in "xy" for b in "xy" for c in "xy"], columns=list("abc"))
    groups = read_groups(cube, 8)._replace(columns=("a", "b", "c"))

    def pair(first, second, same):
        return [
            {first: u, second: v, "class": "yes", "total": 2 if (u == v) == same else 0}
            for u in "xy"
            for v in "xy"
        ]

    cycle = [pair("a", "b", True), pair("b", "c", True), pair("a", "c", False)]
    with pytest.raises(InputError, match="cannot hold together"):
        make_bounds(read_totals(cycle, YES_NO), groups, YES_NO)
    with pytest.warns(UserWarning, match="changed to fit together"):
        moved = make_bounds(read_totals(cycle, YES_NO), groups, YES_NO, "scale")
    assert moved.adjustments


def test_scale_changes_figures_and_says_which():
    tables = [table("region", {"n": 4, "s": 2}), table("age", {"old": 5, "young": 3})]
    with pytest.warns(UserWarning, match="changed to fit together"):
        bounds = bounds_of(tables, "scale")
    sums = {int(m.lower[:, 1].sum()) for m in bounds.margins}
    assert len(sums) == 1
    assert sums <= {6, 7, 8}
    assert all(change.before != change.after for change in bounds.adjustments)


def test_whole_numbers_may_be_impossible_where_fractions_are_not():
    # Of each two of three rows exactly one is positive: half a row each would do.
    triangle = pd.DataFrame({"a": list("ppq"), "b": list("qpp"), "c": list("pqp")})
    groups = read_groups(triangle, 3)._replace(columns=("a", "b", "c"))
    known = read_totals([table(name, {"p": 1}) for name in "abc"], YES_NO)
    with pytest.raises(InputError, match="the smallest deviation is 1 in all"):
        make_bounds(known, groups, YES_NO)
    with pytest.warns(UserWarning, match="changed to fit together"):
        bounds = make_bounds(known, groups, YES_NO, "scale")
    assert len(bounds.adjustments) == 1


def test_estimates_move_the_more_the_less_certain_they_are():
    with pytest.warns(UserWarning, match="standard errors"):
        bounds = bounds_of({"yes": Estimate(10, se=1), "no": Estimate(20, se=2)})
    # 30 is six too many: a fifth of it is taken from the more certain.
    assert bounds.lower.tolist() == [15, 9]
    assert [change.standard_errors for change in bounds.adjustments] == [-1.0, -2.5]


def test_exact_totals_do_not_move():
    given = [{"yes": Estimate(12, se=3)}, table("region", {"n": 4, "s": 3})]
    with pytest.warns(UserWarning, match="12 became 7"):
        bounds = bounds_of(given)
    assert bounds.upper[1] == 7


@pytest.mark.parametrize("seed", range(12))
def test_reconciled_figures_are_those_of_generalised_least_squares(seed):
    people, tables, n_classes = contradicting_case(seed)
    groups = read_groups(people, len(people))._replace(columns=tuple(people.columns))
    with pytest.warns(UserWarning, match="standard errors"):
        bounds = make_bounds(read_totals(tables, range(n_classes)), groups, range(n_classes))
    found = np.concatenate([margin.lower.ravel() for margin in bounds.margins])
    assert np.abs(found - reconciled(people, tables, n_classes)).max() < 1  # but for rounding
    assert all((margin.lower == margin.upper).all() for margin in bounds.margins)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [table("region", {"n": 4, "west": 2}), table("age", {"old": 5})],
            "no unlabeled row",
        ),
        ([table("region", {"n": 4}, "Yes"), table("age", {"old": 5})], "did you mean 'yes'"),
        ([table("region", {"n": 40}), table("age", {"old": 5})], "from 0 to 12"),
        (
            [table("region", {"n": 4}).assign(se=-1.0), table("age", {"old": 5})],
            "found -1",
        ),
        ([table("region", {"n": 4}).assign(se="x"), table("age", {"old": 5})], "must be a number"),
        ([table("region", {"n": 4}), table("region", {"n": 4})], "more than one total"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        bounds_of(given)


def test_weighted_totals_need_not_add_up_to_a_fraction_of_a_person():
    weights = np.full(len(PEOPLE), 2.51)  # 60.24 people
    bounds = bounds_of({"yes": 20, "no": 40}, weights=weights)
    assert bounds.lower.sum() == pytest.approx(60.24)
    assert np.abs(bounds.lower - [40, 20]).max() <= 0.5


@pytest.mark.parametrize("policy", ["strict", "scale"])
def test_weighted_estimates_that_contradict_each_other_are_reconciled(policy):
    weights = np.full(len(PEOPLE), 2.5)  # 60 people
    given = {"yes": Estimate(30, se=1), "no": Estimate(40, se=3)}
    with pytest.warns(UserWarning, match="2 totals changed to fit together"):
        bounds = bounds_of(given, policy, weights)
    # Ten too many: a tenth of it is taken from the more certain.
    assert bounds.lower == pytest.approx([31, 29])
    assert bounds.upper == pytest.approx([31, 29])


def test_ranges_that_contradict_each_other_are_moved_by_the_least_there_is():
    given = [table("region", {"n": (1, 2), "s": (1, 2)}), table("age", {"old": (5, 6)})]
    with pytest.warns(UserWarning, match="1 total changed to fit together"):
        bounds = bounds_of(given, "scale")
    (moved,) = bounds.adjustments
    assert abs(moved.after - moved.before) == 1
    assert moved.stated in ("(1, 2)", "(5, 6)")


@settings(max_examples=15)
@given(st.tuples(*map(st.integers, [0] * 4, [1, 2, 2, 1])), st.tuples(*[st.integers(-1, 1)] * 5))
def test_counts_are_accepted_if_and_only_if_some_table_of_counts_meets_them(ones, errors):
    """Of two regions with three rows each, of whom one and two are old."""
    people = pd.DataFrame({"region": list("nnnsss"), "age": list("oyyooy")})
    groups = read_groups(people, 6)._replace(columns=("region", "age"))

    def sums(no, ny, so, sy):
        return np.array([no + ny, so + sy, no + so, ny + sy, no + ny + so + sy])

    n, s, old, young, overall = counts = np.clip(sums(*ones) + errors, 0, 3).tolist()
    by_region, by_age = {"n": n, "s": s}, {"o": old, "y": young}
    given = [{"yes": overall}, table("region", by_region), table("age", by_age)]
    tables = product(range(2), range(3), range(3), range(2))
    is_possible = any(sums(*each).tolist() == counts for each in tables)
    try:
        bounds = make_bounds(read_totals(given, YES_NO), groups, YES_NO)
    except InputError:
        assert not is_possible
        return
    assert is_possible
    for margin, stated in zip(bounds.margins, (by_region, by_age), strict=True):
        assert dict(zip(margin.names, margin.lower[:, 1].tolist(), strict=True)) == stated
        assert dict(zip(margin.names, margin.upper[:, 1].tolist(), strict=True)) == stated
    assert bounds.lower[1] == bounds.upper[1] == overall


@settings(max_examples=15)
@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 3), st.integers(0, 3))
def test_one_margin_gives_the_same_bounds_in_finer_groups(n, s, below, above):
    """What is checked group by group, and what is checked all at once, is the same."""
    given = [
        {"yes": (max(n + s - below, 0), n + s + above)},
        table("region", {"n": n, "s": (max(s - below, 0), s)}),
    ]
    coarse = bounds_of(given, columns=("region",))
    fine = bounds_of(given, columns=("region", "age"))
    assert fine.lower.tolist() == coarse.lower.tolist()
    assert fine.upper.tolist() == np.minimum(coarse.upper, coarse.n_rows).tolist()
    (margin,) = fine.margins
    assert margin.lower.tolist() == coarse.group_lower.tolist()
    assert margin.upper.tolist() == np.minimum(coarse.group_upper, 12).tolist()


def test_adjustments_name_the_column_and_what_was_stated():
    given = pd.concat([table("region", {"n": 8}, label) for label in YES_NO])
    with pytest.warns(UserWarning, match="the totals of region 'n' add up to 16, but there are 12"):
        bounds = bounds_of(given, "scale", columns=("region",))
    assert [(a.where, a.stated, a.before, a.after) for a in bounds.adjustments] == [
        ("region 'n'", "8", 8.0, 6.0), ("region 'n'", "8", 8.0, 6.0),
    ]  # fmt: skip


def test_standard_errors_are_of_the_groups_of_the_most_detailed_margin():
    given = table("region", {"n": 4, "s": 8}).assign(se=[1.0, 4.0])
    bounds = bounds_of(given, columns=("region",))
    assert bounds.errors.tolist() == [[0.0, 1.0], [0.0, 4.0]]
    uncertain = {"yes": Estimate(12, se=6)}
    both = bounds_of([uncertain, given], columns=("region",))
    assert both.errors.tolist() == bounds.errors.tolist()
    spread = bounds_of([uncertain, given.drop(columns="se")], columns=("region",))
    np.testing.assert_allclose(spread.errors, [[0.0, 2.0], [0.0, 4.0]])
    assert bounds_of({"yes": 3}).errors is None


class OfMany(Groups):
    """Groups of many rows, of which only the numbers are there."""

    @property
    def sizes(self):
        return self.codes


class TestWholeNumbersAsWholeNumbers:
    """A population of a billion is off by one or it is not."""

    def crossing(self, n_rows, n_first, n_second):
        """Totals by two columns that cross, of a table that there is."""
        rng = np.random.default_rng(n_rows)
        shape = (n_first, n_second, 3)
        table = rng.multinomial(n_rows, rng.dirichlet(np.ones(np.prod(shape)))).reshape(shape)
        names = [(f"a{i}", f"b{j}") for i, j in np.ndindex(shape[:2])]
        tables = [
            {f"{column}{i}": dict(zip(ABC[:2].tolist(), row[:2].tolist(), strict=True))
             for i, row in enumerate(table.sum(axis=1 - m))}
            for m, column in enumerate("ab")
        ]  # fmt: skip
        groups = OfMany(names, table.sum(axis=2).ravel(), ("a", "b"))
        margins = tuple(Margin((column,), t) for column, t in zip("ab", tables, strict=True))
        return Totals({}, margins), groups

    @pytest.mark.parametrize("n_rows", [12_000_000, 10**9, 10**10])
    @pytest.mark.parametrize("shape", [(2, 2), (5, 7)])
    def test_margins(self, n_rows, shape):
        known, groups = self.crossing(n_rows, *shape)
        make_bounds(known, groups, ABC)
        known.margins[0].by_group["a0"]["a"] += 1
        with pytest.raises(InputError, match="contradict each other: these"):
            make_bounds(known, groups, ABC)

    def test_what_is_not_known_to_a_row_is_not_said_of_whole_rows(self):
        known, groups = self.crossing(10**13, 2, 2)
        make_bounds(known, groups, ABC)
        known.margins[0].by_group["a0"]["a"] += 1
        with pytest.raises(InputError, match=r"to within 10 rows.* a deviation is known of"):
            make_bounds(known, groups, ABC)

    @pytest.mark.parametrize("n_rows", [10**9, 3 * 10**9, 10**13])
    def test_one_grouping(self, n_rows):
        """Flows of more than 32 bits."""
        groups = OfMany(["x", "y"], np.array([n_rows, n_rows // 2]), ("a",))
        first, overall = n_rows // 4, n_rows // 3
        margin = Margin(("a",), {"x": {"p": first}, "y": {"p": overall - first}})
        for off in (0, 1):
            known = Totals({"p": overall + off}, (margin,))
            if off == 0:
                assert make_bounds(known, groups, ["p", "q"]).lower[0] == overall
                continue
            with pytest.raises(InputError, match=f"'p' {overall - first}|contradict"):
                make_bounds(known, groups, ["p", "q"])

    def weighted(self, weights, off):
        """Totals of weighted rows by two columns; those of the first differ by some in all."""
        columns = [np.arange(len(weights)) % 3, np.arange(len(weights)) // 3 % 4]
        positive = np.arange(len(weights)) % 2 == 0
        tables = [np.bincount(column, weights * positive).astype(int) for column in columns]
        tables[0][:off] += 1
        groups = Groups.of(columns, ("a", "b"))
        margins = tuple(
            Margin((name,), {k: {"p": int(n)} for k, n in enumerate(table)})
            for name, table in zip("ab", tables, strict=True)
        )
        return make_bounds(Totals({}, margins), groups, ["p", "q"], weights=weights), tables

    @pytest.mark.parametrize("spare", [0.0, 0.25])
    def test_weights(self, spare):
        weights = np.random.default_rng(0).integers(1, 9, 60).astype(float)
        weights[1::2] += spare  # of rows that are not positive: totals agree as they are
        bounds, tables = self.weighted(weights, 0)
        for margin, table in zip(bounds.margins, tables, strict=True):
            assert margin.lower[:, 0].tolist() == margin.upper[:, 0].tolist() == table.tolist()
        for off in (1, 3):
            with pytest.raises(InputError, match="contradict each other"):
                self.weighted(weights, off)

    def test_fewer_could_is_said_of_fractions(self):
        with pytest.raises(InputError, match=r"without any one of them, the others could in frac"):
            self.weighted(np.ones(60), 1)


@pytest.mark.parametrize("n", range(1, 40))
def test_half_a_row_goes_to_the_same_class_in_all_forms(n):
    """`solve` reads a rate as totals are read: of one class, of both, and of all n positives."""
    groups = read_groups(None, n)
    for rate in (0.5, 0.25, 0.75, 0.1, 0.35, 0.145):
        solved = check_total(rate, n)
        for totals in ({1: rate}, {0: 1 - rate, 1: rate}):
            bounds = make_bounds(Totals(totals), groups, [0, 1])
            assert (bounds.lower[1], bounds.upper[1]) == (solved, solved)
        assert abs(solved - rate * n) <= 0.5 + 1e-9


@given(
    n=st.integers(1, 10**15), low=st.floats(0, 1, allow_subnormal=False),
    high=st.floats(0, 1, allow_subnormal=False),
)  # fmt: skip
def test_ranges_of_rates_end_where_shares_do(n, low, high):
    """As floats, the shares of the least and the most are within the range, those beyond not."""
    low, high = min(low, high), max(low, high)
    k = round(low * n)
    if not any(low <= j / n <= high for j in (k - 1, k, k + 1)):
        with pytest.raises(InputError, match="without a whole number"):
            read_stated((low, high), n, "it", "strict")
        return
    found = read_stated((low, high), n, "it", "strict")
    least, most = int(found.low), int(found.high)
    assert low <= least / n
    assert most / n <= high
    assert least == 0 or (least - 1) / n < low
    assert most == n or (most + 1) / n > high


def test_totals_of_weights_are_off_from_what_was_stated():
    """Weights of 1.1 cannot add up to a whole total: what is missed is named, not moved."""
    weights, groups = np.array([0.5, 1.0, 1.1]), read_groups(None, 3)
    bounds = make_bounds(Totals({"a": 1, "b": 1, "c": 0}), groups, list("abc"), "strict", weights)
    table = totals_table(bounds, groups, list("abc"), np.array([[1.1, 1.5, 0.0]]))
    assert table["lower"].tolist() == table["upper"].tolist() == [1, 1, 0]
    assert table["off"].tolist() == pytest.approx([0.1, 0.5, 0])
    groups = read_groups(["u", "v"] * 20, 40)
    margin = Margin(
        ("g",),
        {
            "u": {"y": 4},
            "v": {"y": 3},
        },
    )
    groups = groups._replace(columns=("g",))
    bounds = make_bounds(Totals({}, (margin,)), groups, ["n", "y"], "strict", np.full(40, 0.4))
    table = totals_table(bounds, groups, ["n", "y"], np.array([[4.0, 4.0], [5.2, 2.8]]))
    assert table[["lower", "off"]].to_numpy() == pytest.approx(np.array([[4, 0], [3, -0.2]]))


def test_a_total_of_all_weights_is_what_they_add_up_to():
    """Sixty weights of 0.1 are six people, though their sum in floats is less by an ulp."""
    groups = read_groups(None, 60)
    bounds = make_bounds(Totals({"a": 6}), groups, ["a", "b"], "strict", np.full(60, 0.1))
    assert bounds.lower[0] == pytest.approx(6)
    with pytest.raises(InputError, match="from 0 to 6, the sum of the weights; found 7"):
        make_bounds(Totals({"a": 7}), groups, ["a", "b"], "strict", np.full(60, 0.1))


def test_no_total_is_changed_to_less_than_nothing():
    groups = read_groups([(0, 0)] * 12 + [(0, 1)] * 3, 15)._replace(columns=("u", "v"))
    estimates = {0: {"a": Estimate(7.3, se=1.0)}, 1: {"b": Estimate(1.5, se=1.0)}}
    totals = Totals({}, (Margin(("u",), {0: {"a": 12}}), Margin(("v",), estimates)))
    with pytest.warns(UserWarning, match="1.5 became 0,"):
        bounds = make_bounds(totals, groups, ["a", "b"], "scale")
    assert [each.after for each in bounds.adjustments if each.label == "b"] == [0.0]
