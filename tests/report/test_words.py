"""Plain words in the report: base learners, one or several columns, years and dates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.learners.base_learners import BASE_LEARNERS
from c2rf.report.method import _BASE_LEARNERS
from c2rf.workflow.extras import _unit


def test_every_base_learner_has_words():
    assert set(_BASE_LEARNERS) == set(BASE_LEARNERS)
    assert len(set(_BASE_LEARNERS.values())) == len(BASE_LEARNERS)


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


def test_years_dates_groups_and_columns_are_written_as_people_write_them(tmp_path):
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
    result = c2rf.classify(labeled[:40], people[:20], target="sick", totals=totals)
    page = tmp_path / "page.html"
    result.report(page)
    text = page.read_text()
    assert "2010-01-1" in text
    assert ">1,9" not in text
    assert "are empty far more often" in text
    assert "1 group of region with totals" in result.summary()
