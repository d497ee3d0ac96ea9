"""Probabilities of many points, block by block.

Matrix products may round differently in a table of another size. So all points are looked at in
blocks of the same rows, wherever they come from, and a population in chunks gets the very
probabilities that it gets in memory.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from c2rf.estimators.checked import Checked
from c2rf.problem import Floats

BLOCK_ROWS = 1 << 16


def probabilities(model: Any, X: Any) -> Floats:
    """Return what a fitted model says of all points.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> probabilities(DummyClassifier().fit([[0], [1]], [0, 1]), np.zeros((2, 1)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    table = np.empty((X.shape[0], len(model.classes_)))
    for start in range(0, X.shape[0], BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, X.shape[0]))
        table[rows] = model.predict_proba(plain(_safe_indexing(X, rows)))
    return table


def blocks(chunks: Iterable[Checked]) -> Iterator[tuple[int, Any]]:
    """Cut chunks anew into blocks; yield the number of the first row and the rows of each."""
    waiting: list[Any] = []
    n_waiting = start = 0
    for chunk in chunks:
        waiting.append(chunk.data)
        n_waiting += chunk.data.shape[0]
        if n_waiting < BLOCK_ROWS:
            continue
        rows = stacked(waiting)
        for k in range(0, n_waiting - n_waiting % BLOCK_ROWS, BLOCK_ROWS):
            yield start + k, plain(_safe_indexing(rows, slice(k, k + BLOCK_ROWS)))
        n_left = n_waiting % BLOCK_ROWS
        start += n_waiting - n_left
        waiting, n_waiting = [_safe_indexing(rows, slice(rows.shape[0] - n_left, None))], n_left
    if n_waiting:
        yield start, plain(stacked(waiting))


def stacked(tables: list[Any]) -> Any:
    """Return the rows of all tables, as an array or as a frame of their kind."""
    if len(tables) == 1:
        return tables[0]
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    if isinstance(tables[0], pd.DataFrame):
        return pd.concat(tables, ignore_index=True)
    return tables[0].vstack(stacked(tables[1:]))


def on_disk(shape: tuple[int, ...], dtype: Any = float) -> NDArray[Any]:
    """Return an array in a temporary file, which is gone when the array is."""
    with TemporaryFile() as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def release(table: NDArray[Any]) -> None:
    """Give back the memory that an array in a file has taken; the file has all, when it is read.

    The system would do so, too, but only when there is no other memory left.

    Examples
    --------
    >>> table = on_disk((2, 2))
    >>> table[:] = 1.0
    >>> release(table)
    >>> table.sum().item()
    4.0
    """
    if isinstance(table.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        table.base.madvise(mmap.MADV_DONTNEED)


def plain(X: Any) -> Any:
    """Return an array row by row, a frame column by column in memory: else sums may round anew."""
    if isinstance(X, pd.DataFrame):
        return pd.DataFrame(dict(X.items()), copy=True)
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
