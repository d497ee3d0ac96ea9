"""Numbers as people write them: read as they were written, or not guessed at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from c2rf.data.numerals import MISSING, Marks, canonical, find_marks, readings
from c2rf.exceptions import InputError

NUMBERS = st.decimals(-10_000_000, 10_000_000, places=3, allow_nan=False)


def written(number, decimal: str, group: str, places: int) -> str:
    text = f"{number:,.{places}f}"
    return text.replace(",", "\0").replace(".", decimal).replace("\0", group)


@given(NUMBERS, st.sampled_from([".", ","]), st.integers(0, 3))
def test_a_number_is_what_was_written(number, decimal, places):
    for group in ("", " ", "'", {".": ",", ",": "."}[decimal]):
        text = written(number, decimal, group, places)
        value = float(f"{number:.{places}f}")
        assert float(canonical(text, decimal)) == value
        # Without the mark it is the same number, or it is not guessed at.
        found = readings(text)
        if len(found) == 1:
            assert float(canonical(text, found[0] or ".")) == value
        else:
            assert found == (".", ",")
            with pytest.raises(InputError, match="with a decimal comma"):
                find_marks({"a": [text]})


@pytest.mark.parametrize("word", [*MISSING, "x", "1.2.3", "1,2,3", "12.03.2020", "1 2", "--1"])
def test_what_is_no_number(word):
    assert canonical(word, ".") is None
    assert canonical(word, ",") is None


def test_other_columns_decide_what_one_leaves_open():
    marks, decimal = find_marks({"a": ["1.234"], "b": ["0,5"], "c": ["x", "y"]})
    assert decimal == ","
    assert marks == {"a": Marks(",", "."), "b": Marks(",")}
    with pytest.raises(InputError, match=r"in column 'a' '1.234' is 1.234 with a decimal point"):
        find_marks({"a": ["1.234"]})
    assert find_marks({"a": ["1.234"]}, likely=",")[0] == {"a": Marks(",", ".")}


def test_numbers_are_written_back_as_they_were():
    for text in ("1.234.567,5", "-12", "0,25", ",5", "-,5", "007,5", "12,", "1,5e3", "-", "."):
        assert Marks(",", ".").localised(canonical(text, ",") or text) == text
