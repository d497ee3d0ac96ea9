"""Totals of everybody: found by their sums, and the labeled rows subtracted, by class and group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import c2rf
from c2rf import Estimate
from c2rf.exceptions import InputError
from c2rf.totals.everybody import about_whom
from c2rf.totals.groups import Groups
from c2rf.totals.make_bounds import make_bounds
from c2rf.totals.stated import Labeled, Margin, Totals

CLASSES = ["no", "yes"]


def people_of(unlabeled: dict[str, int], labeled: dict[tuple[str, str], int]):
    """Return rows to label in regions, and the labeled ones."""
    names = list(unlabeled)
    groups = Groups(names, np.repeat(np.arange(len(names)), list(unlabeled.values())), ("region",))
    there = list(dict.fromkeys(region for region, _ in labeled))
    counts = np.array([[labeled.get((region, k), 0) for k in CLASSES] for region in there])
    return groups, Labeled(there, counts)


PEOPLE = people_of({"north": 90, "south": 50}, {("north", "yes"): 10, ("south", "no"): 20})
NORTH = {"no": 60, "yes": 40}


def whom(totals, people=PEOPLE):
    """Say whom totals are about."""
    groups, labeled = people
    found = about_whom(totals, groups, groups.sizes, labeled, CLASSES)
    return "unlabeled" if found.labeled is None else "everybody"


def bounds_of(totals, people):
    """Return bounds of the rows to label, by totals of everybody."""
    groups, labeled = people
    return make_bounds(replace(totals, labeled=labeled), groups, CLASSES)


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        (Totals({"no": 100, "yes": 70}), "everybody"),
        (Totals({"no": 80, "yes": 60}), "unlabeled"),
        (Totals({"yes": 170}), "unlabeled"),  # incomplete
        (Totals({"no": 0.6, "yes": 0.4}), "unlabeled"),  # rates
        (Totals({"no": (90, 110), "yes": 70}), "unlabeled"),  # a range
        (Totals({"no": 101, "yes": 70}), "everybody"),  # rounded
        (Totals({"no": 300, "yes": 0.5}), "unlabeled"),  # not counts
        (Totals({"no": Estimate(100, se=5), "yes": 70}), "everybody"),
        (Totals({}, (Margin(("region",), {"north": NORTH}),)), "everybody"),
        (Totals({}, (Margin(("region",), {"north": {"no": 50, "yes": 40}}),)), "unlabeled"),
    ],
)
def test_sums_tell_whom_totals_are_about(totals, expected):
    assert whom(totals) == expected


def test_where_only_some_totals_tell_the_user_must():
    totals = Totals({"no": 100, "yes": 70}, (Margin(("region",), {"north": {"yes": 40}}),))
    with pytest.raises(InputError, match=r"the totals by 'region'.*totals_of=.everybody"):
        whom(totals)


def test_sums_of_neither_are_not_scaled_to_the_wrong_people():
    totals = Totals({"no": 100, "yes": 65})
    with pytest.raises(InputError, match=r"165, neither to the 140 .* nor .* the 30 la") as e:
        whom(totals)
    assert "scale" not in str(e.value)
    groups, labeled = PEOPLE
    for said in ("everybody", "unlabeled"):
        found = about_whom(totals, groups, groups.sizes, labeled, CLASSES, said)
        assert (found.labeled is not None) == (said == "everybody")


def test_totals_of_weighted_people_are_rounded_one_by_one():
    groups, labeled = people_of({"north": 4}, {("north", "yes"): 1})
    weights = np.array([1.3, 2.2, 0.7, 1.1])  # 5.3 people, and 0.34 labeled ones
    labeled = labeled._replace(counts=labeled.counts * 0.34)
    table = Margin(("region",), {"north": {"no": 3, "yes": 3}})
    totals = Totals({}, (table,), labeled)
    bounds = make_bounds(totals, groups, CLASSES, weights=weights)
    assert np.abs(bounds.lower + bounds.group_lower[0] - [3, 2.66]).max() < 1
    wrong = replace(totals, margins=(Margin(("region",), {"north": {"no": 4, "yes": 4}}),))
    with pytest.raises(InputError, match="add up to 8"):
        make_bounds(wrong, groups, CLASSES, weights=weights)


@given(
    st.lists(st.integers(0, 30), min_size=4, max_size=4),
    st.lists(st.integers(0, 30), min_size=4, max_size=4),
    st.sampled_from(["count", "rate", "range", "estimate"]),
)
@example([0, 0, 0, 0], [0, 1, 0, 1], "estimate")
def test_the_rest_is_what_the_rows_to_label_have(others, own, kind):
    """Whatever a total is, the rest holds the true number of the rows to label."""
    places = [(region, k) for region in ("north", "south") for k in CLASSES]
    labeled, truth = dict(zip(places, own, strict=True)), dict(zip(places, others, strict=True))
    sizes = {r: sum(truth[r, k] for k in CLASSES) for r in ("north", "south")}
    people = people_of(sizes, labeled)

    def total(place):
        n = labeled[place] + truth[place]
        everybody = sum(labeled[place[0], k] + truth[place[0], k] for k in CLASSES)
        how = {"count": n, "rate": n / max(everybody, 1), "range": (max(n - 2, 0), n + 2)}
        return how.get(kind, Estimate(n, se=3))

    table = Margin(("region",), {r: {k: total((r, k)) for k in CLASSES} for r in sizes})
    if any(sizes[r] + sum(labeled[r, k] for k in CLASSES) == 0 for r in sizes):
        return
    found = bounds_of(Totals({}, (table,)), people)
    counts = np.array([[truth[r, k] for k in CLASSES] for r in sizes])
    slack = {"estimate": 30, "rate": 1}.get(kind, 0)  # estimates are made to add up
    assert (found.group_lower <= counts + slack).all()
    assert (found.group_upper >= counts - slack).all()
    assert (found.group_upper - found.group_lower <= 4).all()
    assert found.group_sizes.tolist() == list(sizes.values())


def test_totals_below_the_labeled_rows_are_named():
    table = Margin(("region",), {"north": {"no": 91, "yes": 9}, "south": {"no": 70, "yes": 0}})
    with pytest.raises(InputError, match=r"of region 'north': totals .* 'yes' 9, labeled 10; corr"):
        bounds_of(Totals({}, (table,)), PEOPLE)


def test_a_group_without_rows_to_label_has_nothing_left():
    people = people_of({"north": 90}, {("south", "no"): 20})
    south = Margin(("region",), {"north": {"no": 60, "yes": 30}, "south": {"no": 20, "yes": 0}})
    assert bounds_of(Totals({}, (south,)), people).group_lower.tolist() == [[60, 30]]
    more = Margin(("region",), {"north": {"no": 60, "yes": 30}, "south": {"no": (20, 22)}})
    with pytest.raises(InputError, match="'south', which no unlabeled row is in"):
        bounds_of(Totals({}, (more,)), people)


def test_sums_that_are_off_say_by_how_much_and_never_advise_scale_for_labeled_rows():
    with pytest.raises(InputError, match=r"10 labeled rows among them.*off by 1 of 100, as round"):
        bounds_of(Totals({}, (Margin(("region",), {"north": {"no": 61, "yes": 40}}),)), PEOPLE)
    labeled = pd.DataFrame({"age": [k % 9 for k in range(40)], "sick": ["yes", "no"] * 20})
    rest = pd.DataFrame({"age": [k % 9 for k in range(60)]})
    with pytest.raises(InputError) as caught:
        c2rf.classify(
            labeled, rest, target="sick", totals={"yes": 50, "no": 50}, totals_of="unlabeled"
        )
    assert 'use totals_of="everybody"' in str(caught.value)
    assert "scale" not in str(caught.value)


REGIONS = np.array(["north", "south", "west"])


def survey(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Return everybody of a small country, and who was asked."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({"person": np.arange(n), "age": rng.integers(16, 80, n)})
    people["region"] = REGIONS[rng.integers(0, 3, n)]
    people["weight"] = rng.integers(1, 5, n) / 2
    works = rng.random(n) < np.where(people["age"] < 60, 0.7, 0.2)
    people["work"] = np.where(works, "employed", "not")
    return people, pd.Series(rng.random(n) < np.where(works, 0.3, 0.1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["known-totals", "c2rf"])
def test_a_census_counts_the_labeled_too(weighted, method):
    people, asked = survey()
    each = people["weight"] if weighted else pd.Series(1, index=people.index)
    options = {"weight": "weight"} if weighted else {"drop": ["weight"]}
    overall = each.groupby(people["work"]).sum().round().astype(int)
    by_region = each.groupby([people["region"], people["work"]]).sum().round().astype(int)
    totals = [overall] if method == "c2rf" else [overall, by_region.unstack().reset_index()]
    if method == "c2rf":
        if weighted:
            return
        options |= {"method": "c2rf", "trees": 5}
    else:
        options["learner"] = "logistic"
    result = c2rf.classify(
        people[asked], people[~asked].drop(columns="work"), target="work", totals=totals, **options
    )
    rest = people[~asked].assign(label=result.labels["label"].to_numpy())
    assert "totals of" in result.summary()
    given = each[~asked].groupby([rest["region"], rest["label"]]).sum()
    truth = each[~asked].groupby([rest["region"], rest["work"]]).sum()
    if method == "c2rf":
        met = rest["label"].value_counts()["employed"]
        expected = (rest["work"] == "employed").sum()
        assert abs(met - expected) == result.classifier.solution_.eta
        return
    assert (given - truth).abs().max() <= (2.5 if weighted else 0)
    if not weighted:
        assert result.counts == rest["work"].value_counts().sort_index().to_dict()
        alone = c2rf.classify(
            people[asked], people[~asked].drop(columns="work"), target="work",
            totals=rest.groupby(["region", "work"]).size().unstack().reset_index(), **options,
        )  # fmt: skip
        assert alone.labels["label"].equals(result.labels["label"])
        assert "were subtracted" not in alone.summary()


def test_everybody_may_be_said_of_rates():
    people, asked = survey()
    rate = float((people["work"] == "employed").mean())
    result = c2rf.classify(
        people[asked], people[~asked].drop(columns="work"), target="work",
        totals={"employed": rate}, totals_of="everybody", learner="logistic", drop=["weight"],
    )  # fmt: skip
    assert result.counts["employed"] == (people["work"][~asked] == "employed").sum()


def test_grouping_columns_must_be_in_the_labeled_table_to_subtract_by():
    people, asked = survey()
    table = people.groupby(["region", "work"]).size().unstack().reset_index()
    labeled = people[asked].drop(columns="region")
    with pytest.raises(InputError, match="the labeled rows do not have all of these columns"):
        c2rf.classify(
            labeled, people[~asked].drop(columns="work"), target="work", totals=table,
            totals_of="everybody", drop=["weight"],
        )  # fmt: skip
