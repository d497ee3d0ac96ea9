"""Plots follow the page's theme, have unique ids, and can be drawn of odd numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from c2rf.report.figures import (
    FARTHEST,
    THEME,
    _bin_edges,
    score_histogram,
    standardised_differences,
)
from made_up import balance, made_up


def test_colours_are_variables_of_the_page_and_ids_start_with_the_name():
    svg = score_histogram(made_up())
    assert "var(--first)" in svg
    assert not any(color in svg for color in THEME.values())
    assert not re.search(r"fill: #(?!000|fff)", svg)
    assert all(name.startswith("scores-") for name in re.findall(r'\bid="([^"]*)"', svg))
    assert "<style" not in svg
    assert svg == score_histogram(made_up())


def test_names_are_escaped_and_not_read_as_formulas():
    svg = standardised_differences(balance(("$\\frac{1}{2}$ <b> &", 0.5, 0.1)))
    assert "$\\frac{1}{2}$ &lt;b&gt;" in svg


@pytest.mark.parametrize(
    "scores",
    [np.zeros(60), np.full(60, 3.5), np.full(60, -1e300), np.linspace(1e-300, 2e-300, 60)],
)
def test_odd_scores_can_be_drawn(scores):
    assert score_histogram(made_up(scores=scores)).startswith("<svg")


def test_one_row_can_be_drawn():
    assert score_histogram(made_up(n=1, positive=None)).startswith("<svg")


def test_no_bar_is_on_both_sides_of_the_cut_off():
    edges = _bin_edges(np.array([-1.7, 0.3, 2.9]))
    assert np.abs(edges).min() == 0
    assert edges[0] <= -1.7
    assert edges[-1] >= 2.9


def test_far_differences_are_drawn_at_the_edge():
    far, edge = balance(("a", 1e9, -1e9)), balance(("a", FARTHEST, -FARTHEST))
    assert standardised_differences(far) == standardised_differences(edge)
