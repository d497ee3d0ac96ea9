"""From columns to numbers: dates, text of few and of many values, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from c2rf.data.encoding import encode, encoded, encoded_columns, input_columns, make_encoder
from c2rf.data.population.memory import Memory, user_chunks
from c2rf.data.profile import FEW_LEVELS, ColumnProfile
from c2rf.exceptions import InputError

N = FEW_LEVELS + 1
LABELED = pd.DataFrame(
    {
        "age": [str(k) for k in range(N)],
        "town": ["Ulm", "Bonn", ""] * (N // 3),
        "street": [f"s{k:02}" for k in range(N)],
        "born": pd.date_range("1970-01-01", periods=N).strftime("%Y-%m-%d"),
    }
)
ENCODER = make_encoder(LABELED, [ColumnProfile(LABELED[name]) for name in LABELED])


def test_every_number_has_its_column():
    assert encoded_columns(ENCODER) == [
        ("age", None),
        ("born", None),
        ("born", "year"),
        ("born", "month, sine"),
        ("born", "month, cosine"),
        ("town", "Bonn"),
        ("town", "Ulm"),
        ("town", "nan"),
        ("street", None),
    ]
    assert input_columns(ENCODER) == ["age", "born", "town", "street"]


def test_what_no_labeled_row_has_is_zero_or_missing():
    new = LABELED[:1].assign(town="Aalen", street="new", age="", born="")
    row = encode(ENCODER, new)[0]
    assert np.isnan(row[[0, 1, 2, 3, 4, 8]]).all()
    assert row[5:8].tolist() == [0, 0, 0]


def test_chunks_get_the_numbers_that_the_table_gets():
    whole = encode(ENCODER, LABELED)
    np.testing.assert_array_equal(next(encoded(Memory(LABELED), ENCODER).chunks()).data, whole)
    chunks = encoded(user_chunks([LABELED[:5], LABELED[5:]]), ENCODER).chunks()
    np.testing.assert_array_equal(np.concatenate([chunk.data for chunk in chunks]), whole)


def test_what_cannot_be_encoded():
    with pytest.raises(InputError, match="missing: 'age'"):
        encode(ENCODER, LABELED.drop(columns="age"))
    with pytest.raises(InputError, match="'age' must hold numbers; found 'old' in data row 2"):
        encode(ENCODER, LABELED[:2].assign(age=["1", "old"]))
    rows = encoded(user_chunks([LABELED[:2], LABELED[:1].assign(age="old")]), ENCODER)
    with pytest.raises(InputError, match="chunk 1: column 'age' must hold numbers"):
        list(rows.chunks())


def test_signs_for_missing_values_are_known_to_the_encoder():
    labeled = pd.DataFrame({"n": ["1", "-", "-9"], "t": ["a", "b", "-9"]})
    profiles = [ColumnProfile(labeled[name], signs=["-9"]) for name in labeled]
    encoder = make_encoder(labeled, profiles, ["-9"])
    found = encode(encoder, pd.DataFrame({"n": ["2", "-", "-9", "?"], "t": ["-9", "a", "b", "x"]}))
    assert np.isnan(found[:, 0]).tolist() == [False, True, True, True]
    assert found[0, 1:].tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="must hold numbers; found 'x' in data row 2"):
        encode(encoder, pd.DataFrame({"n": ["?", "x"], "t": ["a", "a"]}))
