"""Blocks become one HTML page that needs nothing else and runs no code of a user."""

from __future__ import annotations

import pytest

from browser import Page as Parsed
from browser import check_self_contained
from c2rf.exceptions import InputError
from c2rf.report.page import MOST_ROWS, Page, Picture, Section, Table, Text, need, render


def page(*blocks):
    section = Section("first", "The first <b>section</b>", blocks)
    return render("c2rf.report", Page("A <i>title</i>", [("Asked", ["Opening."])], [section]))


def test_every_kind_of_block_is_on_the_page():
    html = page(
        Text("plain"), Text("important", "key"), Text("c2rf demo", "code"), Text(["one"], "items"),
        Text(["beware"], "warnings"), Table("Numbers", ["a", "b"], [["x", "1"]], "a note"),
        Picture("<svg><text>drawn</text></svg>", "a caption"),
    )  # fmt: skip
    found = check_self_contained(html)
    for words in ("plain", "important", "c2rf demo", "one", "beware", "Numbers", "drawn", "note"):
        assert words in found.text
    assert "first" in found.ids
    assert '<p class="key">important' in html
    assert '<li class="no">beware' in html


def test_text_is_escaped_and_our_plots_are_not():
    found = Parsed(page(Text("<script>alert(1)</script>"), Picture("<svg></svg>", "<u>")))
    assert "script" not in found.tags
    assert "u" not in found.tags
    assert "svg" in found.tags


def test_a_long_table_says_what_is_left_out():
    rows = ([str(k)] for k in range(MOST_ROWS + 5))
    table = Table("Many", ["k"], rows, "Numbers.")
    assert len(table.rows) == MOST_ROWS
    assert table.note == "Numbers. 5 more rows are not shown."
    assert Table("Few", ["k"], [["1"]]).note == ""


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("c2rf.report.page.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'needs the package matplotlib; pip install "c2rf\[x\]"'):
        need("x")
