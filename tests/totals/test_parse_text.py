"""Totals on the command line: what is said twice is used twice, or refused, but never lost."""

from __future__ import annotations

import pytest

from c2rf.data.totals import TotalsFile, collect
from c2rf.exceptions import InputError
from c2rf.totals.stated import read_totals


def collected(target, **options):
    """Return the totals, with files read as for rows that have the columns A and B."""
    given = collect(target, **options)
    files = (isinstance(each, TotalsFile) for each in given)
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
