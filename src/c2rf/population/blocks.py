"""Rows in blocks, and arrays that are too large for memory.

Matrix products may round differently in a table of another size. So all rows are looked at in
blocks of the same rows, wherever they come from, and a population in files gets the very
probabilities that it gets in memory.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from c2rf._frames import stacked
from c2rf._typing import Floats

BLOCK_ROWS = 1 << 16
"""Rows that a model is asked about at a time."""

LARGE_BYTES = 1 << 26
"""An array of more bytes than this is kept in a temporary file."""


def probabilities(model: Any, X: Any, block_rows: int | None = None) -> Floats:
    """Return the probabilities that a fitted model gives to all rows, asked block by block.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> probabilities(DummyClassifier().fit([[0], [1]], [0, 1]), np.zeros((2, 1)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    table = np.empty((X.shape[0], len(model.classes_)))
    for rows in row_blocks(X.shape[0], block_rows or BLOCK_ROWS):
        table[rows] = model.predict_proba(plain(_safe_indexing(X, rows)))
    return table


def rows_of(pieces: list[Any], rows: slice) -> Any:
    """Return some rows of several tables that follow each other.

    Examples
    --------
    >>> rows_of([np.array([[0], [1]]), np.array([[2], [3]])], slice(1, 3)).tolist()
    [[1], [2]]
    """
    wanted, start = [], 0
    for piece in pieces:
        first, last = max(rows.start - start, 0), min(rows.stop - start, piece.shape[0])
        if first < last:
            wanted.append(_safe_indexing(piece, slice(first, last)))
        start += piece.shape[0]
    return plain(stacked(wanted))


def row_blocks(
    n_rows: int, size: int = BLOCK_ROWS, reading: Sequence[NDArray[Any]] = ()
) -> Iterator[slice]:
    """Yield the rows of one block after the other, and release what is read after each.

    Examples
    --------
    >>> list(row_blocks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
        for table in reading:
            release(table)


def filled(shape: tuple[int, ...], parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return an array filled by parts that follow each other; a large one is in a file."""
    table, start = large_array(shape), 0
    for part in parts:
        table[start : start + len(part)] = part
        start += len(part)
        release(table)
    return table


def large_array(shape: tuple[int, ...], dtype: Any = float) -> NDArray[Any]:
    """Return an array to be filled; a large one is in a temporary file, which is gone with it."""
    if np.prod(shape) * np.dtype(dtype).itemsize <= LARGE_BYTES:
        return np.empty(shape, dtype)
    with TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def release(table: NDArray[Any]) -> None:
    """Give back the memory that an array in a file has taken; it is read again when needed.

    The system would do so, too, but only when there is no other memory left.
    """
    if isinstance(table.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        table.base.madvise(mmap.MADV_DONTNEED)


def plain(X: Any) -> Any:
    """Return an array row by row, a frame column by column in memory: else sums may round anew."""
    if isinstance(X, pd.DataFrame):
        return pd.DataFrame(dict(X.items()), copy=True)
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
