"""The section "Figures to publish": which rows it shows, and where there is no interval."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from c2rf.inference.estimates import which_to_believe
from c2rf.report.estimates import MOST_SHARES, estimates_section
from c2rf.report.language import translated
from c2rf.report.measures import about_estimates


def section_table(n_domains: int) -> pd.DataFrame:
    n = 2 * n_domains
    return pd.DataFrame({
        "town": np.repeat(np.arange(n_domains), 2), "class": ["no", "yes"] * n_domains,
        "count": 10.0, "share": 0.5, "share_low": 0.4, "share_high": 0.6,
        "held_out_share": 0.5, "held_out_low": [np.nan, 0.0] * n_domains,
        "held_out_high": [np.nan, 1.0] * n_domains,
        "labeled_rows": [0, 3] * n_domains, "differs": pd.array([False] * n, dtype="boolean"),
    })  # fmt: skip


def section(n_domains: int) -> Any:
    return next(blocks_of(section_table(n_domains), "yes"))


def blocks_of(table: pd.DataFrame, positive: str | None) -> Any:
    options = SimpleNamespace(tables_by=[["town"]])
    data = SimpleNamespace(options=options, positive=positive)
    return estimates_section(SimpleNamespace(data=data, published=[table]))  # type: ignore[arg-type]


def test_each_of_several_classes_has_a_picture() -> None:
    table = section_table(4)
    first, second = (block for block in blocks_of(table, None) if block.kind == "picture")
    assert ("'no'" in first.caption, "'yes'" in second.caption) == (True, True)
    assert (first.is_folded, second.is_folded) == (False, True)
    assert first.svg != second.svg
    (only,) = (block for block in blocks_of(table, "yes") if block.kind == "picture")
    assert "'yes'" in only.caption


def test_all_rows_are_shown_up_to_a_limit() -> None:
    table = section(240)
    assert len(table.rows) == 480
    assert table.is_folded
    assert "not shown" not in table.note
    longer = section(MOST_SHARES)
    assert len(longer.rows) == MOST_SHARES
    assert "A file of --estimates-out has all rows. 2,000 more rows are not shown." in longer.note


def test_intervals_without_labeled_rows_or_information_are_marked() -> None:
    table = section(2)
    assert table.rows[0][3:6] == ["50.0 % (40.0\u201360.0)", "50.0 % (\u2013)", "0"]
    assert table.rows[1][3:6] == ["50.0 % (40.0\u201360.0)", "50.0 % (0.0\u2013100.0)", "3"]
    assert table.note.startswith("\u2013: no labeled row of the class, or none")
    assert table.note.endswith("An interval from 0.0 % to 100.0 % contains no information.")


def test_what_is_said_of_both_kinds_is_german_in_german() -> None:
    *_, last = blocks_of(section_table(2), "yes")
    left: set[str] = set()
    for p_value, differ in ((0.001, False), (0.4, True)):
        table = section_table(2)
        table.attrs["note"] = which_to_believe(p_value, differ, 0.95)
        said = translated(f"{about_estimates(table)}. {last.text}", "de", (), left)
        assert "Label-Shift" in said
    assert left == set()
