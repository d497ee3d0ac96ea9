"""Votes of ±1, packed into bits, and the table of their patterns.

Votes have three forms: an array of ±1 with a row per point and a column per tree; the same packed
into 64-bit words; and a :class:`PatternTable`, the distinct rows and how often each occurs. What
comes after the votes needs only this table, of at most min(m, 2^t) patterns. Tables are built chunk
by chunk and merged, so the votes of a large population never have to be in one place.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2rf._utils.types import check_whole
from c2rf.exceptions import InputError, InputTypeError

_WORD = 64
_CHUNK_ROWS = 1 << 18
# With so many trees at most, an array with an entry for each possible pattern is small.
_MAX_DENSE_TREES = 20
_MOST_POINTS = 2**62


def check_votes(votes: ArrayLike, *, chunk_rows: int = _CHUNK_ROWS) -> NDArray[np.int8]:
    """Return votes as a 2-D int8 array of -1/+1, or say what is wrong and where.

    Parameters
    ----------
    votes : array-like of shape (n_rows, n_trees)
        A line for each row to label, a column per tree.
    chunk_rows : int
        How many rows to look at at once, which needs memory.

    Returns
    -------
    ndarray of int8

    Examples
    --------
    >>> check_votes([[1, -1], [1, 1]]).dtype
    dtype('int8')
    >>> check_votes([[1, 0]])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: votes must be -1 or +1; found 0 at row 0, column 1
    """
    if np.ma.is_masked(votes):
        raise InputError("votes must be -1 or +1; some are missing (masked)")
    try:
        array = np.asarray(votes)
    except ValueError as error:
        raise InputError(f"votes must be a rectangular 2-D array; {error}") from error
    if array.ndim != 2:
        raise InputError(
            "votes must be 2-D, a line for each row to label and a column per tree; found "
            f"{array.ndim}-D of shape {array.shape}"
        )
    if array.size == 0:
        raise InputError(
            f"votes must have at least one row and one column; found shape {array.shape}"
        )
    if array.dtype.kind not in "iufbO":
        raise InputTypeError(
            f"votes must be numbers, -1 or +1; found {array[0, 0]!s} at row 0, column 0 "
            f"(dtype {array.dtype})"
        )
    for start in range(0, len(array), chunk_rows):
        chunk = array[start : start + chunk_rows]
        bad = ~_are_votes(chunk)
        if bad.any():
            row, column = (int(k) for k in np.argwhere(bad)[0])
            raise InputError(
                f"votes must be -1 or +1; found {chunk[row, column]} "
                f"at row {start + row}, column {column}"
            )
    return array.astype(np.int8, copy=False)


def _are_votes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are -1 or +1."""
    # True == 1 in Python, but a boolean column is most likely a 0/1 coding.
    if values.dtype.kind == "b":
        return np.zeros(values.shape, dtype=bool)
    if values.dtype.kind == "O":
        return np.array([[_is_vote(value) for value in row] for row in values], dtype=bool)
    return (values == 1) | (values == -1)


def _is_vote(value: object) -> bool:
    """Return whether a value of any type is -1 or +1; some missing values cannot be compared."""
    is_number = isinstance(value, numbers.Number) and not isinstance(value, (bool, np.bool_))
    return is_number and value in (-1, 1)


def pack(votes: NDArray[np.int8], *, chunk_rows: int = _CHUNK_ROWS) -> NDArray[np.uint64]:
    """Pack rows of ±1 votes into 64-bit words, tree j in bit j % 64 of word j // 64.

    Examples
    --------
    >>> pack(np.array([[1, -1, 1]], dtype=np.int8))
    array([[5]], dtype=uint64)
    """
    n_points, n_trees = votes.shape
    n_words = -(-n_trees // _WORD)
    words = np.zeros((n_points, n_words), dtype="<u8")
    as_bytes = words.view(np.uint8)
    for start in range(0, n_points, chunk_rows):
        rows = slice(start, start + chunk_rows)
        packed = np.packbits(votes[rows] > 0, axis=1, bitorder="little")
        as_bytes[rows, : packed.shape[1]] = packed
    return words.astype(np.uint64, copy=False)


def unpack(words: NDArray[np.uint64], n_trees: int) -> NDArray[np.int8]:
    """Undo :func:`pack`.

    Examples
    --------
    >>> unpack(np.array([[5]], dtype=np.uint64), 3)
    array([[ 1, -1,  1]], dtype=int8)
    """
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    bits = np.unpackbits(as_bytes, axis=1, bitorder="little", count=n_trees)
    votes = bits.view(np.int8)
    votes *= 2
    votes -= 1
    return votes


@dataclass(frozen=True, eq=False)
class PatternTable:
    """Distinct rows of votes, how often each occurs, and optionally which row has which.

    Parameters
    ----------
    words : ndarray of uint64, shape (n_patterns, n_words)
        The patterns, packed, sorted.
    counts : ndarray of int64, shape (n_patterns,)
        Number of rows with each pattern.
    n_trees : int
        Number of trees, i.e. of votes in a row.
    inverse : ndarray of int64 or None
        For each row the index of its pattern, if requested.

    Examples
    --------
    >>> table = PatternTable.from_votes([[1, -1], [1, 1], [1, -1]], inverse=True)
    >>> table.patterns
    array([[ 1, -1],
           [ 1,  1]], dtype=int8)
    >>> table.counts, table.inverse
    (array([2, 1]), array([0, 1, 0]))
    """

    words: NDArray[np.uint64]
    counts: NDArray[np.int64]
    n_trees: int
    inverse: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        check_table(self)

    @classmethod
    def from_votes(cls, votes: ArrayLike, *, inverse: bool = False) -> PatternTable:
        """Count the patterns of ``votes``."""
        checked = check_votes(votes)
        return cls.from_words(pack(checked), checked.shape[1], inverse=inverse)

    @classmethod
    def from_words(
        cls, words: NDArray[np.uint64], n_trees: int, *, inverse: bool = False
    ) -> PatternTable:
        """Count the patterns of votes that are packed already.

        Examples
        --------
        >>> PatternTable.from_words(np.array([[5], [1], [5]], dtype=np.uint64), n_trees=3).counts
        array([1, 2])
        """
        _check_words(words, n_trees)
        if _is_dense(n_trees, len(words)):
            return _count_dense(words, n_trees, inverse=inverse)
        if words.shape[1] == 1 and not inverse:  # sorting is much faster than finding the order
            values, counts = np.unique(words[:, 0], return_counts=True)
            return cls(values[:, None], counts.astype(np.int64), n_trees)
        return _count(words, None, n_trees, inverse=inverse)

    @classmethod
    def from_chunks(cls, chunks: Iterable[ArrayLike], *, inverse: bool = False) -> PatternTable:
        """Count the patterns of many chunks of votes, one in memory at a time.

        Examples
        --------
        >>> PatternTable.from_chunks([[[1, -1]], [[1, 1], [1, -1]]]).counts
        array([2, 1])
        """
        # Empty partitions are left out.
        filled = (c for c in chunks if not (len(np.shape(c)) == 2 and np.shape(c)[0] == 0))
        return cls.merged(cls.from_votes(chunk, inverse=inverse) for chunk in filled)

    @classmethod
    def merged(cls, tables: Iterable[PatternTable]) -> PatternTable:
        """Return the table of the rows of all tables, in their order.

        The inverse is kept where all tables have one.

        Examples
        --------
        >>> parts = [PatternTable.from_votes([[1, -1]]), PatternTable.from_votes([[1, 1], [1, -1]])]
        >>> PatternTable.merged(parts).counts
        array([2, 1])
        """
        parts = list(tables)
        if not parts:
            raise InputError("there must be at least one chunk of votes; found none")
        n_trees = sorted({table.n_trees for table in parts})
        if len(n_trees) > 1:
            found = " and ".join(map(str, n_trees))
            raise InputError(f"tables must be of the same trees to be merged; found {found} trees")
        inverses = [table.inverse for table in parts if table.inverse is not None]
        keep = len(inverses) == len(parts)
        words, counts = ([getattr(part, name) for part in parts] for name in ("words", "counts"))
        both = _count(np.concatenate(words), np.concatenate(counts), n_trees[0], inverse=keep)
        if both.inverse is None:
            return both
        places = np.split(both.inverse, np.cumsum([len(own) for own in words])[:-1])
        moved = [place[own] for place, own in zip(places, inverses, strict=True)]
        return replace(both, inverse=np.concatenate(moved))

    def merge(self, other: PatternTable) -> PatternTable:
        """Return the table of the rows of both, those of ``self`` first."""
        return PatternTable.merged([self, other])

    def lookup_words(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return for each row of packed votes the index of its pattern, -1 where it has none."""
        if words.shape[1] == 1 and self.n_patterns:
            found = np.searchsorted(self.words[:, 0], words[:, 0])
            found = np.minimum(found, self.n_patterns - 1)
            return np.where(self.words[found, 0] == words[:, 0], found, -1)
        both = _count(np.concatenate([self.words, words]), None, self.n_trees, inverse=True)
        assert both.inverse is not None
        index = np.full(both.n_patterns, -1, dtype=np.int64)
        index[both.inverse[: self.n_patterns]] = np.arange(self.n_patterns)
        return index[both.inverse[self.n_patterns :]]

    @property
    def patterns(self) -> NDArray[np.int8]:
        """The patterns as an array of -1/+1."""
        return unpack(self.words, self.n_trees)

    @property
    def n_patterns(self) -> int:
        """Number of patterns."""
        return len(self.words)

    @property
    def n_points(self) -> int:
        """Number of rows counted."""
        return int(self.counts.sum())


def check_table(table: PatternTable) -> None:
    """Refuse a table that does not hold what its fields say, or more rows than can be counted.

    Examples
    --------
    >>> two = np.array([[1], [2]], dtype=np.uint64)
    >>> PatternTable(two, np.array([4, -4]), n_trees=2)
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: counts of patterns must be at least 1; found -4 for pattern 1
    """
    words, counts = table.words, table.counts
    _check_words(words, table.n_trees)
    if type(counts) is not np.ndarray or counts.dtype.kind != "i":
        found = getattr(counts, "dtype", type(counts).__name__)
        raise InputTypeError(f"counts of patterns must be an array of integers; found {found}")
    if counts.shape != (len(words),):
        raise InputError(
            f"there must be one count for each of the {len(words)} patterns; found {counts.shape}"
        )
    if (counts < 1).any():
        k = int((counts < 1).argmax())
        raise InputError(
            f"counts of patterns must be at least 1; found {counts[k]} for pattern {k}"
        )
    if (points := float(counts.sum(dtype=np.float64))) > _MOST_POINTS:
        raise InputError(f"votes of at most 2**62 rows can be counted; found {points:.3g}")
    rises, undecided = np.zeros(max(len(words) - 1, 0), dtype=bool), True
    for place in reversed(range(words.shape[1])):  # the last word counts first
        rises |= undecided & (words[1:, place] > words[:-1, place])
        undecided = undecided & (words[1:, place] == words[:-1, place])
    if not rises.all():
        raise InputError(
            "patterns must be different and in increasing order; pattern "
            f"{int(rises.argmin()) + 1} is not: PatternTable.from_words sorts and counts"
        )


def _check_words(words: NDArray[np.uint64], n_trees: int) -> None:
    """Refuse packed votes of another type or shape, and with bits beyond the trees."""
    check_whole("n_trees", n_trees, least=1)
    n_words = -(-n_trees // _WORD)
    if not isinstance(words, np.ndarray) or words.dtype != np.uint64:
        found = getattr(words, "dtype", type(words).__name__)
        raise InputTypeError(f"packed votes must be an array of uint64; found {found}")
    if words.ndim != 2 or words.shape[1] != n_words:
        raise InputError(
            f"packed votes of {n_trees} trees have {n_words} words in a row; found an array of "
            f"shape {words.shape}"
        )
    beyond = words[:, -1] >> np.uint64(n_trees % _WORD) if n_trees % _WORD else words[:0, 0]
    if beyond.any():
        row = int((beyond > 0).argmax())
        raise InputError(
            f"packed votes must have bits for the {n_trees} trees only; row {row} has others"
        )


def _is_dense(n_trees: int, n_points: int) -> bool:
    """Return whether an array with an entry for each possible pattern is small enough."""
    return n_trees <= _MAX_DENSE_TREES and 1 << n_trees <= 16 * n_points


def _count_dense(words: NDArray[np.uint64], n_trees: int, *, inverse: bool) -> PatternTable:
    """Count into an array with an entry for each possible pattern."""
    values = words[:, 0].astype(np.int64)
    counts = np.bincount(values, minlength=1 << n_trees)
    found = np.flatnonzero(counts)
    back = (np.cumsum(counts > 0) - 1)[values] if inverse else None
    return PatternTable(found.astype(np.uint64)[:, None], counts[found], n_trees, back)


def _count(
    words: NDArray[np.uint64],
    counts: NDArray[np.int64] | None,
    n_trees: int,
    *,
    inverse: bool,
) -> PatternTable:
    """Sort packed rows, and add up the counts of equal ones."""
    order = _sort(words)
    ordered = words[order]
    first = np.ones(len(words), dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    if counts is None:
        totals = np.diff(starts, append=len(words))
    else:
        totals = np.add.reduceat(counts[order], starts)
    back = None
    if inverse:
        back = np.empty(len(words), dtype=np.int64)
        back[order] = np.cumsum(first) - 1
    return PatternTable(ordered[starts], totals.astype(np.int64), n_trees, back)


def _sort(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order that sorts the rows, the last word first."""
    if words.shape[1] == 1:
        return np.argsort(words[:, 0], kind="stable")
    return np.lexsort(words.T)
