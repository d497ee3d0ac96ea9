"""Single numbers that a user gives."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from c2rf._utils.types import LARGEST, check_number, check_whole, is_number, is_whole
from c2rf.exceptions import InputError, InputTypeError


@pytest.mark.parametrize("value", [3, np.uint8(3), np.int64(-3)])
def test_whole_numbers(value):
    assert is_whole(value)
    assert is_number(value)
    check_whole("n", value, least=-3)


@pytest.mark.parametrize("value", [3.0, Fraction(3, 2), np.float32(0.5), float("nan")])
def test_other_numbers(value):
    assert is_number(value)
    assert not is_whole(value)
    check_number("n", value)
    with pytest.raises(InputTypeError, match="n must be an integer"):
        check_whole("n", value, least=0)


@pytest.mark.parametrize("value", [True, np.True_, "3", None, [3], Decimal(3), 3j])
def test_no_numbers(value):
    assert not is_number(value)
    assert not is_whole(value)
    with pytest.raises(InputTypeError, match="n must be a number; found"):
        check_number("n", value)


def test_the_largest_number_survives_single_precision():
    assert np.isfinite(np.float32(LARGEST))
    with np.errstate(over="ignore"):
        assert np.isinf(np.float32(LARGEST * 1.001))
    with pytest.raises(InputError, match="at least 2; found 1"):
        check_whole("n", 1, least=2)
