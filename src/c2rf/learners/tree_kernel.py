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

import numpy as np

from c2rf._utils.compiled import compiled, summing
from c2rf._utils.types import Floats, Ints

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
def _gather(X: Any, rows: Any, column: int, seen: Any) -> Any:
    """Copy the values of a column into neighbouring places; return the least and greatest."""
    low = high = X[rows[0], column]
    for i in range(len(rows)):
        value = X[rows[i], column]
        seen[i] = value
        low, high = min(low, value), max(high, value)
    return low, high


@summing
def _sum_left(seen: Any, amounts: Any, threshold: Any) -> float:
    """Return the sum of the amounts of the rows that go left."""
    total = 0.0
    for i in range(len(seen)):
        total += amounts[i] if seen[i] <= threshold else 0.0
    return total


@compiled
def _count_left(seen: Any, threshold: Any) -> int:
    n_left = 0
    for i in range(len(seen)):
        n_left += seen[i] <= threshold
    return n_left


@compiled
def _gain(
    seen: Any, amounts: Any, weight: Any, even: bool, threshold: Any, least: int, total: Any,
    mass: float
) -> float:  # fmt: skip
    """Return what a split is worth: the squared sums of both sides, over their weights."""
    n_left = _count_left(seen, threshold)
    if n_left < least or len(seen) - n_left < least:
        return _NO_GAIN
    left_mass = float(n_left) if even else _sum_left(seen, weight, threshold)
    if left_mass <= 0 or left_mass >= mass:
        return _NO_GAIN
    worth = 0.0
    for k in range(len(total)):
        side = _sum_left(seen, amounts[k, : len(seen)], threshold)
        rest = total[k] - side
        worth += side * side / left_mass + rest * rest / (mass - left_mass)
    return worth


@compiled
def _best_split(
    X: Any, rows: Any, seen: Any, amounts: Any, weight: Any, even: bool, columns: Any,
    n_tried: int, least: int, total: Any, mass: float, state: Any
) -> Any:  # fmt: skip
    """Return the best of some random splits; the column is -1 where there is none."""
    best, best_column, best_threshold = _NO_GAIN, -1, np.float32(0.0)
    tried, n_left = 0, len(columns)
    while tried < n_tried and n_left > 0:
        place = int(_draw(state) % np.uint64(n_left))
        n_left -= 1
        column = columns[place]
        columns[place], columns[n_left] = columns[n_left], column
        low, high = _gather(X, rows, column, seen)
        if not low < high:
            continue
        tried += 1
        threshold = np.float32(low + _uniform(state) * (high - low))
        if threshold >= high:  # rounded up
            threshold = low
        worth = _gain(seen, amounts, weight, even, threshold, least, total, mass)
        if worth > best:
            best, best_column, best_threshold = worth, column, threshold
    return best_column, best_threshold


@compiled
def _parted(X: Any, rows: Any, column: int, threshold: Any) -> int:
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
def _collect(Y: Any, weight: Any, rows: Any, amounts: Any, masses: Any, total: Any) -> Any:
    """Copy weighted targets and weights of a node's rows; return its weight, and if all agree."""
    mass, pure = 0.0, True
    for i in range(len(rows)):
        masses[i] = weight[rows[i]]
        mass += masses[i]
    for k in range(len(total)):
        total[k], first = 0.0, Y[rows[0], k]
        for i in range(len(rows)):
            value = Y[rows[i], k]
            amounts[k, i] = masses[i] * value
            total[k] += amounts[k, i]
            pure = pure and value == first
    return mass, pure


@compiled
def _push(stack: Any, place: int, start: int, end: int, node: int, level: int) -> None:
    """Note a node to be split: its first row, its end, its number and its depth."""
    stack[place, 0], stack[place, 1] = start, end
    stack[place, 2], stack[place, 3] = node, level


@compiled
def _grow_tree(
    X: Any, Y: Any, weight: Any, even: bool, rows: Any, n_tried: int, least: int, deepest: int,
    state: Any, nodes: Any, values: Any, stack: Any, seen: Any, amounts: Any, masses: Any
) -> tuple[int, int]:  # fmt: skip
    """Grow one tree into scratch arrays; return the number of its nodes and its depth."""
    n_targets = Y.shape[1]
    total = np.empty(n_targets)
    columns = np.arange(X.shape[1])
    _push(stack, 0, 0, len(rows), 0, 0)
    n_stacked, n_nodes, depth = 1, 1, 0
    while n_stacked:
        n_stacked -= 1
        start, end = stack[n_stacked, 0], stack[n_stacked, 1]
        node, level = stack[n_stacked, 2], stack[n_stacked, 3]
        own, size = rows[start:end], end - start
        depth = max(depth, level)
        mass, pure = _collect(Y, weight, own, amounts, masses, total)
        column = -1
        if not pure and size >= 2 * least and level < deepest:
            column, threshold = _best_split(
                X, own, seen[:size], amounts, masses[:size], even, columns, n_tried, least, total,
                mass, state
            )  # fmt: skip
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
        _push(stack, n_stacked, middle, end, n_nodes + 1, level + 1)
        _push(stack, n_stacked + 1, start, middle, n_nodes, level + 1)
        n_stacked += 2
        n_nodes += 2
    return n_nodes, depth


@compiled
def _copy(
    nodes: Any, values: Any, number: int, to_nodes: Any, to_values: Any, place: int
) -> None:  # fmt: skip
    """Copy nodes and their values; one by one, which compiles much sooner than slices."""
    for node in range(number):
        to_nodes[place + node] = nodes[node]
        for k in range(values.shape[1]):
            to_values[place + node, k] = values[node, k]


@compiled
def grow(
    X: Any, Y: Any, weight: Any, bags: Any, n_tried: int, least: int, deepest: int, seeds: Any
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
    n_tried, least, deepest : int
        Columns that are tried at a node, the least rows of a leaf, and its greatest depth.
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
    seen, masses = np.empty(n_drawn, dtype=np.float32), np.empty(n_drawn)
    amounts = np.empty((n_targets, n_drawn))
    even = bool((weight == 1.0).all())
    for tree in range(n_trees):
        state[0] = seeds[tree]
        rows = bags[tree].copy()
        n_nodes, depth = _grow_tree(
            X, Y, weight, even, rows, n_tried, least, deepest, state, nodes, values, stack, seen,
            amounts, masses
        )  # fmt: skip
        shape[tree, 0], shape[tree, 1] = n_nodes, depth
        if used + n_nodes > len(all_nodes):
            more = 2 * len(all_nodes) + n_nodes
            old_nodes, old_values = all_nodes, all_values
            all_nodes = np.empty(more, dtype=NODE)
            all_values = np.empty((more, n_targets), dtype=np.float32)
            _copy(old_nodes, old_values, used, all_nodes, all_values, 0)
        _copy(nodes, values, n_nodes, all_nodes, all_values, used)
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
def leaf_sums(X: Any, amounts: Any, nodes: Any, shape: Any) -> Floats:
    """Return, of every node, the sum of the amounts of the rows that end there.

    Parameters
    ----------
    X : ndarray of float32, shape (n_rows, n_columns)
        Finite; row by row in memory.
    amounts : ndarray of shape (n_rows, n_amounts)
        What is added up.
    nodes, shape : ndarray
        What :func:`grow` returned.
    """
    n_rows, n_amounts = amounts.shape
    sums = np.zeros((len(nodes), n_amounts))
    places = np.empty(_BLOCK, dtype=np.uint32)
    for start in range(0, n_rows, _BLOCK):
        block = X[start : start + _BLOCK].ravel()
        size, first = min(_BLOCK, n_rows - start), 0
        for tree in range(len(shape)):
            _walk(block, X.shape[1], nodes, first, shape[tree, 1], places[:size])
            for row in range(size):
                for k in range(n_amounts):
                    sums[places[row], k] += amounts[start + row, k]
            first += shape[tree, 0]
    return sums


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
