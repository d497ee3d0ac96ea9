"""What the report says of the labeled sample: its bias, its balance, what the labels depend on."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.report.sample import balance_section, data_section, importance_section
from made_up import balance, made_up


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    """Drawing takes longer than reading."""
    monkeypatch.setattr("c2rf.report.figures.inline_svg", lambda *_: "<svg></svg>")


def texts(section):
    found = [block.text for block in section if hasattr(block, "text")]
    return [re.sub("[\u2068\u2069]", "", text) for text in found]


class TestData:
    def test_how_biased_the_sample_is(self):
        said = texts(data_section(made_up()))[-1]
        assert "75.0 % of it are 'yes', but of the rows without a label 33.3 % are" in said
        assert "41.7 percentage points" in said

    def test_a_sample_that_is_like_the_population_is_not_called_biased(self):
        result = made_up()
        result.data.labels = np.array(["yes"] * 20 + ["no"] * 40, dtype=object)
        assert "about as often as the totals" in texts(data_section(result))[-1]

    def test_files_and_columns_that_were_left_out(self):
        left_out = {f"c{k}": "has one value" for k in range(22)}
        result = made_up(read_as=[("u.csv", "UTF-8, comma")], left_out=left_out)
        said = texts(data_section(result))
        assert said[0].startswith("'sick' was learned from 1 column of 40 labeled rows of l.csv.")
        assert said[1] == "u.csv was read as: UTF-8, comma."
        assert said[2].startswith("Not learned from: 'c0' has one value; 'c1' has one value;")
        assert said[2].endswith(", and 2 more.")


class TestBalance:
    def test_the_worst_column_comes_first(self):
        entries = balance(("b", -0.9, 0.5), ("c", 0.3, 0.1), ("a", 0.1, 0.0))
        blocks = list(balance_section(made_up(found={"balance": entries})))
        said = texts(blocks)[0]
        assert "2 columns differ by more than 0.25 standard deviations" in said
        assert "first of all 'b', 'c'. Weighted to the totals, 1 column still does" in said
        assert [row[0] for row in blocks[-1].rows] == ["b", "c", "a"]

    def test_small_differences_are_called_small(self):
        said = texts(balance_section(made_up(found={"balance": balance(("age", 0.2, 0.0))})))
        assert said[0].startswith("The labeled rows are much like the rows to be labeled")

    def test_no_columns(self):
        assert texts(balance_section(made_up()))[0].startswith("There is no column")


class TestImportance:
    def test_the_most_important_column_comes_first(self):
        importance = pd.Series({"b": 0.25, "a": 0.01}), 100
        blocks = list(importance_section(made_up(found={"importance": importance})))
        assert texts(blocks)[0].startswith("The labels rest most on 'b': with its values shuffled")
        assert blocks[-1].rows == [["b", "25.0 %"], ["a", "1.0 %"]]

    def test_there_is_no_section_where_nothing_was_shuffled(self):
        assert list(importance_section(made_up())) == []


def test_years_dates_and_groups_are_written_as_people_write_them(tmp_path):
    rng, n = np.random.default_rng(0), 60
    people = pd.DataFrame(
        {
            "born": rng.integers(1950, 2000, n),
            "seen": pd.date_range("2010-01-01", periods=n).astype(str),
            "age": rng.normal(size=n),
            "region": ["n", "s"] * (n // 2),
        }
    )
    people.loc[30:, ["born", "age"]] = np.nan
    labeled = people.assign(sick=["no", "yes", "yes", "no"] * (n // 4))
    totals = [{"region": "n", "class": "yes", "total": 10}]
    result = c2rf.classify(
        labeled[:40], people[:20], target="sick", totals=totals, learner="logistic"
    )
    page = tmp_path / "page.html"
    result.report(page)
    text = page.read_text()
    assert "2010-01-1" in text
    assert ">1,9" not in text
    assert "Empty far more often" in text
    assert "1 group of region with totals" in result.summary()
