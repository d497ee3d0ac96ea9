"""From columns to numbers: dates, text of few and of many values, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from c2rf.data.encoding import PSEUDO_ROWS, encode_target, encoded, fit_encoder
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
CLASSES = np.arange(N) % 2
ENCODER, X = fit_encoder([ColumnProfile(LABELED[name]) for name in LABELED], CLASSES)


def test_every_number_has_its_column():
    assert ENCODER.outputs() == [
        ("age", None),
        ("born", None),
        ("born", "year"),
        ("born", "month, sine"),
        ("born", "month, cosine"),
        ("town", "Bonn"),
        ("town", "Ulm"),
        ("town", "(empty)"),
        ("street", None),
        ("street", None),
        ("street", None),
    ]
    assert list(ENCODER.kinds) == ["age", "born", "town", "street"]


def test_what_no_labeled_row_has_is_zero_or_missing():
    new = LABELED[:1].assign(town="Aalen", street="new", age="", born="")
    row = ENCODER.encode(new)[0]
    assert np.isnan(row[:5]).all()
    assert row[5:].tolist() == [0, 0, 0, 0, 0, -0.5]


def test_chunks_get_the_numbers_that_the_table_gets():
    whole = ENCODER.encode(LABELED)
    np.testing.assert_array_equal(next(encoded(Memory(LABELED), ENCODER).chunks()).data, whole)
    chunks = encoded(user_chunks([LABELED[:5], LABELED[5:]]), ENCODER).chunks()
    np.testing.assert_array_equal(np.concatenate([chunk.data for chunk in chunks]), whole)


def test_what_cannot_be_encoded():
    with pytest.raises(InputError, match="missing: 'age'"):
        ENCODER.encode(LABELED.drop(columns="age"))
    with pytest.raises(InputError, match="'age' must hold numbers; found 'old' in data row 2"):
        ENCODER.encode(LABELED[:2].assign(age=["1", "old"]))
    rows = encoded(user_chunks([LABELED[:2], LABELED[:1].assign(age="old")]), ENCODER)
    with pytest.raises(InputError, match="chunk 1: column 'age' must hold numbers"):
        list(rows.chunks())


def test_signs_for_missing_values_are_known_to_the_encoder():
    labeled = pd.DataFrame({"n": ["1", "-", "-9"], "t": ["a", "b", "-9"]})
    profiles = [ColumnProfile(labeled[name], signs=["-9"]) for name in labeled]
    encoder, _ = fit_encoder(profiles, [0, 1, 0])
    found = encoder.encode(pd.DataFrame({"n": ["2", "-", "-9", "?"], "t": ["-9", "a", "b", "x"]}))
    assert np.isnan(found[:, 0]).tolist() == [False, True, True, True]
    assert found[0, 1:].tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="must hold numbers; found 'x' in data row 2"):
        encoder.encode(pd.DataFrame({"n": ["?", "x"], "t": ["a", "a"]}))


def test_numbers_of_values_are_log_ratios_with_pseudo_rows():
    rng = np.random.default_rng(0)
    places, classes = rng.integers(0, 6, 200), rng.choice(3, 200, p=[0.6, 0.3, 0.1])
    numbers, _ = encode_target(places, classes, 7)
    sizes = np.bincount(classes)
    for value in range(7):
        own = np.bincount(classes[places == value], minlength=3)
        # Each class weighs as much as any other; ten rows have all classes alike.
        logs = np.log(own * (200 / 3 / sizes) + PSEUDO_ROWS / 3)
        expected = [*(logs - logs.mean()), np.log1p(own.sum())]
        np.testing.assert_allclose(numbers[value], expected, atol=1e-12)


def test_two_classes_are_treated_alike():
    rng = np.random.default_rng(1)
    places, classes = rng.integers(0, 9, 100), rng.integers(0, 2, 100)
    numbers, rows = encode_target(places, classes, 9)
    for one, other in zip((numbers, rows), encode_target(places, 1 - classes, 9), strict=True):
        np.testing.assert_allclose(one, other * [-1, 1], atol=1e-12)


def test_a_sample_with_twice_as_many_of_a_class_gives_nearly_the_same_numbers():
    rng = np.random.default_rng(2)
    places, classes = rng.integers(0, 5, 4000), rng.integers(0, 2, 4000)
    classes[places == 0] = 0
    more = np.repeat(np.arange(4000), 1 + 3 * classes)
    one, other = (
        encode_target(places, classes, 5)[0],
        encode_target(places[more], classes[more], 5)[0],
    )
    np.testing.assert_allclose(one[1:, 0], other[1:, 0], atol=0.05)


def test_a_column_without_meaning_gives_no_labeled_row_away():
    """Without cross-fitting each row would be in the mean that it is encoded by."""
    rng = np.random.default_rng(3)
    places, classes = rng.integers(0, 500, 1000), rng.integers(0, 2, 1000)
    numbers, rows = encode_target(places, classes, 500)
    assert np.corrcoef(numbers[places, 0], classes)[0, 1] > 0.5
    assert abs(np.corrcoef(rows[:, 0], classes)[0, 1]) < 0.1


def test_codes_with_leading_zeros_are_text_and_ordered_categories_keep_their_order():
    plz = [f"{k:05}" for k in range(1000, 1000 + 3 * N, 3)]
    levels = pd.Categorical(["low", "high", "mid"] * (N // 3), ["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"plz": plz, "size": levels})
    encoder, X = fit_encoder([ColumnProfile(table[name]) for name in table], CLASSES)
    assert encoder.kinds == {"size": "ordinal", "plz": "target"}
    np.testing.assert_array_equal(X[:, 0], [0, 2, 1] * (N // 3))
    np.testing.assert_array_equal(X[:, 3], np.arange(N))
    new = encoder.encode(pd.DataFrame({"plz": ["01001", ""], "size": ["mid", "huge"]}))
    np.testing.assert_array_equal(new, [[1, 0, 0, 0.5], [np.nan, 0, 0, np.nan]])


def test_categories_are_no_numbers():
    table = pd.DataFrame({"c": pd.Categorical([3, 1, 3])})
    encoder, X = fit_encoder([ColumnProfile(table["c"])], [0, 1, 0])
    assert (X.tolist(), encoder.outputs()) == ([[0, 1], [1, 0], [0, 1]], [("c", "1"), ("c", "3")])
