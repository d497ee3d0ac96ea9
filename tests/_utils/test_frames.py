"""Frames of pandas, Polars and Arrow are handled alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from c2rf._utils.frames import as_pandas, kinds_of, names_of, stacked
from c2rf.exceptions import InputError

COLUMNS = {"age": [41, 14], "town": ["Ulm", "Bonn"], "is_in": [True, False], "note": [None, None]}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_kinds_of_columns(maker):
    found = kinds_of(maker(COLUMNS))
    assert found == {"age": "numbers", "town": "something else", "is_in": "numbers"}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_as_pandas(maker):
    table = as_pandas(maker(COLUMNS))
    assert isinstance(table, pd.DataFrame)
    assert table["town"].tolist() == ["Ulm", "Bonn"]


def test_repeated_columns_are_named():
    with pytest.raises(InputError, match=r"columns of a table .* more than one 'age': rename"):
        as_pandas(pd.DataFrame([[1, 2, 3]], columns=["age", "town", "age"]))


def test_what_is_no_frame_stays():
    array = np.zeros((2, 2))
    assert as_pandas(array) is array
    assert names_of(array) is None
    assert names_of(pd.DataFrame({1: [0]})) == ["1"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_stacked_frames_are_of_their_kind(kind):
    parts = [MAKERS[kind]({"x": [1, 2]}), MAKERS[kind]({"x": [3]})]
    whole = stacked(parts)
    assert type(whole) is type(parts[0])
    assert whole["x"].to_list() == [1, 2, 3]


def test_stacked_frames_of_pandas_are_numbered_anew_and_may_differ_in_type():
    whole = stacked([pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [0.5]})])
    assert whole.index.tolist() == [0, 1, 2]
    assert whole["x"].tolist() == [1.0, 2.0, 0.5]
