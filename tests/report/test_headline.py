"""The first sentences of a report say what is true, whatever happened to the totals."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import c2rf
from browser import Page
from c2rf.report.answer import answer, changes, how_met
from c2rf.report.facts import AdjustmentFact
from c2rf.totals.bounds import Bounds, MarginBounds
from report.test_report import facts, forest


def bounded(low, high, **changes):
    """Facts of 40 'no' and 20 'yes' with ranges of the two classes."""
    return facts(bounds=Bounds.overall(low, high, 60), **changes)


class TestWords:
    @pytest.mark.parametrize(
        ("low", "high", "where"),
        [
            ([30, 10], [50, 30], "range of 10 to 30."),
            ([30, 20], [40, 30], "range of 20 to 30, at its lower end."),
            ([40, 10], [50, 20], "range of 10 to 20, at its upper end."),
        ],
    )
    def test_where_in_its_range_a_total_is(self, low, high, where):
        said = how_met(bounded(low, high, stated={"yes"}))
        assert said.endswith(where)
        assert "'no'" not in said  # it follows from the other, nobody said it
        assert "exactly" not in said

    def test_other_totals_beside_a_range(self):
        sample = facts().sample
        labels = np.array(["a"] * 10 + ["b"] * 20 + ["c"] * 30, dtype=object)
        bounds = Bounds.overall([10, 15, 25], [10, 25, 35], 60)
        three = facts(
            classes=["a", "b", "c"], labels=labels, bounds=bounds, sample=sample, positive=None
        )
        said = how_met(replace(three, stated={"a", "b"}))
        assert said.count("within its range") == 1
        assert said.endswith("All other totals are met exactly.")

    def test_changed_totals_are_in_a_table(self):
        moved = [AdjustmentFact("all rows", "yes", "30", "20", "-10")]
        changed = facts(changes=moved)
        assert how_met(changed).startswith("1 total had to be changed")
        assert how_met(changed).endswith("The totals after that are met exactly.")
        assert changes(changed).rows == [["all rows", "yes", "30", "20", "-10"]]

    def test_what_is_not_attainable(self):
        wrong = Bounds.overall([43, 17], [43, 17], 60)
        proven = how_met(facts(bounds=wrong, forest=forest(3, 3)))
        assert "not attainable, no weighting of these trees comes closer" in proven
        open_yet = how_met(facts(bounds=wrong, forest=forest(3, 1)))
        assert "not attainable" not in open_yet
        assert "1 is proven to be unavoidable" in open_yet

    def test_sums_of_weights_have_a_remainder(self):
        said = how_met(facts(remainder=0.251))
        assert said == "All known totals are sums of weights; each is met to within 0.251."

    def test_a_margin_that_is_missed(self):
        wrong = margin_facts(upper_of_first=15)
        assert how_met(wrong) == "The known totals are missed by 5 rows."
        assert how_met(margin_facts(upper_of_first=20)) == "All known totals are met exactly."


def margin_facts(upper_of_first):
    """Four groups, and one of two margins: of its first cell, 20 rows are 'no'."""
    groups = np.arange(60) % 4
    labels = facts().labels
    counts = np.zeros((4, 2), dtype=np.int64)
    np.add.at(counts, (groups, (labels == "yes").astype(int)), 1)
    cells = np.array([0, 0, 1, 1])
    margin = MarginBounds(("sex",), ["f", "m"], cells, np.zeros((2, 2), int), np.zeros((2, 2), int))
    lower = margin.sums(counts)
    upper = lower.copy()
    lower[0, 0] = upper[0, 0] = upper_of_first
    sizes = counts.sum(axis=1)
    free = np.zeros((4, 2), dtype=np.int64)
    bounds = Bounds(free[0], free[0] + 60, free, free + sizes[:, None], sizes,
                    (replace(margin, lower=lower, upper=upper),))  # fmt: skip
    return facts(
        group="sex, age", group_names=list("abcd"), groups=groups, bounds=bounds, stated=set()
    )


def test_margins_have_tables_of_their_own():
    tables = [part for part in answer(margin_facts(20)) if part.kind == "grid"]
    assert [table.title for table in tables][1:] == ["Labels and known totals by sex"]
    assert tables[1].rows[0] == ["f", "no", "20", "20", "30", "0"]


class TestRealRuns:
    @pytest.fixture(autouse=True)
    def without_pictures(self, monkeypatch):
        monkeypatch.setattr("c2rf.report.figures.inline_svg", lambda *_: "<svg></svg>")

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
        said = Page(body).text
        return re.sub("[\u2068\u2069]", "", said)

    def test_rescaled_totals(self, tmp_path):
        said = self.page(tmp_path, {"yes": 100, "no": 100}, totals_policy="scale", drop=["w"])
        assert "2 totals had to be changed" in said
        assert re.search(r"all rows\s*yes\s*100\s*70\s*-30", said)
        assert "{" not in said
        assert "A logistic regression learned" in said
        assert not re.search(r"\b[A-Z][a-z]+[A-Z]\w+", said)  # no class name of Python

    def test_groups_against_overall_totals(self, tmp_path):
        rows = [("u", "yes", 10), ("u", "no", None), ("v", "yes", 20)]
        table = pd.DataFrame(rows, columns=["town", "class", "total"]).dropna()
        said = self.page(tmp_path, [{"yes": 50}, table], totals_policy="scale", drop=["w"])
        assert re.search(r"all rows\s*yes\s*50\s*30\s*-20", said)

    def test_weights(self, tmp_path):
        said = self.page(tmp_path, {"yes": 151}, weight="w")
        assert re.search(r"are sums of weights; each is met to within 1\.", said)
