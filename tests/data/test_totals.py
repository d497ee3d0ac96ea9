"""Totals in text, options and files: understood or refused, but never off by a factor."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import c2rf
from c2rf import Estimate
from c2rf.data.dialect import ReadAs
from c2rf.data.totals import (
    TotalsTable,
    collect,
    parse_range,
    parse_share,
    parse_total,
    parse_totals,
)
from c2rf.exceptions import InputError
from c2rf.totals.stated import read_totals, with_error

MARKS = ["", " ", "\u00a0", "'", ".", ","]
COLUMNS, CLASSES = ["region"], ["no", "yes"]


@given(st.integers(0, 10**9), st.sampled_from(MARKS), st.sampled_from([None, ".", ","]))
def test_a_count_is_read_right_or_refused(count, group, decimal):
    text = f"{count:,}".replace(",", group)
    if 1000 <= count < 10**6 and group in (".", ",") and decimal in (None, group):
        with pytest.raises(InputError, match="with a decimal"):
            parse_total(text, decimal=decimal)
    else:
        assert parse_total(text, decimal=decimal) == count


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("\u22125", -5),
        ("33.333%", 0.33333),
        ("33,333 %", 0.33333),
        ("0,125", 0.125),
        ("1.200..1.300", (1200, 1300)),
    ],
)
def test_what_else_people_write(text, found):
    assert parse_range(text, decimal=",") == pytest.approx(found)


def wide(yes: list[object], no: list[object], sums: list[object]) -> pd.DataFrame:
    regions = ["north", "south", "Summe"]
    return pd.DataFrame({"region": regions, "yes": yes, "no": no, "Gesamt": sums})


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 2_000_000), min_size=4, max_size=4),
    st.sampled_from(MARKS),
    st.sampled_from([None, ".", ","]),
    st.sampled_from(["csv", "xlsx as text", "xlsx"]),
)
def test_a_wide_table_is_read_right_or_refused(tmp_path_factory, counts, group, likely, kind):
    a, b, c, d = counts
    counted = [a, b, a + b], [c, d, c + d], [a + c, b + d, a + b + c + d]
    path = tmp_path_factory.mktemp("totals") / f"totals.{kind[:4].strip()}"
    texts = [[f"{n:,}".replace(",", group) for n in column] for column in counted]
    if kind == "csv":
        wide(*texts).to_csv(path, sep=";", index=False)
    else:
        wide(*(counted if kind == "xlsx" else texts)).to_excel(path, index=False)
    try:
        rows, _ = TotalsTable(path, "sick").read(COLUMNS, CLASSES, ReadAs(likely=likely))
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


def test_estimates_as_text():
    assert parse_range("1200+-50") == Estimate(1200, se=50)
    with pytest.raises(InputError, match="standard error above 0"):
        parse_range("1200+-0")


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (parse_total, "many", "must be a count like 1234 or a rate"),
        (parse_total, "120%", "a rate from 0% to 100%; found '120%'"),
        (parse_range, "13..12", "lo at most hi; found '13..12'"),
        (parse_range, "1..50%", "two counts or two rates"),
        (parse_totals, "yes", "must be like yes=1234,no=8766; found 'yes'"),
        (parse_totals, "", "found nothing"),
    ],
)
def test_text_that_is_no_total(read, text, words):
    with pytest.raises(InputError, match=words):
        read(text)


def test_a_share_is_read_and_other_text_kept_for_later_checks():
    assert parse_share("5%") == 0.05
    assert parse_share(None) is None
    assert parse_share("much") == "much"


def test_a_range_takes_no_standard_error():
    with pytest.raises(InputError, match="takes no further 'se'"):
        with_error((1, 2), "5", "row 1")
    assert with_error(0.25, "0.01", "row 1") == Estimate(0.25, se=0.01)


def collected(target, **options):
    """Return the totals, with files read as for rows that have the columns A and B."""
    given = collect(target, **options)
    files = (isinstance(each, TotalsTable) for each in given)
    return read_totals(
        [
            each.read(("A", "B"), ["no", "yes"])[0] if is_file else each
            for each, is_file in zip(given, files, strict=True)
        ]
    )


@pytest.fixture
def files(tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text("A,class,total\nx,yes,1\n")
    b.write_text("B,class,total\ny,yes,2\n")
    return [a, b]


def test_repeated_totals_add_up():
    assert collected("sick", totals=["yes=3", "no=10%"]).overall == {"yes": 3, "no": 0.1}
    found = collected("sick", positive=["yes", "no"], total=["3", "1..2"]).overall
    assert found == {"yes": 3, "no": (1, 2)}


def test_the_same_class_twice_is_refused():
    with pytest.raises(InputError, match="'yes' has more than one total"):
        collected("sick", totals=["yes=3", "yes=4"])
    with pytest.raises(InputError, match="'yes' has more than one total"):
        collected("sick", totals=["yes=3,yes=3"])


def test_no_pair_of_group_and_file_is_lost(files):
    found = collected("sick", totals_file=files, group=["A", "B"]).margins
    assert [margin.columns for margin in found] == [("A",), ("B",)]
    assert [margin.by_group for margin in found] == [{"x": {"yes": 1}}, {"y": {"yes": 2}}]


@pytest.mark.parametrize("group", [["A"], ["A", "B", "C"]])
def test_groups_that_do_not_go_with_the_files(files, group):
    with pytest.raises(InputError, match=f"found {len(group)} --group for 2 --totals-file"):
        collect("sick", totals_file=files, group=group)


def test_a_file_and_a_list(files):
    found = collected("sick", totals=["yes=9"], totals_file=files[:1], group=["A"])
    assert found.overall == {"yes": 9}
    assert found.margins[0].by_group == {"x": {"yes": 1}}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"positive": ["yes"]}, "belong together"),
        ({"positive": ["yes"], "total": ["1"], "totals": ["yes=1"]}, "not both"),
        ({"group": ["A"]}, "--group needs --totals-file"),
        ({}, "a known total is needed"),
    ],
)
def test_halves_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        collect("sick", **options)


class TestFiles:
    """Tables in files, long and wide."""

    def read(self, tmp_path, text):
        path = tmp_path / "totals.csv"
        path.write_text(text, encoding="utf-8")
        return TotalsTable(path, "sick").read(("region", "age"), CLASSES)

    def test_grouping_columns_are_found_by_name(self, tmp_path):
        rows, note = self.read(tmp_path, "region,class,total,se,note\nn,yes,4,2,x\ns,yes,5,,y\n")
        assert "its columns 'note' were ignored" in note
        assert rows[0] == {"region": "n", "class": "yes", "total": Estimate(4, se=2)}
        assert rows[1]["total"] == 5

    def test_a_wide_table_with_sums_that_are_right(self, tmp_path):
        rows, note = self.read(tmp_path, "region,no,yes,Total\nn,8,4,12\ns,7,5,12\nTotal,15,9,24\n")
        assert len(rows) == 4
        assert rows[1] == {"region": "n", "class": "yes", "total": 4}
        assert "wide table" in note
        assert "the sums 'Total' were checked and left out" in note

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("region,no,yes,Total\nn,8,4,13\n", "the column 'Total' says 13"),
            ("region,no,yes\nn,8,4\ns,7,5\nTotal,15,10\n", "looks like a row of sums"),
            ("region,no,yes,county\nn,8,4,1\n", "neither classes nor columns"),
            ("region,class,total\nn,yes,4\nn,yes,5\n", "more than one total"),
            ("regoin,class,total\nn,yes,4\ns,yes,5\n", "were ignored"),
            ("region,class,total,se\nn,yes,4,-1\n", "must be above 0; found -1"),
            ("region,class,total,se\nn,yes,4,two\n", "must be a number"),
            ("region,kind,total\nn,perhaps,4\n", "missing: class"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path, text, message):
        with pytest.raises(InputError, match=message):
            self.read(tmp_path, text)

    def test_a_wide_table_leaves_open_what_is_empty(self, tmp_path):
        rows, _ = self.read(tmp_path, "region,no,yes\nn,8,\ns,,5\n")
        assert [(row["region"], row["class"], row["total"]) for row in rows] == [
            ("n", "no", 8), ("s", "yes", 5),
        ]  # fmt: skip

    def test_rates_need_the_sum_one(self, tmp_path):
        rows, _ = self.read(tmp_path, "region,no,yes,all\nn,75%,25%,100%\n")
        assert [row["total"] for row in rows] == [0.75, 0.25]
        with pytest.raises(InputError, match=r"the column 'all' says 0\.9"):
            self.read(tmp_path, "region,no,yes,all\nn,75%,25%,90%\n")

    def test_empty_cells_where_there_must_be_something(self, tmp_path):
        with pytest.raises(InputError, match="row 3: 'total' is empty"):
            self.read(tmp_path, "region,class,total\nn,yes,4\ns,yes,\n")
        with pytest.raises(InputError, match="row 2: 'region' is empty"):
            self.read(tmp_path, "region,no,yes\n,8,4\n")


@pytest.mark.parametrize("name", ["se", "std_error", "Standardfehler", "+/-", "SE", "erreur type"])
def test_standard_errors_under_other_names(tmp_path, name):
    path = tmp_path / "totals.csv"
    path.write_text(f"region,class,total,{name}\nnorth,yes,12,3\nsouth,yes,9,0\n")
    rows, _ = TotalsTable(path, "sick").read(COLUMNS, CLASSES)
    assert [row["total"] for row in rows] == [Estimate(12, se=3), 9]
    frame = pd.DataFrame([{"region": "north", "class": "yes", "total": 12, name: 3}])
    assert read_totals(frame).margins[0].by_group == {"north": {"yes": Estimate(12, se=3)}}


@pytest.mark.parametrize("cells", [("0.5", "0.2"), ("50%", ""), ("1,5", "2")])
def test_a_column_of_numbers_is_never_ignored(tmp_path, cells):
    path = tmp_path / "totals.csv"
    path.write_text(f"region;class;total;cv\nnorth;yes;12;{cells[0]}\nsouth;yes;9;{cells[1]}\n")
    with pytest.raises(InputError, match="the column 'cv' holds numbers, but is neither the total"):
        TotalsTable(path, "sick").read(COLUMNS, CLASSES)
