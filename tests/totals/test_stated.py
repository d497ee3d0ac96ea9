"""Totals as users state them: mappings, series, crosstabs, tables; counts, rates, ranges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from c2rf.exceptions import InputError, InputTypeError
from c2rf.totals.stated import (
    Estimate,
    StatedTotal,
    Totals,
    are_given,
    read_stated,
    read_totals,
    written,
)

CLASSES = ["no", "yes"]
CENSUS = pd.DataFrame(
    {"region": ["north", "north", "south", "south"], "poor": ["no", "yes", "yes", "yes"]}
)
BY_REGION = {"north": {"no": 1, "yes": 1}, "south": {"yes": 2}}


@pytest.mark.parametrize(
    "given",
    [
        {"no": 1, "yes": 3},
        pd.Series({"no": 1, "yes": 3}),
        pd.Series({"no": 1.0, "yes": 3.0}),  # what pandas makes of counts
        CENSUS["poor"].value_counts(),
        [{"class": "no", "total": 1}, {"class": "yes", "total": 3}],
        pd.DataFrame({"class": ["no", "yes"], "total": [1, 3]}),
        [{"no": 1}, {"yes": 3}],
    ],
)
def test_overall(given):
    known = read_totals(given, CLASSES)
    assert known.overall == {"no": 1, "yes": 3}
    assert all(isinstance(total, int | np.integer) for total in known.overall.values())
    assert not known.margins


def test_rates_stay_rates():
    assert read_totals(CENSUS["poor"].value_counts(normalize=True), CLASSES).overall == {
        "yes": 0.75,
        "no": 0.25,
    }
    assert read_totals(pd.Series({"yes": 1.0}), CLASSES).overall == {"yes": 1.0}
    assert read_totals({"yes": 1.0}).overall == {"yes": 1.0}


@pytest.mark.parametrize(
    "given",
    [
        CENSUS.groupby("region")["poor"].value_counts(),
        CENSUS.value_counts(),
        CENSUS.rename(columns={"poor": "class"}).value_counts().rename("total").reset_index(),
    ],
)
def test_in_groups(given):
    (margin,) = read_totals(given, CLASSES).margins
    assert margin.columns == ("region",)
    assert margin.by_group == BY_REGION


def test_a_crosstab():
    (margin,) = read_totals(pd.crosstab(CENSUS["region"], CENSUS["poor"]), CLASSES).margins
    assert margin.columns == ("region",)
    assert margin.by_group == {"north": {"no": 1, "yes": 1}, "south": {"no": 0, "yes": 2}}


def test_both_at_once():
    known = read_totals([{"yes": 3}, CENSUS.value_counts()], CLASSES)
    assert known.overall == {"yes": 3}
    assert known.margins[0].by_group == BY_REGION


def test_a_class_with_two_totals():
    with pytest.raises(InputError, match="the class 'yes' has more than one total"):
        read_totals([{"yes": 3}, {"yes": 2}])


def test_half_a_count():
    with pytest.raises(InputError, match=r"counts must be whole; found 2\.5"):
        read_totals(pd.Series({"no": 1.0, "yes": 2.5}), CLASSES)


@pytest.mark.parametrize("given", [np.arange(100_000), "yes=3", 7, pd.DataFrame({"x": [1]})])
def test_messages_stay_short(given):
    with pytest.raises((InputError, InputTypeError)) as caught:
        read_totals(given, CLASSES)
    assert len(str(caught.value)) < 300


def test_a_column_per_class_beside_those_of_the_groups():
    table = pd.DataFrame({"region": ["north", "south"], "no": [1, None], "yes": [1, 2]})
    (margin,) = read_totals(table, CLASSES).margins
    assert margin.columns == ("region",)
    assert margin.by_group == BY_REGION


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            pd.DataFrame({"region": ["north"], "yes": [1], "Total": [2]}),
            "must not have the sum 'Total'; drop it",
        ),
        (
            pd.DataFrame({"region": ["north"], "perhaps": [1]}),
            "or a column for each class; found the columns 'region', 'perhaps'",
        ),
        (
            [{"class": "no", "total": 1}, {"class": "yes", "total": 1, "region": "north"}],
            "must have the same columns; found 'class', 'total' and 'class', 'total', 'region'",
        ),
        (
            pd.Series([1], index=pd.MultiIndex.from_tuples([("north", "x")], names=["a", "b"])),
            "no level of the index of totals holds classes",
        ),
    ],
)
def test_tables_of_another_shape(given, words):
    with pytest.raises(InputError, match=words):
        read_totals(given, CLASSES)


def test_totals_within_totals():
    with pytest.raises(InputTypeError, match="the total of 'north' is a mapping"):
        read_totals({"north": {"yes": 1}}, CLASSES)


def test_grouping_columns_are_those_of_all_margins_each_once():
    rows = [{"region": "n", "age": 1, "class": "yes", "total": 1}]
    known = read_totals([CENSUS.value_counts(), rows], CLASSES)
    assert known.columns == ("region", "age")
    assert read_totals(known) is known
    assert not known.has_estimates
    assert Totals({"yes": Estimate(3, se=1)}).has_estimates


def test_a_column_of_standard_errors_makes_estimates():
    table = pd.DataFrame({"class": CLASSES, "total": [1, 3], "se": [np.nan, 0.5]})
    assert read_totals(table).overall == {"no": 1, "yes": Estimate(3, se=0.5)}
    with pytest.raises(InputError, match=r"totals, row 1: the standard error .* above 0; found -1"):
        read_totals(table.assign(se=[0, -1]))


@pytest.mark.parametrize(
    ("total", "found"),
    [
        (5, StatedTotal(5, 5, False, "5")),
        (0.25, StatedTotal(10, 10, True, "0.25")),
        ((3, 4), StatedTotal(3, 4, False, "(3, 4)")),
        ((0.0, 1.0), StatedTotal(0, 40, True, "(0.0, 1.0)")),
    ],
)
def test_a_total_is_a_range_of_rows(total, found):
    assert read_stated(total, 40, "it", "strict") == found


@pytest.mark.parametrize(
    ("value", "se", "low", "error"), [(0.25, 0.05, 10, 2), (7.5, 2, 7.5, 2), (1, 1, 1, 1)]
)
def test_an_estimate_is_one_of_a_rate_if_it_is_a_float_up_to_one(value, se, low, error):
    found = read_stated(Estimate(value, se=se), 40, "it", "strict")
    assert (found.low, found.high, found.se) == (low, low, error)
    assert found.is_rate == (value == 0.25)


def test_too_large_a_count_is_left_to_be_scaled():
    with pytest.raises(InputError, match="it must be a count from 0 to 4"):
        read_stated(5, 4, "it", "strict")
    assert read_stated(5, 4, "it", "scale").high == 5
    assert read_stated((3, 5), 4, "it", "strict").high == 5  # the upper end of a range may be


def test_totals_are_written_as_they_were_given():
    assert written((1, np.int64(2))) == "(1, 2)"
    assert written(Estimate(12, se=3)) == "Estimate(12, se=3)"
    assert len(written("x" * 100)) == 60


def test_rows_without_totals_and_totals_without_rows():
    assert are_given([[1]], {"yes": 1})
    assert not are_given(None, None, None)
    with pytest.raises(InputError, match="without X_unlabeled"):
        are_given(None, None, ["n"])
    with pytest.raises(InputError, match="without totals"):
        are_given([[1]], None)
