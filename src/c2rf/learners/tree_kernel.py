"""Extremely randomized trees, compiled: all trees of a forest are grown, and asked, in one call.

There is one criterion for classes and for numbers. A tree reduces the sum of the variances of its
targets; with the indicators of classes as targets that is Gini's impurity. At every node some
columns that are not constant there are drawn, and for each a threshold between its least and its
greatest value; the best of these splits is taken.

A forest is three flat arrays. A node is twelve bytes: the column and the threshold it asks for, and
the place of its left child, which the right one follows. A leaf asks nothing and points to itself,
so that many rows can walk down in step without a single branch to be guessed wrong.
"""

from __future__ import annotations

from typing import Any

import numba  # noqa: F401  not to be had without: scikit-learn's trees are quicker than plain loops
import numpy as np

from c2rf._compiled import compiled
from c2rf._typing import Floats, Ints

NODE = np.dtype([("column", np.int32), ("threshold", np.float32), ("left", np.int32)])
"""Of a leaf: column 0, an infinite threshold, and its own place."""

_BLOCK = 256  # rows that walk in step: their places stay in the nearest cache
_NO_GAIN = -1.0


@compiled
def _draw(state: Any) -> Any:
    """Return the next random number of a tree below 2^53 (splitmix64, the same everywhere)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(11)


@compiled
def _uniform(state: Any) -> float:
    return float(_draw(state)) / 9007199254740992.0  # 2^53


@compiled
def _gain(
    X: Any, Y: Any, weight: Any, rows: Any, column: int, threshold: Any, least: int,
    total: Any, mass: float, side: Any
) -> float:  # fmt: skip
    """Return what a split is worth: the squared sums of both sides, over their weights."""
    n_left, left_mass = 0, 0.0
    side[:] = 0.0
    for row in rows:
        if X[row, column] <= threshold:
            n_left += 1
            left_mass += weight[row]
            for k in range(len(total)):
                side[k] += weight[row] * Y[row, k]
    if n_left < least or len(rows) - n_left < least or left_mass <= 0 or left_mass >= mass:
        return _NO_GAIN
    worth = 0.0
    for k in range(len(total)):
        rest = total[k] - side[k]
        worth += side[k] * side[k] / left_mass + rest * rest / (mass - left_mass)
    return worth


@compiled
def _best_split(
    X: Any, Y: Any, weight: Any, rows: Any, columns: Any, n_tried: int, least: int,
    total: Any, mass: float, side: Any, state: Any
) -> Any:  # fmt: skip
    """Return the best of some random splits; the column is -1 where there is none."""
    best, best_column, best_threshold = _NO_GAIN, -1, np.float32(0.0)
    tried, n_left = 0, len(columns)
    while tried < n_tried and n_left > 0:
        place = int(_draw(state) % np.uint64(n_left))
        n_left -= 1
        column = columns[place]
        columns[place], columns[n_left] = columns[n_left], column
        low = high = X[rows[0], column]
        for row in rows:
            value = X[row, column]
            low, high = min(low, value), max(high, value)
        if not low < high:
            continue
        tried += 1
        threshold = np.float32(low + _uniform(state) * (high - low))
        if threshold >= high:  # rounded up
            threshold = low
        worth = _gain(X, Y, weight, rows, column, threshold, least, total, mass, side)
        if worth > best:
            best, best_column, best_threshold = worth, column, threshold
    return best_column, best_threshold


@compiled
def _parted(X: Any, rows: Any, column: int, threshold: float) -> int:
    """Move the rows of the left side to the front, and return how many they are."""
    front, back = 0, len(rows) - 1
    while front <= back:
        if X[rows[front], column] <= threshold:
            front += 1
        else:
            rows[front], rows[back] = rows[back], rows[front]
            back -= 1
    return front


@compiled
def _grow_tree(
    X: Any, Y: Any, weight: Any, rows: Any, n_tried: int, least: int, state: Any,
    nodes: Any, values: Any, stack: Any
) -> tuple[int, int]:  # fmt: skip
    """Grow one tree into scratch arrays; return the number of its nodes and its depth."""
    n_targets = Y.shape[1]
    total, side = np.empty(n_targets), np.empty(n_targets)
    columns = np.arange(X.shape[1])
    stack[0] = 0, len(rows), 0, 0  # first row, end, node, depth
    n_stacked, n_nodes, depth = 1, 1, 0
    while n_stacked:
        n_stacked -= 1
        start, end, node, level = stack[n_stacked]
        own = rows[start:end]
        depth = max(depth, level)
        total[:], mass, pure = 0.0, 0.0, True
        for row in own:
            mass += weight[row]
            for k in range(n_targets):
                total[k] += weight[row] * Y[row, k]
                pure = pure and Y[row, k] == Y[own[0], k]
        column = -1
        if not pure and len(own) >= 2 * least:
            column, threshold = _best_split(
                X, Y, weight, own, columns, n_tried, least, total, mass, side, state
            )
        for k in range(n_targets):
            values[node, k] = total[k] / mass if mass > 0 else 0.0
        if column < 0:
            nodes[node]["column"] = 0
            nodes[node]["threshold"] = np.inf
            nodes[node]["left"] = node
            continue
        middle = start + _parted(X, own, column, threshold)
        nodes[node]["column"] = column
        nodes[node]["threshold"] = threshold
        nodes[node]["left"] = n_nodes
        stack[n_stacked] = middle, end, n_nodes + 1, level + 1
        stack[n_stacked + 1] = start, middle, n_nodes, level + 1
        n_stacked += 2
        n_nodes += 2
    return n_nodes, depth


@compiled
def grow(
    X: Any, Y: Any, weight: Any, bags: Any, n_tried: int, least: int, seeds: Any
) -> tuple[Any, Any, Ints]:  # fmt: skip
    """Grow a forest, one tree for each bag of rows.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Finite; column by column in memory is quickest.
    Y : ndarray of float64, shape (n_rows, n_targets)
        Indicators of classes, or numbers.
    weight : ndarray of float64, shape (n_rows,)
        How much each row counts.
    bags : ndarray of int32, shape (n_trees, n_drawn)
        The rows of each tree.
    n_tried, least : int
        Columns that are tried at a node, and the least rows of a leaf.
    seeds : ndarray of uint64, shape (n_trees,)
        One per tree, so that it does not matter who grows it.

    Returns
    -------
    nodes : ndarray of NODE
        Of all trees; places of children are counted from the first node of the tree.
    values : ndarray of float32, shape (n_nodes, n_targets)
        Weighted means.
    shape : ndarray of int64, shape (n_trees, 2)
        Number of nodes and depth of each tree.
    """
    n_trees, n_drawn = bags.shape
    n_targets = Y.shape[1]
    most = 2 * n_drawn - 1
    shape = np.empty((n_trees, 2), dtype=np.int64)
    stack = np.empty((n_drawn + 1, 4), dtype=np.int64)
    nodes, values = np.empty(most, dtype=NODE), np.empty((most, n_targets), dtype=np.float32)
    all_nodes = np.empty(4 * most, dtype=NODE)
    all_values = np.empty((4 * most, n_targets), dtype=np.float32)
    used, state = 0, np.empty(1, dtype=np.uint64)
    for tree in range(n_trees):
        state[0] = seeds[tree]
        rows = bags[tree].copy()
        n_nodes, depth = _grow_tree(X, Y, weight, rows, n_tried, least, state, nodes, values, stack)
        shape[tree, 0], shape[tree, 1] = n_nodes, depth
        if used + n_nodes > len(all_nodes):
            more = 2 * len(all_nodes) + n_nodes
            old_nodes, old_values = all_nodes, all_values
            all_nodes = np.empty(more, dtype=NODE)
            all_values = np.empty((more, n_targets), dtype=np.float32)
            all_nodes[:used], all_values[:used] = old_nodes[:used], old_values[:used]
        all_nodes[used : used + n_nodes] = nodes[:n_nodes]
        all_values[used : used + n_nodes] = values[:n_nodes]
        used += n_nodes
    return all_nodes[:used].copy(), all_values[:used].copy(), shape


@compiled
def ask(X: Any, nodes: Any, values: Any, shape: Any) -> Floats:
    """Return the sum over the trees of the values of the leaves that rows fall in.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Finite; row by row in memory.
    nodes, values, shape : ndarray
        What :func:`grow` returned.
    """
    n_rows, n_targets = len(X), values.shape[1]
    said = np.zeros((n_rows, n_targets))
    places = np.empty(_BLOCK, dtype=np.uint32)
    for start in range(0, n_rows, _BLOCK):
        block = X[start : start + _BLOCK].ravel()
        size, first = min(_BLOCK, n_rows - start), 0
        for tree in range(len(shape)):
            _walk(block, X.shape[1], nodes, first, shape[tree, 1], places[:size])
            for row in range(size):
                for k in range(n_targets):
                    said[start + row, k] += values[places[row], k]
            first += shape[tree, 0]
    return said


@compiled
def _walk(block: Any, n_columns: int, nodes: Any, first: int, depth: int, places: Any) -> None:
    """Send some rows down a tree, in step; their places are then those of leaves."""
    root, width = np.uint64(first), np.uint64(n_columns)  # no index is counted from the end
    places[:] = np.uint32(first)
    for _ in range(depth):
        for row in range(len(places)):
            node = np.uint64(places[row])
            value = block[np.uint64(row) * width + np.uint64(nodes[node]["column"])]
            # Of a leaf no value is above the threshold, and its left child is itself.
            left = np.uint32(np.uint64(nodes[node]["left"]) + root)
            places[row] = left + np.uint32(value > nodes[node]["threshold"])
