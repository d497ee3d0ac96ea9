"""What is said of labels and totals is true, whatever happened to the totals."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import c2rf
from browser import Page
from c2rf.imputation.rubin import pool
from c2rf.inference.accuracy import ExpectedAccuracy
from c2rf.inference.sensitivity import Sensitivity
from c2rf.report.answer import (
    accuracy_section,
    answer_section,
    confidence_section,
    how_sure,
    how_totals_are_met,
    opening,
    sensitivity_section,
    unreliable_warning,
)
from c2rf.report.method import find_cautions
from c2rf.totals.bounds import Adjustment, Bounds, MarginBounds
from c2rf.totals.groups import Groups
from made_up import forest, made_up, ranking


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    """Drawing takes longer than reading."""
    monkeypatch.setattr("c2rf.report.figures.inline_svg", lambda *_: "<svg></svg>")


def bounded(low, high, **changes):
    """Return a result of 40 'no' and 20 'yes' with ranges of the two classes."""
    return made_up(bounds=Bounds.overall(low, high, 60), **changes)


def plain(text):
    """Return text without the marks of direction."""
    return re.sub("[\u2068\u2069]", "", text)


def tables(section):
    return {block.title: block for block in section if block.kind == "table"}


class TestHowTotalsAreMet:
    def test_the_first_sentences(self):
        said = plain(opening(made_up()))
        assert said == (
            "60 rows got a label of 'sick': 40 'no' (66.7 %), 20 'yes' (33.3 %). All known totals "
            "are met exactly."
        )

    @pytest.mark.parametrize(
        ("low", "high", "where"),
        [
            ([30, 10], [50, 30], "range of 10 to 30."),
            ([30, 20], [40, 30], "range of 20 to 30, at its lower end."),
            ([40, 10], [50, 20], "range of 10 to 20, at its upper end."),
        ],
    )
    def test_where_in_its_range_a_total_is(self, low, high, where):
        said = how_totals_are_met(bounded(low, high, stated={"yes": (10, 30)}))
        assert said.endswith(where)
        assert "'no'" not in said  # it follows from the other, nobody said it
        assert "exactly" not in said

    def test_a_total_that_says_nothing_is_not_a_range(self):
        said = how_totals_are_met(bounded([0, 0], [60, 60], stated={"yes": (0, 60)}))
        assert said == "All known totals are met exactly."

    def test_other_totals_beside_a_range(self):
        labels = np.array(["a"] * 10 + ["b"] * 20 + ["c"] * 30, dtype=object)
        bounds = Bounds.overall([10, 15, 25], [10, 25, 35], 60)
        three = made_up(
            classes=["a", "b", "c"], labels=labels, bounds=bounds, positive=None,
            stated={"a": 10, "b": (15, 25)},
        )  # fmt: skip
        said = how_totals_are_met(three)
        assert said.count("within its range") == 1
        assert said.endswith("All other totals are met exactly.")

    def test_adjusted_totals_are_in_a_table(self):
        moved = Adjustment((), (), "yes", "30+-5", 30.0, 20.0, 5.0)
        bounds = replace(made_up().bounds, adjustments=(moved,))
        result = made_up(bounds=bounds)
        assert how_totals_are_met(result).startswith("1 total had to be changed")
        assert how_totals_are_met(result).endswith("The totals after that are met exactly.")
        table = tables(answer_section(result))["Totals that were changed"]
        assert table.rows == [["all rows", "yes", "30", "20", "-10 (-2.0 standard errors)"]]

    def test_what_is_missed_is_counted_and_what_is_proven_is_said_once(self):
        result = bounded([43, 17], [43, 17], classifier=forest(3, 3))
        assert how_totals_are_met(result) == "The known totals are missed by 3 rows."
        proven = "No weighting of these 5 trees with weights in [1, 100] comes closer than 3."
        assert how_sure(result) == proven
        first = " ".join([opening(result), how_sure(result), *find_cautions(result)])
        assert first.lower().count("no weighting") == 1
        open_yet = how_sure(bounded([43, 17], [43, 17], classifier=forest(3, 1)))
        assert "no weighting" not in open_yet.lower()
        assert "is at least 1" in open_yet

    def test_sums_of_weights_have_a_remainder(self):
        weights = np.full(60, 2.5)
        met = pd.DataFrame({"off": [0.25, -0.251]})
        bounds = Bounds.overall([100, 50], [100, 50], 150)
        result = made_up(weights=weights, bounds=bounds, classifier=ranking(totals_met_=met))
        said = plain(opening(result))
        assert (
            "60 rows got a label of 'sick': in sums of weights 100 'no' (66.7 %), "
            "50 'yes' (33.3 %)." in said
        )
        assert said.endswith("All known totals are sums of weights; each is met to within 0.251.")


def in_margins(upper_of_first, weights=None):
    """Four groups, and one of two margins: of its first category, 20 rows are 'no'."""
    groups = np.arange(60) % 4
    counts = np.zeros((4, 2), dtype=np.int64)
    np.add.at(counts, (groups, made_up().predictions.codes), 1)
    codes = np.array([0, 0, 1, 1])
    free = np.zeros((4, 2), dtype=np.int64)
    margin = MarginBounds(("sex",), ["f", "m"], codes, free[:2], free[:2])
    lower = margin.sums(counts)
    upper = lower.copy()
    lower[0, 0] = upper[0, 0] = upper_of_first
    sizes = counts.sum(axis=1)
    margins = (replace(margin, lower=lower, upper=upper),)
    bounds = Bounds(free[0], free[0] + 60, free, free + sizes[:, None], sizes, margins)
    return made_up(
        bounds=bounds, groups=Groups(list("abcd"), groups, ("sex", "age")), stated={},
        weights=weights,
    )  # fmt: skip


class TestTables:
    def test_a_margin_that_is_missed(self):
        assert how_totals_are_met(in_margins(15)) == "The known totals are missed by 5 rows."
        assert how_totals_are_met(in_margins(20)) == "All known totals are met exactly."

    @pytest.mark.parametrize("weights", [None, np.ones(60)])
    def test_margins_have_tables_of_their_own(self, weights):
        found = tables(answer_section(in_margins(20, weights)))
        assert list(found) == ["Labels and known totals", "Labels and known totals by sex"]
        by_sex = found["Labels and known totals by sex"]
        assert by_sex.rows[0] == ["f", "20 (66.7 %)", "10 (33.3 %)", "30"]

    def test_groups_are_compared_with_their_totals(self):
        bounds = Bounds(
            np.array([0, 0]), np.array([60, 60]), np.array([[28, 0], [0, 0]]),
            np.array([[28, 2], [30, 30]]), np.array([30, 30]),
        )  # fmt: skip
        groups = Groups(["a", "b"], np.repeat([0, 1], 30), ("land",))
        result = made_up(bounds=bounds, groups=groups, stated={})
        assert how_totals_are_met(result) == "The known totals are missed by 2 rows."
        rows = tables(answer_section(result))["Labels and known totals by land"].rows
        assert rows[0] == [
            "a", "30 (100.0 %); known: 28, off by +2", "0 (0.0 %); known: at most 2", "30",
        ]  # fmt: skip
        assert rows[1][1] == "10 (33.3 %)"

    def test_known_classes_are_told(self):
        codes = made_up().predictions.codes
        said = [block.text for block in answer_section(made_up(truth=codes)) if block.kind == "key"]
        assert said[1].startswith("100.0 % of the labels are right")


CONFUSION = np.array([[38.0, 2.0], [9.0, 11.0]])


class TestHowManyAreRight:
    def test_without_probabilities_nothing_is_claimed(self):
        (said,) = accuracy_section(made_up(classifier=forest(0, 0)))
        assert "no probabilities" in said.text

    def test_by_class(self):
        result = made_up(classifier=ranking(expected_confusion_=CONFUSION))
        blocks = list(accuracy_section(result))
        assert blocks[0].text == (
            "About 81.7 % of the labels are expected to be right: 49 rows of 60."
        )
        found = tables(blocks)["Expected to be right, by class"]
        assert found.rows == [["no", "40", "95.0 %"], ["yes", "20", "55.0 %"]]
        assert "ask for imputations" in blocks[-1].text

    def test_unreliable_classes_are_named(self):
        result = made_up(classifier=ranking(expected_confusion_=CONFUSION))
        assert plain(unreliable_warning(result)).startswith("Not reliable: of the labels 'yes' (55")
        sure = made_up(classifier=ranking(expected_confusion_=np.diag([40.0, 20.0])))
        assert unreliable_warning(sure) == ""

    def test_imputations_give_intervals(self):
        shares = {k: pool([0.7 + k / 10, 0.8 + k / 10]) for k in (0, 1)}
        expected = ExpectedAccuracy(
            shares[0], {"no": shares[0], "yes": shares[1]}, {"a": shares[1]}, 2
        )
        result = made_up(
            classifier=ranking(expected_confusion_=CONFUSION),
            found={"expected_accuracy": expected},
            groups=Groups(["a"], np.zeros(60, dtype=int), ("land",)),
        )
        blocks = list(accuracy_section(result))
        assert "75.0 % of the labels, with an interval from" in blocks[0].text
        assert "hold the truth in 95.0 % of cases" in blocks[0].text
        found = tables(blocks)
        assert found["Expected to be right, by class"].rows[1][:3] == ["yes", "20", "85.0 %"]
        assert found["Expected to be right, by group"].rows[0][:3] == ["a", "60", "85.0 %"]
        assert len(found["Expected to be right, by group"].header) == 5


def test_rows_nearest_to_the_cut_off_come_first():
    result = made_up()
    rows = tables(confidence_section(result))["The rows nearest to the cut-off"].rows
    order = np.argsort(np.abs(result.predictions.scores), kind="stable")[:10]
    assert [row[0] for row in rows] == [str(k + 1) for k in order]


class TestSensitivity:
    def of(self, depends, changed):
        codes = np.zeros(60, dtype=int)
        codes[:depends] = 1
        result = made_up()
        kinds = np.array(["", "yes"], dtype=object)
        result.sensitivity = Sensitivity(
            0.05, np.array([2.0, 1.0]), np.array(changed), kinds, codes
        )
        return list(sensitivity_section(result))

    def test_what_depends_on_a_total_is_counted(self):
        blocks = self.of(6, [[1, 2], [4, 5]])
        assert plain(blocks[0].text) == (
            "With any total 5.0 % off, 54 labels (90.0 %) stay; most others depend on the total of "
            "'yes': up to 5 labels change with it."
        )
        (table,) = tables(blocks).values()
        assert table.rows[0] == ["no", "2", "1", "2", "40", "85.0 %"]

    def test_all_labels_stay(self):
        blocks = self.of(0, [[0, 0], [0, 0]])
        assert blocks[0].text == "With any total 5.0 % off, all labels stay."

    def test_there_is_no_section_unless_asked_for(self):
        assert list(sensitivity_section(made_up())) == []


class TestRealRuns:
    def page(self, tmp_path, totals, **options):
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"a": rng.normal(size=200), "town": rng.choice(["u", "v"], 200)})
        table["sick"] = np.where(table.a + rng.normal(size=200) > 0, "yes", "no")
        result = c2rf.classify(
            table[:60], table[60:].drop(columns="sick").assign(w=2.5), target="sick",
            totals=totals, learner="logistic", **options,
        )  # fmt: skip
        result.report(tmp_path / "r.html")
        body = (tmp_path / "r.html").read_text().partition("<body>")[2]
        return plain(Page(body).text)

    def test_rescaled_totals(self, tmp_path):
        said = self.page(tmp_path, {"yes": 150, "no": 150}, totals_policy="scale", drop=["w"])
        assert "2 totals had to be changed" in said
        assert re.search(r"all rows\s*yes\s*150\s*70\s*-80", said)
        assert "{" not in said
        assert "A logistic regression learned" in said
        assert not re.search(r"\b[A-Z][a-z]+[A-Z]\w+", said)  # no class name of Python

    def test_groups_against_overall_totals(self, tmp_path):
        rows = [("u", "yes", 10), ("v", "yes", 20)]
        table = pd.DataFrame(rows, columns=["town", "class", "total"])
        said = self.page(tmp_path, [{"yes": 50}, table], totals_policy="scale", drop=["w"])
        assert re.search(r"all rows\s*yes\s*50\s*40\s*-10", said)

    def test_weights(self, tmp_path):
        said = self.page(tmp_path, {"yes": 151}, weight="w")
        assert re.search(r"are sums of weights; each is met to within 1\.", said)
        assert "140 rows got a label" in said
        assert re.search(r"expected to be right: \d+ rows of 140", said)
