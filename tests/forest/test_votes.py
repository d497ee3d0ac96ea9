from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import c2rf
from c2rf.exceptions import InputError, InputTypeError
from c2rf.forest.votes import PatternTable, check_votes, pack, unpack
from strategies import votes

WIDTHS = [1, 7, 8, 9, 63, 64, 65, 128, 130]


def random_votes(n_points, n_trees, n_kinds=None, seed=0):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(np.array([-1, 1], dtype=np.int8), size=(n_kinds or n_points, n_trees))
    return kinds[rng.integers(len(kinds), size=n_points)]


def rows_and_counts(patterns, counts):
    """A table's content in an order of its own, for comparison."""
    return sorted((tuple(row), int(count)) for row, count in zip(patterns, counts, strict=True))


@pytest.mark.parametrize("n_trees", WIDTHS)
def test_packing_is_undone_by_unpacking(n_trees):
    rows = random_votes(50, n_trees)
    words = pack(rows)
    assert words.shape == (50, -(-n_trees // 64))
    np.testing.assert_array_equal(unpack(words, n_trees), rows)


@pytest.mark.parametrize("tree", [0, 5, 63, 64, 129])
def test_each_tree_has_the_bit_that_is_documented(tree):
    rows = -np.ones((1, 130), dtype=np.int8)
    rows[0, tree] = 1
    words = pack(rows)[0].tolist()
    assert words == [1 << tree % 64 if k == tree // 64 else 0 for k in range(3)]


def test_packing_in_several_chunks_is_packing_at_once():
    rows = random_votes(100, 70)
    np.testing.assert_array_equal(pack(rows, chunk_rows=7), pack(rows))
    np.testing.assert_array_equal(check_votes(rows, chunk_rows=7), rows)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_trees", WIDTHS)
def test_table_is_what_unique_finds(n_trees, order):
    rows = np.array(random_votes(300, n_trees, n_kinds=20), order=order)
    table = PatternTable.from_votes(rows, inverse=True)
    expected = np.unique(rows, axis=0, return_counts=True)
    assert rows_and_counts(table.patterns, table.counts) == rows_and_counts(*expected)
    np.testing.assert_array_equal(table.patterns[table.inverse], rows)
    assert (table.n_patterns, table.n_points, table.n_trees) == (len(expected[0]), 300, n_trees)


@given(
    st.lists(
        st.integers(1, 6).flatmap(
            lambda n: arrays(np.int8, (n, 3), elements=st.sampled_from([-1, 1]))
        ),
        min_size=1,
        max_size=5,
    ),
    st.booleans(),
)
def test_chunk_by_chunk_is_all_at_once(chunks, inverse):
    built = PatternTable.from_chunks(iter(chunks), inverse=inverse)
    whole = PatternTable.from_votes(np.vstack(chunks), inverse=True)
    np.testing.assert_array_equal(built.words, whole.words)
    np.testing.assert_array_equal(built.counts, whole.counts)
    if inverse:
        np.testing.assert_array_equal(built.inverse, whole.inverse)
    else:
        assert built.inverse is None


@pytest.mark.parametrize("n_trees", [64, 65, 200])
def test_merging_wide_tables(n_trees):
    rows = random_votes(400, n_trees, n_kinds=30, seed=3)
    parts = [PatternTable.from_votes(part, inverse=True) for part in np.array_split(rows, 7)]
    merged = PatternTable.merged(parts)
    np.testing.assert_array_equal(merged.patterns[merged.inverse], rows)
    expected = np.unique(rows, axis=0, return_counts=True)
    assert rows_and_counts(merged.patterns, merged.counts) == rows_and_counts(*expected)


@given(votes(), st.integers(0, 2**32 - 1))
def test_the_order_of_the_points_does_not_matter(rows, seed):
    shuffled = np.random.default_rng(seed).permutation(rows)
    one, other = PatternTable.from_votes(rows), PatternTable.from_votes(shuffled)
    np.testing.assert_array_equal(one.words, other.words)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_merging_keeps_the_inverse_only_where_both_have_one():
    with_inverse = PatternTable.from_votes([[1, -1]], inverse=True)
    without = PatternTable.from_votes([[1, -1], [1, 1]])
    for parts in ([with_inverse, without], [without, with_inverse]):
        assert PatternTable.merged(parts).inverse is None
        assert PatternTable.merged(parts).counts.tolist() == [2, 1]


def test_merging_adds_counts_beyond_32_bits():
    words = np.array([[1]], dtype=np.uint64)
    big = PatternTable(words, np.array([2**40]), 1)
    assert big.merge(big).n_points == 2**41


class TestTablesAreChecked:
    """A table that is believed gives false proofs."""

    def test_bits_beyond_the_trees(self):
        words = np.array([[21906]] * 18 + [[59256]], dtype=np.uint64)
        with pytest.raises(InputError, match="bits for the 6 trees only; row 0 has others"):
            PatternTable.from_words(words, 6)
        wide = np.array([[0, 1 << 6]], dtype=np.uint64)
        PatternTable.from_words(wide, 71)
        with pytest.raises(InputError, match="for the 70 trees only"):
            PatternTable.from_words(wide, 70)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"words": np.array([[2], [1]], dtype=np.uint64)}, "increasing order; pattern 1 is"),
            ({"words": np.array([[1], [1]], dtype=np.uint64)}, "increasing order; pattern 1 is"),
            ({"words": np.array([[1], [8]], dtype=np.uint64)}, "3 trees only; row 1"),
            ({"words": np.array([1, 2], dtype=np.uint64)}, r"array of shape \(2,\)"),
            ({"words": np.array([[1], [2]])}, "uint64; found int64"),
            ({"words": [[1], [2]]}, "uint64; found list"),
            ({"counts": np.array([2, -1])}, "at least 1; found -1 for pattern 1"),
            ({"counts": np.array([0, 1])}, "at least 1; found 0 for pattern 0"),
            ({"counts": np.array([1.0, 1.0])}, "integers; found float64"),
            ({"counts": [1, 1]}, "integers; found list"),
            ({"counts": np.array([1])}, "one count for each of the 2 patterns"),
            ({"counts": np.array([2**62, 2**62])}, r"2\*\*62 rows can be counted"),
            ({"n_trees": 0}, "n_trees must be at least 1"),
            ({"n_trees": 2.0}, "n_trees must be an integer"),
        ],
    )
    def test_what_a_table_must_hold(self, change, said):
        fields = {"words": np.array([[1], [2]], dtype=np.uint64), "counts": np.array([3, 4])}
        with pytest.raises((InputError, InputTypeError), match=said):
            PatternTable(**fields | {"n_trees": 3} | change)

    def test_the_last_word_counts_first(self):
        words = np.array([[9, 0], [1, 1], [2, 1]], dtype=np.uint64)
        assert PatternTable(words, np.ones(3, dtype=np.int64), 70).n_patterns == 3
        with pytest.raises(InputError, match="increasing order; pattern 1"):
            PatternTable(words[[1, 0, 2]], np.ones(3, dtype=np.int64), 70)

    @pytest.mark.parametrize("use", [c2rf.solve, lambda *given: c2rf.verify(*given, SOLVED)])
    def test_a_table_that_was_changed_later(self, use):
        table = PatternTable.from_votes([[1, -1, 1], [1, 1, 1], [-1, 1, 1]])
        table.counts[0] = -1
        with pytest.raises(InputError, match="at least 1; found -1"):
            use(table, 1)


SOLVED = c2rf.solve([[1, -1, 1], [1, 1, 1], [-1, 1, 1]], 1)


@pytest.mark.parametrize("n_trees", [3, 30, 70])
def test_lookup_finds_patterns_and_says_which_are_new(n_trees):
    rows = random_votes(60, n_trees, n_kinds=6, seed=1)
    table = PatternTable.from_votes(rows)
    found = table.lookup_words(pack(rows[::-1]))
    np.testing.assert_array_equal(table.patterns[found], rows[::-1])
    known = {tuple(row) for row in rows}
    others = np.array([row for row in random_votes(60, n_trees, seed=2) if tuple(row) not in known])
    if len(others):
        assert (table.lookup_words(pack(others)) == -1).all()
    mixed = PatternTable.from_votes(rows[:1]).lookup_words(
        pack(np.vstack([rows[:1], -rows[:1], rows[:1]]))
    )
    assert mixed.tolist() == [0, -1, 0]


@pytest.mark.parametrize("n_points", [2, 300])  # sorted, and with a place for each pattern
@pytest.mark.parametrize("inverse", [False, True])
def test_counting_packed_votes(n_points, inverse):
    rows = random_votes(n_points, 9)
    table = PatternTable.from_words(pack(rows), 9, inverse=inverse)
    expected = np.unique(rows, axis=0, return_counts=True)
    assert rows_and_counts(table.patterns, table.counts) == rows_and_counts(*expected)
    assert (np.diff(table.words[:, 0].astype(np.int64)) > 0).all()
    if inverse:
        np.testing.assert_array_equal(table.patterns[table.inverse], rows)


@pytest.mark.parametrize("n_trees", [5, 70])
def test_tables_without_points_can_be_merged(n_trees):
    rows = random_votes(40, n_trees, n_kinds=5)
    some, none = PatternTable.from_votes(rows), PatternTable.from_words(pack(rows[:0]), n_trees)
    assert (none.n_patterns, none.n_points) == (0, 0)
    for parts in ([some, none], [none, some], [none, some, none]):
        table = PatternTable.merged(parts)
        np.testing.assert_array_equal(table.words, some.words)
        np.testing.assert_array_equal(table.counts, some.counts)
    assert PatternTable.merged([none, none]).n_points == 0
    assert (none.lookup_words(pack(rows)) == -1).all()


def test_tables_of_other_trees_are_refused():
    table = PatternTable.from_votes([[1, -1]])
    with pytest.raises(InputError, match="found 2 and 3 trees"):
        PatternTable.merged([table, PatternTable.from_votes([[1, 1, 1]])])


def test_no_chunks_at_all():
    with pytest.raises(InputError, match="at least one chunk"):
        PatternTable.from_chunks([])


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ([[1, 0], [2, 1]], "found 0 at row 0, column 1"),
        ([[1, -1], [1, 2]], "found 2 at row 1, column 1"),
        ([[1.0, -1.0], [np.nan, 1.0]], "found nan at row 1, column 0"),
        ([[1.0, -np.inf]], "found -inf at row 0, column 1"),
        ([[1.0, 1.0000001]], "found 1.0000001 at row 0, column 1"),
        ([[1, None]], "found None at row 0, column 1"),
        (np.array([[1, 255]], dtype=np.uint8), "found 255 at row 0, column 1"),
        ([[True, True]], "found True at row 0, column 0"),
        (np.array([[1, True]], dtype=object), "found True at row 0, column 1"),
        (np.array([[1], [pd.NA]], dtype=object), "found <NA> at row 1, column 0"),
        (1, "0-D"),
        ([1, -1], "1-D"),
        (np.ones((2, 2, 2)), r"3-D of shape \(2, 2, 2\)"),
        (np.ones((0, 3)), r"found shape \(0, 3\)"),
        (np.ones((3, 0)), r"found shape \(3, 0\)"),
        ([], "1-D"),
        ([[1, -1], [1]], "rectangular"),
    ],
)
def test_bad_votes_are_named(bad, says):
    with pytest.raises(InputError, match=says):
        check_votes(bad)
    with pytest.raises(InputError, match=says):
        c2rf.solve(bad, 1)


@pytest.mark.parametrize(
    "bad", [[["yes", "no"]], [[1j, 1]], np.array([["2020-01-01"]], dtype="M8[D]")]
)
def test_votes_that_are_not_numbers(bad):
    first = str(np.asarray(bad)[0, 0])
    with pytest.raises(InputTypeError, match="must be numbers") as caught:
        check_votes(bad)
    assert first in str(caught.value)
    assert "row 0, column 0" in str(caught.value)


def test_the_first_bad_vote_is_found_in_a_later_chunk():
    rows = np.ones((35, 2))
    rows[33, 1] = rows[34, 0] = 0
    with pytest.raises(InputError, match="row 33, column 1"):
        check_votes(rows, chunk_rows=10)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float16, np.float64, object, ">i4"])
def test_any_number_type_of_votes_is_the_same(kind):
    rows = random_votes(20, 5)
    np.testing.assert_array_equal(check_votes(rows.astype(kind)), rows)
    np.testing.assert_array_equal(check_votes(pd.DataFrame(rows.astype(kind))), rows)


def test_votes_are_not_changed_and_tables_are_small():
    rows = random_votes(100_000, 20, n_kinds=50)
    before = rows.copy()
    table = PatternTable.from_votes(rows)
    np.testing.assert_array_equal(rows, before)
    assert sys.getsizeof(table.words) < 10_000


def test_masked_votes_are_missing():
    votes = np.ma.masked_array([[1, -1], [1, 1]], mask=[[0, 1], [0, 0]])
    with pytest.raises(InputError, match="masked"):
        PatternTable.from_votes(votes)
    assert PatternTable.from_votes(np.ma.masked_array(votes.data)).n_patterns == 2
