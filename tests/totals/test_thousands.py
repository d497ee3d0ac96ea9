"""Totals with marks between thousands: understood, or refused, but never off by a factor."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import c2rf
from c2rf.data.dialect import ReadAs
from c2rf.data.totals import TotalsFile, parse_range, parse_total
from c2rf.exceptions import InputError

GROUPS = ["", " ", "\u00a0", "'", ".", ","]
COLUMNS, CLASSES = ["region"], ["no", "yes"]


@given(st.integers(0, 10**9), st.sampled_from(GROUPS), st.sampled_from([None, ".", ","]))
def test_a_count_is_read_right_or_refused(count, group, decimal):
    text = f"{count:,}".replace(",", group)
    if 1000 <= count < 10**6 and group in (".", ",") and decimal in (None, group):
        with pytest.raises(InputError, match="with a decimal"):
            parse_total(text, decimal=decimal)
    else:
        assert parse_total(text, decimal=decimal) == count


@pytest.mark.parametrize(
    ("text", "found"),
    [("33.333%", 0.33333), ("33,333 %", 0.33333), ("0,125", 0.125), ("1.200..1.300", (1200, 1300))],
)
def test_what_else_people_write(text, found):
    assert parse_range(text, decimal=",") == pytest.approx(found)


def wide(yes: list[object], no: list[object], sums: list[object]) -> pd.DataFrame:
    regions = ["north", "south", "Summe"]
    return pd.DataFrame({"region": regions, "yes": yes, "no": no, "Gesamt": sums})


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 2_000_000), min_size=4, max_size=4),
    st.sampled_from(GROUPS),
    st.sampled_from([None, ".", ","]),
    st.sampled_from(["csv", "xlsx as text", "xlsx"]),
)
def test_a_wide_table_is_read_right_or_refused(tmp_path_factory, counts, group, likely, kind):
    a, b, c, d = counts
    figures = [a, b, a + b], [c, d, c + d], [a + c, b + d, a + b + c + d]
    path = tmp_path_factory.mktemp("totals") / f"totals.{kind[:4].strip()}"
    texts = [[f"{n:,}".replace(",", group) for n in column] for column in figures]
    if kind == "csv":
        wide(*texts).to_csv(path, sep=";", index=False)
    else:
        wide(*(figures if kind == "xlsx" else texts)).to_excel(path, index=False)
    try:
        rows, _ = TotalsFile(path, "sick").read(COLUMNS, CLASSES, ReadAs(likely=likely))
    except InputError:
        # Marks that could be decimal ones, and nothing that says otherwise.
        assert group in (".", ",")
        assert kind != "xlsx"
        assert likely in (None, group)
        return
    assert {(row["region"], row["class"]): row["total"] for row in rows} == {
        ("north", "yes"): a, ("south", "yes"): b, ("north", "no"): c, ("south", "no"): d,
    }  # fmt: skip


def test_the_mark_of_the_data_decides_about_the_totals(tmp_path):
    people = pd.DataFrame({"size": [k / 4 for k in range(60)], "region": ["a", "b"] * 30})
    people["sick"] = (["no"] * 10 + ["yes"] * 10) * 3
    people.to_csv(tmp_path / "labeled.csv", sep=";", decimal=",", index=False)
    many = pd.concat([people.drop(columns="sick")] * 100)
    totals = pd.DataFrame({"region": ["a", "b"], "yes": ["1.700", "1.300"]})
    totals.to_csv(tmp_path / "totals.csv", sep=";", index=False)
    found = c2rf.classify(
        tmp_path / "labeled.csv", many, target="sick", totals=tmp_path / "totals.csv",
        learner="logistic",
    )  # fmt: skip
    assert found.counts == {"no": 3000, "yes": 3000}
