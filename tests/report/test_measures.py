"""What a report computes from a result: samples of rows, balance, importance, counts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.data.population.memory import Memory
from c2rf.report import measures
from c2rf.report.measures import (
    NEAREST,
    _unit,
    count_in_groups,
    nearest_rows,
    row_names,
    rows_to_show,
    unreliable_classes,
    whole_bounds,
)
from c2rf.totals.bounds import Bounds, MarginBounds
from c2rf.totals.groups import Groups
from made_up import forest, made_up, ranking


@pytest.fixture(scope="module")
def result():
    """Two columns, of which the class depends on the first; labeled rows have high values of it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=900), "b": rng.normal(size=900)})
    table["sick"] = np.where(table.a > 0.5, "yes", "no")
    labeled = table.sort_values("a", key=lambda a: -a - rng.normal(size=900)).index[:100]
    rest = table.drop(index=labeled)
    total = int((rest.sick == "yes").sum())
    return c2rf.classify(
        table.loc[labeled], rest.drop(columns="sick"), target="sick", totals={"yes": total},
        learner="logistic",
    )  # fmt: skip


def test_balance_is_a_difference_of_means_in_standard_deviations(result):
    first, second = result.balance.itertuples()
    X, population = result.data.X, np.concatenate([x for x, _ in result.data.X_unlabeled.read()])
    before = (X[:, 0].mean() - population[:, 0].mean()) / population[:, 0].std()
    assert first.column == "a"
    assert first.before == pytest.approx(before)
    assert first.before > 0.8
    assert abs(first.after) < abs(first.before)  # the classes are weighted to their totals
    assert abs(second.before) < 0.5


def test_importance_is_the_share_of_labels_that_change(result):
    changed, n_rows = result.importance
    assert n_rows == 200  # times two columns: half as many rows as labeling has scored
    assert list(changed.index) == ["a", "b"]
    assert changed["a"] > 0.2 > 0.1 > changed["b"]


def test_importance_is_left_out_where_it_takes_too_long(result, monkeypatch):
    monkeypatch.setattr(measures, "SHARE_OF_WORK", 0.1)
    drawn = result.population_sample
    model, codes = result.classifier.estimator_, result.predictions.codes
    assert measures.find_importance(result.data, model, codes, drawn, 0) is None


def test_the_nearest_rows_are_shown_whatever_is_drawn():
    scores = np.random.default_rng(0).normal(size=5000)
    rows = rows_to_show(scores, 3, most=100)
    assert 100 <= len(rows) <= 100 + NEAREST
    assert set(nearest_rows(scores)) <= set(rows)
    assert rows_to_show(scores, 3).tolist() == list(range(5000))


def test_rows_are_named_in_the_order_asked_for():
    table = pd.DataFrame({"id": ["a", None, "c", "d"]})
    data = SimpleNamespace(rows=Memory(table), options=SimpleNamespace(id="id"))
    assert row_names(data, np.array([3, 0, 1])) == ["d", "a", ""]
    data.options.id = None
    assert row_names(data, np.array([3, 0])) == ["4", "1"]


def test_labels_in_groups_are_counted_by_weight():
    groups = Groups(["a", "b"], np.array([0, 0, 1]), ("land",))
    data = SimpleNamespace(groups=groups, classes=["no", "yes"], weights=None)
    codes = np.array([0, 1, 1])
    assert count_in_groups(data, codes).tolist() == [[1, 1], [0, 1]]
    data.weights = np.array([1.5, 2.0, 2.6])
    assert count_in_groups(data, codes).tolist() == [[2, 2], [0, 3]]


def test_bounds_of_weights_are_rounded_in_margins_too():
    bounds = Bounds.overall([2, 1], [2, 1], 3)
    known = np.array([[2, 1]])
    margin = MarginBounds(("sex",), ["f"], np.zeros(1, dtype=int), known - 0.4, known + 0.4)
    weighted = Bounds(
        bounds.lower + 0.4, bounds.upper + 0.4, bounds.group_lower, bounds.group_upper,
        bounds.group_sizes + 0.4, (margin,),
    )  # fmt: skip
    found = whole_bounds(weighted)
    assert found.lower.tolist() == [2, 1]
    assert found.margins[0].lower.tolist() == found.margins[0].upper.tolist() == [[2, 1]]
    assert found.group_sizes.dtype == np.int64


def test_unreliable_classes_come_worst_first():
    confusion = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    result = made_up(
        classes=["a", "b", "c"], labels=np.array(["a", "b", "c"] * 20, dtype=object), positive=None,
        classifier=ranking(3, expected_confusion_=confusion),
    )  # fmt: skip
    assert unreliable_classes(result) == [("b", 1 / 3), ("a", 0.5)]
    assert unreliable_classes(made_up(classifier=forest(0, 0))) == []


@pytest.mark.parametrize(
    ("cells", "value", "is_date", "unit"),
    [
        ([2009.0, np.nan, 2011.0], None, False, "year"),
        ([2009.5, 2011.0], None, False, "number"),
        ([19.0, 2011.0], None, False, "number"),
        ([14610.0], None, True, "date"),
        ([2010.0], "year", True, "year"),
        ([0.5], "month, sine", True, "number"),
    ],
)
def test_years_and_dates_are_known(cells, value, is_date, unit):
    assert _unit(np.array(cells), value, is_date) == unit
