"""Numbers, names and messages in words."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import c2rf
from c2rf._utils import text
from c2rf.exceptions import InputError


@given(st.text(max_size=300), st.integers(1, 60))
def test_a_short_form_is_one_line_of_at_most_so_many_signs(given_text, most):
    found = text.short(given_text, most)
    assert len(found) <= most
    assert len(found.splitlines()) <= 1


def test_what_is_proven_is_said_and_no_more():
    votes = [[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1]]
    box = SimpleNamespace(lower=1.0, upper=100.0, offset=None)
    met = c2rf.solve(votes, 1)
    assert "meets the total" in text.proof(met, box)
    missed = c2rf.solve([[1, 1, 1], [1, 1, 1], [-1, -1, -1]], 1)
    assert missed.eta == 1
    said = text.proof(missed, box)
    assert said == "no weighting of these 3 trees with weights in [1, 100] comes closer than 1"
    shifted = SimpleNamespace(lower=0.5, upper=2, offset=(-1.0, 1.5))
    assert "weights in [0.5, 2] and an offset in [-1, 1.5] comes" in text.proof(missed, shifted)
    open_still = replace(missed, status="feasible", bound=0)
    said = text.proof(open_still, box)
    assert "not proven optimal: off by 1" in said
    assert "the best possible with weights in [1, 100] is at least 0" in said


def test_only_so_many_values_are_listed():
    assert text.listed(range(12)).endswith("9, ...")
    assert text.all_of(range(12)).endswith("11")
    assert text.listed_names(["a", "b", "c"], most=3) == "a, b, c"


def test_the_nearest_name_is_proposed():
    with pytest.raises(InputError, match=r"learner must be blend or logistic; found .blnd"):
        text.check_choice("learner", "blnd", ["blend", "logistic"])
    with pytest.raises(InputError, match=r"found 3$"):
        text.check_choice("learner", 3, ["blend"])


def test_words_of_the_command_line_end_with_the_block():
    with text.for_command_line({"--sep": "the separator below"}):
        assert text.option_name("sep") == "the separator below"
        assert text.option_name("time_limit") == "--time-limit"
    assert text.option_name("sep") == "sep"
