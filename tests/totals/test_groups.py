"""The groups of rows, and their weights."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c2rf.exceptions import InputError, InputTypeError
from c2rf.totals.groups import Groups, check_columns, grouping_columns, read_groups, read_weights

NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=12)


def named(groups):
    return [groups.names[code] for code in groups.codes]


@given(NAMES)
def test_every_row_is_in_the_group_of_its_name(rows):
    groups = read_groups(rows, len(rows))
    assert named(groups) == named(groups.in_order()) == rows
    assert groups.in_order().names == sorted(set(rows))
    assert groups.sizes.tolist() == [rows.count(name) for name in groups.names]


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_groups_of_chunks_are_those_of_all_rows(chunks):
    merged = Groups.merged([read_groups(chunk, len(chunk)) for chunk in chunks])
    rows = [name for chunk in chunks for name in chunk]
    whole = read_groups(rows, len(rows))
    assert merged.names == whole.names
    np.testing.assert_array_equal(merged.codes, whole.codes)


def test_without_groups_all_rows_are_one():
    groups = read_groups(None, 5)
    assert groups.names == [None]
    assert groups.sizes.tolist() == [5]
    assert groups.columns == ()
    assert groups.codes.strides == (0,)  # it takes no memory for each row


def test_numbers_beside_text_stay_numbers():
    assert read_groups([["AT", 1], ["AT", 2]], 2).names == [("AT", 1), ("AT", 2)]


def test_the_weight_of_a_group_is_that_of_its_rows():
    groups = read_groups(["a", "b", "a"], 3)
    assert groups.weight(np.array([1.5, 2.0, 3.0])).tolist() == [4.5, 2.0]


@pytest.mark.parametrize(
    ("groups", "words"),
    [(["a"], "one entry per unlabeled row, 2"), (["a", None], "no entry in row 1")],
)
def test_groups_that_do_not_fit(groups, words):
    with pytest.raises(InputError, match=words):
        read_groups(groups, 2)


def test_grouping_columns_are_taken_by_name_or_by_their_number():
    frame = pd.DataFrame({"age": [1, 2], "region": ["n", "s"]})
    assert list(grouping_columns(frame, ["region"]).columns) == ["region"]
    assert list(grouping_columns({"region": ["n", "s"]}, ["region"]).columns) == ["region"]
    plain = np.array(["n", "s"])
    assert grouping_columns(plain, [None]) is plain
    with pytest.raises(InputError, match="must have the 1 grouping columns of totals, 'region'"):
        grouping_columns(frame.to_numpy(), ["region"])
    with pytest.raises(InputError, match=r"which unlabeled_groups does not have.*mean 'region'"):
        grouping_columns(frame, ["regoin"])


def test_columns_that_are_not_there_are_named():
    check_columns(["a"], ["a", "b"], "the table")
    with pytest.raises(InputError, match="weight has the column 'c', which the table does not"):
        check_columns(["c"], ["a", "b"], "the table", "weight")


def test_weights_of_one_say_nothing():
    assert read_weights([1, 1.0], 2) is None
    assert read_weights(["2", "0.5"], 2).tolist() == [2.0, 0.5]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -2.0], "must not be negative"),
        ([1.0, np.nan], "no number in row 1"),
        (["a", 1], "must be numbers"),
        ([1.0], "one number per row"),
        ([0.0, 0.0], "only zeros"),
        ([np.inf, 1.0], "must be finite"),
        ([2**53, 1], "adds up to 9.0072e.15; beyond 1e\\+15 sums are not exact"),
    ],
)
def test_weights_that_are_refused(weights, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        read_weights(weights, 2)


def test_groups_that_nothing_is_known_of_get_the_default():
    groups = read_groups(["b", "a", "b"], 3)
    found = groups.look_up({"a": np.array([1.0, 2.0])}, np.zeros(2))
    assert found[groups.codes].tolist() == [[0, 0], [1, 2], [0, 0]]
