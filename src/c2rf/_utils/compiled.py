"""Compiling small loops with Numba where it is installed; without it they run as they are.

The loop that several subpackages need is here: rows that go down trees. A forest is flat arrays. A
node is twelve bytes: the column and the threshold it compares, and the place of its left child,
which the right one follows. A leaf compares nothing and points to itself, so that many rows can go
down in step without a single branch to be predicted wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return a function that does the same, compiled if Numba is there."""
    return _compiled(function)


def summing(function: Function) -> Function:
    """Return the same of a function that may add up in any order, which is quicker."""
    return _compiled(function, fastmath={"reassoc", "nsz"})


def _compiled(function: Function, **options: Any) -> Function:
    try:
        from numba import njit
    except ImportError:
        return function
    try:
        result: Any = njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder for it can be written to: it is compiled in every process
        result = njit(nogil=True, **options)(function)
    return result


@cache
def can_compile() -> bool:
    """Return whether loops are compiled, and so worth running where a library does the same."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


# Trees

NODE = np.dtype([("column", np.int32), ("threshold", np.float32), ("left", np.int32)])
"""A leaf has column 0, an infinite threshold, and itself as left child."""

_BLOCK = 256  # rows that go down in step: their nodes stay in the nearest cache


def flat_tree(tree: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the nodes of a tree of scikit-learn, and the place that each of its own has there.

    Thresholds are rounded down to single precision: no value of single precision is in between.
    """
    inner = np.flatnonzero(tree.children_left >= 0)
    # Two children are neighbours here; there, the left one follows its parent.
    number = np.zeros(tree.node_count, dtype=np.int32)
    number[tree.children_left[inner]] = 2 * np.arange(len(inner)) + 1
    number[tree.children_right[inner]] = 2 * np.arange(len(inner)) + 2
    nodes = np.zeros(tree.node_count, dtype=NODE)
    nodes["threshold"], nodes["left"] = np.inf, np.arange(tree.node_count)
    nodes["column"][number[inner]] = tree.feature[inner]
    rounded = tree.threshold[inner].astype(np.float32)
    lower = np.nextafter(rounded, np.float32(-np.inf))
    nodes["threshold"][number[inner]] = np.where(rounded > tree.threshold[inner], lower, rounded)
    nodes["left"][number[inner]] = number[tree.children_left[inner]]
    return nodes, number


def leaves_of(X: Any, nodes: Any, shape: Any, compile_it: bool = True) -> NDArray[np.uint32]:
    """Return the leaves that rows fall in, an array for each tree.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Without NaN; row by row in memory.
    nodes : ndarray of NODE
        Of all trees; places of children are counted from the first node of the tree.
    shape : ndarray of int64, shape (n_trees, 2)
        Number of nodes and depth of each tree.
    compile_it : bool
        Whether loops are compiled.
    """
    found = np.empty((len(shape), len(X)), dtype=np.uint32)
    if compile_it:
        _find_leaves(X, nodes, shape, found)
        return found
    columns, thresholds, left = (nodes[name] for name in NODE.names or ())
    first, every = 0, np.arange(len(X))
    for tree, (n_nodes, depth) in enumerate(shape):
        places = np.full(len(X), first)
        for _ in range(depth):
            above = X[every, columns[places]] > thresholds[places]
            places = first + left[places] + above
        found[tree] = places
        first += n_nodes
    return found


@compiled
def _find_leaves(X: Any, nodes: Any, shape: Any, found: Any) -> None:
    """Write the leaves that rows fall in to an array of trees by rows.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Finite; row by row in memory.
    nodes, shape : ndarray
        As :func:`leaves_of` takes them.
    found : ndarray of uint32, shape (n_trees, n_rows)
        Is overwritten with the numbers of nodes.
    """
    for start in range(0, len(X), _BLOCK):
        block = X[start : start + _BLOCK].ravel()
        end, first = min(start + _BLOCK, len(X)), 0
        for tree in range(len(shape)):
            _descend(block, X.shape[1], nodes, first, shape[tree, 1], found[tree, start:end])
            first += shape[tree, 0]


@compiled
def _descend(block: Any, n_columns: int, nodes: Any, first: int, depth: int, places: Any) -> None:
    """Send some rows down a tree, in step; ``places`` are then the numbers of their leaves."""
    root, width = np.uint64(first), np.uint64(n_columns)  # unsigned: no index is negative
    places[:] = np.uint32(first)
    for _ in range(depth):
        for row in range(len(places)):
            node = np.uint64(places[row])
            value = block[np.uint64(row) * width + np.uint64(nodes[node]["column"])]
            # Of a leaf no value is above the threshold, and its left child is itself.
            left = np.uint32(np.uint64(nodes[node]["left"]) + root)
            places[row] = left + np.uint32(value > nodes[node]["threshold"])
